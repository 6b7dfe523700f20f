//! `<command> HELP`: the subcommands of a command, from their rows.

use super::context::Context;
use super::error::Error;
use super::spec::{Arity, Flags, Group, Spec};
use super::table;
use crate::protocol::Arguments;

/// The row of a command's HELP; `name` is whole, such as `CLIENT|HELP`.
pub const fn row(name: &'static str, group: Group) -> Spec {
    Spec {
        summary: "Print this help",
        reply: "An array of lines.",
        flags: Flags::NOSCRIPT,
        ..Spec::new(name, group, Arity::exactly(2), run)
    }
}

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let command = table::find(arguments.get(0).unwrap_or_default());
    let (name, subcommands) = command.map_or(("", &[][..]), |spec| (spec.name, spec.subcommands));
    let reply = &mut context.reply;
    reply.array(1 + 2 * subcommands.len());
    reply.simple(&format!(
        "{name} <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"
    ));
    for spec in subcommands {
        reply.simple(format!("{} {}", spec.word(), spec.syntax()).trim_end());
        reply.simple(&format!("    {}.", spec.summary));
    }
    Ok(())
}
