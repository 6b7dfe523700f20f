//! `RL.USAGE`: how keys stand.

use crate::command::access;
use crate::command::arguments::Cursor;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Flags, Group, Keys, Spec};
use crate::core::decision::{LimitUsage, Usage};
use crate::core::limit::Limit;
use crate::core::units::Wait;
use crate::protocol::{Arguments, Reply};
use crate::store::Value;
use std::cmp::Reverse;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Show how keys stand, without changing them",
    arguments: &[Argument::key("key").multiple()],
    reply: "A map (in RESP2 a flat array) per key, nil for a key without state: limit, capacity, rate, period_ms, used, remaining, booked, wait_ms, reset_after_ms, paused_ms, slowed, waiting, leases; a key under a policy of several limits has `rules` besides, a map per limit. One key replies its map, several an array.",
    flags: Flags::READONLY,
    keys: Keys::ALL,
    ..Spec::new("RL.USAGE", Group::RateLimit, Arity::at_least(2), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let mut cursor = Cursor::new(arguments);
    let several = arguments.len() > 2;
    if several {
        context.reply.array(arguments.len() - 1);
    }
    while cursor.peek().is_some() {
        let (key, now) = (cursor.key()?, context.now);
        let (usage, waiting) = access::look(context, key, |value, waiting| {
            let entry = value.map(Value::limit).transpose()?;
            let usage = entry.and_then(|entry| entry.usage(now));
            Ok::<_, Error>((usage, waiting))
        })?;
        match usage {
            Some(usage) => write(&usage, waiting, &mut context.reply),
            None => context.reply.null(),
        }
    }
    Ok(())
}

fn write(usage: &Usage, waiting: usize, reply: &mut Reply<'_>) {
    // Of several limits the one that lets the least go now, then the one that waits longest.
    let tightest = |limit: &&LimitUsage| (limit.standing.remaining, Reverse(limit.wait));
    let bound = usage.limits.iter().min_by_key(tightest);
    let several = usage.limits.len() > 1;
    reply.map(if several { 14 } else { 13 });
    write_limit(bound, usage.paused, reply);
    number(reply, "reset_after_ms", usage.reset_after.ceil_ms());
    number(reply, "paused_ms", usage.paused.ceil_ms());
    reply.bulk(b"slowed");
    reply.bulk_display(usage.slowed);
    number(reply, "waiting", waiting as i64);
    let of_leases = |limit: &&LimitUsage| matches!(limit.limit, Limit::Leases(_));
    let held = usage.limits.iter().find(of_leases);
    number(reply, "leases", held.map_or(0, |usage| usage.used as i64));
    if several {
        reply.bulk(b"rules");
        reply.array(usage.limits.len());
        for limit in &usage.limits {
            reply.map(9);
            write_limit(Some(limit), usage.paused, reply);
            number(
                reply,
                "reset_after_ms",
                limit.standing.reset_after.ceil_ms(),
            );
        }
    }
}

/// The eight fields that speak of one limit; those of a key that only holds a pause are nil or zero.
fn write_limit(usage: Option<&LimitUsage>, paused: Wait, reply: &mut Reply<'_>) {
    reply.bulk(b"limit");
    match usage {
        Some(usage) => reply.bulk(usage.limit.kind().as_bytes()),
        None => reply.null(),
    }
    reply.bulk(b"capacity");
    match usage {
        Some(usage) => reply.integer(usage.limit.capacity() as i64),
        None => reply.null(),
    }
    reply.bulk(b"rate");
    match usage.map(|usage| usage.limit) {
        Some(Limit::Bucket(limit)) => reply.bulk_display(limit.rate()),
        Some(Limit::Window(limit)) => reply.bulk_display(limit.per),
        Some(Limit::Sliding(limit) | Limit::Log(limit)) => reply.bulk_display(limit),
        Some(Limit::Leases(_)) | None => reply.null(),
    }
    reply.bulk(b"period_ms");
    match usage.and_then(|usage| usage.limit.period()) {
        Some(period) => reply.integer(Wait::from_ns(u128::from(period.as_ns())).ceil_ms()),
        None => reply.null(),
    }
    let of =
        |field: fn(&LimitUsage) -> u64| i64::try_from(usage.map_or(0, field)).unwrap_or(i64::MAX);
    number(reply, "used", of(|usage| usage.used));
    number(reply, "remaining", of(|usage| usage.standing.remaining));
    number(reply, "booked", of(|usage| usage.booked));
    number(
        reply,
        "wait_ms",
        usage.map_or(paused, |usage| usage.wait).ceil_ms(),
    );
}

fn number(reply: &mut Reply<'_>, name: &str, value: i64) {
    reply.bulk(name.as_bytes());
    reply.integer(value);
}
