//! TTL, PTTL, EXPIRETIME, PEXPIRETIME: when a key will have gone by itself.
//!
//! A limit key goes as soon as it can no longer be told from one that never existed. Rounded up, so that
//! whoever waits as told finds it gone.

use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Flags, Group, Keys, Run, Spec};
use crate::core::units::{Timestamp, Wait};
use crate::protocol::Arguments;

/// The row of TTL.
pub const TTL: Spec = row(
    "TTL",
    "Say in how many seconds a key goes",
    "Seconds, rounded up; -2 for a key that does not exist. -1 for a plain value that stays. Every limit key goes by itself.",
    |context, arguments| reply(context, arguments, Wait::ceil_seconds),
);

/// The row of PTTL.
pub const PTTL: Spec = row(
    "PTTL",
    "Say in how many milliseconds a key goes",
    "Milliseconds, rounded up; -2 for a key that does not exist. -1 for a plain value that stays. Every limit key goes by itself.",
    |context, arguments| reply(context, arguments, Wait::ceil_ms),
);

/// The row of EXPIRETIME.
pub const EXPIRETIME: Spec = row(
    "EXPIRETIME",
    "Say at which second a key goes",
    "Seconds since the Unix epoch, rounded up; -1 for a plain value that stays, -2 for a key that does not exist.",
    |context, arguments| {
        let now = context.now;
        reply(context, arguments, |wait| {
            since_epoch(wait, now).ceil_seconds()
        })
    },
);

/// The row of PEXPIRETIME.
pub const PEXPIRETIME: Spec = row(
    "PEXPIRETIME",
    "Say at which millisecond a key goes",
    "Milliseconds since the Unix epoch, rounded up; -1 for a plain value that stays, -2 for a key that does not exist.",
    |context, arguments| {
        let now = context.now;
        reply(context, arguments, |wait| since_epoch(wait, now).ceil_ms())
    },
);

const KEY: &[Argument] = &[Argument::key("key")];

const fn row(name: &'static str, summary: &'static str, reply: &'static str, run: Run) -> Spec {
    Spec {
        summary,
        arguments: KEY,
        reply,
        flags: Flags::READONLY.and(Flags::FAST),
        keys: Keys::ONE,
        ..Spec::new(name, Group::Generic, Arity::exactly(2), run)
    }
}

fn since_epoch(wait: Wait, now: Timestamp) -> Wait {
    wait.plus_ns(now.as_ns())
}

fn reply(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    unit: impl FnOnce(Wait) -> i64,
) -> Result<(), Error> {
    let key = arguments.get(1).unwrap_or_default();
    let (store, database, now) = (
        &context.shared.store,
        context.connection.database,
        context.now,
    );
    let left = store.read(database, key, now, |value| {
        value.map(|value| value.gone_after(now))
    });
    context.reply.integer(match left {
        Some(Some(left)) => unit(left),
        Some(None) => -1,
        None => -2,
    });
    Ok(())
}
