//! Publish and subscribe.
//!
//! Confirmations and messages are no replies: in RESP3 they are pushes, and `CLIENT REPLY` does not hold them back.
//! They share one order. A connection that changes its subscriptions first writes out the messages that came before,
//! and nothing is published meanwhile: so none of a channel stands before the confirmation that it is subscribed to,
//! or behind the confirmation that it no longer is.

pub mod inspect;
pub mod publish;
pub mod subscribe;

use super::context::Context;
use super::error::Error;
use crate::protocol::Protocol;
use crate::pubsub::{Kind, NAME_BYTES_MAX, Refused};

/// What a name of a kind is called among the arguments.
const fn argument_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Channel => "channel",
        Kind::Pattern => "pattern",
        Kind::Shard => "shardchannel",
    }
}

fn refusal(kind: Kind, refused: Refused) -> Error {
    let takes = match refused {
        Refused::TooLong => "at most 512 bytes long",
        Refused::TooMany => "one of at most 65536 subscriptions of a connection",
        Refused::TooManyInAll => "one of at most 1000000 subscriptions of all connections",
        Refused::TooManyPatterns => "one of at most 10000 different patterns of all connections",
    };
    Error::argument(argument_name(kind), takes)
}

/// Checks the length of a name.
fn check_name(kind: Kind, name: &[u8]) -> Result<(), Error> {
    if name.len() > NAME_BYTES_MAX {
        return Err(refusal(kind, Refused::TooLong));
    }
    Ok(())
}

/// Writes out the messages that wait. Not inside EXEC, where they would stand among its replies: EXEC does it
/// before it begins, and what it publishes itself comes after it.
pub fn write_messages(context: &mut Context<'_>) {
    if context.connection.executing.is_some() {
        return;
    }
    let mut messages = Vec::new();
    context.connection.client.take_messages(&mut messages);
    context.reply.append(&messages);
    context.keep_output();
}

/// Ends all subscriptions without a confirmation, as RESET and QUIT do.
pub fn leave(context: &mut Context<'_>) {
    if context.connection.subscriptions.is_empty() {
        return;
    }
    let mut changes = context.shared.hub.change();
    let connection = &mut *context.connection;
    changes.unsubscribe_all(&connection.client, &mut connection.subscriptions);
    write_messages(context);
}

/// Speaks `protocol` from here on. Messages that wait are encoded in the one before, and go out first.
pub fn speak(context: &mut Context<'_>, protocol: Protocol) {
    let _changes = context.shared.hub.change();
    write_messages(context);
    context.connection.set_protocol(protocol);
    context.reply.set_protocol(protocol);
}
