//! COMMAND GETKEYS and GETKEYSANDFLAGS: which arguments of a request are keys.

use crate::acl::Categories;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Group, Keys, Spec};
use crate::command::table;
use crate::protocol::Arguments;

const REQUEST: &[Argument] = &[
    Argument::string("command"),
    Argument::string("arg").optional().multiple(),
];

/// The row of GETKEYS.
pub const GETKEYS: Spec = Spec {
    summary: "Find the keys of a request",
    arguments: REQUEST,
    reply: "An array of the keys.",
    categories: Categories::CONNECTION,
    ..Spec::new("COMMAND|GETKEYS", Group::Server, Arity::at_least(3), keys)
};

/// The row of GETKEYSANDFLAGS.
pub const GETKEYSANDFLAGS: Spec = Spec {
    summary: "Find the keys of a request, and what is done to them",
    arguments: REQUEST,
    reply: "An array of pairs: a key, and an array of flags.",
    categories: Categories::CONNECTION,
    ..Spec::new(
        "COMMAND|GETKEYSANDFLAGS",
        Group::Server,
        Arity::at_least(3),
        keys_and_flags,
    )
};

/// The row that a request names, and its keys.
fn find(request: Arguments<'_>) -> Result<(&'static Spec, Vec<&[u8]>), Error> {
    let spec = table::find(request.get(0).unwrap_or_default());
    let spec = match (spec, request.get(1)) {
        (Some(command), Some(word)) if !command.subcommands.is_empty() => command.subcommand(word),
        (spec, _) => spec,
    };
    let spec = spec.ok_or(Error::redis("ERR Invalid command specified"))?;
    if let Keys::None = spec.keys {
        return Err(Error::redis("ERR The command has no key arguments"));
    }
    if !spec.arity.accepts(request.len()) {
        return Err(Error::redis(
            "ERR Invalid number of arguments specified for command",
        ));
    }
    let positions = spec.keys.positions(request);
    let keys = positions.iter().filter_map(|&at| request.get(at));
    Ok((spec, keys.collect()))
}

fn keys(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let (_, keys) = find(arguments.tail(2))?;
    context.reply.array(keys.len());
    keys.iter().for_each(|key| context.reply.bulk(key));
    Ok(())
}

fn keys_and_flags(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let (spec, keys) = find(arguments.tail(2))?;
    let reply = &mut context.reply;
    reply.array(keys.len());
    for (nth, key) in keys.into_iter().enumerate() {
        let flags = spec.use_of(arguments.tail(2), nth).names();
        reply.array(2);
        reply.bulk(key);
        reply.set(flags.len());
        flags.iter().for_each(|flag| reply.simple(flag));
    }
    Ok(())
}
