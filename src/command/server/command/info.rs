//! COMMAND and COMMAND INFO: how commands are called, for programs.

use super::find;
use crate::acl::Categories;
use crate::command::check_reply_bytes;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Group, Keys, Spec};
use crate::command::table::COMMANDS;
use crate::protocol::{Arguments, Reply};

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Describe commands, for programs",
    arguments: &[Argument::string("command-name").optional().multiple()],
    reply: "For each an array of ten: name, arity, flags, first key, last key, step, ACL categories, tips, key specifications, subcommands; nil for a name that is none. All commands without names.",
    categories: Categories::CONNECTION,
    ..Spec::new("COMMAND|INFO", Group::Server, Arity::at_least(2), run)
};

/// Serves COMMAND too.
pub(super) fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let reply = &mut context.reply;
    let names = arguments.tail(2);
    if names.is_empty() {
        reply.array(COMMANDS.len());
        COMMANDS.iter().for_each(|spec| write(reply, spec));
        return Ok(());
    }
    let start = reply.position();
    reply.array(names.len());
    names.iter().try_for_each(|name| {
        match find(name) {
            Some(spec) => write(reply, spec),
            None => reply.null(),
        }
        check_reply_bytes("COMMAND INFO", reply.position() - start)
    })
}

fn write(reply: &mut Reply<'_>, spec: &Spec) {
    reply.array(10);
    reply.bulk(spec.lower_name().as_bytes());
    reply.integer(spec.arity.redis());
    let movable = spec.keys.are_movable().then_some("movablekeys");
    let flags: Vec<&str> = spec.flags.names().chain(movable).collect();
    reply.set(flags.len());
    flags.iter().for_each(|flag| reply.simple(flag));
    let (first, last, step) = spec.keys.range();
    [first, last, step]
        .iter()
        .for_each(|&number| reply.integer(number));
    let categories: Vec<&str> = spec.categories().names().collect();
    reply.set(categories.len());
    categories
        .iter()
        .for_each(|name| reply.simple(&format!("@{name}")));
    reply.set(0);
    write_key_specifications(reply, spec);
    if spec.subcommands.is_empty() {
        reply.set(0);
    } else {
        reply.array(spec.subcommands.len());
        spec.subcommands.iter().for_each(|spec| write(reply, spec));
    }
}

fn write_key_specifications(reply: &mut Reply<'_>, spec: &Spec) {
    if let Keys::None = spec.keys {
        reply.set(0);
        return;
    }
    let (first, last, step) = spec.keys.range();
    let distinct = spec.uses.distinct();
    reply.set(distinct);
    if distinct == 1 {
        return write_key_specification(reply, spec, 0, (first, last, step));
    }
    for nth in 0..distinct {
        let at = first + step * nth as i64;
        write_key_specification(reply, spec, nth, (at, at, 1));
    }
}

/// Keys that the same is done to.
fn write_key_specification(
    reply: &mut Reply<'_>,
    spec: &Spec,
    nth: usize,
    (first, last, step): (i64, i64, i64),
) {
    reply.map(3);
    reply.bulk(b"flags");
    // Keys that only the grammar finds are not all named here.
    let incomplete = spec.keys.are_movable().then_some("incomplete");
    let variable = spec.uses.vary().then_some("variable_flags");
    let names = spec.uses.in_general(spec.flags, nth).names();
    let flags: Vec<&str> = names
        .iter()
        .copied()
        .chain(incomplete)
        .chain(variable)
        .collect();
    reply.set(flags.len());
    flags.iter().for_each(|flag| reply.simple(flag));
    reply.bulk(b"begin_search");
    reply.map(2);
    reply.bulk(b"type");
    reply.bulk(b"index");
    reply.bulk(b"spec");
    reply.map(1);
    reply.bulk(b"index");
    reply.integer(first);
    reply.bulk(b"find_keys");
    reply.map(2);
    reply.bulk(b"type");
    reply.bulk(b"range");
    reply.bulk(b"spec");
    reply.map(3);
    // Counted from the first key, unless from the end.
    let last = if last < 0 { last } else { last - first };
    for (name, value) in [("lastkey", last), ("keystep", step), ("limit", 0)] {
        reply.bulk(name.as_bytes());
        reply.integer(value);
    }
}
