//! EVAL, EVALSHA and their read-only forms: run a known script, atomic over its keys.

use crate::command::context::Context;
use crate::command::counted;
use crate::command::error::Error;
use crate::command::number;
use crate::command::spec::{Argument, Arity, Flags, Group, Keys, Run, Spec};
use crate::hot::Told;
use crate::plain::Plain;
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

/// Most bytes of values that are copied to see whether a script leaves more: a fraction of a millisecond, during which
/// their shards are locked. Of larger ones nothing more is let in while memory is full.
const COPIED_BYTES_MAX: usize = 1024 * 1024;

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
        flags: Flags::WRITE.and(Flags::NOSCRIPT).and(Flags::CHECKS_MEMORY),
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
    let (store, is_full) = (&context.shared.store, context.is_full);
    let mut granted = None;
    let answer = store.with_plains(database, &keys, now, |slots| {
        let mut run = |slots: &mut [Option<Plain>]| {
            let mut call = Call {
                slots,
                places: &places,
                arguments: &rest,
                now,
                granted: None,
            };
            let answer = (script.run)(&mut call);
            granted = call.granted;
            answer
        };
        match is_full {
            true => run_within(slots, run),
            false => Ok(run(slots)),
        }
    })??;
    let answer = answer.map_err(|failure| match failure {
        Failure::Plain(error) => Error::Plain(error),
        Failure::Redis(text) => Error::Redis(text),
        Failure::Lua(text) => Error::redis(format!("ERR user_script: {text}")),
    })?;
    if let (Some(granted), Some(key)) = (granted, keys.first()) {
        counted::one(context, key, Told::now(granted));
    }
    write(&mut context.reply, &answer);
    Ok(())
}

/// Runs a script while memory is full: if it leaves more than there was, it has not run.
fn run_within(
    slots: &mut [Option<Plain>],
    run: impl FnOnce(&mut [Option<Plain>]) -> Result<Answer, Failure>,
) -> Result<Result<Answer, Failure>, Error> {
    let bytes = |slot: &Option<Plain>| slot.as_ref().map(|plain| plain.data.heap_bytes());
    if slots.iter().filter_map(bytes).sum::<usize>() > COPIED_BYTES_MAX {
        return Err(Error::OUT_OF_MEMORY);
    }
    let before = slots.to_vec();
    let answer = run(slots);
    if slots
        .iter()
        .zip(&before)
        .all(|(after, before)| bytes(after) <= bytes(before))
    {
        return Ok(answer);
    }
    slots.clone_from_slice(&before);
    Err(Error::OUT_OF_MEMORY)
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
