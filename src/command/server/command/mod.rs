//! COMMAND: the table of commands, told to clients.

pub mod docs;
pub mod info;
pub mod keys;
pub mod list;

use crate::acl::Categories;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::help;
use crate::command::spec::{Arity, Group, Spec};
use crate::command::table::{self, COMMANDS};
use crate::protocol::Arguments;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Describe every command",
    reply: "An array of what COMMAND INFO says of each.",
    subcommands: &[
        COUNT,
        docs::SPEC,
        info::SPEC,
        list::SPEC,
        keys::GETKEYS,
        keys::GETKEYSANDFLAGS,
        Spec {
            categories: Categories::CONNECTION,
            ..help::row("COMMAND|HELP", Group::Server)
        },
    ],
    categories: Categories::CONNECTION,
    ..Spec::new("COMMAND", Group::Server, Arity::at_least(1), info::run)
};

const COUNT: Spec = Spec {
    summary: "Count the commands",
    reply: "How many there are, subcommands aside.",
    categories: Categories::CONNECTION,
    ..Spec::new("COMMAND|COUNT", Group::Server, Arity::exactly(2), count)
};

fn count(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    context.reply.integer(COMMANDS.len() as i64);
    Ok(())
}

/// The row of a name such as `get` or `client|id`.
fn find(name: &[u8]) -> Option<&'static Spec> {
    match name.iter().position(|&byte| byte == b'|') {
        Some(at) => table::find(&name[..at])?.subcommand(&name[at + 1..]),
        None => table::find(name),
    }
}
