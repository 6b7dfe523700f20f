//! TTL, PTTL, EXPIRETIME, PEXPIRETIME: when a key will have gone by itself.
//!
//! A limit key goes as soon as it can no longer be told from one that never existed. Its times are rounded up, so
//! that whoever waits as told finds it gone. Those of a plain value are Redis's: milliseconds, and seconds rounded to
//! the nearest.

use crate::command::access;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Flags, Group, Keys, Run, Spec};
use crate::core::units::Wait;
use crate::protocol::Arguments;
use crate::store::Value;

/// The row of TTL.
pub const TTL: Spec = row(
    "TTL",
    "Say in how many seconds a key goes",
    "Seconds: of a limit key rounded up, of a plain value to the nearest; -2 for a key that does not exist. -1 for a plain value that stays. Every limit key goes by itself.",
    |context, arguments| reply(context, arguments, Unit::Seconds, false),
);

/// The row of PTTL.
pub const PTTL: Spec = row(
    "PTTL",
    "Say in how many milliseconds a key goes",
    "Milliseconds, rounded up; -2 for a key that does not exist. -1 for a plain value that stays. Every limit key goes by itself.",
    |context, arguments| reply(context, arguments, Unit::Milliseconds, false),
);

/// The row of EXPIRETIME.
pub const EXPIRETIME: Spec = row(
    "EXPIRETIME",
    "Say at which second a key goes",
    "Seconds since the Unix epoch: of a limit key rounded up, of a plain value to the nearest; -1 for a plain value that stays, -2 for a key that does not exist.",
    |context, arguments| reply(context, arguments, Unit::Seconds, true),
);

/// The row of PEXPIRETIME.
pub const PEXPIRETIME: Spec = row(
    "PEXPIRETIME",
    "Say at which millisecond a key goes",
    "Milliseconds since the Unix epoch, rounded up; -1 for a plain value that stays, -2 for a key that does not exist.",
    |context, arguments| reply(context, arguments, Unit::Milliseconds, true),
);

/// What is counted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Seconds,
    Milliseconds,
}

impl Unit {
    /// A time until a limit key goes.
    fn of_limit(self, wait: Wait) -> i64 {
        match self {
            Self::Seconds => wait.ceil_seconds(),
            Self::Milliseconds => wait.ceil_ms(),
        }
    }

    /// A time until a plain value goes.
    fn of_plain(self, wait: Wait) -> i64 {
        let ms = wait.ceil_ms();
        match self {
            Self::Seconds => ms.saturating_add(500) / 1000,
            Self::Milliseconds => ms,
        }
    }
}

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

/// Says when a key goes, from now on or since the epoch.
fn reply(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    unit: Unit,
    since_epoch: bool,
) -> Result<(), Error> {
    let now = context.now;
    let since = if since_epoch { now.as_ns() } else { 0 };
    let time = access::look(&*context, &arguments[1], |value, _| {
        let Some(value) = value else {
            return -2;
        };
        let wait = value.gone_after(now).map(|wait| wait.plus_ns(since));
        match (value, wait) {
            (_, None) => -1,
            (Value::Limit(_), Some(wait)) => unit.of_limit(wait),
            (Value::Plain(_), Some(wait)) => unit.of_plain(wait),
        }
    });
    context.reply.integer(time);
    Ok(())
}
