//! DEL and UNLINK.

use crate::command::access;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Flags, Group, KeyUse, Keys, Spec, Uses};
use crate::protocol::Arguments;

/// The row of DEL.
pub const DEL: Spec = Spec {
    summary: "Remove keys, their pauses included",
    arguments: &[Argument::key("key").multiple()],
    reply: "How many existed.",
    flags: Flags::WRITE,
    keys: Keys::ALL,
    uses: Uses::Each(&[KeyUse::REMOVE]),
    ..Spec::new("DEL", Group::Generic, Arity::at_least(2), run)
};

/// The row of UNLINK.
pub const UNLINK: Spec = Spec {
    summary: "Remove keys, as DEL",
    arguments: &[Argument::key("key").multiple()],
    reply: "How many existed.",
    flags: Flags::WRITE.and(Flags::FAST),
    keys: Keys::ALL,
    uses: Uses::Each(&[KeyUse::REMOVE]),
    ..Spec::new("UNLINK", Group::Generic, Arity::at_least(2), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let keys = arguments.iter().skip(1);
    let count = keys.filter(|key| access::remove(context, key)).count();
    context.reply.integer(count as i64);
    Ok(())
}
