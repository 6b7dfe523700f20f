//! What has changed, as one batch.
//!
//! Keys go on changing while it is captured, one key under its lock at a time. The order is what makes a batch safe:
//!
//! - Tickets and answers that are new are taken **before** the keys: when they were noted, their call held its keys
//!   and had not let go. So once all calls of that moment have ended, the keys as they are read hold what was booked.
//!   No ticket comes back from disk whose booking does not.
//! - Those that are gone are told **after** the keys: no ticket comes back that was given back to a key, and no answer
//!   whose id has become another request's meanwhile.
//! - A value that was renamed while keys were read is read once more under its new name.
//! - That a database was emptied stands before its keys. If it was emptied while they were read it stands behind them
//!   too, and they are all read again for the next batch.

use super::super::codec;
use super::super::codec_gone::Gone;
use super::super::snapshot::RECORDS_AT_A_TIME;
use super::batch::BatchWriter;
use crate::core::units::Timestamp;
use crate::store::{AnswerName, DATABASES_MAX, Key, Store, TouchedRecords};
use std::io;

/// How often it is looked again for values that were renamed meanwhile. Each time there are fewer: one is read much
/// faster than it is renamed.
const MOVES_MAX: usize = 100;

/// Keys that memory is asked for while as many before them are read: as many as it answers to at a time.
const FETCHED_AT_A_TIME: usize = 16;

/// What was taken out of the store's notes, to be put back if it cannot be written.
#[derive(Default)]
pub struct Taken {
    emptied: Vec<u8>,
    /// Those that were emptied while their keys were read.
    emptied_late: Vec<u8>,
    policies: Vec<Box<[u8]>>,
    records: TouchedRecords,
    keys: Vec<(u8, Vec<Key>)>,
}

impl Taken {
    /// The batch could not be written: nothing of it is lost.
    pub fn put_back(self, store: &Store) {
        let emptied = self.emptied.into_iter().chain(self.emptied_late);
        emptied.for_each(|database| store.touched.put_back_emptied(database));
        store.policies.put_back(self.policies);
        store.records.put_back(self.records);
        for (database, names) in self.keys {
            store.touched.put_back(database, names);
        }
        store.touched.end_taking(false);
    }

    /// The batch was written. What stands in it before that its database was emptied has to be read again.
    pub fn finish(self, store: &Store) {
        if !self.emptied_late.is_empty() {
            store.records.put_back(self.records);
        }
        for (database, names) in self.keys {
            if self.emptied_late.contains(&database) {
                store.touched.put_back(database, names);
            }
        }
        store.touched.end_taking(true);
    }
}

/// Captures all that has changed.
///
/// # Errors
/// Those of the disk; `taken` then has what must be put back.
pub fn capture(
    store: &Store,
    now: Timestamp,
    batch: &mut BatchWriter<'_>,
    taken: &mut Taken,
) -> io::Result<()> {
    store.touched.watch_moves();
    for database in store.touched.take_emptied() {
        taken.emptied.push(database);
        gone(batch, &Gone::Database(database))?;
    }
    taken.policies = store.policies.take_touched();
    for name in &taken.policies {
        match store.policies.limits(name) {
            Some(limits) => batch.add(|out| codec::encode_policy(out, name, &limits))?,
            None => gone(batch, &Gone::Policy(name.clone()))?,
        }
    }
    taken.records = store.records.take_touched();
    add_records(store, &taken.records, batch)?;
    if !taken.records.is_empty() {
        store.wait_for_calls();
    }
    for database in 0..DATABASES_MAX {
        for names in store.touched.take(database) {
            taken.keys.push((database, names));
            let names = taken.keys.last().map_or(&[][..], |(_, names)| names);
            let fetch = |keys: &[Key]| store.fetch(database, keys.iter().map(Key::as_bytes));
            let mut ahead = names.chunks(FETCHED_AT_A_TIME);
            ahead.next().into_iter().for_each(fetch);
            for keys in names.chunks(FETCHED_AT_A_TIME) {
                ahead.next().into_iter().for_each(fetch);
                for key in keys {
                    add_key(store, database, key, now, batch)?;
                }
            }
        }
    }
    add_moved(store, now, batch)?;
    for database in store.touched.take_emptied() {
        taken.emptied_late.push(database);
        gone(batch, &Gone::Database(database))?;
    }
    remove_records(store, &mut taken.records, batch)?;
    batch.add(|out| codec::encode_last_number(out, store.records.number_ahead()))
}

fn gone(batch: &mut BatchWriter<'_>, gone: &Gone) -> io::Result<()> {
    batch.add(|out| codec::encode_gone(out, gone))
}

fn add_key(
    store: &Store,
    database: u8,
    key: &Key,
    now: Timestamp,
    batch: &mut BatchWriter<'_>,
) -> io::Result<()> {
    batch.add(|out| {
        store.read_touched(database, key.as_bytes(), now, |value| match value {
            Some(value) if codec::is_kept(value) => codec::encode_key(out, database, key, value),
            _ => codec::encode_gone(out, &Gone::Key(database, key.clone())),
        });
    })
}

fn add_moved(store: &Store, now: Timestamp, batch: &mut BatchWriter<'_>) -> io::Result<()> {
    for _ in 0..MOVES_MAX {
        let moved = store.touched.take_moved();
        if moved.is_empty() {
            return Ok(());
        }
        for (database, key) in &moved {
            add_key(store, *database, key, now, batch)?;
        }
    }
    Err(io::Error::other("keys are renamed without end"))
}

/// Tickets and answers that there are, some at a time, so that nobody waits long for their lock.
fn add_records(
    store: &Store,
    touched: &TouchedRecords,
    batch: &mut BatchWriter<'_>,
) -> io::Result<()> {
    let numbers: Vec<u64> = touched.tickets.iter().copied().collect();
    for numbers in numbers.chunks(RECORDS_AT_A_TIME) {
        batch.add(|out| {
            store.records.for_tickets(numbers, |number, found| {
                if let Some((database, ticket)) = found {
                    codec::encode_ticket(out, database, number, ticket);
                }
            });
        })?;
    }
    let names: Vec<&AnswerName> = touched.answers.iter().collect();
    for names in names.chunks(RECORDS_AT_A_TIME) {
        batch.add(|out| {
            let names = names.iter().copied();
            store.records.for_answers(names, |(home, id), found, _| {
                if let Some(remembered) = found {
                    codec::encode_answer(out, home.0, &home.1, id, remembered);
                }
            });
        })?;
    }
    Ok(())
}

/// Tickets and answers that are gone by now. Those that came or changed while keys were read are left for the next
/// batch.
fn remove_records(
    store: &Store,
    taken: &mut TouchedRecords,
    batch: &mut BatchWriter<'_>,
) -> io::Result<()> {
    let (later, mut left) = (store.records.take_touched(), TouchedRecords::default());
    // If the batch fails, all of them are put back.
    taken.tickets.extend(&later.tickets);
    taken.answers.extend(later.answers.iter().cloned());
    let numbers: Vec<u64> = taken.tickets.iter().copied().collect();
    for numbers in numbers.chunks(RECORDS_AT_A_TIME) {
        batch.add(|out| {
            store.records.for_tickets(numbers, |number, found| {
                if found.is_none() {
                    codec::encode_gone(out, &Gone::Ticket(number));
                } else if later.tickets.contains(&number) {
                    left.tickets.insert(number);
                }
            });
        })?;
    }
    let names: Vec<&AnswerName> = taken.answers.iter().collect();
    for names in names.chunks(RECORDS_AT_A_TIME) {
        batch.add(|out| {
            let names = names.iter().copied();
            store.records.for_answers(names, |name, found, is_noted| {
                let is_later = later.answers.contains(name);
                // One that is noted has changed just now: the next batch has it.
                if found.is_none() || is_later || is_noted {
                    // The id may be another request's by now, and the answer that was written before has gone with its key.
                    let ((database, key), id) = name.clone();
                    codec::encode_gone(out, &Gone::Answer(database, key, id));
                }
                if found.is_some() && is_later {
                    left.answers.insert(name.clone());
                }
            });
        })?;
    }
    store.records.put_back(left);
    Ok(())
}
