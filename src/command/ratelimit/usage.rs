//! `RL.USAGE`: how keys stand.

use crate::command::arguments::Cursor;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Flags, Group, Keys, Spec};
use crate::core::decision::Usage;
use crate::core::limit::Limit;
use crate::protocol::{Arguments, Reply};

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Show how keys stand, without changing them",
    arguments: &[Argument::key("key").multiple()],
    reply: "A map (in RESP2 a flat array) per key, nil for a key without state: limit, capacity, rate, period_ms, used, remaining, booked, wait_ms, reset_after_ms, paused_ms, slowed, waiting, leases. One key replies its map, several an array.",
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
        let usage = context
            .shared
            .store
            .read(context.connection.database, key, now, |entry| {
                entry.and_then(|entry| entry.usage(now))
            });
        match usage {
            Some(usage) => write(&usage, &mut context.reply),
            None => context.reply.null(),
        }
    }
    Ok(())
}

fn write(usage: &Usage, reply: &mut Reply<'_>) {
    let number = |reply: &mut Reply<'_>, name: &str, value: i64| {
        reply.bulk(name.as_bytes());
        reply.integer(value);
    };
    reply.map(13);
    reply.bulk(b"limit");
    match usage.limit {
        Some(limit) => reply.bulk(limit.kind().as_bytes()),
        None => reply.null(),
    }
    reply.bulk(b"capacity");
    match usage.limit {
        Some(limit) => reply.integer(limit.capacity() as i64),
        None => reply.null(),
    }
    reply.bulk(b"rate");
    match usage.limit {
        Some(Limit::Bucket(limit)) => reply.bulk_display(limit.rate()),
        None => reply.null(),
    }
    reply.bulk(b"period_ms");
    reply.null();
    number(reply, "used", usage.used as i64);
    number(reply, "remaining", usage.standing.remaining as i64);
    number(
        reply,
        "booked",
        i64::try_from(usage.booked).unwrap_or(i64::MAX),
    );
    number(reply, "wait_ms", usage.wait.ceil_ms());
    number(
        reply,
        "reset_after_ms",
        usage.standing.reset_after.ceil_ms(),
    );
    number(reply, "paused_ms", usage.paused.ceil_ms());
    reply.bulk(b"slowed");
    reply.bulk(b"1");
    number(reply, "waiting", 0);
    number(reply, "leases", 0);
}
