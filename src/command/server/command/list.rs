//! COMMAND LIST: the names.

use crate::acl::Categories;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, ArgumentKind, Arity, Group, Spec};
use crate::command::table::COMMANDS;
use crate::glob;
use crate::protocol::Arguments;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "List the names of the commands, or of some",
    arguments: &[Argument::new(
        "filterby",
        ArgumentKind::OneOf(&[
            Argument::string("module-name").token("MODULE"),
            Argument::string("category").token("ACLCAT"),
            Argument::new("pattern", ArgumentKind::Pattern).token("PATTERN"),
        ]),
    )
    .token("FILTERBY")
    .optional()],
    reply: "An array of names. There are no modules, and a category that does not exist has no commands.",
    categories: Categories::CONNECTION,
    ..Spec::new("COMMAND|LIST", Group::Server, Arity::at_least(2), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let all = COMMANDS.iter().flat_map(|spec| {
        let subcommands = spec.subcommands.iter();
        std::iter::once(*spec).chain(subcommands)
    });
    let names: Vec<String> = match (arguments.get(2), arguments.get(3), arguments.get(4)) {
        (None, ..) => COMMANDS.iter().map(|spec| spec.lower_name()).collect(),
        (Some(by), Some(kind), Some(value))
            if arguments.len() == 5 && by.eq_ignore_ascii_case(b"FILTERBY") =>
        {
            match kind.to_ascii_uppercase().as_slice() {
                b"MODULE" => Vec::new(),
                b"ACLCAT" => {
                    let category = Categories::named(value).unwrap_or(Categories::NONE);
                    let is_in = |spec: &&Spec| spec.categories().meets(category);
                    all.filter(is_in).map(Spec::lower_name).collect()
                }
                b"PATTERN" => {
                    let names = all.map(Spec::lower_name);
                    names
                        .filter(|name| glob::matches_in_any_case(value, name.as_bytes()))
                        .collect()
                }
                _ => return Err(Error::SYNTAX),
            }
        }
        _ => return Err(Error::SYNTAX),
    };
    context.reply.array(names.len());
    for name in &names {
        context.reply.bulk(name.as_bytes());
    }
    Ok(())
}
