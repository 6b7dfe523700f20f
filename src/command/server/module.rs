//! MODULE: there are none, and none can be loaded.

use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::help;
use crate::command::spec::{Arity, Flags, Group, Spec};
use crate::protocol::Arguments;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Look at the modules",
    reply: "Depends on the subcommand.",
    subcommands: &[LIST, help::row("MODULE|HELP", Group::Server)],
    ..Spec::new("MODULE", Group::Server, Arity::at_least(2), list)
};

const LIST: Spec = Spec {
    summary: "List the modules",
    reply: "An empty array: there are no modules.",
    flags: Flags::ADMIN.and(Flags::NOSCRIPT),
    ..Spec::new("MODULE|LIST", Group::Server, Arity::exactly(2), list)
};

fn list(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    context.reply.array(0);
    Ok(())
}
