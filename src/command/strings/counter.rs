//! INCR, DECR, INCRBY, DECRBY, INCRBYFLOAT.

use super::{KEY, with_slot, writes};
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::number;
use crate::command::spec::{Argument, ArgumentKind, Arity, Spec};
use crate::plain::extended::Extended;
use crate::plain::{PlainError, counter};
use crate::protocol::Arguments;

const SUM: &str = "The sum. A key that does not exist counts from 0.";

/// The row of INCR.
pub const INCR: Spec = Spec {
    summary: "Add 1 to a counter",
    arguments: &[KEY],
    reply: SUM,
    ..writes("INCR", Arity::exactly(2), |context, arguments| {
        add(context, &arguments[1], 1)
    })
};

/// The row of DECR.
pub const DECR: Spec = Spec {
    summary: "Subtract 1 from a counter",
    arguments: &[KEY],
    reply: SUM,
    ..writes("DECR", Arity::exactly(2), |context, arguments| {
        add(context, &arguments[1], -1)
    })
};

/// The row of INCRBY.
pub const INCRBY: Spec = Spec {
    summary: "Add an integer to a counter",
    arguments: &[KEY, Argument::integer("increment")],
    reply: SUM,
    ..writes("INCRBY", Arity::exactly(3), |context, arguments| {
        add(context, &arguments[1], number::required(&arguments[2])?)
    })
};

/// The row of DECRBY.
pub const DECRBY: Spec = Spec {
    summary: "Subtract an integer from a counter",
    arguments: &[KEY, Argument::integer("decrement")],
    reply: SUM,
    ..writes("DECRBY", Arity::exactly(3), |context, arguments| {
        let by = number::required(&arguments[2])?.checked_neg();
        let by = by.ok_or(Error::redis("ERR decrement would overflow"))?;
        add(context, &arguments[1], by)
    })
};

/// The row of INCRBYFLOAT.
pub const INCRBYFLOAT: Spec = Spec {
    summary: "Add a decimal number to a counter",
    arguments: &[KEY, Argument::new("increment", ArgumentKind::Double)],
    reply: "The sum as a string, to 17 decimals, computed in 64 bits of floating point as Redis does on x86-64. A key that does not exist counts from 0.",
    ..writes("INCRBYFLOAT", Arity::exactly(3), add_float)
};

fn add(context: &mut Context<'_>, key: &[u8], by: i64) -> Result<(), Error> {
    with_slot(context, key, |slot, reply| {
        reply.integer(counter::add(slot, by)?);
        Ok(())
    })
}

fn add_float(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let by = Extended::parse(&arguments[2]);
    with_slot(context, &arguments[1], |slot, reply| {
        // As in Redis, what the key holds is complained of first.
        counter::value::<Extended>(slot)?;
        let sum = counter::add_float(slot, by.ok_or(PlainError::NotAFloat)?)?;
        reply.bulk_display(sum);
        Ok(())
    })
}
