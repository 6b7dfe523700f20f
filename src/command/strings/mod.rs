//! Plain strings and counters, with Redis's replies and errors.

pub mod counter;
pub mod get;
pub mod increx;
pub mod many;
pub mod set;

use super::arguments::check_key;
use super::context::Context;
use super::error::Error;
use super::spec::{Argument, Arity, Flags, Group, Keys, Run, Spec};
use crate::plain::{Plain, Text};
use crate::protocol::Reply;

const KEY: Argument = Argument::key("key");
const VALUE: Argument = Argument::string("value");

/// A row of a command that writes one string, and has its summary, arguments and reply still to say.
const fn writes(name: &'static str, arity: Arity, run: Run) -> Spec {
    Spec {
        flags: Flags::WRITE.and(Flags::DENYOOM).and(Flags::FAST),
        keys: Keys::ONE,
        ..Spec::new(name, Group::String, arity, run)
    }
}

/// A row of a command that reads strings, and has its summary, arguments and reply still to say.
const fn reads(name: &'static str, arity: Arity, run: Run) -> Spec {
    Spec {
        flags: Flags::READONLY.and(Flags::FAST),
        keys: Keys::ONE,
        ..Spec::new(name, Group::String, arity, run)
    }
}

/// Works on the slot of a key that may come to exist.
fn with_slot<R>(
    context: &mut Context<'_>,
    key: &[u8],
    f: impl FnOnce(&mut Option<Plain>, &mut Reply<'_>) -> Result<R, Error>,
) -> Result<R, Error> {
    let (store, database) = (&context.shared.store, context.connection.database);
    let (key, reply) = (check_key(key)?, &mut context.reply);
    store.with_plain(database, key, context.now, |slot| f(slot, reply))?
}

/// Looks at a string. A name longer than a key can be names none.
fn with_text(
    context: &mut Context<'_>,
    key: &[u8],
    f: impl FnOnce(Option<&Text>, &mut Reply<'_>),
) -> Result<(), Error> {
    let (store, database) = (&context.shared.store, context.connection.database);
    let reply = &mut context.reply;
    store.read_plain(database, key, context.now, |plain| {
        f(plain.map(Plain::text).transpose()?, reply);
        Ok(())
    })?
}

/// A string, or that there is none.
fn reply_text(reply: &mut Reply<'_>, text: Option<&Text>) {
    match text {
        Some(text) => text.with_bytes(|bytes| reply.bulk(bytes)),
        None => reply.null(),
    }
}
