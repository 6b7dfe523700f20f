//! SCRIPT: which scripts the server knows.

use super::eval::unknown;
use crate::acl::Categories;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::help;
use crate::command::spec::{Argument, ArgumentKind, Arity, Flags, Group, Spec};
use crate::protocol::Arguments;
use crate::script::Digest;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Ask which scripts the server knows",
    reply: "Depends on the subcommand.",
    subcommands: &[
        LOAD,
        EXISTS,
        FLUSH,
        KILL,
        help::row("SCRIPT|HELP", Group::Scripting),
    ],
    categories: Categories::NONE,
    ..Spec::new("SCRIPT", Group::Scripting, Arity::at_least(2), load)
};

const LOAD: Spec = Spec {
    summary: "Say the SHA1 of a script that the server knows",
    arguments: &[Argument::string("script")],
    reply: "The SHA1 of the text, which EVALSHA takes; an error if it is no known script.",
    flags: Flags::NOSCRIPT,
    ..Spec::new("SCRIPT|LOAD", Group::Scripting, Arity::exactly(3), load)
};

const EXISTS: Spec = Spec {
    summary: "Say which scripts EVALSHA would run",
    arguments: &[Argument::string("sha1").multiple()],
    reply: "An array of 1 and 0.",
    flags: Flags::NOSCRIPT,
    ..Spec::new(
        "SCRIPT|EXISTS",
        Group::Scripting,
        Arity::at_least(3),
        exists,
    )
};

const FLUSH: Spec = Spec {
    summary: "Forget under which SHA1 clients have loaded known scripts; the server still knows them",
    arguments: &[Argument::new(
        "flush-type",
        ArgumentKind::OneOf(&[
            Argument::choice("async", "ASYNC"),
            Argument::choice("sync", "SYNC"),
        ]),
    )
    .optional()],
    reply: "OK.",
    flags: Flags::NOSCRIPT,
    ..Spec::new(
        "SCRIPT|FLUSH",
        Group::Scripting,
        Arity::between(2, 3),
        flush,
    )
};

const KILL: Spec = Spec {
    summary: "Stop a running script: none runs for long here",
    reply: "The error that no script is running.",
    flags: Flags::NOSCRIPT,
    ..Spec::new("SCRIPT|KILL", Group::Scripting, Arity::exactly(2), kill)
};

fn load(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let text = arguments.get(2).unwrap_or_default();
    let (digest, script) = context.shared.scripts.load(text);
    if script.is_none() {
        return Err(unknown(digest));
    }
    context.reply.bulk_display(digest);
    Ok(())
}

fn exists(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let digests = arguments.tail(2);
    context.reply.array(digests.len());
    for digits in digests.iter() {
        let digest = Digest::parse(digits);
        let script = digest.and_then(|digest| context.shared.scripts.find(digest));
        context.reply.integer(i64::from(script.is_some()));
    }
    Ok(())
}

fn flush(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    if let Some(word) = arguments.get(2)
        && ![&b"ASYNC"[..], b"SYNC"]
            .iter()
            .any(|known| word.eq_ignore_ascii_case(known))
    {
        return Err(Error::redis(
            "ERR SCRIPT FLUSH only support SYNC|ASYNC option",
        ));
    }
    context.shared.scripts.flush();
    context.reply.ok();
    Ok(())
}

fn kill(_: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    Err(Error::redis("NOTBUSY No scripts in execution right now."))
}
