//! `RL.PAUSE`: a cool-down that everyone shares.

use crate::command::arguments::Cursor;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Flags, Group, Keys, Spec};
use crate::protocol::Arguments;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Hold everyone back for a while, as after a 429",
    arguments: &[
        Argument::key("key"),
        Argument::string("duration"),
        Argument::flag("keep", "KEEP"),
        Argument::flag("force", "FORCE"),
    ],
    reply: "Milliseconds left of the pause in force, which a shorter one leaves alone unless `FORCE` is given. When it ends a bucket holds at most one permit; `KEEP` leaves it the burst it would have had.",
    flags: Flags::WRITE.and(Flags::FAST),
    keys: Keys::ONE,
    ..Spec::new("RL.PAUSE", Group::RateLimit, Arity::between(3, 5), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let mut cursor = Cursor::new(arguments);
    let (key, duration) = (cursor.key()?, cursor.duration("duration")?);
    let (mut keep, mut force) = (false, false);
    while cursor.option("KEEP", &mut keep)? || cursor.option("FORCE", &mut force)? {}
    cursor.finish()?;
    // One wrong Retry-After must not lock everyone out.
    let span = duration.min(context.shared.settings.max_pause());
    let (store, database, now) = (
        &context.shared.store,
        context.connection.database,
        context.now,
    );
    let left = store.with_key(database, key, now, |entry| {
        let left = entry.pause(span, keep, force, now);
        let overtaken = entry.tickets_in_pause();
        if !overtaken.is_empty() {
            store.records.overtake(&overtaken);
        }
        left
    });
    context.reply.integer(left.ceil_ms());
    Ok(())
}
