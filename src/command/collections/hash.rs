//! HSET, HMSET, HGET, HMGET, HGETALL, HDEL, HLEN, HEXISTS, HINCRBY.

use super::change;
use crate::command::check_reply_bytes;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::number;
use crate::command::spec::{
    Argument, ArgumentKind, Arity, Flags, Group, KeyUse, Keys, Run, Spec, Uses,
};
use crate::plain::hash::{self, Hash};
use crate::plain::{PlainError, Text};
use crate::protocol::{Arguments, Reply};

const WRITE: Flags = Flags::WRITE.and(Flags::FAST);
const ADDS: Flags = WRITE.and(Flags::DENYOOM);
const READ: Flags = Flags::READONLY.and(Flags::FAST);

const FIELD: Argument = Argument::string("field");
const FIELDS: Argument = Argument::string("field").multiple();
const PAIRS: Argument = Argument::new(
    "data",
    ArgumentKind::Block(&[FIELD, Argument::string("value")]),
)
.multiple();

/// The row of HSET.
pub const HSET: Spec = Spec {
    summary: "Set fields of a hash",
    arguments: &[Argument::key("key"), PAIRS],
    reply: "How many of the fields are new.",
    uses: Uses::Each(&[KeyUse::UPDATE]),
    ..row("HSET", ADDS, Arity::at_least(4), |context, arguments| {
        let added = set(context, arguments, "hset")?;
        context.reply.integer(added as i64);
        Ok(())
    })
};

/// The row of HMSET.
pub const HMSET: Spec = Spec {
    summary: "Set fields of a hash, as HSET",
    arguments: &[Argument::key("key"), PAIRS],
    reply: "OK.",
    uses: Uses::Each(&[KeyUse::UPDATE]),
    ..row("HMSET", ADDS, Arity::at_least(4), |context, arguments| {
        set(context, arguments, "hmset")?;
        context.reply.ok();
        Ok(())
    })
};

/// The row of HGET.
pub const HGET: Spec = Spec {
    summary: "Read a field of a hash",
    arguments: &[Argument::key("key"), FIELD],
    reply: "Its text; nil if there is none.",
    ..row("HGET", READ, Arity::exactly(3), |context, arguments| {
        let field = arguments.get(2).unwrap_or_default();
        read(context, arguments, |hash, reply| {
            write_text(reply, hash.and_then(|hash| hash.get(field)));
        })
    })
};

/// The row of HMGET.
pub const HMGET: Spec = Spec {
    summary: "Read fields of a hash",
    arguments: &[Argument::key("key"), FIELDS],
    reply: "An array of their texts; nil for what is not there. More than 64 MiB are an error.",
    ..row("HMGET", READ, Arity::at_least(3), |context, arguments| {
        let mut result = Ok(());
        read(context, arguments, |hash, reply| {
            let (fields, start) = (arguments.tail(2), reply.position());
            reply.array(fields.len());
            for field in fields.iter() {
                write_text(reply, hash.and_then(|hash| hash.get(field)));
                // A field may be asked for any number of times.
                result = check_reply_bytes("HMGET", reply.position() - start);
                if result.is_err() {
                    return;
                }
            }
        })?;
        result
    })
};

/// The row of HGETALL.
pub const HGETALL: Spec = Spec {
    summary: "Read a whole hash",
    arguments: &[Argument::key("key")],
    reply: "A map of fields to texts (RESP2: a flat array), in the order of the fields' bytes.",
    ..row(
        "HGETALL",
        Flags::READONLY,
        Arity::exactly(2),
        |context, arguments| {
            read(context, arguments, |hash, reply| {
                reply.map(hash.map_or(0, Hash::len));
                for (field, text) in hash.into_iter().flat_map(Hash::iter) {
                    reply.bulk(field);
                    write_text(reply, Some(text));
                }
            })
        },
    )
};

/// The row of HLEN.
pub const HLEN: Spec = Spec {
    summary: "Count the fields of a hash",
    arguments: &[Argument::key("key")],
    reply: "How many there are; 0 for a key that does not exist.",
    uses: Uses::Each(&[KeyUse::LOOK]),
    ..row("HLEN", READ, Arity::exactly(2), |context, arguments| {
        read(context, arguments, |hash, reply| {
            reply.integer(hash.map_or(0, Hash::len) as i64)
        })
    })
};

/// The row of HEXISTS.
pub const HEXISTS: Spec = Spec {
    summary: "Say whether a hash has a field",
    arguments: &[Argument::key("key"), FIELD],
    reply: "1 or 0.",
    uses: Uses::Each(&[KeyUse::LOOK]),
    ..row("HEXISTS", READ, Arity::exactly(3), |context, arguments| {
        let field = arguments.get(2).unwrap_or_default();
        read(context, arguments, |hash, reply| {
            let found = hash.is_some_and(|hash| hash.get(field).is_some());
            reply.integer(i64::from(found));
        })
    })
};

/// The row of HDEL.
pub const HDEL: Spec = Spec {
    summary: "Remove fields of a hash",
    arguments: &[Argument::key("key"), FIELDS],
    reply: "How many were there.",
    uses: Uses::Each(&[KeyUse::TRIM]),
    ..row("HDEL", WRITE, Arity::at_least(3), |context, arguments| {
        let key = arguments.get(1).unwrap_or_default();
        let removed = change(context, key, |slot| {
            hash::change(slot, |hash| {
                Ok(arguments
                    .iter()
                    .skip(2)
                    .filter(|field| hash.remove(field))
                    .count())
            })
        })?;
        context.reply.integer(removed as i64);
        Ok(())
    })
};

/// The row of HINCRBY.
pub const HINCRBY: Spec = Spec {
    summary: "Add to a field of a hash",
    arguments: &[Argument::key("key"), FIELD, Argument::integer("increment")],
    reply: "The sum.",
    ..row("HINCRBY", ADDS, Arity::exactly(4), |context, arguments| {
        let by = number::required(arguments.get(3).unwrap_or_default())?;
        let (key, field) = (
            arguments.get(1).unwrap_or_default(),
            arguments.get(2).unwrap_or_default(),
        );
        let sum = change(context, key, |slot| hash::add(slot, field, by))?;
        context.reply.integer(sum);
        Ok(())
    })
};

const fn row(name: &'static str, flags: Flags, arity: Arity, run: Run) -> Spec {
    Spec {
        flags,
        keys: Keys::ONE,
        ..Spec::new(name, Group::Hash, arity, run)
    }
}

/// Sets pairs of fields and texts; how many are new. All are set or none.
fn set(
    context: &Context<'_>,
    arguments: Arguments<'_>,
    name: &'static str,
) -> Result<usize, Error> {
    if arguments.len() % 2 == 1 {
        return Err(Error::Arity(name.into()));
    }
    let texts = arguments.iter().skip(3).step_by(2).map(Text::new);
    let texts = texts.collect::<Result<Vec<_>, PlainError>>()?;
    let pairs: Vec<_> = arguments.iter().skip(2).step_by(2).zip(texts).collect();
    let key = arguments.get(1).unwrap_or_default();
    change(context, key, |slot| {
        hash::change(slot, |hash| hash.set_all(&pairs))
    })
}

fn read(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    write: impl FnOnce(Option<&Hash>, &mut Reply<'_>),
) -> Result<(), Error> {
    let key = arguments.get(1).unwrap_or_default();
    let (store, database) = (&context.shared.store, context.connection.database);
    store.read_plain(database, key, context.now, |plain| {
        write(hash::get(plain)?, &mut context.reply);
        Ok(())
    })?
}

fn write_text(reply: &mut Reply<'_>, text: Option<&Text>) {
    match text {
        Some(text) => text.with_bytes(|bytes| reply.bulk(bytes)),
        None => reply.null(),
    }
}
