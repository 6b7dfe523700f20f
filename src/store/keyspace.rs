//! The databases: what commands and background work may do with keys.

use super::counts::{Counts, Share};
use super::eviction::Eviction;
use super::key::Key;
use super::kinds::{Census, LastCensus};
use super::lapses::Lapses;
use super::policies::Policies;
use super::records::Records;
use super::shard::{SHARDS, Shards};
use super::touched::Touched;
use super::value::Value;
use super::watches::{Watch, Watches};
use crate::core::decision::Refusal;
use crate::core::entry::Entry;
use crate::core::units::Timestamp;
use crate::plain::Plain;
use ahash::RandomState;
use smallvec::SmallVec;
use std::sync::OnceLock;

mod changes;
mod lone;

/// Databases that `SELECT` can reach at most.
pub const DATABASES_MAX: u8 = 16;

/// All databases. Every method locks what it touches for its own length only.
pub struct Store {
    pub(super) databases: Box<[OnceLock<Shards>]>,
    hasher: RandomState,
    pub(super) watches: Watches,
    /// Which keys have changed since the journal last looked.
    pub touched: Touched,
    pub(super) eviction: Eviction,
    /// Limits stored under a name.
    pub policies: Policies,
    /// Tickets and remembered answers.
    pub records: Records,
    /// What is counted of the keys.
    pub counts: Counts,
    /// How many keys of each kind there are.
    pub kinds: LastCensus,
    /// When leases lapse, and which have.
    pub lapses: Lapses,
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
    pub(super) database: usize,
    pub(super) shard: usize,
    pub(super) place: usize,
    /// Places looked at and keys dropped in the last step.
    pub looked: usize,
    /// Keys dropped in the last step.
    pub dropped: usize,
    /// Rounds over all databases that are complete.
    pub rounds: u64,
    pub(super) census: Census,
}

impl Default for Store {
    fn default() -> Self {
        Self::new()
    }
}

impl Store {
    /// An empty store. Hashing is seeded at random, so that nobody can aim keys at one place.
    pub fn new() -> Self {
        Self::with_hasher(RandomState::new())
    }

    /// An empty store whose hashing is seeded by the caller: for a test that must run the same way twice.
    pub fn with_hasher(hasher: RandomState) -> Self {
        let databases = (0..DATABASES_MAX).map(|_| OnceLock::new()).collect();
        Self {
            databases,
            touched: Touched::new(hasher.clone()),
            hasher,
            watches: Watches::default(),
            eviction: Eviction::default(),
            policies: Policies::default(),
            records: Records::default(),
            counts: Counts::default(),
            kinds: LastCensus::default(),
            lapses: Lapses::default(),
        }
    }

    fn database(&self, database: u8) -> &Shards {
        self.databases[usize::from(database)].get_or_init(|| Shards::new(self.hasher.clone()))
    }

    pub(super) fn existing(&self, database: u8) -> Option<&Shards> {
        self.databases[usize::from(database)].get()
    }

    /// Calls `f` with what the key holds, a default value if it does not exist. What `f` leaves there is kept,
    /// unless it can no longer be told from an absent key.
    pub fn with_value<R>(
        &self,
        database: u8,
        key: &[u8],
        now: Timestamp,
        f: impl FnOnce(&mut Value) -> R,
    ) -> R {
        self.database(database).write(key, now, |value| {
            self.lapse(database, key, value, now);
            value.forget(now);
            let share = Share::of(value);
            let before = self.watches.any().then(|| value.clone());
            let seen = self.touched.look(value);
            let result = f(value);
            value.forget(now);
            self.touched.compare(database, key, seen, value);
            let after = Share::of(value);
            self.counts.change(database, share, after);
            if share.has_leases() || after.has_leases() {
                self.lapses.schedule(database, key, value.next_lapse());
            }
            if before.is_some_and(|before| before != *value) {
                self.watches.touch(database, key);
            }
            result
        })
    }

    /// As [`Self::with_value`] for several distinct keys, atomically.
    pub fn with_values<R>(
        &self,
        database: u8,
        keys: &[&[u8]],
        now: Timestamp,
        f: impl FnOnce(&mut [Value]) -> R,
    ) -> R {
        self.database(database).write_many(keys, now, |values| {
            for (value, key) in values.iter_mut().zip(keys) {
                self.lapse(database, key, value, now);
                value.forget(now);
            }
            let share: Share = values.iter().map(Share::of).sum();
            let before: Option<SmallVec<[Value; 4]>> =
                self.watches.any().then(|| values.iter().cloned().collect());
            let seen: SmallVec<[_; 4]> = values.iter().map(|v| self.touched.look(v)).collect();
            let result = f(values);
            values.iter_mut().for_each(|value| value.forget(now));
            for ((value, key), seen) in values.iter().zip(keys).zip(seen) {
                self.touched.compare(database, key, seen, value);
            }
            let after: Share = values.iter().map(Share::of).sum();
            self.counts.change(database, share, after);
            if share.has_leases() || after.has_leases() {
                for (value, key) in values.iter().zip(keys) {
                    self.lapses.schedule(database, key, value.next_lapse());
                }
            }
            for ((before, value), key) in before.iter().flatten().zip(values.iter()).zip(keys) {
                if before != value {
                    self.watches.touch(database, key);
                }
            }
            result
        })
    }

    /// As [`Self::with_value`], for a call that counts under limits.
    ///
    /// # Errors
    /// [`Refusal::WrongKind`] if the key holds a plain value; `f` is not called then.
    pub fn with_limit<R>(
        &self,
        database: u8,
        key: &[u8],
        now: Timestamp,
        f: impl FnOnce(&mut Entry) -> R,
    ) -> Result<R, Refusal> {
        self.with_value(database, key, now, |value| value.limit_mut().map(f))
    }

    /// As [`Self::with_limit`] for several distinct keys, atomically.
    ///
    /// # Errors
    /// [`Refusal::WrongKind`] if one of the keys holds a plain value.
    pub fn with_limits<R>(
        &self,
        database: u8,
        keys: &[&[u8]],
        now: Timestamp,
        f: impl FnOnce(&mut [&mut Entry]) -> R,
    ) -> Result<R, Refusal> {
        self.with_values(database, keys, now, |values| {
            let entries: Result<SmallVec<[&mut Entry; 4]>, _> =
                values.iter_mut().map(Value::limit_mut).collect();
            Ok(f(&mut entries?))
        })
    }

    /// As [`Self::with_value`], for a call that works on a plain value: `f` gets its slot, `None` for a key that does not
    /// exist.
    ///
    /// # Errors
    /// [`Refusal::WrongKind`] if the key holds limits; `f` is not called then.
    pub fn with_plain<R>(
        &self,
        database: u8,
        key: &[u8],
        now: Timestamp,
        f: impl FnOnce(&mut Option<Plain>) -> R,
    ) -> Result<R, Refusal> {
        self.with_value(database, key, now, |value| {
            let mut slot = value.take_plain()?;
            let result = f(&mut slot);
            *value = slot.into();
            Ok(result)
        })
    }

    /// As [`Self::with_plain`] for several distinct keys, atomically.
    ///
    /// # Errors
    /// [`Refusal::WrongKind`] if one of the keys holds limits.
    pub fn with_plains<R>(
        &self,
        database: u8,
        keys: &[&[u8]],
        now: Timestamp,
        f: impl FnOnce(&mut [Option<Plain>]) -> R,
    ) -> Result<R, Refusal> {
        self.with_values(database, keys, now, |values| {
            values
                .iter()
                .try_for_each(|value| value.plain().map(drop))?;
            let slots = values.iter_mut().map(Value::take_plain);
            let mut slots = slots.collect::<Result<SmallVec<[_; 4]>, _>>()?;
            let result = f(&mut slots);
            for (value, slot) in values.iter_mut().zip(slots) {
                *value = slot.into();
            }
            Ok(result)
        })
    }

    /// Calls `f` with the plain value of the key, `None` if it does not exist at `now`.
    ///
    /// # Errors
    /// [`Refusal::WrongKind`] if the key holds limits; `f` is not called then.
    pub fn read_plain<R>(
        &self,
        database: u8,
        key: &[u8],
        now: Timestamp,
        f: impl FnOnce(Option<&Plain>) -> R,
    ) -> Result<R, Refusal> {
        self.read(database, key, now, |value| {
            value.map_or(Ok(None), Value::plain).map(f)
        })
    }

    /// Calls `f` with what each of several keys holds, in turn and at one instant: nobody writes to any of them meanwhile.
    pub fn read_many(
        &self,
        database: u8,
        keys: &[&[u8]],
        now: Timestamp,
        mut f: impl FnMut(Option<&Value>),
    ) {
        let exists = |value: &&Value| !value.is_forgettable(now);
        match self.existing(database) {
            Some(shards) => shards.read_many(keys, |value| f(value.filter(exists))),
            None => keys.iter().for_each(|_| f(None)),
        }
    }

    /// Calls `f` with what the key holds, `None` if it does not exist at `now`.
    pub fn read<R>(
        &self,
        database: u8,
        key: &[u8],
        now: Timestamp,
        f: impl FnOnce(Option<&Value>) -> R,
    ) -> R {
        match self.existing(database) {
            Some(shards) => shards.read(key, |value| {
                f(value.filter(|value| !value.is_forgettable(now)))
            }),
            None => f(None),
        }
    }

    /// Removes a key; true if it existed at `now`.
    pub fn remove(&self, database: u8, key: &[u8], now: Timestamp) -> bool {
        self.remove_then(database, key, now, |_| {})
    }

    /// As [`Self::remove`]; `None` if somebody waits at the key, which is left as it is then.
    pub fn remove_unless_waited(&self, database: u8, key: &[u8], now: Timestamp) -> Option<bool> {
        self.with_value(database, key, now, |value| {
            let is_waited = matches!(value, Value::Limit(entry) if entry.is_waited());
            (!is_waited).then(|| self.take_out(database, key, value))
        })
    }

    fn take_out(&self, database: u8, key: &[u8], value: &mut Value) -> bool {
        self.records.forget_key(database, key);
        !std::mem::take(value).is_absent()
    }

    /// As [`Self::remove`]; calls `f` with what is left before anybody else sees it.
    pub fn remove_then(
        &self,
        database: u8,
        key: &[u8],
        now: Timestamp,
        f: impl FnOnce(&mut Value),
    ) -> bool {
        self.with_value(database, key, now, |value| {
            let existed = self.take_out(database, key, value);
            f(value);
            existed
        })
    }

    /// Puts a value in place, as it comes from disk; a default one takes the key out.
    pub fn restore(&self, database: u8, key: &Key, value: Value) {
        let (share, next_lapse) = (Share::of(&value), value.next_lapse());
        // Before all time nothing has gone by itself.
        let (name, shards) = (key.as_bytes(), self.database(database));
        let replaced = shards.write(name, Timestamp::ZERO, |place| {
            Share::of(&std::mem::replace(place, value))
        });
        if share.has_leases() || replaced.has_leases() {
            self.lapses.schedule(database, key.as_bytes(), next_lapse);
        }
        self.counts.change(database, replaced, share);
    }

    /// Keys of a database; keys that have gone by themselves count until the sweep has passed.
    pub fn len(&self, database: u8) -> usize {
        self.existing(database).map_or(0, Shards::len)
    }

    /// Bytes that a key takes that exists at `now`: its place in the table, its name, and what it holds.
    pub fn bytes(&self, database: u8, key: &[u8], now: Timestamp) -> Option<usize> {
        self.existing(database)?
            .bytes(key, |value| !value.is_forgettable(now))
    }

    /// Empties a database.
    pub fn clear(&self, database: u8, now: Timestamp) {
        // Whoever looks at what has changed while this goes on must learn of it, and so must who looks later.
        self.touched.empty(database);
        self.clear_keys(database, now);
        self.records.clear(database);
        self.touched.empty(database);
    }

    /// Empties all databases and forgets all policies.
    pub fn clear_all(&self, now: Timestamp) {
        let databases = || 0..DATABASES_MAX;
        databases().for_each(|database| self.touched.empty(database));
        databases().for_each(|database| self.clear_keys(database, now));
        self.records.clear_all();
        self.policies.clear();
        databases().for_each(|database| self.touched.empty(database));
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
        self.counts.clear(database);
        self.lapses.clear(database);
    }

    /// Takes out of a value what has lapsed: the one place that learns of a lapse.
    pub(super) fn lapse(&self, database: u8, key: &[u8], value: &mut Value, now: Timestamp) {
        let numbers = value.lapse(now);
        self.counts.lapsed(database, numbers.len());
        self.lapses.notice(database, key, &numbers);
    }

    /// Notices leases that have lapsed by `now`, of some keys at a time: [`Lapses::next`] tells whether there are more.
    pub fn lapse_due(&self, now: Timestamp) {
        for (database, key) in self.lapses.take_due(now) {
            self.with_value(database, key.as_bytes(), now, |_| ());
        }
    }

    /// Those of the next `count` keys from `cursor` on that exist at `now` and are `wanted`. A page may be empty and yet
    /// not the last: keys that have gone by themselves are looked at until the sweep has passed.
    pub fn page(
        &self,
        database: u8,
        cursor: u64,
        count: usize,
        now: Timestamp,
        wanted: impl Fn(&Value) -> bool,
    ) -> Page {
        let Some(shards) = self.existing(database) else {
            return Page {
                keys: Vec::new(),
                next: 0,
            };
        };
        let (keys, next) = shards.page(cursor, count.max(1), |value| {
            !value.is_forgettable(now) && wanted(value)
        });
        Page { keys, next }
    }

    /// Shards of a database, for walks that take one at a time.
    pub const fn shards(&self) -> usize {
        SHARDS
    }

    /// Calls `f` with every key and value of one shard, under its lock.
    pub fn for_each_in(&self, database: u8, shard: usize, f: impl FnMut(&Key, &Value)) {
        if let Some(shards) = self.existing(database) {
            shards.for_each_in(shard, f);
        }
    }

    /// Drops keys that have gone by themselves, and counts the leases that have lapsed, looking at no more than
    /// `budget` places, of one shard at a time: a lock is held for at most that long.
    pub fn sweep(&self, mut sweep: Sweep, budget: usize, now: Timestamp) -> Sweep {
        (sweep.looked, sweep.dropped) = (0, 0);
        while sweep.looked < budget {
            let step = self.databases[sweep.database].get().map(|shards| {
                shards.sweep(
                    sweep.shard,
                    sweep.place,
                    budget - sweep.looked,
                    |key, value| {
                        self.lapse(sweep.database as u8, key.as_bytes(), value, now);
                        !sweep.census.stays(value, now)
                    },
                )
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
                self.kinds.publish(&std::mem::take(&mut sweep.census));
                break;
            }
        }
        sweep
    }

    /// Watches a key for a client, as it is at `now`.
    pub fn watch(&self, database: u8, key: &[u8], watch: &mut Watch, now: Timestamp) {
        self.watches.add(database, key, watch);
        // Looked at when it is watched, so that no change is missed in between.
        let ends = self.read(database, key, now, |value| value?.deadline());
        if let Some(ends) = ends {
            watch.ends_at(ends);
        }
    }

    /// Ends a client's watch over all its keys.
    pub fn unwatch(&self, watch: &Watch) {
        self.watches.remove(watch);
    }
}

#[cfg(test)]
#[path = "keyspace_tests.rs"]
mod tests;
