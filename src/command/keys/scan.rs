//! KEYS, SCAN, RANDOMKEY: which keys there are.

use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::number;
use crate::command::spec::{Argument, ArgumentKind, Arity, Flags, Group, Spec};
use crate::glob;
use crate::protocol::Arguments;
use crate::store::Value;

/// Most keys that one SCAN looks at, whatever its COUNT: about as long as a command may take.
const COUNT_MAX: usize = 10_000;
/// Keys that a SCAN without COUNT looks at, as in Redis.
const COUNT_DEFAULT: usize = 10;

const PATTERN: Argument = Argument::new("pattern", ArgumentKind::Pattern);

/// The row of KEYS.
pub const KEYS: Spec = Spec {
    summary: "List the keys whose names match a pattern",
    arguments: &[PATTERN],
    reply: "An array of names. It looks at every key; SCAN goes in pages.",
    flags: Flags::READONLY.and(Flags::DANGEROUS),
    ..Spec::new("KEYS", Group::Generic, Arity::exactly(2), keys)
};

/// The row of SCAN.
pub const SCAN: Spec = Spec {
    summary: "List the keys, a page at a time",
    arguments: &[
        Argument::integer("cursor"),
        PATTERN.token("MATCH").optional(),
        Argument::integer("count").token("COUNT").optional(),
        Argument::string("type").token("TYPE").optional(),
    ],
    reply: "The cursor to go on with, 0 at the end, and an array of names. A key that is there all the while is on exactly one page. COUNT (10) is how many are looked at, at most 10,000.",
    flags: Flags::READONLY,
    ..Spec::new("SCAN", Group::Generic, Arity::at_least(2), scan)
};

/// The row of RANDOMKEY.
pub const RANDOMKEY: Spec = Spec {
    summary: "Name some key",
    reply: "A key's name, nil if there is none.",
    flags: Flags::READONLY,
    ..Spec::new("RANDOMKEY", Group::Generic, Arity::exactly(1), random_key)
};

fn keys(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let pattern = arguments.get(1).unwrap_or_default();
    let (store, database) = (&context.shared.store, context.connection.database);
    let mut keys = store
        .page(database, 0, usize::MAX, context.now, |_| true)
        .keys;
    keys.retain(|key| glob::matches(pattern, key.as_bytes()));
    context.reply.array(keys.len());
    for key in &keys {
        context.reply.bulk(key.as_bytes());
    }
    Ok(())
}

/// What a SCAN asks for.
struct Request<'a> {
    cursor: u64,
    pattern: Option<&'a [u8]>,
    count: usize,
    kind: Option<&'a [u8]>,
}

fn parse(arguments: Arguments<'_>) -> Result<Request<'_>, Error> {
    let cursor = arguments.get(1).unwrap_or_default();
    let cursor = std::str::from_utf8(cursor).ok();
    let cursor = cursor.filter(|text| !text.starts_with('+'));
    let cursor = cursor.and_then(|text| text.parse().ok());
    let mut request = Request {
        cursor: cursor.ok_or(Error::redis("ERR invalid cursor"))?,
        pattern: None,
        count: COUNT_DEFAULT,
        kind: None,
    };
    let mut at = 2;
    while let Some(option) = arguments.get(at) {
        let value = arguments.get(at + 1).ok_or(Error::SYNTAX)?;
        match option.to_ascii_uppercase().as_slice() {
            b"MATCH" => request.pattern = Some(value),
            b"COUNT" => {
                let count = number::required(value)?;
                let count = usize::try_from(count).map_err(|_| Error::SYNTAX)?;
                if count == 0 {
                    return Err(Error::SYNTAX);
                }
                request.count = count.min(COUNT_MAX);
            }
            b"TYPE" => request.kind = Some(value),
            _ => return Err(Error::SYNTAX),
        }
        at += 2;
    }
    Ok(request)
}

fn scan(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let request = parse(arguments)?;
    let (store, database) = (&context.shared.store, context.connection.database);
    let wanted = |value: &Value| {
        let name = value.type_name().as_bytes();
        request
            .kind
            .is_none_or(|kind| kind.eq_ignore_ascii_case(name))
    };
    let (cursor, count) = (request.cursor, request.count);
    let mut page = store.page(database, cursor, count, context.now, wanted);
    page.keys.retain(|key| {
        let pattern = request.pattern;
        pattern.is_none_or(|pattern| glob::matches(pattern, key.as_bytes()))
    });
    context.reply.array(2);
    context.reply.bulk_display(page.next);
    context.reply.array(page.keys.len());
    for key in &page.keys {
        context.reply.bulk(key.as_bytes());
    }
    Ok(())
}

fn random_key(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    let (store, database) = (&context.shared.store, context.connection.database);
    // The first key from a random place on; places are hashes, so any key may be it. Without randomness
    // from the system it is the first of all.
    let start = getrandom::u64().unwrap_or(0) >> 7;
    let from = |cursor| {
        store
            .page(database, cursor, 1, context.now, |_| true)
            .keys
            .into_iter()
            .next()
    };
    match from(start).or_else(|| from(0)) {
        Some(key) => context.reply.bulk(key.as_bytes()),
        None => context.reply.null(),
    }
    Ok(())
}
