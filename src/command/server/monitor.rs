//! MONITOR: every command, as it runs.

use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Arity, Flags, Group, Spec};
use crate::protocol::Arguments;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Show every command as it runs",
    reply: "OK, then a line for each command of each connection: when, database, address, words. Commands of administrators are left out, passwords redacted. A connection that does not read is cut off at `client-output-limit`. RESET ends it.",
    flags: Flags::ADMIN.and(Flags::NOSCRIPT).and(Flags::NO_MULTI),
    ..Spec::new("MONITOR", Group::Server, Arity::exactly(1), run)
};

fn run(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    let client = &context.connection.client;
    client.labels.write().monitors = true;
    context.shared.clients.monitors.add(client);
    context.reply.ok();
    Ok(())
}
