//! GET, STRLEN, GETDEL, GETEX: a string, and what becomes of it.

use super::{KEY, reads, reply_text, with_slot, with_text, writes};
use crate::command::context::Context;
use crate::command::deadline::{self, Unit};
use crate::command::error::Error;
use crate::command::spec::{Argument, ArgumentKind, Arity, Flags, KeyUse, Spec, Uses};
use crate::plain::{Expiry, expiry, text};
use crate::protocol::Arguments;

/// The row of GET.
pub const GET: Spec = Spec {
    summary: "Give the string of a key",
    arguments: &[KEY],
    reply: "The string, nil for a key that does not exist.",
    ..reads("GET", Arity::exactly(2), get)
};

/// The row of STRLEN.
pub const STRLEN: Spec = Spec {
    summary: "Give the length of a string",
    arguments: &[KEY],
    reply: "Bytes, 0 for a key that does not exist.",
    uses: Uses::Each(&[KeyUse::LOOK]),
    ..reads("STRLEN", Arity::exactly(2), length)
};

/// The row of GETDEL.
pub const GETDEL: Spec = Spec {
    summary: "Give the string of a key and remove it",
    arguments: &[KEY],
    reply: "The string, nil for a key that does not exist.",
    flags: Flags::WRITE.and(Flags::FAST),
    uses: Uses::Each(&[KeyUse::TAKE_OUT]),
    ..writes("GETDEL", Arity::exactly(2), get_and_delete)
};

/// The row of GETEX.
pub const GETEX: Spec = Spec {
    summary: "Give the string of a key and set when the key goes",
    arguments: &[
        KEY,
        Argument::new(
            "expiration",
            ArgumentKind::OneOf(&[
                deadline::OPTIONS[0],
                deadline::OPTIONS[1],
                deadline::OPTIONS[2],
                deadline::OPTIONS[3],
                Argument::choice("persist", "PERSIST"),
            ]),
        )
        .optional(),
    ],
    reply: "The string, nil for a key that does not exist. Without an option nothing changes.",
    flags: Flags::WRITE.and(Flags::FAST),
    ..writes("GETEX", Arity::at_least(2), get_and_expire)
};

fn get(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    with_text(context, &arguments[1], |text, reply| {
        reply_text(reply, text);
    })
}

fn length(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    with_text(context, &arguments[1], |text, reply| {
        let length = text.map_or(0, |text| text.with_bytes(<[u8]>::len));
        reply.integer(length as i64);
    })
}

fn get_and_delete(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    with_slot(context, &arguments[1], |slot, reply| {
        reply_text(reply, text::get(slot)?);
        *slot = None;
        Ok(())
    })
}

/// What GETEX is to do to the time at which a key goes.
#[derive(Default)]
struct Options<'a> {
    persist: bool,
    goes: Option<(Unit, &'a [u8])>,
}

/// As Redis reads them: an option may stand there again, and the last number counts, but they exclude one another.
fn parse(arguments: Arguments<'_>) -> Result<Options<'_>, Error> {
    let mut options = Options::default();
    let mut at = 2;
    while let Some(word) = arguments.get(at) {
        at += 1;
        if let Some(unit) = Unit::of_option(word) {
            if options.persist || options.goes.is_some_and(|(other, _)| other != unit) {
                return Err(Error::SYNTAX);
            }
            options.goes = Some((unit, arguments.get(at).ok_or(Error::SYNTAX)?));
            at += 1;
        } else if word.eq_ignore_ascii_case(b"PERSIST") && options.goes.is_none() {
            options.persist = true;
        } else {
            return Err(Error::SYNTAX);
        }
    }
    Ok(options)
}

fn get_and_expire(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let options = parse(arguments)?;
    let now = context.now;
    with_slot(context, &arguments[1], |slot, reply| {
        let text = text::get(slot)?;
        reply_text(reply, text);
        if text.is_none() {
            // As in Redis, even if the number is none.
            return Ok(());
        }
        let expiry = match options.goes {
            Some((unit, number)) => Expiry::At(unit.read_positive(number, now, "getex")?),
            None if options.persist => Expiry::Clear,
            None => Expiry::Keep,
        };
        expiry::apply(slot, expiry, now);
        Ok(())
    })
}
