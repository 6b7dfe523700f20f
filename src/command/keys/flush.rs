//! DBSIZE, FLUSHDB, FLUSHALL: a database as a whole.

use crate::command::access;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, ArgumentKind, Arity, Flags, Group, Spec};
use crate::protocol::Arguments;

/// The row of DBSIZE.
pub const DBSIZE: Spec = Spec {
    summary: "Count the keys of this database",
    reply: "How many there are; those that went by themselves count until the sweep has passed.",
    flags: Flags::READONLY.and(Flags::FAST),
    ..Spec::new("DBSIZE", Group::Generic, Arity::exactly(1), size)
};

/// The row of FLUSHDB.
pub const FLUSHDB: Spec = Spec {
    summary: "Remove every key of this database",
    arguments: &[FLUSH_TYPE],
    reply: "OK.",
    flags: FLUSH_FLAGS,
    ..Spec::new("FLUSHDB", Group::Generic, Arity::at_least(1), flush_one)
};

/// The row of FLUSHALL.
pub const FLUSHALL: Spec = Spec {
    summary: "Remove every key of every database",
    arguments: &[FLUSH_TYPE],
    reply: "OK.",
    flags: FLUSH_FLAGS,
    ..Spec::new("FLUSHALL", Group::Generic, Arity::at_least(1), flush_all)
};

const FLUSH_FLAGS: Flags = Flags::WRITE.and(Flags::DANGEROUS).and(Flags::EXCLUSIVE);

const FLUSH_TYPE: Argument = Argument::new(
    "flush-type",
    ArgumentKind::OneOf(&[
        Argument::choice("async", "ASYNC"),
        Argument::choice("sync", "SYNC"),
    ]),
)
.optional();

fn size(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    let size = context.shared.store.len(context.connection.database);
    context.reply.integer(size as i64);
    Ok(())
}

/// Both ways do the same: the keys are gone at once, and much memory is freed by a thread of its own.
fn check_type(arguments: Arguments<'_>) -> Result<(), Error> {
    let known =
        |word: &[u8]| word.eq_ignore_ascii_case(b"SYNC") || word.eq_ignore_ascii_case(b"ASYNC");
    if arguments.len() > 2 || arguments.get(1).is_some_and(|word| !known(word)) {
        return Err(Error::SYNTAX);
    }
    Ok(())
}

fn flush_one(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    check_type(arguments)?;
    access::clear(context, Some(context.connection.database));
    context.reply.ok();
    Ok(())
}

fn flush_all(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    check_type(arguments)?;
    access::clear(context, None);
    context.reply.ok();
    Ok(())
}
