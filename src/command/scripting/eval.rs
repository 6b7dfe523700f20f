//! EVAL, EVALSHA and their read-only forms: run a known script, atomic over its keys.

use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::number;
use crate::command::spec::{Argument, Arity, Flags, Group, Keys, Run, Spec};
use crate::protocol::{Arguments, Reply};
use crate::script::{Answer, Call, Digest, Failure, Script};
use crate::store::KEY_BYTES_MAX;
use smallvec::SmallVec;

/// The row of EVAL.
pub const EVAL: Spec = row(
    "EVAL",
    "Run a known script by its text",
    &[
        Argument::string("script"),
        Argument::integer("numkeys"),
        Argument::key("key").optional().multiple(),
        Argument::string("arg").optional().multiple(),
    ],
    |context, arguments| {
        let text = arguments.get(1).unwrap_or_default();
        let (digest, script) = context.shared.scripts.load(text);
        let script = script.ok_or_else(|| unknown(digest))?;
        run(context, arguments, script)
    },
);

/// The row of EVALSHA.
pub const EVALSHA: Spec = row(
    "EVALSHA",
    "Run a known script by the SHA1 of its text",
    &[
        Argument::string("sha1"),
        Argument::integer("numkeys"),
        Argument::key("key").optional().multiple(),
        Argument::string("arg").optional().multiple(),
    ],
    |context, arguments| {
        let digest = Digest::parse(arguments.get(1).unwrap_or_default());
        let script = digest.and_then(|digest| context.shared.scripts.find(digest));
        let script = script.ok_or(Error::redis(
            "NOSCRIPT No matching script. Please use EVAL.",
        ))?;
        run(context, arguments, script)
    },
);

/// Most keys of one call: what the largest known script takes several times over, and few enough to lock together.
const KEYS_MAX: usize = 1_024;

const fn row(
    name: &'static str,
    summary: &'static str,
    arguments: &'static [Argument],
    run: Run,
) -> Spec {
    Spec {
        summary,
        arguments,
        reply: "What the script replies, type for type. There is no Lua: the text must be that of a known script, the white space at the beginning of its lines aside.",
        flags: Flags::WRITE.and(Flags::NOSCRIPT),
        keys: Keys::Found(keys),
        ..Spec::new(name, Group::Scripting, Arity::at_least(3), run)
    }
}

/// The error of a text that is no known script.
pub fn unknown(digest: Digest) -> Error {
    Error::redis(format!(
        "ERR unknown script {digest}: Tollgate runs no Lua; use RL.* commands (docs/clients.md)"
    ))
}

/// How many keys a call names.
fn key_count(arguments: Arguments<'_>) -> Result<usize, Error> {
    let count = number::required(arguments.get(2).unwrap_or_default())?;
    let count =
        usize::try_from(count).map_err(|_| Error::redis("ERR Number of keys can't be negative"))?;
    if count > arguments.len() - 3 {
        return Err(Error::redis(
            "ERR Number of keys can't be greater than number of args",
        ));
    }
    Ok(count)
}

fn keys(arguments: Arguments<'_>) -> Vec<usize> {
    key_count(arguments).map_or(Vec::new(), |count| (3..3 + count).collect())
}

fn run(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    script: &'static Script,
) -> Result<(), Error> {
    let count = key_count(arguments)?;
    if count > KEYS_MAX {
        return Err(Error::argument("numkeys", "at most 1024"));
    }
    let mut keys: SmallVec<[&[u8]; 4]> = SmallVec::new();
    let mut places: SmallVec<[usize; 4]> = SmallVec::new();
    for key in arguments.iter().skip(3).take(count) {
        if key.len() > KEY_BYTES_MAX {
            return Err(Error::argument("key", "at most 512 bytes long"));
        }
        let place = keys.iter().position(|known| *known == key);
        places.push(place.unwrap_or(keys.len()));
        if place.is_none() {
            keys.push(key);
        }
    }
    let rest: SmallVec<[&[u8]; 8]> = arguments.iter().skip(3 + count).collect();
    let (database, now) = (context.connection.database, context.now);
    let answer = context
        .shared
        .store
        .with_plains(database, &keys, now, |slots| {
            (script.run)(&mut Call {
                slots,
                places: &places,
                arguments: &rest,
                now,
            })
        })?;
    let answer = answer.map_err(|failure| match failure {
        Failure::Plain(error) => Error::Plain(error),
        Failure::Redis(text) => Error::Redis(text),
        Failure::Lua(text) => Error::redis(format!("ERR user_script: {text}")),
    })?;
    write(&mut context.reply, &answer);
    Ok(())
}

fn write(reply: &mut Reply<'_>, answer: &Answer) {
    match answer {
        Answer::Integer(value) => reply.integer(*value),
        Answer::Bulk(bytes) => reply.bulk(bytes),
        Answer::Status(text) => reply.simple(text),
        Answer::Nil => reply.null(),
        Answer::Array(items) => {
            reply.array(items.len());
            items.iter().for_each(|item| write(reply, item));
        }
    }
}
