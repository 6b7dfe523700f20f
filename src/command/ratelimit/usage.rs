//! `RL.USAGE`: how keys stand.

use crate::command::access::{self, At};
use crate::command::arguments::Cursor;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Flags, Group, Keys, Spec};
use crate::core::decision::{LimitUsage, Refusal, Usage};
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
        match look((&*context).into(), cursor.key()?)? {
            Some((usage, waiting)) => write(&usage, waiting, &mut context.reply),
            None => context.reply.null(),
        }
    }
    Ok(())
}

/// How a key stands, and how many wait at it; `None` for a key without state.
///
/// # Errors
/// It holds a plain value.
pub fn look(at: At<'_>, key: &[u8]) -> Result<Option<(Usage, usize)>, Refusal> {
    access::look(at, key, |value, waiting| {
        let entry = value.map(Value::limit).transpose()?;
        let usage = entry.and_then(|entry| entry.usage(at.now));
        Ok(usage.map(|usage| (usage, waiting)))
    })
}

fn write(usage: &Usage, waiting: usize, reply: &mut Reply<'_>) {
    let bound = tightest(usage);
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

/// Of several limits the one that lets the least go now, then the one that waits longest; `None` where there is only a
/// pause.
pub fn tightest(usage: &Usage) -> Option<&LimitUsage> {
    let by = |limit: &&LimitUsage| (limit.standing.remaining, Reverse(limit.wait));
    usage.limits.iter().min_by_key(by)
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
    match usage.and_then(|usage| rate(&usage.limit)) {
        Some(rate) => reply.bulk(rate.as_bytes()),
        None => reply.null(),
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

/// The rate of a limit that has one, as `80/s`.
pub fn rate(limit: &Limit) -> Option<String> {
    match limit {
        Limit::Bucket(limit) => Some(limit.rate().to_string()),
        Limit::Window(limit) => Some(limit.per.to_string()),
        Limit::Sliding(limit) | Limit::Log(limit) => Some(limit.to_string()),
        Limit::Leases(_) => None,
    }
}

fn number(reply: &mut Reply<'_>, name: &str, value: i64) {
    reply.bulk(name.as_bytes());
    reply.integer(value);
}
