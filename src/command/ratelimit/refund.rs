//! `RL.REFUND`: gives back permits that were not used.

use crate::command::access;
use crate::command::arguments::Cursor;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::replay;
use crate::command::rules::{ID, optional_id};
use crate::command::spec::{Argument, Arity, Flags, Group, Keys, Spec};
use crate::protocol::Arguments;
use crate::store::Answer;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Give back permits that were not used",
    arguments: &[Argument::key("key"), Argument::integer("cost"), ID],
    reply: "How many came back: never above full, and 0 while slots are booked ahead, since a promised slot is not promised twice. Of the limits of a policy, the most that came back to one.",
    flags: Flags::WRITE.and(Flags::FAST),
    keys: Keys::ONE,
    ..Spec::new("RL.REFUND", Group::RateLimit, Arity::between(3, 5), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let mut cursor = Cursor::new(arguments);
    let (key, cost) = (cursor.key()?, cursor.amount("cost")?);
    let id = optional_id(&mut cursor)?;
    let (store, database, now) = (
        &context.shared.store,
        context.connection.database,
        context.now,
    );
    let back = access::change(&*context, &[key], |mut keys| {
        let entry = &mut keys.kept()[0];
        let Some(id) = id else {
            return Ok(entry.refund(cost, now));
        };
        if let Some(Answer::Number(back)) =
            replay::recall(store, database, key, id, arguments, now)?
        {
            return Ok(back);
        }
        let back = entry.refund(cost, now);
        replay::keep(
            store,
            database,
            key,
            id,
            replay::fingerprint(arguments),
            Answer::Number(back),
            now,
        );
        Ok(back)
    })?;
    context.reply.integer(back as i64);
    Ok(())
}
