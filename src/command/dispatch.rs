//! From a request to its reply: who is asked for, may it run, run it.

use super::acl;
use super::connection::{Connection, Replies, Transaction};
use super::context::{Context, Shared};
use super::error::Error;
use super::observe;
use super::room::{self, Request, Room};
use super::server::cluster;
use super::spec::{Flags, Spec};
use super::table;
use crate::core::units::Timestamp;
use crate::metrics::Tally;
use crate::protocol::{Arguments, OwnedArguments, Reply};
use std::fmt::Display;

/// What is to be done with a request.
pub enum Step {
    /// Run it.
    Run(&'static Spec),
    /// Keep it until EXEC.
    Queue(&'static Spec),
}

/// Finds the row that serves a request and checks that it may run.
///
/// # Errors
/// [`Error::NoAuth`], an unknown name, a wrong number of arguments, no permission, a command that MULTI does not take.
/// Inside MULTI each of them makes EXEC fail.
pub fn check(
    shared: &Shared,
    connection: &mut Connection,
    arguments: Arguments<'_>,
) -> Result<Step, Error> {
    let row = match connection.row {
        Some(spec) if arguments.repeats() => Ok(spec),
        _ => {
            connection.row = None;
            connection.memo.is_of_last = false;
            find_row(connection, arguments)
        }
    };
    let step = row.and_then(|spec| admit(shared, connection, spec, arguments));
    if let (Err(_), Some(transaction)) = (&step, &mut connection.transaction) {
        transaction.failed = true;
    }
    step
}

/// True for a line that every HTTP request has near its beginning. A web page can make a browser send such a
/// request here, with commands in its body; as in Redis nothing behind that line is read.
fn is_http(name: &[u8]) -> bool {
    [&b"POST"[..], b"HOST:"]
        .iter()
        .any(|line| name.eq_ignore_ascii_case(line))
}

/// The row of a request that may be the first of its kind.
fn find_row(connection: &mut Connection, arguments: Arguments<'_>) -> Result<&'static Spec, Error> {
    let name = arguments.get(0).unwrap_or_default();
    if is_http(name) {
        connection.closing = true;
        return Err(Error::Redis(
            "ERR this is no HTTP server: the connection is closed".into(),
        ));
    }
    let command = table::find(name);
    if !may_ask(connection, command) {
        return Err(Error::NoAuth);
    }
    let command = command.ok_or_else(|| unknown(name, arguments))?;
    let spec = match arguments.get(1).filter(|_| !command.subcommands.is_empty()) {
        Some(word) => {
            let spec = command.subcommand(word);
            let missing = || Error::UnknownSubcommand {
                command: command.name,
                subcommand: word.to_vec(),
            };
            spec.ok_or_else(missing)?
        }
        None => command,
    };
    if !spec.arity.accepts(arguments.len()) {
        return Err(Error::Arity(spec.lower_name().into()));
    }
    connection.row = command.subcommands.is_empty().then_some(spec);
    Ok(spec)
}

/// True if a connection may name a command, unknown ones included.
fn may_ask(connection: &Connection, command: Option<&Spec>) -> bool {
    connection.authenticated || command.is_some_and(|spec| spec.flags.has(Flags::NO_AUTH))
}

/// Whether a request may run now, or is kept.
fn admit(
    shared: &Shared,
    connection: &mut Connection,
    spec: &'static Spec,
    arguments: Arguments<'_>,
) -> Result<Step, Error> {
    if !may_ask(connection, Some(spec)) {
        return Err(Error::NoAuth);
    }
    acl::check::check(shared, connection, spec, arguments)?;
    cluster::check_slots(&shared.settings, [(spec, arguments)])?;
    if connection.is_listening() && !spec.flags.has(Flags::WHILE_SUBSCRIBED) {
        return Err(Error::redis(format!(
            "ERR Can't execute '{}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context",
            spec.lower_name()
        )));
    }
    if connection.transaction.is_none() || spec.flags.has(Flags::IN_MULTI) {
        return Ok(Step::Run(spec));
    }
    if spec.flags.has(Flags::NO_MULTI) {
        return Err(Error::Redis(
            "ERR Command not allowed inside a transaction".into(),
        ));
    }
    Ok(Step::Queue(spec))
}

/// The row that a request names, whether it may run or not.
pub fn named(arguments: Arguments<'_>) -> Option<&'static Spec> {
    let command = table::find(arguments.get(0)?)?;
    match arguments.get(1).filter(|_| !command.subcommands.is_empty()) {
        Some(word) => command.subcommand(word),
        None => Some(command),
    }
}

fn unknown(name: &[u8], arguments: Arguments<'_>) -> Error {
    // No more words than an error text can show.
    let arguments = arguments
        .iter()
        .skip(1)
        .take(64)
        .map(|argument| argument[..argument.len().min(128)].to_vec());
    Error::UnknownCommand {
        name: name[..name.len().min(128)].to_vec(),
        arguments: arguments.collect(),
    }
}

/// Queues a request inside MULTI.
///
/// # Errors
/// The queue or, as in Redis, memory is full; the disk takes nothing. EXEC will fail.
pub fn queue(
    shared: &Shared,
    connection: &mut Connection,
    spec: &'static Spec,
    arguments: Arguments<'_>,
    now: Timestamp,
) -> Result<(), Error> {
    let transaction = connection.transaction.get_or_insert_default();
    let checked = match spec.flags.has(Flags::WRITE) {
        true => shared.check_disk(now),
        false => Ok(()),
    };
    let checked = checked.and_then(|()| match room::is_over(shared) {
        true => Err(Error::OUT_OF_MEMORY),
        false => Ok(()),
    });
    checked.inspect_err(|_| transaction.failed = true)?;
    transaction.push(spec, OwnedArguments::from(arguments))
}

impl Transaction {
    fn push(&mut self, spec: &'static Spec, arguments: OwnedArguments) -> Result<(), Error> {
        use super::connection::{QUEUED_BYTES_MAX, QUEUED_MAX, QUEUED_SURVEYS_MAX};
        let surveys = self.surveys + usize::from(spec.surveys());
        if surveys > QUEUED_SURVEYS_MAX {
            self.failed = true;
            return Err(Error::Redis(
                "ERR MULTI takes at most 128 commands that look at more than the keys they name, as SCAN and INFO do".into(),
            ));
        }
        let bytes = self.bytes.saturating_add(arguments.bytes());
        if self.queue.len() >= QUEUED_MAX || bytes > QUEUED_BYTES_MAX {
            self.failed = true;
            return Err(Error::Redis(
                "ERR MULTI takes at most 65536 commands and 16 MiB".into(),
            ));
        }
        (self.bytes, self.surveys) = (bytes, surveys);
        self.queue.push((spec, arguments));
        Ok(())
    }
}

/// Runs a command, which [`observe::begins`], at the instant that the clock last said, and writes its reply, or its error in the reply's place.
pub fn run(
    spec: &'static Spec,
    shared: &Shared,
    connection: &mut Connection,
    arguments: Arguments<'_>,
    output: &mut Vec<u8>,
    tally: &mut Tally,
) {
    let start = output.len();
    let protocol = connection.protocol;
    let began = connection.ran_until;
    let now = connection.executing.map_or(began, |executing| executing.at);
    tally.commands += 1;
    tally.writes += u64::from(spec.flags.has(Flags::WRITE));
    // Of what EXEC runs that was asked before all of it.
    let room = match connection.executing {
        None => {
            let request = Request { spec, arguments };
            Room::for_one(shared, connection.database, request, now)
        }
        Some(_) => None,
    };
    let is_full = room.as_ref().is_some_and(Room::is_full);
    let reply = Reply::new(output, protocol);
    let mut context = Context {
        shared,
        connection,
        reply,
        now,
        is_full,
        tally,
    };
    let checked = if is_full && !spec.flags.has(Flags::CHECKS_MEMORY) {
        Err(Error::OUT_OF_MEMORY)
    } else if spec.flags.has(Flags::WRITE) {
        shared.check_disk(now)
    } else {
        Ok(())
    };
    let result = checked.and_then(|()| (spec.run)(&mut context, arguments));
    drop(room);
    let failed = result.is_err();
    if let Err(error) = result {
        context.reply.truncate(start);
        write_error(&mut context.reply, context.tally, &error);
    }
    shared.deliver_events();
    observe::ran(spec, shared, connection, arguments, tally, began, failed);
}

/// Writes an error reply and counts it.
pub fn write_error(reply: &mut Reply<'_>, tally: &mut Tally, error: impl Display) {
    let start = reply.position();
    reply.error_display(error);
    // Behind the sign of an error.
    tally.error(&reply.written()[start + 1..]);
}

/// Drops the reply written from [`Connection::reply_start`] on if the client wants none, and steps its mode. Once a
/// command, when its reply is complete.
pub fn apply_reply_mode(connection: &mut Connection, output: &mut Vec<u8>) {
    let start = connection.reply_start;
    match connection.replies {
        Replies::On => {}
        Replies::Off => output.truncate(start),
        Replies::SkipNext => {
            output.truncate(start);
            connection.replies = Replies::SkipThis;
        }
        Replies::SkipThis => {
            output.truncate(start);
            connection.replies = Replies::On;
        }
    }
}
