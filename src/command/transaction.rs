//! MULTI, EXEC, DISCARD, WATCH, UNWATCH.
//!
//! EXEC runs while no other command does, all its commands at one instant.

use super::acl;
use super::connection::Executing;
use super::context::Context;
use super::dispatch;
use super::error::Error;
use super::observe;
use super::pubsub::write_messages;
use super::room::{Request, Room};
use super::server::cluster;
use super::spec::{Argument, Arity, Flags, Group, KeyUse, Keys, Spec, Uses};
use crate::protocol::{Arguments, Reply};
use std::sync::atomic::Ordering::Relaxed;

const FLAGS: Flags = Flags::FAST.and(Flags::NOSCRIPT).and(Flags::IN_MULTI);

/// The row of MULTI.
pub const MULTI: Spec = Spec {
    summary: "Begin a transaction: queue what follows until EXEC",
    reply: "OK; each command until EXEC answers QUEUED.",
    flags: FLAGS,
    ..Spec::new("MULTI", Group::Transactions, Arity::exactly(1), multi)
};

/// The row of EXEC.
pub const EXEC: Spec = Spec {
    summary: "Run the queued commands, nothing else in between",
    reply: "An array of their replies; nil if a watched key has changed or has gone by itself.",
    flags: Flags::NOSCRIPT
        .and(Flags::IN_MULTI)
        .and(Flags::EXCLUSIVE)
        .and(Flags::SKIP_SLOWLOG),
    ..Spec::new("EXEC", Group::Transactions, Arity::exactly(1), exec)
};

/// The row of DISCARD.
pub const DISCARD: Spec = Spec {
    summary: "Drop the queued commands and all watches",
    reply: "OK.",
    flags: FLAGS,
    ..Spec::new("DISCARD", Group::Transactions, Arity::exactly(1), discard)
};

/// The row of WATCH.
pub const WATCH: Spec = Spec {
    summary: "Let the next EXEC fail if one of the keys changes before it",
    arguments: &[Argument::key("key").multiple()],
    reply: "OK.",
    flags: FLAGS,
    keys: Keys::ALL,
    uses: Uses::Each(&[KeyUse::LOOK]),
    ..Spec::new("WATCH", Group::Transactions, Arity::at_least(2), watch)
};

/// The row of UNWATCH.
pub const UNWATCH: Spec = Spec {
    summary: "Drop all watches",
    reply: "OK.",
    flags: Flags::FAST.and(Flags::NOSCRIPT),
    ..Spec::new("UNWATCH", Group::Transactions, Arity::exactly(1), unwatch)
};

/// Most bytes of the replies of one EXEC, which nothing else can be sent between: four times what a request may
/// have, and room for the lists of a large server.
const REPLIES_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Most keys that one connection watches: what one request could name.
const WATCHED_MAX: u64 = 65_536;

fn multi(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    if context.connection.transaction.is_some() {
        return Err(Error::Redis("ERR MULTI calls can not be nested".into()));
    }
    context.connection.transaction = Some(Default::default());
    context.reply.ok();
    Ok(())
}

fn exec(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    let transaction = context.connection.transaction.take();
    let transaction = transaction.ok_or(Error::Redis("ERR EXEC without MULTI".into()))?;
    let broken = context
        .connection
        .watch
        .as_ref()
        .is_some_and(|watch| watch.is_broken(context.now));
    drop_watches(context);
    let requests = transaction.queue.iter().map(|(spec, arguments)| Request {
        spec,
        arguments: arguments.as_arguments(),
    });
    let room = Room::for_all(
        context.shared,
        context.connection.database,
        requests,
        context.now,
    );
    if room.is_full() {
        return Err(Error::redis(format!(
            "EXECABORT Transaction discarded because of: {}",
            Error::OUT_OF_MEMORY
        )));
    }
    if transaction.failed {
        return Err(Error::Redis(
            "EXECABORT Transaction discarded because of previous errors.".into(),
        ));
    }
    let queued = transaction.queue.iter();
    let queued = queued.map(|(spec, arguments)| (*spec, arguments.as_arguments()));
    cluster::check_slots(&context.shared.settings, queued)?;
    if broken {
        context.reply.null_array();
        return Ok(());
    }
    write_messages(context);
    context.connection.executing = Some(Executing {
        at: context.now,
        commands: transaction.queue.len(),
    });
    context.reply.array(transaction.queue.len());
    let (start, mut one, mut is_full) = (context.reply.position(), Vec::new(), false);
    for (spec, arguments) in &transaction.queue {
        if is_full && spec.flags.has(Flags::READONLY) {
            // Nobody would see what it reads, and everybody else waits.
            context.reply.error("ERR the replies of one EXEC must be at most 64 MiB; this command only reads, and did not run");
            continue;
        }
        one.clear();
        let (connection, tally) = (&mut *context.connection, &mut *context.tally);
        let (shared, arguments) = (context.shared, arguments.as_arguments());
        match acl::check::check_queued(shared, connection, spec, arguments) {
            Ok(()) => {
                observe::begins(spec, shared, connection, arguments, tally);
                dispatch::run(spec, shared, connection, arguments, &mut one, tally);
            }
            Err(error) => {
                tally.rejected(spec.name);
                let mut reply = Reply::new(&mut one, connection.protocol);
                dispatch::write_error(&mut reply, tally, error);
            }
        }
        // All that change something run, whatever they reply: that is what a transaction is.
        if context.reply.position() - start + one.len() <= REPLIES_BYTES_MAX {
            context.reply.append(&one);
        } else {
            is_full = true;
            context.reply.error("ERR the replies of one EXEC must be at most 64 MiB; the command ran, and this one is left out");
        }
    }
    context.connection.executing = None;
    context.reply.set_protocol(context.connection.protocol);
    Ok(())
}

fn discard(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    if context.connection.transaction.take().is_none() {
        return Err(Error::Redis("ERR DISCARD without MULTI".into()));
    }
    drop_watches(context);
    context.reply.ok();
    Ok(())
}

fn watch(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let connection = &mut *context.connection;
    if connection.transaction.is_some() {
        return Err(Error::Redis("ERR WATCH inside MULTI is not allowed".into()));
    }
    let watching = &connection.client.watching;
    if watching.load(Relaxed) + arguments.len() as u64 > WATCHED_MAX {
        return Err(Error::argument(
            "key",
            "one of at most 65536 that a connection watches",
        ));
    }
    let watch = connection.watch.get_or_insert_default();
    for key in arguments.iter().skip(1) {
        let (store, database) = (&context.shared.store, connection.database);
        store.watch(database, key, watch, context.now);
        watching.fetch_add(1, Relaxed);
    }
    context.reply.ok();
    Ok(())
}

fn unwatch(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    drop_watches(context);
    context.reply.ok();
    Ok(())
}

/// Ends all watches of the connection.
pub fn drop_watches(context: &mut Context<'_>) {
    if let Some(watch) = context.connection.watch.take() {
        context.shared.store.unwatch(&watch);
        context.connection.client.watching.store(0, Relaxed);
    }
}
