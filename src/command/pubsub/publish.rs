//! PUBLISH and SPUBLISH.

use super::{argument_name, check_name};
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Channels, Flags, Group, Spec};
use crate::protocol::Arguments;
use crate::pubsub::Kind;

const FLAGS: Flags = Flags::PUBSUB.and(Flags::FAST);

/// The row of PUBLISH.
pub const PUBLISH: Spec = Spec {
    summary: "Send a message to all who listen to a channel",
    arguments: &[
        Argument::string(argument_name(Kind::Channel)),
        Argument::string("message"),
    ],
    reply: "To how many subscriptions it went, those to patterns included. Whoever published to itself gets the message behind this reply.",
    flags: FLAGS,
    channels: Channels::First,
    ..Spec::new(
        "PUBLISH",
        Group::PubSub,
        Arity::exactly(3),
        |context, arguments| publish(context, arguments, Kind::Channel),
    )
};

/// The row of SPUBLISH.
pub const SPUBLISH: Spec = Spec {
    summary: "Send a message to all who listen to a shard channel",
    arguments: &[
        Argument::string(argument_name(Kind::Shard)),
        Argument::string("message"),
    ],
    reply: "To how many it went.",
    flags: FLAGS,
    channels: Channels::First,
    ..Spec::new(
        "SPUBLISH",
        Group::PubSub,
        Arity::exactly(3),
        |context, arguments| publish(context, arguments, Kind::Shard),
    )
};

fn publish(context: &mut Context<'_>, arguments: Arguments<'_>, kind: Kind) -> Result<(), Error> {
    let (channel, message) = (&arguments[1], &arguments[2]);
    check_name(kind, channel)?;
    let shared = context.shared;
    let bytes_max = shared.settings.pubsub_output_limit();
    let receivers = shared.hub.publish(kind, channel, message, bytes_max);
    context.reply.integer(receivers as i64);
    Ok(())
}
