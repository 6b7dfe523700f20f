//! CLIENT REPLY: which replies are sent.

use crate::command::connection::Replies;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, ArgumentKind, Arity, Flags, Group, Spec};
use crate::protocol::Arguments;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Choose which replies are sent on this connection",
    arguments: &[Argument::new(
        "action",
        ArgumentKind::OneOf(&[
            Argument::choice("on", "ON"),
            Argument::choice("off", "OFF"),
            Argument::choice("skip", "SKIP"),
        ]),
    )],
    reply: "OK after ON. Nothing after OFF, nor from then on; nothing after SKIP, nor to the next command.",
    flags: Flags::NOSCRIPT,
    ..Spec::new("CLIENT|REPLY", Group::Connection, Arity::exactly(3), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let word = arguments.get(2).unwrap_or_default().to_ascii_uppercase();
    let replies = &mut context.connection.replies;
    // The reply to OFF and SKIP is dropped like those that follow.
    match (word.as_slice(), *replies) {
        (b"ON", _) => *replies = Replies::On,
        (b"OFF", _) | (b"SKIP", Replies::Off) => *replies = Replies::Off,
        (b"SKIP", _) => *replies = Replies::SkipNext,
        _ => return Err(Error::SYNTAX),
    }
    context.reply.ok();
    Ok(())
}
