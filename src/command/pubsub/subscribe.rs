//! SUBSCRIBE and UNSUBSCRIBE, for channels, patterns and shard channels.

use super::{argument_name, refusal, write_messages};
use crate::command::acl::check;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, ArgumentKind, Arity, Channels, Flags, Group, Run, Spec};
use crate::protocol::Arguments;
use crate::pubsub::Kind;

const FLAGS: Flags = Flags::PUBSUB
    .and(Flags::NOSCRIPT)
    .and(Flags::WHILE_SUBSCRIBED);

const NAMES: [Argument; 3] = [
    Argument::string(argument_name(Kind::Channel)).multiple(),
    Argument::new(argument_name(Kind::Pattern), ArgumentKind::Pattern).multiple(),
    Argument::string(argument_name(Kind::Shard)).multiple(),
];

const fn subscribes(name: &'static str, run: Run) -> Spec {
    Spec {
        reply: "For each name a confirmation: `[subscribe, name, subscriptions]` with the command's own word (`psubscribe`, `ssubscribe`) and the number of subscriptions that the connection has now, of channels and patterns together, or of shard channels. A push in RESP3.",
        flags: FLAGS,
        ..Spec::new(name, Group::PubSub, Arity::at_least(2), run)
    }
}

const fn unsubscribes(name: &'static str, run: Run) -> Spec {
    Spec {
        reply: "For each name a confirmation: `[unsubscribe, name, subscriptions]`, as for the command that subscribes. Without names for each subscription, or one with nil for the name if there is none.",
        flags: FLAGS,
        ..Spec::new(name, Group::PubSub, Arity::at_least(1), run)
    }
}

/// The row of SUBSCRIBE.
pub const SUBSCRIBE: Spec = Spec {
    summary: "Listen to channels",
    arguments: &[NAMES[0]],
    channels: Channels::All,
    ..subscribes("SUBSCRIBE", |context, arguments| {
        subscribe(context, arguments, Kind::Channel)
    })
};

/// The row of PSUBSCRIBE.
pub const PSUBSCRIBE: Spec = Spec {
    summary: "Listen to the channels whose names match a pattern",
    arguments: &[NAMES[1]],
    channels: Channels::Patterns,
    ..subscribes("PSUBSCRIBE", |context, arguments| {
        subscribe(context, arguments, Kind::Pattern)
    })
};

/// The row of SSUBSCRIBE.
pub const SSUBSCRIBE: Spec = Spec {
    summary: "Listen to shard channels",
    arguments: &[NAMES[2]],
    channels: Channels::All,
    ..subscribes("SSUBSCRIBE", |context, arguments| {
        if context.connection.executing.is_some() {
            return Err(Error::redis(
                "ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client",
            ));
        }
        subscribe(context, arguments, Kind::Shard)
    })
};

/// The row of UNSUBSCRIBE.
pub const UNSUBSCRIBE: Spec = Spec {
    summary: "Stop listening to channels, or to all",
    arguments: &[NAMES[0].optional()],
    ..unsubscribes("UNSUBSCRIBE", |context, arguments| {
        unsubscribe(context, arguments, Kind::Channel)
    })
};

/// The row of PUNSUBSCRIBE.
pub const PUNSUBSCRIBE: Spec = Spec {
    summary: "Stop listening to what matches patterns, or to all of it",
    arguments: &[NAMES[1].optional()],
    ..unsubscribes("PUNSUBSCRIBE", |context, arguments| {
        unsubscribe(context, arguments, Kind::Pattern)
    })
};

/// The row of SUNSUBSCRIBE.
pub const SUNSUBSCRIBE: Spec = Spec {
    summary: "Stop listening to shard channels, or to all",
    arguments: &[NAMES[2].optional()],
    ..unsubscribes("SUNSUBSCRIBE", |context, arguments| {
        unsubscribe(context, arguments, Kind::Shard)
    })
};

fn subscribe(context: &mut Context<'_>, arguments: Arguments<'_>, kind: Kind) -> Result<(), Error> {
    let names = arguments.tail(1);
    let mut changes = context.shared.hub.change();
    changes
        .check(&context.connection.subscriptions, kind, names.iter())
        .map_err(|refused| refusal(kind, refused))?;
    // Whoever takes a permission away looks through the subscriptions afterwards.
    check::check_again(context, arguments, &[])?;
    write_messages(context);
    let word = match kind {
        Kind::Channel => "subscribe",
        Kind::Pattern => "psubscribe",
        Kind::Shard => "ssubscribe",
    };
    for name in names.iter() {
        let connection = &mut *context.connection;
        changes.subscribe(
            &connection.client,
            &mut connection.subscriptions,
            kind,
            name,
        );
        confirm(context, word, kind, Some(name));
    }
    context.keep_output();
    Ok(())
}

fn unsubscribe(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    kind: Kind,
) -> Result<(), Error> {
    let names = arguments.tail(1);
    let mut changes = context.shared.hub.change();
    write_messages(context);
    let word = match kind {
        Kind::Channel => "unsubscribe",
        Kind::Pattern => "punsubscribe",
        Kind::Shard => "sunsubscribe",
    };
    let all = match names.is_empty() {
        true => context.connection.subscriptions.names(kind),
        false => Vec::new(),
    };
    for name in names.iter().chain(all.iter().map(|name| &**name)) {
        let connection = &mut *context.connection;
        changes.unsubscribe(
            &connection.client,
            &mut connection.subscriptions,
            kind,
            name,
        );
        confirm(context, word, kind, Some(name));
    }
    if names.is_empty() && all.is_empty() {
        confirm(context, word, kind, None);
    }
    context.keep_output();
    Ok(())
}

/// Tells how many subscriptions there are now. A name that was subscribed to already, or not at all, is told too.
fn confirm(context: &mut Context<'_>, word: &str, kind: Kind, name: Option<&[u8]>) {
    let told = context.connection.subscriptions.told(kind);
    let reply = &mut context.reply;
    reply.push(3);
    reply.bulk(word.as_bytes());
    match name {
        Some(name) => reply.bulk(name),
        None => reply.null(),
    }
    reply.integer(told as i64);
}
