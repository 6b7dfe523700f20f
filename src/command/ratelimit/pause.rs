//! `RL.PAUSE`: a cool-down that everyone shares.

use crate::command::access;
use crate::command::arguments::Cursor;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::ratelimit::lines;
use crate::command::spec::{Argument, ArgumentKind, Arity, Flags, Group, Keys, Spec};
use crate::core::number::Decimal;
use crate::core::pause::SlowDown;
use crate::core::slow::Factor;
use crate::events;
use crate::protocol::Arguments;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Hold everyone back for a while, as after a 429",
    arguments: &[
        Argument::key("key"),
        Argument::string("duration"),
        Argument::flag("keep", "KEEP"),
        Argument::flag("force", "FORCE"),
        Argument::new(
            "slow",
            ArgumentKind::Block(&[
                Argument::new("factor", ArgumentKind::Double),
                Argument::string("recover"),
            ]),
        )
        .token("SLOW")
        .optional(),
    ],
    reply: "Milliseconds left of the pause in force, which a shorter one leaves alone unless `FORCE` is given. When it ends a bucket holds at most one permit; `KEEP` leaves it the burst it would have had. With `SLOW` its rate is then multiplied by `factor` and climbs back in eight equal steps over `recover`. A pause that changed is told on `__rl@<db>__:pause`.",
    flags: Flags::BOOKS.and(Flags::FAST),
    keys: Keys::ONE,
    ..Spec::new("RL.PAUSE", Group::RateLimit, Arity::between(3, 8), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let mut cursor = Cursor::new(arguments);
    let (key, duration) = (cursor.key()?, cursor.duration("duration")?);
    let (mut keep, mut force, mut slows, mut slow) = (false, false, false, None);
    loop {
        if cursor.option("SLOW", &mut slows)? {
            slow = Some(slow_down(&mut cursor)?);
        } else if !cursor.option("KEEP", &mut keep)? && !cursor.option("FORCE", &mut force)? {
            break;
        }
    }
    cursor.finish()?;
    // One wrong Retry-After must not lock everyone out.
    let span = duration.min(context.shared.settings.max_pause());
    let (records, hub) = (&context.shared.store.records, &context.shared.hub);
    let metrics = &context.shared.metrics;
    let (database, now) = (context.connection.database, context.now);
    let (left, changed) = access::change(&*context, &[key], |mut keys| {
        let entry = &mut keys.kept()[0];
        if context.is_full && entry.is_absent() {
            return Err(Error::OUT_OF_MEMORY);
        }
        let before = entry.paused(now);
        let left = entry.pause_then_slow(span, keep, force, slow, now);
        records.overtake(&entry.tickets_ahead(now));
        let changed = left != before;
        if changed {
            events::pause(hub, database, key, left.ceil_ms());
            metrics.paused();
        }
        Ok((left, changed))
    })?;
    if changed {
        lines::paused(context, key, left.ceil_ms());
    }
    context.reply.integer(left.ceil_ms());
    Ok(())
}

/// Takes `factor recover`.
fn slow_down(cursor: &mut Cursor<'_>) -> Result<SlowDown, Error> {
    const TAKES: &str = "a decimal above 0 and below 1 with up to 3 decimals";
    let factor = cursor.value("factor", TAKES, |text| {
        let decimal = Decimal::parse(text).filter(|decimal| decimal.decimals <= 3)?;
        Factor::from_thousandths(decimal.whole_multiple(1000)?)
    })?;
    Ok(SlowDown {
        factor,
        recover: cursor.duration("recover")?,
    })
}
