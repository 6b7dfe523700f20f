//! SLOWLOG: the last commands that took long.

use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Flags, Group, Spec};
use crate::command::{help, number};
use crate::protocol::Arguments;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Look at the commands that took long",
    reply: "Depends on the subcommand.",
    subcommands: &[GET, LEN, RESET, help::row("SLOWLOG|HELP", Group::Server)],
    ..Spec::new("SLOWLOG", Group::Server, Arity::at_least(2), len)
};

/// Entries that GET shows unless it is told how many.
const COUNT_DEFAULT: usize = 10;

const GET: Spec = Spec {
    summary: "Show the last commands that took `slowlog-log-slower-than` microseconds or more",
    arguments: &[Argument::integer("count").optional()],
    reply: "An array, the latest first: number, second since the Unix epoch, microseconds, words (long ones cut, passwords redacted), the peer's address, the connection's name. 10 of them unless told otherwise; -1 for all.",
    flags: Flags::ADMIN,
    ..Spec::new("SLOWLOG|GET", Group::Server, Arity::between(2, 3), get)
};

const LEN: Spec = Spec {
    summary: "Count the commands in the slow log",
    reply: "How many there are, at most `slowlog-max-len`.",
    flags: Flags::ADMIN,
    ..Spec::new("SLOWLOG|LEN", Group::Server, Arity::exactly(2), len)
};

const RESET: Spec = Spec {
    summary: "Empty the slow log",
    reply: "OK.",
    flags: Flags::ADMIN,
    ..Spec::new("SLOWLOG|RESET", Group::Server, Arity::exactly(2), reset)
};

fn get(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let count = match arguments.get(2).map(number::integer) {
        None => COUNT_DEFAULT,
        Some(Some(-1)) => usize::MAX,
        Some(count) => {
            let count = count.and_then(|count| usize::try_from(count).ok());
            count.ok_or(Error::redis(
                "ERR count should be greater than or equal to -1",
            ))?
        }
    };
    let entries = context.shared.metrics.slowlog.latest(count);
    let reply = &mut context.reply;
    reply.array(entries.len());
    for entry in &entries {
        reply.array(6);
        for number in [entry.id, entry.at_s, entry.took_us] {
            reply.integer(number as i64);
        }
        reply.array(entry.arguments.len());
        entry.arguments.iter().for_each(|word| reply.bulk(word));
        reply.bulk(entry.peer.as_bytes());
        reply.bulk(&entry.name);
    }
    Ok(())
}

fn len(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    let len = context.shared.metrics.slowlog.len();
    context.reply.integer(len as i64);
    Ok(())
}

fn reset(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    context.shared.metrics.slowlog.clear();
    context.reply.ok();
    Ok(())
}
