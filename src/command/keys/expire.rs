//! EXPIRE, PEXPIRE, EXPIREAT, PEXPIREAT, PERSIST. A limit key goes by itself and takes no other end.

use crate::command::context::Context;
use crate::command::deadline::Unit;
use crate::command::error::Error;
use crate::command::spec::{
    Argument, ArgumentKind, Arity, Flags, Group, KeyUse, Keys, Run, Spec, Uses,
};
use crate::plain::Plain;
use crate::plain::expiry::{self, Conditions};
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
    |context, arguments| run(context, arguments, "expire", Unit::Seconds),
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
    |context, arguments| run(context, arguments, "pexpire", Unit::Milliseconds),
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
    |context, arguments| run(context, arguments, "expireat", Unit::UnixSeconds),
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
    |context, arguments| run(context, arguments, "pexpireat", Unit::UnixMilliseconds),
);

/// The row of PERSIST.
pub const PERSIST: Spec = Spec {
    summary: "Let a key stay",
    arguments: &[Argument::key("key")],
    reply: "1, or 0 if the key does not exist or stays anyway. A limit key goes by itself: an error.",
    flags: Flags::WRITE.and(Flags::FAST),
    keys: Keys::ONE,
    uses: Uses::Each(&[KeyUse::UPDATE]),
    ..Spec::new("PERSIST", Group::Generic, Arity::exactly(2), persist)
};

/// What the key of these commands must be.
const PLAIN_KEY: &str = "a plain value's: a limit's key goes by itself and takes no expiry (PTTL says when it goes, DEL resets it)";

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
        reply: "1, or 0 if the key does not exist or a condition does not hold. A time that is past removes the key. A limit key goes by itself: an error.",
        flags: Flags::WRITE.and(Flags::FAST),
        keys: Keys::ONE,
        uses: Uses::Each(&[KeyUse::UPDATE]),
        ..Spec::new(name, Group::Generic, Arity::at_least(3), run)
    }
}

fn run(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    name: &str,
    unit: Unit,
) -> Result<(), Error> {
    let conditions = conditions(arguments)?;
    let now = context.now;
    let deadline = unit.read(&arguments[2], now, name)?;
    change(context, &arguments[1], |slot| {
        expiry::expire(slot, deadline, conditions, now)
    })
}

fn persist(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    change(context, &arguments[1], expiry::persist)
}

/// Changes when a plain value goes.
fn change(
    context: &mut Context<'_>,
    key: &[u8],
    f: impl FnOnce(&mut Option<Plain>) -> bool,
) -> Result<(), Error> {
    let (store, database) = (&context.shared.store, context.connection.database);
    let changed = store.with_plain(database, key, context.now, f);
    let changed = changed.map_err(|_| Error::argument("key", PLAIN_KEY))?;
    context.reply.integer(i64::from(changed));
    Ok(())
}

/// Reads NX, XX, GT and LT.
fn conditions(arguments: Arguments<'_>) -> Result<Conditions, Error> {
    let mut conditions = Conditions::default();
    for word in arguments.iter().skip(3) {
        let condition = match word.to_ascii_uppercase().as_slice() {
            b"NX" => &mut conditions.nx,
            b"XX" => &mut conditions.xx,
            b"GT" => &mut conditions.gt,
            b"LT" => &mut conditions.lt,
            _ => {
                return Err(Error::redis(format!(
                    "ERR Unsupported option {}",
                    Error::quoted(word)
                )));
            }
        };
        *condition = true;
    }
    let Conditions { nx, xx, gt, lt } = conditions;
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
    Ok(conditions)
}
