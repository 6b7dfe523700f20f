//! PING and ECHO: is anybody there.

use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Flags, Group, Spec};
use crate::protocol::Arguments;

/// The row of PING.
pub const PING: Spec = Spec {
    summary: "Ask whether the server answers",
    arguments: &[Argument::string("message").optional()],
    reply: "PONG, or the message. In RESP2 while subscribed an array: `pong`, and the message or an empty text.",
    flags: Flags::FAST.and(Flags::WHILE_SUBSCRIBED),
    ..Spec::new("PING", Group::Connection, Arity::between(1, 2), ping)
};

/// The row of ECHO.
pub const ECHO: Spec = Spec {
    summary: "Send back the message",
    arguments: &[Argument::string("message")],
    reply: "The message, byte for byte.",
    flags: Flags::FAST,
    ..Spec::new("ECHO", Group::Connection, Arity::exactly(2), ping)
};

fn ping(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    if context.connection.is_listening() {
        context.reply.array(2);
        context.reply.bulk(b"pong");
        context.reply.bulk(arguments.get(1).unwrap_or_default());
        return Ok(());
    }
    match arguments.get(1) {
        Some(message) => context.reply.bulk(message),
        None => context.reply.simple("PONG"),
    }
    Ok(())
}
