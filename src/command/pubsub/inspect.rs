//! PUBSUB: what is subscribed to.

use super::{argument_name, check_name};
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::help;
use crate::command::spec::{Argument, ArgumentKind, Arity, Flags, Group, Run, Spec};
use crate::glob;
use crate::protocol::Arguments;
use crate::pubsub::Kind;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Look at what is subscribed to",
    reply: "Depends on the subcommand.",
    subcommands: &[
        Spec {
            summary: "List the channels that somebody is subscribed to by name, or those that match a pattern",
            arguments: &[PATTERN],
            ..lists("PUBSUB|CHANNELS", |context, arguments| {
                channels(context, arguments, Kind::Channel)
            })
        },
        NUMPAT,
        Spec {
            summary: "Count the subscribers of channels, those by pattern left out",
            arguments: &[Argument::string(argument_name(Kind::Channel))
                .optional()
                .multiple()],
            ..counts("PUBSUB|NUMSUB", |context, arguments| {
                subscribers(context, arguments, Kind::Channel)
            })
        },
        Spec {
            summary: "List the shard channels that somebody is subscribed to, or those that match a pattern",
            arguments: &[PATTERN],
            ..lists("PUBSUB|SHARDCHANNELS", |context, arguments| {
                channels(context, arguments, Kind::Shard)
            })
        },
        Spec {
            summary: "Count the subscribers of shard channels",
            arguments: &[Argument::string(argument_name(Kind::Shard))
                .optional()
                .multiple()],
            ..counts("PUBSUB|SHARDNUMSUB", |context, arguments| {
                subscribers(context, arguments, Kind::Shard)
            })
        },
        help::row("PUBSUB|HELP", Group::PubSub),
    ],
    ..Spec::new("PUBSUB", Group::PubSub, Arity::at_least(2), patterns)
};

const PATTERN: Argument =
    Argument::new(argument_name(Kind::Pattern), ArgumentKind::Pattern).optional();

const NUMPAT: Spec = Spec {
    summary: "Count the different patterns that somebody is subscribed to",
    reply: "An integer.",
    flags: Flags::PUBSUB,
    ..Spec::new("PUBSUB|NUMPAT", Group::PubSub, Arity::exactly(2), patterns)
};

const fn lists(name: &'static str, run: Run) -> Spec {
    Spec {
        reply: "An array of names, in order.",
        flags: Flags::PUBSUB,
        ..Spec::new(name, Group::PubSub, Arity::between(2, 3), run)
    }
}

const fn counts(name: &'static str, run: Run) -> Spec {
    Spec {
        reply: "An array: each name, and behind it how many are subscribed to it.",
        flags: Flags::PUBSUB,
        ..Spec::new(name, Group::PubSub, Arity::at_least(2), run)
    }
}

fn channels(context: &mut Context<'_>, arguments: Arguments<'_>, kind: Kind) -> Result<(), Error> {
    let pattern = arguments.get(2);
    check_name(Kind::Pattern, pattern.unwrap_or_default())?;
    // Compared outside of the hub's lock: there may be many.
    let mut names = context.shared.hub.names(kind);
    names.retain(|name| pattern.is_none_or(|pattern| glob::matches(pattern, name)));
    names.sort_unstable();
    context.reply.array(names.len());
    names.iter().for_each(|name| context.reply.bulk(name));
    Ok(())
}

fn subscribers(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    kind: Kind,
) -> Result<(), Error> {
    let names = arguments.tail(2);
    context.reply.array(2 * names.len());
    for name in names.iter() {
        context.reply.bulk(name);
        let count = context.shared.hub.subscribers(kind, name);
        context.reply.integer(count as i64);
    }
    Ok(())
}

fn patterns(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    let count = context.shared.hub.count(Kind::Pattern);
    context.reply.integer(count as i64);
    Ok(())
}
