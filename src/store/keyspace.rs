//! The databases: what commands and background work may do with keys.

use super::key::Key;
use super::policies::Policies;
use super::records::Records;
use super::shard::{SHARDS, Shards, Value};
use super::watches::{Watch, Watches};
use crate::core::entry::Entry;
use crate::core::units::Timestamp;
use ahash::RandomState;
use smallvec::SmallVec;
use std::sync::OnceLock;

/// Databases that `SELECT` can reach at most.
pub const DATABASES_MAX: u8 = 16;

impl Value for Entry {
    fn is_void(&self) -> bool {
        self.is_absent()
    }
}

/// All databases. Every method locks what it touches for its own length only.
pub struct Store {
    databases: Box<[OnceLock<Shards<Entry>>]>,
    hasher: RandomState,
    watches: Watches,
    /// Limits stored under a name.
    pub policies: Policies,
    /// Tickets and remembered answers.
    pub records: Records,
}

/// A page of a SCAN.
pub struct Page {
    /// The names on it.
    pub keys: Vec<Key>,
    /// The cursor to go on with; zero at the end.
    pub next: u64,
}

/// How far the sweep has come. Hand it back for the next step.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Sweep {
    database: usize,
    shard: usize,
    place: usize,
    /// Places looked at and keys dropped in the last step.
    pub looked: usize,
    /// Keys dropped in the last step.
    pub dropped: usize,
    /// Rounds over all databases that are complete.
    pub rounds: u64,
}

impl Default for Store {
    fn default() -> Self {
        Self::new()
    }
}

impl Store {
    /// An empty store. Hashing is seeded at random, so that nobody can aim keys at one place.
    pub fn new() -> Self {
        let databases = (0..DATABASES_MAX).map(|_| OnceLock::new()).collect();
        Self {
            databases,
            hasher: RandomState::new(),
            watches: Watches::default(),
            policies: Policies::default(),
            records: Records::default(),
        }
    }

    fn database(&self, database: u8) -> &Shards<Entry> {
        self.databases[usize::from(database)].get_or_init(|| Shards::new(self.hasher.clone()))
    }

    fn existing(&self, database: u8) -> Option<&Shards<Entry>> {
        self.databases[usize::from(database)].get()
    }

    /// Calls `f` with the key's entry, a default one if there is none. What `f` leaves there is kept,
    /// unless it can no longer be told from an absent key.
    pub fn with_key<R>(
        &self,
        database: u8,
        key: &[u8],
        now: Timestamp,
        f: impl FnOnce(&mut Entry) -> R,
    ) -> R {
        self.database(database).write(key, |entry| {
            entry.forget(now);
            let before = self.watches.any().then(|| entry.clone());
            let result = f(entry);
            entry.forget(now);
            if before.is_some_and(|before| before != *entry) {
                self.watches.touch(database, key);
            }
            result
        })
    }

    /// As [`Self::with_key`] for several distinct keys, atomically.
    pub fn with_keys<R>(
        &self,
        database: u8,
        keys: &[&[u8]],
        now: Timestamp,
        f: impl FnOnce(&mut [Entry]) -> R,
    ) -> R {
        self.database(database).write_many(keys, |entries| {
            entries.iter_mut().for_each(|entry| entry.forget(now));
            let before: Option<SmallVec<[Entry; 4]>> = self
                .watches
                .any()
                .then(|| entries.iter().cloned().collect());
            let result = f(entries);
            entries.iter_mut().for_each(|entry| entry.forget(now));
            for ((before, entry), key) in before.iter().flatten().zip(entries.iter()).zip(keys) {
                if before != entry {
                    self.watches.touch(database, key);
                }
            }
            result
        })
    }

    /// Calls `f` with the key's entry, `None` if it does not exist at `now`.
    pub fn read<R>(
        &self,
        database: u8,
        key: &[u8],
        now: Timestamp,
        f: impl FnOnce(Option<&Entry>) -> R,
    ) -> R {
        match self.existing(database) {
            Some(shards) => shards.read(key, |entry| {
                f(entry.filter(|entry| !entry.is_forgettable(now)))
            }),
            None => f(None),
        }
    }

    /// Removes a key; true if it existed at `now`.
    pub fn remove(&self, database: u8, key: &[u8], now: Timestamp) -> bool {
        self.with_key(database, key, now, |entry| {
            self.records.forget_key(database, key);
            !std::mem::take(entry).is_absent()
        })
    }

    /// Puts an entry in place, as it comes out of a snapshot.
    pub fn restore(&self, database: u8, key: Key, entry: Entry) {
        self.database(database).insert(key, entry);
    }

    /// Keys of a database; keys that have gone by themselves count until the sweep has passed.
    pub fn len(&self, database: u8) -> usize {
        self.existing(database).map_or(0, Shards::len)
    }

    /// Empties a database.
    pub fn clear(&self, database: u8, now: Timestamp) {
        self.clear_keys(database, now);
        self.records.clear(database);
    }

    /// Empties all databases and forgets all policies.
    pub fn clear_all(&self, now: Timestamp) {
        (0..DATABASES_MAX).for_each(|database| self.clear_keys(database, now));
        self.records.clear_all();
        self.policies.clear();
    }

    fn clear_keys(&self, database: u8, now: Timestamp) {
        if self.watches.any() {
            for key in self.watches.watched(database) {
                self.remove(database, key.as_bytes(), now);
            }
        }
        if let Some(shards) = self.existing(database) {
            shards.clear();
        }
    }

    /// Those of the next `count` keys from `cursor` on that exist at `now`. A page may be empty and yet
    /// not the last: keys that have gone by themselves are looked at until the sweep has passed.
    pub fn page(&self, database: u8, cursor: u64, count: usize, now: Timestamp) -> Page {
        let Some(shards) = self.existing(database) else {
            return Page {
                keys: Vec::new(),
                next: 0,
            };
        };
        let (keys, next) = shards.page(cursor, count.max(1), |entry| !entry.is_forgettable(now));
        Page { keys, next }
    }

    /// Shards of a database, for walks that take one at a time.
    pub const fn shards(&self) -> usize {
        SHARDS
    }

    /// Calls `f` with every key and entry of one shard, under its lock.
    pub fn for_each_in(&self, database: u8, shard: usize, f: impl FnMut(&Key, &Entry)) {
        if let Some(shards) = self.existing(database) {
            shards.for_each_in(shard, f);
        }
    }

    /// Drops keys that have gone by themselves, looking at no more than `budget` places, of one shard at
    /// a time: a lock is held for at most that long.
    pub fn sweep(&self, mut sweep: Sweep, budget: usize, now: Timestamp) -> Sweep {
        (sweep.looked, sweep.dropped) = (0, 0);
        while sweep.looked < budget {
            let step = self.databases[sweep.database].get().map(|shards| {
                shards.sweep(sweep.shard, sweep.place, budget - sweep.looked, |entry| {
                    entry.is_forgettable(now)
                })
            });
            match step {
                Some(step) => {
                    // An empty shard counts as a place, so that a sweep of nothing ends too.
                    sweep.looked += step.looked.max(1);
                    sweep.dropped += step.dropped;
                    match step.next {
                        Some(place) => sweep.place = place,
                        None => (sweep.shard, sweep.place) = (sweep.shard + 1, 0),
                    }
                }
                None => sweep.shard = SHARDS,
            }
            if sweep.shard == SHARDS {
                (sweep.shard, sweep.database) = (0, sweep.database + 1);
            }
            if sweep.database == self.databases.len() {
                (sweep.database, sweep.rounds) = (0, sweep.rounds + 1);
                break;
            }
        }
        sweep
    }

    /// Watches a key for a client.
    pub fn watch(&self, database: u8, key: &[u8], watch: &Watch) {
        self.watches.add(database, key, watch);
    }

    /// Ends a client's watch over all its keys.
    pub fn unwatch(&self, watch: &Watch) {
        self.watches.remove(watch);
    }
}

#[cfg(test)]
#[path = "keyspace_tests.rs"]
mod tests;
