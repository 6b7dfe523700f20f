//! `tollgate export`: what a server has kept, as commands that put it into a cluster with the module.
//!
//! One command a line, as redis-cli reads them: `RL.STATE` for limits with their tickets and answers, Redis's own commands
//! for plain values. Only database 0, the one that a cluster has. Policies stay behind, the module has none; a key that is
//! under one keeps its state.

use crate::config::file_name;
use crate::core::units::Timestamp;
use crate::persistence::change::{self, Change};
use crate::persistence::disk::Machine;
use crate::persistence::{Keeper, Keeping};
use crate::plain::{Data, Plain};
use crate::store::{DATABASES_MAX, Key, Store, Value};
use clap::Args;
use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// Keys that are looked up at a time.
const PAGE: usize = 1_000;
/// Elements of a collection in one command, so that no line is long.
const ELEMENTS: usize = 100;

/// Flags of `tollgate export`.
#[derive(Args, Clone, Debug)]
pub struct ExportArguments {
    /// Directory of the snapshot and the journal. Of a server that runs, what it has not written yet is missing
    #[arg(long, env = "TOLLGATE_DIR", value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,

    /// File name of the snapshot in --dir
    #[arg(long, env = "TOLLGATE_DBFILENAME", value_name = "NAME", default_value = "tollgate.snapshot", value_parser = file_name)]
    pub dbfilename: String,
}

/// What was written, and what was not.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Exported {
    /// Keys.
    pub keys: u64,
    /// Keys of other databases.
    pub of_other_databases: usize,
    /// Policies.
    pub policies: usize,
}

/// Writes to standard output, and on standard error what that was.
///
/// # Errors
/// What cannot be read or written, in one line.
pub fn run(arguments: &ExportArguments) -> Result<(), String> {
    let (store, path) = (Store::new(), arguments.dir.join(&arguments.dbfilename));
    // Nothing is written there, so nothing is locked.
    let keeping = Keeping {
        saves: false,
        journal: false,
        salt: 0,
    };
    let (_, restored) = Keeper::open(Arc::new(Machine), &path, keeping, &store)
        .map_err(|error| error.to_string())?;
    if !restored.is_something() {
        return Err(format!(
            "there is no snapshot {} and no journal of it; see --dir",
            path.display()
        ));
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let written =
        write(&store, restored.until, &mut out).and_then(|exported| out.flush().map(|()| exported));
    let exported = written.map_err(|error| format!("cannot write to standard output: {error}"))?;
    eprintln!(
        "{} keys, as of {} ns after the epoch",
        exported.keys,
        restored.until.as_ns()
    );
    if exported.of_other_databases > 0 {
        eprintln!(
            "{} keys of databases 1 to 15 are left out: a cluster has database 0 alone",
            exported.of_other_databases
        );
    }
    if exported.policies > 0 {
        eprintln!(
            "{} policies are left out: the module has none, name the limits in the calls",
            exported.policies
        );
    }
    Ok(())
}

/// Writes what a store holds at an instant.
///
/// # Errors
/// What the output says.
pub fn write(store: &Store, now: Timestamp, out: &mut impl Write) -> io::Result<Exported> {
    let mut exported = Exported {
        keys: 0,
        of_other_databases: (1..DATABASES_MAX).map(|database| store.len(database)).sum(),
        policies: store.policies.all().len(),
    };
    let mut records = records(store, now);
    let mut cursor = 0;
    loop {
        let page = store.page(change::DATABASE, cursor, PAGE, now, |_| true);
        for key in page.keys {
            let changes = records.remove(&key).unwrap_or_default();
            let value = store.read(change::DATABASE, key.as_bytes(), now, |value| {
                value.cloned()
            });
            match value {
                Some(Value::Plain(plain)) => write_plain(out, &key, &plain)?,
                Some(value) => write_state(
                    out,
                    &key,
                    now,
                    [Change::State(Some(value))].into_iter().chain(changes),
                )?,
                None => continue,
            }
            exported.keys += 1;
        }
        if page.next == 0 {
            break;
        }
        cursor = page.next;
    }
    // Keys that are full again, but whose tickets or answers somebody may still name.
    for (key, changes) in records {
        write_state(out, &key, now, changes.into_iter())?;
        exported.keys += 1;
    }
    Ok(exported)
}

/// Tickets and answers by their key.
fn records(store: &Store, now: Timestamp) -> HashMap<Key, Vec<Change>> {
    let mut by_key: HashMap<Key, Vec<Change>> = HashMap::new();
    for (database, number, ticket) in store.records.tickets_after(0, usize::MAX, now) {
        if let Some(part) = ticket
            .parts
            .first()
            .filter(|_| database == change::DATABASE)
        {
            let change = Change::Ticket(number, Some(ticket.clone()));
            by_key.entry(part.key.clone()).or_default().push(change);
        }
    }
    for (_, (database, key), id, answer) in store.records.answers_after(0, usize::MAX, now) {
        if database == change::DATABASE {
            by_key
                .entry(key)
                .or_default()
                .push(Change::Answer(id, Some(answer)));
        }
    }
    by_key
}

fn write_state(
    out: &mut impl Write,
    key: &Key,
    now: Timestamp,
    changes: impl Iterator<Item = Change>,
) -> io::Result<()> {
    let changes: Vec<Change> = changes.collect();
    let mut bytes = Vec::new();
    change::encode(&mut bytes, &changes);
    let at = now.as_ns().to_string();
    line(out, &[b"RL.STATE", key.as_bytes(), at.as_bytes(), &bytes])
}

fn write_plain(out: &mut impl Write, key: &Key, plain: &Plain) -> io::Result<()> {
    let name = key.as_bytes();
    match &plain.data {
        Data::Text(text) => text.with_bytes(|text| line(out, &[b"SET", name, text]))?,
        Data::Hash(hash) => {
            let pairs = hash
                .iter()
                .map(|(field, text)| vec![field.to_vec(), text.with_bytes(<[u8]>::to_vec)]);
            write_elements(out, b"HSET", name, pairs.collect())?;
        }
        Data::List(list) => {
            let texts = list
                .range(0, -1)
                .map(|text| vec![text.with_bytes(<[u8]>::to_vec)]);
            write_elements(out, b"RPUSH", name, texts.collect())?;
        }
        Data::SortedSet(set) => {
            let scored = |(member, score): (&[u8], crate::plain::sorted_set::Score)| {
                vec![score.value().to_string().into_bytes(), member.to_vec()]
            };
            write_elements(out, b"ZADD", name, set.iter().map(scored).collect())?;
        }
    }
    match plain.expires {
        Some(expires) => line(
            out,
            &[b"PEXPIREAT", name, expires.ceil_ms().to_string().as_bytes()],
        ),
        None => Ok(()),
    }
}

fn write_elements(
    out: &mut impl Write,
    command: &[u8],
    name: &[u8],
    elements: Vec<Vec<Vec<u8>>>,
) -> io::Result<()> {
    for some in elements.chunks(ELEMENTS) {
        let words = some.iter().flatten().map(Vec::as_slice);
        let words: Vec<&[u8]> = [command, name].into_iter().chain(words).collect();
        line(out, &words)?;
    }
    Ok(())
}

/// A command as redis-cli reads it: each word in quotes, what is not printable escaped.
fn line(out: &mut impl Write, words: &[&[u8]]) -> io::Result<()> {
    for (nth, word) in words.iter().enumerate() {
        let space = if nth == 0 { "" } else { " " };
        write!(out, "{space}\"")?;
        for byte in *word {
            match byte {
                b'"' | b'\\' => out.write_all(&[b'\\', *byte])?,
                b' '..=b'~' => out.write_all(&[*byte])?,
                _ => write!(out, "\\x{byte:02x}")?,
            }
        }
        write!(out, "\"")?;
    }
    writeln!(out)
}
