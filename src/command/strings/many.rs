//! MGET, MSET, MSETNX: several strings at one instant.

use super::{KEY, VALUE, reads, reply_text, writes};
use crate::command::arguments::check_key;
use crate::command::check_reply_bytes;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, ArgumentKind, Arity, Flags, KeyUse, Keys, Spec, Uses};
use crate::plain::text::{self, Condition};
use crate::plain::{Expiry, Plain, Text};
use crate::protocol::Arguments;
use crate::store::Value;
use std::collections::HashMap;

/// The row of MGET.
pub const MGET: Spec = Spec {
    summary: "Give the strings of several keys",
    arguments: &[KEY.multiple()],
    reply: "An array: the strings, nil for a key that does not exist or holds another plain type. A limit key is an error, and so are more than 64 MiB.",
    keys: Keys::ALL,
    ..reads("MGET", Arity::at_least(2), get)
};

const PAIRS: &[Argument] = &[Argument::new("pair", ArgumentKind::Block(&[KEY, VALUE])).multiple()];

const PAIR_KEYS: Keys = Keys::Range {
    first: 1,
    last: -1,
    step: 2,
};

/// The row of MSET.
pub const MSET: Spec = Spec {
    summary: "Set the strings of several keys",
    arguments: PAIRS,
    reply: "OK. Of a key that is named twice the last string counts.",
    flags: Flags::WRITE.and(Flags::DENYOOM),
    keys: PAIR_KEYS,
    uses: Uses::Each(&[KeyUse::OVERWRITE]),
    ..writes("MSET", Arity::at_least(3), |context, arguments| {
        set(context, arguments, "mset", false)?;
        context.reply.ok();
        Ok(())
    })
};

/// The row of MSETNX.
pub const MSETNX: Spec = Spec {
    summary: "Set the strings of several keys if none of them exists",
    arguments: PAIRS,
    reply: "1, or 0 if one of them exists: none is set then.",
    flags: Flags::WRITE.and(Flags::DENYOOM),
    keys: PAIR_KEYS,
    uses: Uses::Each(&[KeyUse::CREATE]),
    ..writes("MSETNX", Arity::at_least(3), |context, arguments| {
        let is_set = set(context, arguments, "msetnx", true)?;
        context.reply.integer(i64::from(is_set));
        Ok(())
    })
};

fn get(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let (store, database) = (&context.shared.store, context.connection.database);
    let keys: Vec<&[u8]> = arguments.iter().skip(1).collect();
    let reply = &mut context.reply;
    reply.array(keys.len());
    let (start, mut result) = (reply.position(), Ok(()));
    store.read_many(database, &keys, context.now, |value| {
        if result.is_err() {
            return;
        }
        match value.map_or(Ok(None), Value::plain) {
            Ok(plain) => reply_text(reply, plain.and_then(|plain| plain.text().ok())),
            Err(refusal) => result = Err(refusal.into()),
        }
        if result.is_ok() {
            result = check_reply_bytes("MGET", reply.position() - start);
        }
    });
    result
}

/// Sets all of them, or none if they must be absent and one is not.
fn set(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    command: &'static str,
    absent: bool,
) -> Result<bool, Error> {
    if arguments.len().is_multiple_of(2) {
        return Err(Error::Arity(command.into()));
    }
    // The store takes each key once.
    let mut places = HashMap::with_capacity(arguments.len() / 2);
    let (mut keys, mut texts) = (Vec::new(), Vec::new());
    for at in (1..arguments.len()).step_by(2) {
        let (key, text) = (check_key(&arguments[at])?, Text::new(&arguments[at + 1])?);
        let place = *places.entry(key).or_insert(keys.len());
        if place == keys.len() {
            keys.push(key);
            texts.push(text);
        } else {
            texts[place] = text;
        }
    }
    let (store, database, now) = (
        &context.shared.store,
        context.connection.database,
        context.now,
    );
    let set_all = |slots: &mut [Option<Plain>]| {
        if absent && slots.iter().any(Option::is_some) {
            return false;
        }
        for (slot, text) in slots.iter_mut().zip(texts) {
            text::set(slot, text, Condition::Always, Expiry::Clear, now);
        }
        true
    };
    Ok(store.with_plains(database, &keys, now, set_all)?)
}
