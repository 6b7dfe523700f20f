//! EXISTS, TOUCH, TYPE: is a key there, and of what kind.
//!
//! A name longer than a key can be names no key: reading it is not an error.

use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Flags, Group, KeyUse, Keys, Spec, Uses};
use crate::protocol::Arguments;
use crate::store::Value;

/// The row of EXISTS.
pub const EXISTS: Spec = Spec {
    summary: "Count which of the keys exist",
    arguments: &[Argument::key("key").multiple()],
    reply: "How many exist; a key named twice counts twice.",
    flags: Flags::READONLY.and(Flags::FAST),
    keys: Keys::ALL,
    uses: Uses::Each(&[KeyUse::LOOK]),
    ..Spec::new("EXISTS", Group::Generic, Arity::at_least(2), count)
};

/// The row of TOUCH.
pub const TOUCH: Spec = Spec {
    summary: "Count which of the keys exist, as EXISTS",
    arguments: &[Argument::key("key").multiple()],
    reply: "How many exist; a key named twice counts twice.",
    flags: Flags::READONLY.and(Flags::FAST),
    keys: Keys::ALL,
    uses: Uses::Each(&[KeyUse::LOOK]),
    ..Spec::new("TOUCH", Group::Generic, Arity::at_least(2), count)
};

/// The row of TYPE.
pub const TYPE: Spec = Spec {
    summary: "Say what kind of value a key holds",
    arguments: &[Argument::key("key")],
    reply: "`ratelimit` for limits, `string` for a plain value, `none` for a key that does not exist.",
    flags: Flags::READONLY.and(Flags::FAST),
    keys: Keys::ONE,
    uses: Uses::Each(&[KeyUse::LOOK]),
    ..Spec::new("TYPE", Group::Generic, Arity::exactly(2), kind)
};

/// True if the key exists now.
pub fn exists(context: &Context<'_>, key: &[u8]) -> bool {
    let (store, database) = (&context.shared.store, context.connection.database);
    store.read(database, key, context.now, |value| value.is_some())
}

fn count(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let keys = arguments.iter().skip(1);
    let count = keys.filter(|key| exists(context, key)).count();
    context.reply.integer(count as i64);
    Ok(())
}

fn kind(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let key = arguments.get(1).unwrap_or_default();
    let (store, database) = (&context.shared.store, context.connection.database);
    let name = store.read(database, key, context.now, |value| {
        value.map_or("none", Value::type_name)
    });
    context.reply.simple(name);
    Ok(())
}
