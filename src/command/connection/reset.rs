//! QUIT and RESET: end the connection, or begin it anew.

use super::bound;
use super::state::Replies;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::pubsub::leave;
use crate::command::spec::{Arity, Flags, Group, Spec};
use crate::command::transaction::drop_watches;
use crate::protocol::{Arguments, Protocol};

const FLAGS: Flags = Flags::NO_AUTH
    .and(Flags::FAST)
    .and(Flags::NOSCRIPT)
    .and(Flags::IN_MULTI)
    .and(Flags::WHILE_SUBSCRIBED);

/// The row of QUIT.
pub const QUIT: Spec = Spec {
    summary: "Close the connection",
    reply: "OK; the connection is closed after it.",
    flags: FLAGS,
    ..Spec::new("QUIT", Group::Connection, Arity::at_least(1), quit)
};

/// The row of RESET.
pub const RESET: Spec = Spec {
    summary: "Put the connection back as it was when it began",
    reply: "RESET. The transaction, the watches and the subscriptions are dropped, leases that are bound to the connection are released, MONITOR ends, the name and what was to be tracked are forgotten, the protocol is RESP2, the database 0, every reply is sent, and a password has to be given again.",
    flags: FLAGS,
    ..Spec::new("RESET", Group::Connection, Arity::exactly(1), reset)
};

fn quit(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    leave(context);
    context.connection.closing = true;
    context.reply.ok();
    Ok(())
}

fn reset(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    drop_watches(context);
    leave(context);
    let connection = &mut *context.connection;
    bound::release(context.shared, connection, context.now);
    connection.transaction = None;
    connection.database = 0;
    connection.set_protocol(Protocol::Resp2);
    connection.replies = Replies::On;
    let acl = &context.shared.acl;
    connection.become_user(acl.nobody());
    connection.authenticated = !acl.requires_login();
    let mut labels = connection.client.labels.write();
    // What the library says of itself stays true.
    labels.name.clear();
    (labels.no_evict, labels.no_touch) = (false, false);
    labels.tracking = None;
    if std::mem::take(&mut labels.monitors) {
        context.shared.clients.monitors.remove(connection.client.id);
    }
    drop(labels);
    context.reply.set_protocol(Protocol::Resp2);
    context.reply.simple("RESET");
    Ok(())
}
