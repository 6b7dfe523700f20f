//! SET, SETNX, SETEX, PSETEX, GETSET: a string in the place of what was there.

use super::{KEY, VALUE, reply_text, with_slot, writes};
use crate::command::context::Context;
use crate::command::deadline::{self, Unit};
use crate::command::error::Error;
use crate::command::spec::{Argument, ArgumentKind, Arity, Flags, KeyUse, Spec, Uses};
use crate::plain::text::{self, Condition};
use crate::plain::{Expiry, Text};
use crate::protocol::Arguments;

/// The row of SET.
pub const SET: Spec = Spec {
    summary: "Set the string of a key",
    arguments: &[
        KEY,
        VALUE,
        Argument::new(
            "condition",
            ArgumentKind::OneOf(&[Argument::choice("nx", "NX"), Argument::choice("xx", "XX")]),
        )
        .optional(),
        Argument::flag("get", "GET"),
        Argument::new(
            "expiration",
            ArgumentKind::OneOf(&[
                deadline::OPTIONS[0],
                deadline::OPTIONS[1],
                deadline::OPTIONS[2],
                deadline::OPTIONS[3],
                Argument::choice("keepttl", "KEEPTTL"),
            ]),
        )
        .optional(),
    ],
    reply: "OK, or nil if the condition does not hold; with GET the string that was there, nil for none. A string is at most 65,536 bytes long.",
    flags: Flags::WRITE.and(Flags::DENYOOM),
    uses: Uses::Varying {
        most: KeyUse::CHANGE,
        actual: |arguments| {
            let mut options = arguments.iter().skip(3);
            match options.any(|word| word.eq_ignore_ascii_case(b"GET")) {
                true => KeyUse::CHANGE,
                false => KeyUse::OVERWRITE,
            }
        },
    },
    ..writes("SET", Arity::at_least(3), set)
};

/// The row of SETNX.
pub const SETNX: Spec = Spec {
    summary: "Set the string of a key that does not exist",
    arguments: &[KEY, VALUE],
    reply: "1, or 0 if the key exists.",
    uses: Uses::Each(&[KeyUse::CREATE]),
    ..writes("SETNX", Arity::exactly(3), set_absent)
};

/// The row of SETEX.
pub const SETEX: Spec = Spec {
    summary: "Set the string of a key, and in how many seconds it goes",
    arguments: &[KEY, Argument::integer("seconds"), VALUE],
    reply: "OK.",
    flags: Flags::WRITE.and(Flags::DENYOOM),
    uses: Uses::Each(&[KeyUse::OVERWRITE]),
    ..writes("SETEX", Arity::exactly(4), |context, arguments| {
        set_for(context, arguments, Unit::Seconds, "setex")
    })
};

/// The row of PSETEX.
pub const PSETEX: Spec = Spec {
    summary: "Set the string of a key, and in how many milliseconds it goes",
    arguments: &[KEY, Argument::integer("milliseconds"), VALUE],
    reply: "OK.",
    flags: Flags::WRITE.and(Flags::DENYOOM),
    uses: Uses::Each(&[KeyUse::OVERWRITE]),
    ..writes("PSETEX", Arity::exactly(4), |context, arguments| {
        set_for(context, arguments, Unit::Milliseconds, "psetex")
    })
};

/// The row of GETSET.
pub const GETSET: Spec = Spec {
    summary: "Set the string of a key and give the one before",
    arguments: &[KEY, VALUE],
    reply: "The string that was there, nil for a key that did not exist.",
    ..writes("GETSET", Arity::exactly(3), get_and_set)
};

/// The options of SET.
struct Options<'a> {
    condition: Condition,
    get: bool,
    keep: bool,
    goes: Option<(Unit, &'a [u8])>,
}

/// As Redis reads them: an option may stand there again, and the last number counts, but NX excludes XX, and KEEPTTL
/// and the four times exclude one another.
fn parse(arguments: Arguments<'_>) -> Result<Options<'_>, Error> {
    let mut options = Options {
        condition: Condition::Always,
        get: false,
        keep: false,
        goes: None,
    };
    let mut at = 3;
    while let Some(word) = arguments.get(at) {
        at += 1;
        if let Some(unit) = Unit::of_option(word) {
            if options.keep || options.goes.is_some_and(|(other, _)| other != unit) {
                return Err(Error::SYNTAX);
            }
            options.goes = Some((unit, arguments.get(at).ok_or(Error::SYNTAX)?));
            at += 1;
            continue;
        }
        match word.to_ascii_uppercase().as_slice() {
            b"NX" if options.condition != Condition::Present => {
                options.condition = Condition::Absent;
            }
            b"XX" if options.condition != Condition::Absent => {
                options.condition = Condition::Present;
            }
            b"GET" => options.get = true,
            b"KEEPTTL" if options.goes.is_none() => options.keep = true,
            _ => return Err(Error::SYNTAX),
        }
    }
    Ok(options)
}

fn set(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let (options, text) = (parse(arguments)?, Text::new(&arguments[2])?);
    let now = context.now;
    let expiry = match options.goes {
        Some((unit, number)) => Expiry::At(unit.read_positive(number, now, "set")?),
        None if options.keep => Expiry::Keep,
        None => Expiry::Clear,
    };
    with_slot(context, &arguments[1], |slot, reply| {
        if options.get {
            reply_text(reply, text::get(slot)?);
        }
        let is_set = text::set(slot, text, options.condition, expiry, now);
        match (options.get, is_set) {
            (true, _) => {}
            (false, true) => reply.ok(),
            (false, false) => reply.null(),
        }
        Ok(())
    })
}

fn set_absent(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let (text, now) = (Text::new(&arguments[2])?, context.now);
    with_slot(context, &arguments[1], |slot, reply| {
        let is_set = text::set(slot, text, Condition::Absent, Expiry::Clear, now);
        reply.integer(i64::from(is_set));
        Ok(())
    })
}

fn set_for(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    unit: Unit,
    command: &str,
) -> Result<(), Error> {
    let (text, now) = (Text::new(&arguments[3])?, context.now);
    let expiry = Expiry::At(unit.read_positive(&arguments[2], now, command)?);
    with_slot(context, &arguments[1], |slot, reply| {
        text::set(slot, text, Condition::Always, expiry, now);
        reply.ok();
        Ok(())
    })
}

fn get_and_set(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let (text, now) = (Text::new(&arguments[2])?, context.now);
    with_slot(context, &arguments[1], |slot, reply| {
        reply_text(reply, text::get(slot)?);
        text::set(slot, text, Condition::Always, Expiry::Clear, now);
        Ok(())
    })
}
