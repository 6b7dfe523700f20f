//! CLIENT: connections, this one and the others.

pub mod kill;
pub mod labels;
pub mod list;
pub mod reply;
pub mod tracking;
pub mod unblock;

use crate::acl::Categories;
use crate::clients::Client;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::help;
use crate::command::spec::{Argument, Arity, Flags, Group, Spec};
use crate::protocol::Arguments;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Look at connections, name them, end them",
    arguments: &[],
    reply: "Depends on the subcommand.",
    subcommands: &[
        ID,
        list::INFO,
        list::LIST,
        labels::SETNAME,
        labels::GETNAME,
        labels::SETINFO,
        kill::SPEC,
        unblock::SPEC,
        labels::NO_EVICT,
        labels::NO_TOUCH,
        reply::SPEC,
        tracking::TRACKING,
        tracking::CACHING,
        tracking::TRACKINGINFO,
        tracking::GETREDIR,
        help::row("CLIENT|HELP", Group::Connection),
    ],
    categories: Categories::NONE,
    ..Spec::new("CLIENT", Group::Connection, Arity::at_least(2), id)
};

const ID: Spec = Spec {
    summary: "Return the number of this connection",
    reply: "An integer; numbers grow and are never reused.",
    flags: Flags::NOSCRIPT,
    ..Spec::new("CLIENT|ID", Group::Connection, Arity::exactly(2), id)
};

/// `ON` or `OFF`.
const ON_OFF: Argument = Argument::new(
    "enabled",
    crate::command::spec::ArgumentKind::OneOf(&[
        Argument::choice("on", "ON"),
        Argument::choice("off", "OFF"),
    ]),
);

fn id(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    context.reply.integer(context.connection.client.id as i64);
    Ok(())
}

/// Reads `ON` or `OFF`.
fn on_off(word: &[u8]) -> Result<bool, Error> {
    match word.to_ascii_uppercase().as_slice() {
        b"ON" => Ok(true),
        b"OFF" => Ok(false),
        _ => Err(Error::SYNTAX),
    }
}

/// Reads a `TYPE`: what tells whether a client is of it. There are no replicas.
fn of_type(word: &[u8]) -> Result<fn(&Client) -> bool, Error> {
    match word.to_ascii_lowercase().as_slice() {
        b"normal" => Ok(|client| !client.is_subscribed()),
        b"pubsub" => Ok(Client::is_subscribed),
        b"master" | b"replica" | b"slave" => Ok(|_| false),
        _ => Err(Error::redis(format!(
            "ERR Unknown client type '{}'",
            Error::quoted(word)
        ))),
    }
}

/// `TYPE type`, for the documentation.
const TYPE: Argument = Argument::new(
    "client-type",
    crate::command::spec::ArgumentKind::OneOf(&[
        Argument::choice("normal", "NORMAL"),
        Argument::choice("master", "MASTER"),
        Argument::choice("replica", "REPLICA"),
        Argument::choice("pubsub", "PUBSUB"),
    ]),
)
.token("TYPE")
.optional();
