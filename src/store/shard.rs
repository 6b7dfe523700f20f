//! One database: a hash table in shards, each behind its lock. The only file that names dashmap.
//!
//! DashMap's own methods lock one key at a time, and two held at once deadlock. So its shards are
//! locked here directly (`raw-api`): for several keys every shard once, in ascending order, and no
//! guard ever leaves this file. A call holds its locks while it decides and writes, which takes well
//! under a microsecond; long walks (sweep, snapshot, SCAN) take one shard at a time and a part of it.

use super::key::Key;
use ahash::RandomState;
use dashmap::{DashMap, SharedValue};
use smallvec::SmallVec;

/// Shards of a database. Many, so that one shard of ten million keys (40,000) is rehashed, swept or
/// written to a snapshot in about a millisecond.
pub const SHARDS: usize = 256;

/// Of the 64 bits of a hash DashMap drops the top seven, which hashbrown uses, and picks the shard by
/// the next ones. Positions for SCAN are those remaining 57 bits, so that they run shard by shard.
const POSITION_BITS: u32 = 57;

/// A value that stands for "no such key" in its default form.
pub trait Value: Clone + PartialEq + Default {
    /// True if the value can be dropped from the table.
    fn is_void(&self) -> bool;
}

/// What one step of a sweep over a shard did.
pub struct Step {
    /// Places looked at.
    pub looked: usize,
    /// Keys dropped.
    pub dropped: usize,
    /// The place to go on from; `None` at the shard's end.
    pub next: Option<usize>,
}

impl Step {
    /// Of a shard that is not there.
    pub const NOTHING: Self = Self {
        looked: 0,
        dropped: 0,
        next: None,
    };
}

/// The table of a shard, in places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Table {
    /// All; at least one, though an empty table takes no memory.
    pub places: usize,
    /// Those with a key.
    pub keys: usize,
    /// Those that keys can take before the table is replaced by a larger one.
    pub free: usize,
    /// Keys that it would hold if it were made anew: one place in eight stays free.
    pub keys_max: usize,
}

/// One database.
pub struct Shards<V> {
    map: DashMap<Key, V, RandomState>,
}

impl<V: Value> Shards<V> {
    pub fn new(hasher: RandomState) -> Self {
        Self {
            map: DashMap::with_hasher_and_shard_amount(hasher, SHARDS),
        }
    }

    /// Bytes of a key's place in a table, with the byte beside it.
    pub const PLACE_BYTES: usize = size_of::<(Key, SharedValue<V>)>() + 1;

    fn hash(&self, key: &[u8]) -> u64 {
        self.map.hasher().hash_one(key)
    }

    fn shard_of(&self, hash: u64) -> usize {
        self.map.determine_shard(hash as usize)
    }

    /// Reads one value, under a shared lock.
    pub fn read<R>(&self, key: &[u8], f: impl FnOnce(Option<&V>) -> R) -> R {
        let hash = self.hash(key);
        let shard = self.map.shards()[self.shard_of(hash)].read();
        f(shard
            .get(hash, |(name, _)| name.as_bytes() == key)
            .map(|(_, value)| value.get()))
    }

    /// Calls `f` with each of several values in turn, their shards all under shared locks.
    pub fn read_many(&self, keys: &[&[u8]], mut f: impl FnMut(Option<&V>)) {
        let hashes: SmallVec<[u64; 16]> = keys.iter().map(|key| self.hash(key)).collect();
        let order = self.order_of(&hashes);
        let shards = self.map.shards();
        let guards: SmallVec<[_; 16]> = order.iter().map(|&shard| shards[shard].read()).collect();
        for (key, &hash) in keys.iter().zip(&hashes) {
            let shard = &guards[self.place_in(&order, hash)];
            let found = shard.get(hash, |(name, _)| name.as_bytes() == *key);
            f(found.map(|(_, value)| value.get()));
        }
    }

    /// The shards of these hashes, in the order in which they are locked.
    fn order_of(&self, hashes: &[u64]) -> SmallVec<[usize; 16]> {
        let mut order: SmallVec<[usize; 16]> =
            hashes.iter().map(|&hash| self.shard_of(hash)).collect();
        order.sort_unstable();
        order.dedup();
        order
    }

    /// Where in that order the shard of a hash is.
    fn place_in(&self, order: &[usize], hash: u64) -> usize {
        order
            .binary_search(&self.shard_of(hash))
            .expect("its shard was locked with the others")
    }

    /// Gives `f` the value of `key`, or a default one to fill; a void one is dropped afterwards.
    pub fn write<R>(&self, key: &[u8], f: impl FnOnce(&mut V) -> R) -> R {
        let hash = self.hash(key);
        let mut shard = self.map.shards()[self.shard_of(hash)].write();
        let Some((_, value)) = shard.get_mut(hash, |(name, _)| name.as_bytes() == key) else {
            let mut value = V::default();
            let result = f(&mut value);
            if !value.is_void() {
                let entry = (Key::new(key), SharedValue::new(value));
                shard.insert_entry(hash, entry, |(name, _)| self.hash(name.as_bytes()));
            }
            return result;
        };
        let value = value.get_mut();
        let result = f(value);
        if value.is_void() {
            shard.erase_entry(hash, |(name, _)| name.as_bytes() == key);
        }
        result
    }

    /// As [`Self::write`] for several keys at once, all locked before `f` sees them. A key named twice
    /// is one value only at its first place; callers that care refuse that.
    pub fn write_many<R>(&self, keys: &[&[u8]], f: impl FnOnce(&mut [V]) -> R) -> R {
        let hashes: SmallVec<[u64; 16]> = keys.iter().map(|key| self.hash(key)).collect();
        let order = self.order_of(&hashes);
        let shards = self.map.shards();
        let mut guards: SmallVec<[_; 16]> =
            order.iter().map(|&shard| shards[shard].write()).collect();
        let guard_of = |hash| self.place_in(&order, hash);

        // The values are moved out for the call, since two mutable borrows of a table cannot be had.
        let mut values: SmallVec<[V; 16]> = keys
            .iter()
            .zip(&hashes)
            .map(|(key, &hash)| {
                let found =
                    guards[guard_of(hash)].get_mut(hash, |(name, _)| name.as_bytes() == *key);
                found
                    .map(|(_, value)| std::mem::take(value.get_mut()))
                    .unwrap_or_default()
            })
            .collect();
        let result = f(&mut values);
        for ((key, &hash), value) in keys.iter().zip(&hashes).zip(values) {
            let shard = &mut guards[guard_of(hash)];
            let same = |(name, _): &(Key, SharedValue<V>)| name.as_bytes() == *key;
            if value.is_void() {
                shard.erase_entry(hash, same);
            } else if let Some((_, place)) = shard.get_mut(hash, same) {
                *place.get_mut() = value;
            } else {
                let entry = (Key::new(key), SharedValue::new(value));
                shard.insert_entry(hash, entry, |(name, _)| self.hash(name.as_bytes()));
            }
        }
        result
    }

    /// Returns when every lock that is held now was let go once.
    pub fn pass(&self) {
        self.map
            .shards()
            .iter()
            .for_each(|shard| drop(shard.read()));
    }

    /// Keys in the table, those that nobody has yet noticed to be gone included.
    pub fn len(&self) -> usize {
        self.map
            .shards()
            .iter()
            .map(|shard| shard.read().len())
            .sum()
    }

    /// Bytes of the tables: a place and a byte beside it for each key that they have room for.
    pub fn table_bytes(&self) -> usize {
        let places = self.map.shards().iter().map(|shard| {
            let shard = shard.read();
            if shard.capacity() == 0 {
                0
            } else {
                shard.buckets()
            }
        });
        places.sum::<usize>() * Self::PLACE_BYTES
    }

    /// The shard of a key.
    pub fn shard_of_key(&self, key: &[u8]) -> usize {
        self.shard_of(self.hash(key))
    }

    /// The table of a shard.
    pub fn table(&self, shard: usize) -> Table {
        let table = self.map.shards()[shard].read();
        let (places, keys) = (table.buckets(), table.len());
        let is_small = places < 8;
        Table {
            places,
            keys,
            free: table.capacity() - keys,
            keys_max: if is_small { places - 1 } else { places / 8 * 7 },
        }
    }

    /// Bytes of a table of so many places.
    pub const fn bytes_of(places: usize) -> usize {
        // There is a group of bytes more than places.
        places * Self::PLACE_BYTES + 16
    }

    /// Replaces the table of a shard by a new one of the same size, in which the places of keys that were dropped are
    /// free. They are not in a table that is nearly full: whoever looks for a key must not stop there.
    pub fn renew(&self, shard: usize) {
        let mut table = self.map.shards()[shard].write();
        let hash = |(name, _): &(Key, SharedValue<V>)| self.hash(name.as_bytes());
        let places = table.buckets();
        let mut renewed = dashmap_shard_like(&*table);
        renewed.reserve(places / 8 * 7, hash);
        for entry in std::mem::take(&mut *table) {
            renewed.insert(hash(&entry), entry, hash);
        }
        *table = renewed;
    }

    /// Replaces the table of a shard by the smallest that holds its keys and some more; false if it is that already.
    pub fn shrink(&self, shard: usize) -> bool {
        let mut table = self.map.shards()[shard].write();
        let (before, room) = (table.buckets(), table.len() + table.len() / 8);
        table.shrink_to(room, |(name, _)| self.hash(name.as_bytes()));
        table.buckets() < before
    }

    /// Empties the database. What it held is freed by a thread of its own if that is much.
    pub fn clear(&self)
    where
        V: Send + 'static,
    {
        let mut garbage = Vec::new();
        for shard in self.map.shards() {
            let empty = dashmap_shard_like(&*shard.read());
            garbage.push(std::mem::replace(&mut *shard.write(), empty));
        }
        if garbage.iter().map(|table| table.len()).sum::<usize>() > 10_000 {
            std::thread::spawn(move || drop(garbage));
        }
    }

    /// Calls `f` with every key and value of one shard, under its shared lock.
    pub fn for_each_in(&self, shard: usize, mut f: impl FnMut(&Key, &V)) {
        let shard = self.map.shards()[shard].read();
        // SAFETY: the guard outlives the iterator, and nothing changes the table while it is held.
        for bucket in unsafe { shard.iter() } {
            // SAFETY: the iterator yields full buckets of the table that the guard keeps alive.
            let (key, value) = unsafe { bucket.as_ref() };
            f(key, value.get());
        }
    }

    /// Drops what `is_dead` says, which may change what it looks at, from at most `budget` places of a shard,
    /// starting at `place`. At the shard's end a table that became much too large is given back.
    pub fn sweep(
        &self,
        shard: usize,
        place: usize,
        budget: usize,
        mut is_dead: impl FnMut(&Key, &mut V) -> bool,
    ) -> Step {
        let mut table = self.map.shards()[shard].write();
        let buckets = if table.is_empty() { 0 } else { table.buckets() };
        let end = buckets.min(place.saturating_add(budget));
        let mut dropped = 0;
        for index in place..end {
            // SAFETY: index is below the number of buckets, the bucket is only touched if full, and the write
            // lock leaves nobody else a reference into it.
            unsafe {
                if table.is_bucket_full(index) {
                    let bucket = table.bucket(index);
                    let (key, value) = bucket.as_mut();
                    if is_dead(key, value.get_mut()) {
                        table.erase(bucket);
                        dropped += 1;
                    }
                }
            }
        }
        let looked = end.saturating_sub(place);
        if end < buckets {
            return Step {
                looked,
                dropped,
                next: Some(end),
            };
        }
        if table.len() < table.capacity() / 4 {
            let room = table.len() * 2;
            table.shrink_to(room, |(name, _)| self.hash(name.as_bytes()));
        }
        Step {
            looked,
            dropped,
            next: None,
        }
    }

    /// Looks at the next `count` keys (or all that are left) from `position` on, in the order of their
    /// positions: the names of those `wanted`, and the position to go on from; zero at the end. Every
    /// key that is there from the first to the last page is on exactly one, however the table grows or
    /// shrinks meanwhile.
    pub fn page(
        &self,
        position: u64,
        count: usize,
        mut wanted: impl FnMut(&V) -> bool,
    ) -> (Vec<Key>, u64) {
        let shift = POSITION_BITS - SHARDS.trailing_zeros();
        let position_of =
            |key: &Key| (self.hash(key.as_bytes()) << (64 - POSITION_BITS)) >> (64 - POSITION_BITS);
        let mut names = Vec::new();
        let (mut from, mut looked) = (position, 0);
        while looked < count {
            let shard = (from >> shift) as usize;
            if shard >= SHARDS {
                return (names, 0);
            }
            let mut found: Vec<(u64, Option<Key>)> = Vec::new();
            self.for_each_in(shard, |key, value| {
                let at = position_of(key);
                if at >= from {
                    found.push((at, wanted(value).then(|| key.clone())));
                }
            });
            let room = count - looked;
            from = ((shard as u64) + 1) << shift;
            if found.len() > room {
                found.select_nth_unstable_by_key(room - 1, |(at, _)| *at);
                // Keys that share a position go on the same page.
                let last = found[room - 1].0;
                from = last + 1;
                found.retain(|(at, _)| *at <= last);
            }
            looked += found.len();
            names.extend(found.into_iter().filter_map(|(_, key)| key));
        }
        (names, if from >> POSITION_BITS == 0 { from } else { 0 })
    }
}

/// An empty table of the same type as `_table`, whose type cannot be named from here.
fn dashmap_shard_like<T: Default>(_table: &T) -> T {
    T::default()
}
