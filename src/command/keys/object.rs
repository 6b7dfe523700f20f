//! OBJECT: how a key is kept.

use crate::acl::Categories;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::help;
use crate::command::spec::{Argument, Arity, Flags, Group, KeyUse, Keys, Run, Spec, Uses};
use crate::protocol::Arguments;
use crate::store::Value;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Look at how a key is kept",
    reply: "Depends on the subcommand.",
    subcommands: &[
        row(
            "OBJECT|ENCODING",
            "Say how a key's value is kept",
            "The kind of the key's limit, as RL.USAGE names it; `policy` for several limits, `pause` for a key that only holds a pause, `int`, `raw`, `hashtable`, `quicklist` or `skiplist` for plain values; nil for a key that does not exist.",
            encoding,
        ),
        row(
            "OBJECT|REFCOUNT",
            "Count the references to a key's value",
            "1; nil for a key that does not exist.",
            references,
        ),
        row(
            "OBJECT|IDLETIME",
            "Refuse to say for how long nobody called a key",
            "An error: it is not kept. Nil for a key that does not exist.",
            idle_time,
        ),
        row(
            "OBJECT|FREQ",
            "Refuse to say how often a key is called",
            "An error: it is not kept. Nil for a key that does not exist.",
            frequency,
        ),
        help::row("OBJECT|HELP", Group::Generic),
    ],
    categories: Categories::NONE,
    ..Spec::new("OBJECT", Group::Generic, Arity::at_least(2), encoding)
};

const KEY: &[Argument] = &[Argument::key("key")];

const fn row(name: &'static str, summary: &'static str, reply: &'static str, run: Run) -> Spec {
    Spec {
        summary,
        arguments: KEY,
        reply,
        flags: Flags::READONLY,
        keys: Keys::SECOND,
        uses: Uses::Each(&[KeyUse::LOOK]),
        ..Spec::new(name, Group::Generic, Arity::exactly(3), run)
    }
}

/// What `f` makes of the key's value; `None`, with the reply written, for a key that does not exist.
fn found<R>(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    f: impl FnOnce(&Value) -> R,
) -> Option<R> {
    let key = arguments.get(2).unwrap_or_default();
    let (store, database) = (&context.shared.store, context.connection.database);
    let found = store.read(database, key, context.now, |value| value.map(f));
    if found.is_none() {
        context.reply.null();
    }
    found
}

fn encoding(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    if let Some(name) = found(context, arguments, Value::encoding) {
        context.reply.bulk(name.as_bytes());
    }
    Ok(())
}

fn references(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    if found(context, arguments, |_| ()).is_some() {
        context.reply.integer(1);
    }
    Ok(())
}

fn idle_time(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    refuse(
        context,
        arguments,
        "ERR Nothing is evicted for being idle here, so the idle time of keys is not tracked.",
    )
}

fn frequency(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    refuse(
        context,
        arguments,
        "ERR An LFU maxmemory policy is not selected, access frequency not tracked.",
    )
}

fn refuse(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    text: &'static str,
) -> Result<(), Error> {
    match found(context, arguments, |_| ()) {
        Some(()) => Err(Error::redis(text)),
        None => Ok(()),
    }
}
