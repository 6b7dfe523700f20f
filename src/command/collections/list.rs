//! LPUSH, RPUSH, LLEN, LINDEX, LRANGE, LTRIM.

use super::change;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::number;
use crate::command::spec::{Argument, Arity, Flags, Group, KeyUse, Keys, Run, Spec, Uses};
use crate::plain::list::{self, List};
use crate::plain::{PlainError, Text};
use crate::protocol::{Arguments, Reply};

const WRITE: Flags = Flags::WRITE.and(Flags::FAST);
const ADDS: Flags = WRITE.and(Flags::DENYOOM);
const READ: Flags = Flags::READONLY.and(Flags::FAST);

const ELEMENTS: Argument = Argument::string("element").multiple();
const RANGE: &[Argument] = &[
    Argument::key("key"),
    Argument::integer("start"),
    Argument::integer("stop"),
];

/// The row of LPUSH.
pub const LPUSH: Spec = Spec {
    summary: "Put elements at the head of a list, one after another",
    arguments: &[Argument::key("key"), ELEMENTS],
    reply: "How many elements the list has now.",
    uses: Uses::Each(&[KeyUse::INSERT]),
    ..row("LPUSH", ADDS, Arity::at_least(3), |context, arguments| {
        push(context, arguments, List::push_front)
    })
};

/// The row of RPUSH.
pub const RPUSH: Spec = Spec {
    summary: "Put elements at the end of a list, one after another",
    arguments: &[Argument::key("key"), ELEMENTS],
    reply: "How many elements the list has now.",
    uses: Uses::Each(&[KeyUse::INSERT]),
    ..row("RPUSH", ADDS, Arity::at_least(3), |context, arguments| {
        push(context, arguments, List::push_back)
    })
};

/// The row of LLEN.
pub const LLEN: Spec = Spec {
    summary: "Count the elements of a list",
    arguments: &[Argument::key("key")],
    reply: "How many there are; 0 for a key that does not exist.",
    uses: Uses::Each(&[KeyUse::LOOK]),
    ..row("LLEN", READ, Arity::exactly(2), |context, arguments| {
        read(context, arguments, |list, reply| {
            reply.integer(list.map_or(0, List::len) as i64);
            Ok(())
        })
    })
};

/// The row of LINDEX.
pub const LINDEX: Spec = Spec {
    summary: "Read an element of a list by its place",
    arguments: &[Argument::key("key"), Argument::integer("index")],
    reply: "The element, counted from 0, or below 0 from the end; nil if there is none.",
    ..row(
        "LINDEX",
        Flags::READONLY,
        Arity::exactly(3),
        |context, arguments| {
            read(context, arguments, |list, reply| {
                // As in Redis, of a key that does not exist it takes anything for a place.
                let text = match list {
                    Some(list) => list.at(number::required(&arguments[2])?),
                    None => None,
                };
                match text {
                    Some(text) => text.with_bytes(|bytes| reply.bulk(bytes)),
                    None => reply.null(),
                }
                Ok(())
            })
        },
    )
};

/// The row of LRANGE.
pub const LRANGE: Spec = Spec {
    summary: "Read the elements of a list from one place to another",
    arguments: RANGE,
    reply: "An array of the elements.",
    ..row(
        "LRANGE",
        Flags::READONLY,
        Arity::exactly(4),
        |context, arguments| {
            let (first, last) = range(arguments)?;
            read(context, arguments, |list, reply| {
                let items = list.map(|list| list.range(first, last));
                reply.array(items.as_ref().map_or(0, ExactSizeIterator::len));
                for text in items.into_iter().flatten() {
                    text.with_bytes(|bytes| reply.bulk(bytes));
                }
                Ok(())
            })
        },
    )
};

/// The row of LTRIM.
pub const LTRIM: Spec = Spec {
    summary: "Keep the elements of a list from one place to another",
    arguments: RANGE,
    reply: "OK.",
    uses: Uses::Each(&[KeyUse::TRIM]),
    ..row(
        "LTRIM",
        Flags::WRITE,
        Arity::exactly(4),
        |context, arguments| {
            let (first, last) = range(arguments)?;
            change(context, arguments.get(1).unwrap_or_default(), |slot| {
                list::change(slot, |list| {
                    list.trim(first, last);
                    Ok(())
                })
            })?;
            context.reply.ok();
            Ok(())
        },
    )
};

const fn row(name: &'static str, flags: Flags, arity: Arity, run: Run) -> Spec {
    Spec {
        flags,
        keys: Keys::ONE,
        ..Spec::new(name, Group::List, arity, run)
    }
}

fn range(arguments: Arguments<'_>) -> Result<(i64, i64), Error> {
    let place = |index| number::required(arguments.get(index).unwrap_or_default());
    Ok((place(2)?, place(3)?))
}

/// Puts elements in, all or none.
fn push(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    push: fn(&mut List, Text) -> Result<(), PlainError>,
) -> Result<(), Error> {
    let texts = arguments.iter().skip(2).map(Text::new);
    let texts = texts.collect::<Result<Vec<_>, PlainError>>()?;
    let length = change(context, arguments.get(1).unwrap_or_default(), |slot| {
        list::change(slot, |list| {
            list.check_room(&texts)?;
            texts.into_iter().try_for_each(|text| push(list, text))?;
            Ok(list.len())
        })
    })?;
    context.reply.integer(length as i64);
    Ok(())
}

fn read(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    write: impl FnOnce(Option<&List>, &mut Reply<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let key = arguments.get(1).unwrap_or_default();
    let (store, database) = (&context.shared.store, context.connection.database);
    store.read_plain(database, key, context.now, |plain| {
        write(list::get(plain)?, &mut context.reply)
    })?
}
