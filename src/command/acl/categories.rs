//! ACL CAT: the categories of commands.

use crate::acl::Categories;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Flags, Group, Spec};
use crate::protocol::Arguments;

/// The row.
pub(super) const SPEC: Spec = Spec {
    summary: "List the categories of commands, or the commands of one",
    arguments: &[Argument::string("category").optional()],
    reply: "An array of names. Redis's categories for which there is no command here are known and empty.",
    flags: Flags::NOSCRIPT,
    ..Spec::new("ACL|CAT", Group::Server, Arity::between(2, 3), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let reply = &mut context.reply;
    let Some(name) = arguments.get(2) else {
        let names = Categories::all_names();
        reply.array(names.len());
        names.iter().for_each(|name| reply.bulk(name.as_bytes()));
        return Ok(());
    };
    let category = Categories::named(name).ok_or_else(|| {
        let name = Error::quoted(name);
        Error::redis(format!("ERR Unknown category '{name}'"))
    })?;
    let catalogue = &context.shared.acl.catalogue;
    let commands: Vec<String> = catalogue
        .of_category(category)
        .map(|id| catalogue.lower_name(id))
        .collect();
    reply.array(commands.len());
    commands.iter().for_each(|name| reply.bulk(name.as_bytes()));
    Ok(())
}
