//! ACL: users and what each of them may do. What a user is and how rules are read stands in [`crate::acl`]; here it
//! is asked whether a request may run, and told, changed, saved and loaded.

mod categories;
pub mod check;
pub mod close;
pub mod denials;
mod dryrun;
mod file;
mod genpass;
mod log;
mod show;
mod users;

use super::error::Error;
use super::help;
use super::spec::{Arity, Flags, Group, Spec};
use super::table::COMMANDS;
use crate::acl::{Catalogue, Entry};

/// For administrators: who may call these can give itself everything else.
const FLAGS: Flags = Flags::ADMIN.and(Flags::NOSCRIPT);

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Look at users, and say what each may do",
    reply: "Depends on the subcommand.",
    subcommands: &[
        users::SETUSER,
        users::DELUSER,
        show::GETUSER,
        show::USERS,
        show::LIST,
        show::WHOAMI,
        categories::SPEC,
        dryrun::SPEC,
        log::SPEC,
        file::LOAD,
        file::SAVE,
        genpass::SPEC,
        help::row("ACL|HELP", Group::Server),
    ],
    ..Spec::new("ACL", Group::Server, Arity::at_least(2), show::who_am_i)
};

/// The commands of the table, as far as permissions go.
pub fn catalogue() -> Catalogue {
    let rows = COMMANDS.iter();
    let rows = rows.flat_map(|spec| std::iter::once(*spec).chain(spec.subcommands));
    let entries = rows.map(|spec| Entry {
        name: spec.name,
        categories: spec.categories(),
    });
    Catalogue::new(entries.collect())
}

fn no_such_user(name: &[u8]) -> Error {
    Error::redis(format!("ERR User '{}' not found", Error::quoted(name)))
}
