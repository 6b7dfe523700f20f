//! `RL.REFUND`: gives back permits that were not used.

use crate::command::arguments::Cursor;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Flags, Group, Keys, Spec};
use crate::protocol::Arguments;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Give back permits that were not used",
    arguments: &[Argument::key("key"), Argument::integer("cost")],
    reply: "How many came back: never above full, and 0 while slots are booked ahead, since a promised slot is not promised twice.",
    flags: Flags::WRITE.and(Flags::FAST),
    keys: Keys::ONE,
    ..Spec::new("RL.REFUND", Group::RateLimit, Arity::exactly(3), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let mut cursor = Cursor::new(arguments);
    let (key, cost) = (cursor.key()?, cursor.amount("cost")?);
    let now = context.now;
    let back = context
        .shared
        .store
        .with_key(context.connection.database, key, now, |entry| {
            entry.refund(cost, now)
        });
    context.reply.integer(back as i64);
    Ok(())
}
