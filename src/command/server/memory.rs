//! MEMORY: what the server takes, and what a key takes.

use super::process::human;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Flags, Group, KeyUse, Keys, Spec, Uses};
use crate::command::{help, number};
use crate::memory;
use crate::protocol::Arguments;
use crate::store::DATABASES_MAX;
use std::fmt::Write as _;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Look at what memory is used for",
    reply: "Depends on the subcommand.",
    subcommands: &[
        USAGE,
        STATS,
        DOCTOR,
        MALLOC_STATS,
        PURGE,
        help::row("MEMORY|HELP", Group::Server),
    ],
    ..Spec::new("MEMORY", Group::Server, Arity::at_least(2), stats)
};

const USAGE: Spec = Spec {
    summary: "Count the bytes that a key takes",
    arguments: &[
        Argument::key("key"),
        Argument::integer("count").token("SAMPLES").optional(),
    ],
    reply: "Its place in the table, its name and what it holds, in bytes; what the allocator adds is left out. Nothing is sampled, so SAMPLES changes nothing. Nil for a key that does not exist.",
    flags: Flags::READONLY,
    keys: Keys::SECOND,
    uses: Uses::Each(&[KeyUse::LOOK]),
    ..Spec::new("MEMORY|USAGE", Group::Server, Arity::at_least(3), usage)
};

const STATS: Spec = Spec {
    summary: "Show what memory is used for",
    reply: "A map (in RESP2 a flat array), by Redis's names where they fit: `total.allocated` is what is counted against `maxmemory`, `overhead.hashtable.main` of a database what its tables take.",
    ..Spec::new("MEMORY|STATS", Group::Server, Arity::exactly(2), stats)
};

const DOCTOR: Spec = Spec {
    summary: "Tell in words how memory stands",
    reply: "A text.",
    ..Spec::new("MEMORY|DOCTOR", Group::Server, Arity::exactly(2), doctor)
};

const MALLOC_STATS: Spec = Spec {
    summary: "Refuse to show the statistics of the allocator",
    reply: "A text: the allocator keeps none.",
    ..Spec::new(
        "MEMORY|MALLOC-STATS",
        Group::Server,
        Arity::exactly(2),
        malloc_stats,
    )
};

const PURGE: Spec = Spec {
    summary: "Give what has been freed back to the system",
    reply: "OK. Tables that became too large are given back by themselves; this is for small blocks, and holds others up for some milliseconds.",
    ..Spec::new("MEMORY|PURGE", Group::Server, Arity::exactly(2), purge)
};

fn usage(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let mut options = arguments.iter().skip(3);
    while let Some(option) = options.next() {
        let value = options.next().ok_or(Error::SYNTAX)?;
        let is_samples = option.eq_ignore_ascii_case(b"SAMPLES");
        if !is_samples || number::required(value)? < 0 {
            return Err(Error::SYNTAX);
        }
    }
    let key = arguments.get(2).unwrap_or_default();
    let (store, database) = (&context.shared.store, context.connection.database);
    match store.bytes(database, key, context.now) {
        Some(bytes) => context.reply.integer(bytes as i64),
        None => context.reply.null(),
    }
    Ok(())
}

fn stats(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    let store = &context.shared.store;
    let databases: Vec<(u8, usize, usize)> = (0..DATABASES_MAX)
        .map(|database| (database, store.len(database), store.table_bytes(database)))
        .filter(|(_, _, table_bytes)| *table_bytes > 0)
        .collect();
    let keys: usize = databases.iter().map(|(_, keys, _)| keys).sum();
    let (used, peak) = (memory::used_bytes(), memory::peak_bytes());
    let startup = memory::startup_bytes();
    // There is none of what the last six would take.
    let numbers = [
        ("peak.allocated", peak),
        ("total.allocated", used),
        ("startup.allocated", startup),
        ("overhead.total", startup),
        ("dataset.bytes", used.saturating_sub(startup)),
        ("keys.count", keys),
        ("replication.backlog", 0),
        ("clients.slaves", 0),
        ("cluster.links", 0),
        ("aof.buffer", 0),
        ("lua.caches", 0),
        ("functions.caches", 0),
    ];
    let reply = &mut context.reply;
    reply.map(numbers.len() + 1 + databases.len());
    for (name, value) in numbers {
        reply.bulk(name.as_bytes());
        reply.integer(value as i64);
    }
    reply.bulk(b"peak.percentage");
    reply.double(used as f64 / peak.max(1) as f64 * 100.0);
    for (database, _, table_bytes) in databases {
        reply.bulk_display(format_args!("db.{database}"));
        reply.map(2);
        reply.bulk(b"overhead.hashtable.main");
        reply.integer(table_bytes as i64);
        reply.bulk(b"overhead.hashtable.expires");
        reply.integer(0);
    }
    Ok(())
}

fn doctor(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    let shared = context.shared;
    let (used, peak) = (memory::used_bytes() as u64, memory::peak_bytes() as u64);
    let keys: usize = (0..DATABASES_MAX)
        .map(|database| shared.store.len(database))
        .sum();
    let mut text = String::new();
    // Writing to a text cannot fail.
    let _ = writeln!(
        text,
        "{keys} keys, {} in use, {} at the peak, {} resident.",
        human(used),
        human(peak),
        human(memory::resident_bytes().unwrap_or(0))
    );
    if peak / 2 > used {
        text += "Less than half of the peak is in use: many keys have gone since, or many connections.\n";
    }
    let _ = match shared.settings.maxmemory() as u64 {
        0 => writeln!(text, "There is no bound: see CONFIG SET maxmemory."),
        bound if used > bound => writeln!(
            text,
            "That is above maxmemory ({}): what needs more is refused with -OOM, and limits that are nearly full go.",
            human(bound)
        ),
        bound => writeln!(
            text,
            "The bound is {}; {} keys had to go so far, all of them limits that were nearly full.",
            human(bound),
            shared.store.counts.evicted_keys()
        ),
    };
    text += "MEMORY USAGE <key> tells what one key takes.\n";
    context.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

fn malloc_stats(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    let text = b"Stats not supported for the current allocator";
    context.reply.verbatim("txt", text);
    Ok(())
}

fn purge(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    memory::trim();
    context.reply.ok();
    Ok(())
}
