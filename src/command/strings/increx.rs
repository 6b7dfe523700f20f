//! INCREX (Redis 8.8): a counter with bounds, and an expiry that one step in a window sets.

use super::{KEY, with_slot, writes};
use crate::command::context::Context;
use crate::command::counted;
use crate::command::deadline::{self, Unit};
use crate::command::error::Error;
use crate::command::number;
use crate::command::spec::{Argument, ArgumentKind, Arity, Spec};
use crate::hot::Told;
use crate::plain::Expiry;
use crate::plain::extended::Extended;
use crate::plain::increx::{Step, Stepped, step};
use crate::protocol::Arguments;

/// The row.
pub const INCREX: Spec = Spec {
    summary: "Add to a counter within bounds, and set when it goes",
    arguments: &[
        KEY,
        Argument::new(
            "increment",
            ArgumentKind::OneOf(&[
                Argument::integer("integer").token("BYINT"),
                Argument::new("float", ArgumentKind::Double).token("BYFLOAT"),
            ]),
        )
        .optional(),
        Argument::string("lowerbound").token("LBOUND").optional(),
        Argument::string("upperbound").token("UBOUND").optional(),
        Argument::flag("saturate", "SATURATE"),
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
        Argument::flag("enx", "ENX"),
    ],
    reply: "`[value, applied]`: the counter and what was added; integers, with BYFLOAT doubles (RESP2: strings). Out of bounds nothing is done, `[value, 0]`, or with SATURATE the bound is set. ENX sets the time for a key that stays only.",
    ..writes("INCREX", Arity::at_least(2), run)
};

/// The options as they stand in a request.
#[derive(Default)]
struct Words<'a> {
    integer: Option<&'a [u8]>,
    float: Option<&'a [u8]>,
    lower: Option<&'a [u8]>,
    upper: Option<&'a [u8]>,
    saturate: bool,
    goes: Option<(Unit, &'a [u8])>,
    persist: bool,
    enx: bool,
}

/// Each option once, BYINT or BYFLOAT, one time or PERSIST.
fn parse(arguments: Arguments<'_>) -> Result<Words<'_>, Error> {
    let mut words = Words::default();
    let mut at = 2;
    while let Some(word) = arguments.get(at) {
        at += 1;
        let mut number = || {
            at += 1;
            arguments.get(at - 1).ok_or(Error::SYNTAX)
        };
        let no_expiration = words.goes.is_none() && !words.persist;
        if let Some(unit) = Unit::of_option(word).filter(|_| no_expiration) {
            words.goes = Some((unit, number()?));
            continue;
        }
        match word.to_ascii_uppercase().as_slice() {
            b"BYINT" if words.integer.is_none() && words.float.is_none() => {
                words.integer = Some(number()?);
            }
            b"BYFLOAT" if words.integer.is_none() && words.float.is_none() => {
                words.float = Some(number()?);
            }
            b"LBOUND" if words.lower.is_none() => words.lower = Some(number()?),
            b"UBOUND" if words.upper.is_none() => words.upper = Some(number()?),
            b"SATURATE" if !words.saturate => words.saturate = true,
            b"PERSIST" if no_expiration && !words.enx => words.persist = true,
            b"ENX" if !words.enx && !words.persist => words.enx = true,
            _ => return Err(Error::SYNTAX),
        }
    }
    if words.enx && words.goes.is_none() {
        return Err(Error::redis("ERR ENX flag requires an expiration"));
    }
    Ok(words)
}

impl Words<'_> {
    /// Reads the numbers: what is not said stands for 1 and for the ends of the range.
    fn step<N: Ord>(
        &self,
        context: &Context<'_>,
        by: N,
        range: (N, N),
        read: impl Fn(&[u8], &str) -> Result<N, Error>,
    ) -> Result<Step<N>, Error> {
        let lower = self.lower.map(|text| read(text, "LBOUND")).transpose()?;
        let upper = self.upper.map(|text| read(text, "UBOUND")).transpose()?;
        let (lower, upper) = (lower.unwrap_or(range.0), upper.unwrap_or(range.1));
        if lower > upper {
            return Err(Error::redis("ERR LBOUND can't be greater than UBOUND"));
        }
        let expiry = match self.goes {
            Some((unit, number)) => {
                Expiry::At(unit.read_positive(number, context.now, "increx")?)
            }
            None if self.persist => Expiry::Clear,
            None => Expiry::Keep,
        };
        Ok(Step {
            by,
            lower,
            upper,
            saturate: self.saturate,
            expiry,
            keeps_expiry: self.enx,
        })
    }
}

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let words = parse(arguments)?;
    let (key, now) = (&arguments[1], context.now);
    let refused = match words.float {
        None => {
            let by = words.integer.map(|text| integer(text, "Increment"));
            let by = by.transpose()?.unwrap_or(1);
            let wanted = words.step(context, by, (i64::MIN, i64::MAX), integer)?;
            with_slot(context, key, |slot, reply| {
                let Stepped { value, applied } = step(slot, &wanted, now)?;
                reply.integers(&[value, applied]);
                Ok(applied == 0 && by != 0)
            })?
        }
        Some(text) => {
            let by = float(text, "Increment")?;
            if !by.is_finite() {
                return Err(Error::redis("ERR BYFLOAT increment cannot be Infinity"));
            }
            let wanted = words.step(context, by, (-Extended::MAX, Extended::MAX), float)?;
            with_slot(context, key, |slot, reply| {
                let Stepped { value, applied } = step(slot, &wanted, now)?;
                reply.array(2);
                reply.double_display(value);
                reply.double_display(applied);
                Ok(applied == Extended::ZERO && by != Extended::ZERO)
            })?
        }
    };
    // Without a bound it is no limit.
    if words.lower.or(words.upper).is_some() {
        counted::one(context, key, Told::now(!refused));
    }
    Ok(())
}

fn integer(text: &[u8], name: &str) -> Result<i64, Error> {
    let integer = number::integer(text);
    integer.ok_or_else(|| Error::redis(format!("ERR {name} is not an integer or out of range")))
}

fn float(text: &[u8], name: &str) -> Result<Extended, Error> {
    let float = Extended::parse(text);
    float.ok_or_else(|| Error::redis(format!("ERR {name} is not a valid float")))
}
