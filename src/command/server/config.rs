//! CONFIG: the settings in force. Which there are, and what they take, stands in [`crate::settings`].

use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::help;
use crate::command::spec::{Argument, ArgumentKind, Arity, Flags, Group, Spec};
use crate::glob;
use crate::protocol::Arguments;
use crate::settings::Settings;

const FLAGS: Flags = Flags::ADMIN.and(Flags::NOSCRIPT);

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Look at the settings, or change them",
    reply: "Depends on the subcommand.",
    subcommands: &[
        GET,
        SET,
        RESETSTAT,
        REWRITE,
        help::row("CONFIG|HELP", Group::Server),
    ],
    ..Spec::new(
        "CONFIG",
        Group::Server,
        Arity::at_least(2),
        reset_statistics,
    )
};

const GET: Spec = Spec {
    summary: "Show the settings whose names match a pattern",
    arguments: &[Argument::new("pattern", ArgumentKind::Pattern).multiple()],
    reply: "A map (in RESP2 a flat array) from names to values.",
    flags: FLAGS,
    ..Spec::new("CONFIG|GET", Group::Server, Arity::at_least(3), get)
};

/// What Redis keeps secret: of most there is no such setting here, but who sends them takes the server for Redis.
const SECRET: [&[u8]; 5] = [
    b"requirepass",
    b"masterauth",
    b"masteruser",
    b"tls-key-file-pass",
    b"tls-client-key-file-pass",
];

const SET: Spec = Spec {
    summary: "Change settings: all that are named, or none if one is refused",
    arguments: &[Argument::new(
        "data",
        ArgumentKind::Block(&[Argument::string("parameter"), Argument::string("value")]),
    )
    .multiple()],
    reply: "OK.",
    flags: FLAGS,
    secret: |arguments, at| {
        let name = at.checked_sub(1).and_then(|before| arguments.get(before));
        name.is_some_and(|name| {
            SECRET
                .iter()
                .any(|secret| name.eq_ignore_ascii_case(secret))
        })
    },
    ..Spec::new("CONFIG|SET", Group::Server, Arity::at_least(4), set)
};

const RESETSTAT: Spec = Spec {
    summary: "Start the counts of INFO and of RL.TOP anew",
    reply: "OK.",
    flags: FLAGS,
    ..Spec::new(
        "CONFIG|RESETSTAT",
        Group::Server,
        Arity::exactly(2),
        reset_statistics,
    )
};

const REWRITE: Spec = Spec {
    summary: "Refuse to write the settings to a file",
    reply: "An error: the file is its owner's, comments and all. What CONFIG SET changes is forgotten at the end.",
    flags: FLAGS,
    ..Spec::new("CONFIG|REWRITE", Group::Server, Arity::exactly(2), rewrite)
};

fn rewrite(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    Err(match context.shared.settings.config_file() {
        "" => Error::redis("ERR The server is running without a config file"),
        file => Error::redis(format!(
            "ERR Tollgate does not write its config file; change {file} yourself"
        )),
    })
}

fn get(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let patterns = arguments.tail(2);
    let wanted = |name: &str| {
        let mut patterns = patterns.iter();
        patterns.any(|pattern| glob::matches_in_any_case(pattern, name.as_bytes()))
    };
    let settings = &context.shared.settings;
    let found: Vec<(&str, Vec<u8>)> = Settings::names()
        .filter(|name| wanted(name))
        .filter_map(|name| Some((name, settings.get(name)?)))
        .collect();
    context.reply.map(found.len());
    for (name, value) in &found {
        context.reply.bulk(name.as_bytes());
        context.reply.bulk(value);
    }
    Ok(())
}

fn set(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let words: Vec<&[u8]> = arguments.iter().skip(2).collect();
    let (pairs, rest) = words.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(Error::SYNTAX);
    }
    let pairs: Vec<(&[u8], &[u8])> = pairs.iter().map(|[name, value]| (*name, *value)).collect();
    let settings = &context.shared.settings;
    settings
        .set(&pairs)
        .map_err(|error| Error::redis(format!("ERR {error}")))?;
    let mut names = pairs.iter().map(|(name, _)| name);
    if names.any(|name| name.eq_ignore_ascii_case(b"requirepass")) {
        let password = settings.requirepass();
        context.shared.acl.set_default_password(password.reveal());
    }
    context.reply.ok();
    Ok(())
}

fn reset_statistics(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    // What this batch has counted so far belongs to the time before.
    context.shared.metrics.add(&context.tally.take());
    context.shared.metrics.reset();
    context.shared.hot.clear(context.now);
    context.shared.store.counts.reset_lapsed_leases();
    context.shared.acl.log.lock().reset_counts();
    context.shared.store.counts.reset_evicted_keys();
    context.reply.ok();
    Ok(())
}
