//! CLUSTER, READONLY, READWRITE, ASKING: refused, as by a Redis that is no part of a cluster. Clients look
//! for that text and go on with one server.

use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Flags, Group, Spec};
use crate::protocol::Arguments;

const REPLY: &str = "An error: there is no cluster.";

/// The row of CLUSTER. What follows it makes no difference.
pub const CLUSTER: Spec = Spec {
    summary: "Refuse what only a cluster can do",
    arguments: &[
        Argument::string("subcommand"),
        Argument::string("arg").optional().multiple(),
    ],
    reply: REPLY,
    ..Spec::new("CLUSTER", Group::Server, Arity::at_least(2), refuse)
};

/// The row of READONLY.
pub const READONLY: Spec = row("READONLY", "Refuse to read from a replica in a cluster");

/// The row of READWRITE.
pub const READWRITE: Spec = row("READWRITE", "Refuse to end READONLY");

/// The row of ASKING.
pub const ASKING: Spec = row("ASKING", "Refuse to follow a move of keys in a cluster");

const fn row(name: &'static str, summary: &'static str) -> Spec {
    Spec {
        summary,
        reply: REPLY,
        flags: Flags::FAST,
        ..Spec::new(name, Group::Connection, Arity::exactly(1), refuse)
    }
}

fn refuse(_: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    Err(Error::redis(
        "ERR This instance has cluster support disabled",
    ))
}
