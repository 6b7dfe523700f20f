//! EXPIRE, PEXPIRE, EXPIREAT, PEXPIREAT, PERSIST. A limit key goes by itself and takes no other end.

use super::exists::exists;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::number;
use crate::command::spec::{Argument, ArgumentKind, Arity, Flags, Group, Keys, Run, Spec};
use crate::core::units::MILLISECOND;
use crate::protocol::Arguments;

/// The row of EXPIRE.
pub const EXPIRE: Spec = row(
    "EXPIRE",
    "Set in how many seconds a key goes",
    &[
        Argument::key("key"),
        Argument::integer("seconds"),
        CONDITION,
    ],
    |context, arguments| run(context, arguments, "expire", 1000, true),
);

/// The row of PEXPIRE.
pub const PEXPIRE: Spec = row(
    "PEXPIRE",
    "Set in how many milliseconds a key goes",
    &[
        Argument::key("key"),
        Argument::integer("milliseconds"),
        CONDITION,
    ],
    |context, arguments| run(context, arguments, "pexpire", 1, true),
);

/// The row of EXPIREAT.
pub const EXPIREAT: Spec = row(
    "EXPIREAT",
    "Set at which second since the Unix epoch a key goes",
    &[
        Argument::key("key"),
        Argument::integer("unix-time-seconds"),
        CONDITION,
    ],
    |context, arguments| run(context, arguments, "expireat", 1000, false),
);

/// The row of PEXPIREAT.
pub const PEXPIREAT: Spec = row(
    "PEXPIREAT",
    "Set at which millisecond since the Unix epoch a key goes",
    &[
        Argument::key("key"),
        Argument::integer("unix-time-milliseconds"),
        CONDITION,
    ],
    |context, arguments| run(context, arguments, "pexpireat", 1, false),
);

/// The row of PERSIST.
pub const PERSIST: Spec = Spec {
    summary: "Let a key stay",
    arguments: &[Argument::key("key")],
    reply: "0 if the key does not exist. A limit key goes by itself: an error.",
    flags: Flags::WRITE.and(Flags::FAST),
    keys: Keys::ONE,
    ..Spec::new("PERSIST", Group::Generic, Arity::exactly(2), persist)
};

/// Under which condition the time is set.
const CONDITION: Argument = Argument::new(
    "condition",
    ArgumentKind::OneOf(&[
        Argument::choice("nx", "NX"),
        Argument::choice("xx", "XX"),
        Argument::choice("gt", "GT"),
        Argument::choice("lt", "LT"),
    ]),
)
.optional();

const fn row(
    name: &'static str,
    summary: &'static str,
    arguments: &'static [Argument],
    run: Run,
) -> Spec {
    Spec {
        summary,
        arguments,
        reply: "0 if the key does not exist. A limit key goes by itself: an error.",
        flags: Flags::WRITE.and(Flags::FAST),
        keys: Keys::ONE,
        ..Spec::new(name, Group::Generic, Arity::at_least(3), run)
    }
}

fn run(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    name: &'static str,
    unit_ms: i64,
    from_now: bool,
) -> Result<(), Error> {
    check_conditions(arguments)?;
    let when = number::required(arguments.get(2).unwrap_or_default())?;
    let base_ms = if from_now {
        (context.now.as_ns() / MILLISECOND) as i64
    } else {
        0
    };
    let at_ms = when
        .checked_mul(unit_ms)
        .and_then(|ms| ms.checked_add(base_ms));
    if at_ms.is_none() {
        return Err(Error::redis(format!(
            "ERR invalid expire time in '{name}' command"
        )));
    }
    refuse_limits(context, arguments)
}

/// Checks NX, XX, GT and LT.
fn check_conditions(arguments: Arguments<'_>) -> Result<(), Error> {
    let (mut nx, mut xx, mut gt, mut lt) = (false, false, false, false);
    for word in arguments.iter().skip(3) {
        let condition = match word.to_ascii_uppercase().as_slice() {
            b"NX" => &mut nx,
            b"XX" => &mut xx,
            b"GT" => &mut gt,
            b"LT" => &mut lt,
            _ => {
                return Err(Error::redis(format!(
                    "ERR Unsupported option {}",
                    Error::quoted(word)
                )));
            }
        };
        *condition = true;
    }
    if nx && (xx || gt || lt) {
        return Err(Error::redis(
            "ERR NX and XX, GT or LT options at the same time are not compatible",
        ));
    }
    if gt && lt {
        return Err(Error::redis(
            "ERR GT and LT options at the same time are not compatible",
        ));
    }
    Ok(())
}

fn persist(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    refuse_limits(context, arguments)
}

fn refuse_limits(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    if exists(context, arguments.get(1).unwrap_or_default()) {
        return Err(Error::argument(
            "key",
            "a plain value's: a limit's key goes by itself and takes no expiry (PTTL says when it goes, DEL resets it)",
        ));
    }
    context.reply.integer(0);
    Ok(())
}
