//! `RL.RESUME`: ends a pause.

use crate::command::access;
use crate::command::arguments::Cursor;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::ratelimit::lines;
use crate::command::spec::{Argument, Arity, Flags, Group, Keys, Spec};
use crate::events;
use crate::protocol::Arguments;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "End a pause and a slow-down",
    arguments: &[Argument::key("key")],
    reply: "1, or 0 if there was neither. Slots promised during the pause stand; with none promised a bucket holds at most one permit. A 1 is told on `__rl@<db>__:resume`.",
    flags: Flags::WRITE.and(Flags::FAST),
    keys: Keys::ONE,
    ..Spec::new("RL.RESUME", Group::RateLimit, Arity::exactly(2), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let key = Cursor::new(arguments).key()?;
    let (database, now) = (context.connection.database, context.now);
    let (records, hub) = (&context.shared.store.records, &context.shared.hub);
    let metrics = &context.shared.metrics;
    let resumed = access::change(&*context, &[key], |mut keys| {
        let entry = &mut keys.kept()[0];
        let resumed = entry.resume(now);
        records.overtake(&entry.tickets_ahead(now));
        if resumed {
            events::resume(hub, database, key);
            metrics.resumed();
        }
        Ok(resumed)
    })?;
    if resumed {
        lines::resumed(context, key);
    }
    context.reply.integer(i64::from(resumed));
    Ok(())
}
