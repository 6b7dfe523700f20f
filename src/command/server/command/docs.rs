//! COMMAND DOCS: how commands are called, for people. redis-cli's hints and help come from it.

use super::find;
use crate::acl::Categories;
use crate::command::check_reply_bytes;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, ArgumentKind, Arity, Group, Spec};
use crate::command::table::COMMANDS;
use crate::protocol::{Arguments, Reply};

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Describe commands, for people",
    arguments: &[Argument::string("command-name").optional().multiple()],
    reply: "A map (in RESP2 a flat array) from each name to a map with summary, since, group, and where there are any arguments and subcommands. Names that are none are left out; all commands without names.",
    categories: Categories::CONNECTION,
    ..Spec::new("COMMAND|DOCS", Group::Server, Arity::at_least(2), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let names = arguments.tail(2);
    let found: Vec<&Spec> = if names.is_empty() {
        COMMANDS.to_vec()
    } else {
        names.iter().filter_map(find).collect()
    };
    let reply = &mut context.reply;
    let start = reply.position();
    reply.map(found.len());
    found.iter().try_for_each(|spec| {
        write(reply, spec);
        check_reply_bytes("COMMAND DOCS", reply.position() - start)
    })
}

/// Writes the name and the map that belongs to it.
fn write(reply: &mut Reply<'_>, spec: &Spec) {
    reply.bulk(spec.lower_name().as_bytes());
    let (arguments, subcommands) = (!spec.arguments.is_empty(), !spec.subcommands.is_empty());
    reply.map(3 + usize::from(arguments) + usize::from(subcommands));
    pair(reply, "summary", spec.summary);
    pair(reply, "since", spec.since);
    pair(reply, "group", spec.group.name());
    if arguments {
        reply.bulk(b"arguments");
        write_arguments(reply, spec.arguments);
    }
    if subcommands {
        reply.bulk(b"subcommands");
        reply.map(spec.subcommands.len());
        spec.subcommands.iter().for_each(|spec| write(reply, spec));
    }
}

fn write_arguments(reply: &mut Reply<'_>, arguments: &[Argument]) {
    reply.array(arguments.len());
    for argument in arguments {
        let parts = argument.parts();
        let flags: Vec<&str> = [
            argument.optional.then_some("optional"),
            argument.multiple.then_some("multiple"),
            // The keyword stands before each again.
            (argument.multiple && argument.token.is_some()).then_some("multiple_token"),
        ]
        .into_iter()
        .flatten()
        .collect();
        let is_value = parts.is_empty() && !matches!(argument.kind, ArgumentKind::Token);
        let is_key = matches!(argument.kind, ArgumentKind::Key);
        let pairs = 2
            + usize::from(is_value)
            + usize::from(is_key)
            + usize::from(argument.token.is_some())
            + usize::from(!flags.is_empty())
            + usize::from(!parts.is_empty());
        reply.map(pairs);
        pair(reply, "name", argument.name);
        pair(reply, "type", argument.type_name());
        if is_value {
            pair(reply, "display_text", argument.name);
        }
        if is_key {
            reply.bulk(b"key_spec_index");
            reply.integer(0);
        }
        if let Some(token) = argument.token {
            pair(reply, "token", token);
        }
        if !flags.is_empty() {
            reply.bulk(b"flags");
            reply.set(flags.len());
            flags.iter().for_each(|flag| reply.simple(flag));
        }
        if !parts.is_empty() {
            reply.bulk(b"arguments");
            write_arguments(reply, parts);
        }
    }
}

fn pair(reply: &mut Reply<'_>, name: &str, value: &str) {
    reply.bulk(name.as_bytes());
    reply.bulk(value.as_bytes());
}
