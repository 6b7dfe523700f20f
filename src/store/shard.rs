//! One database: hash tables in shards, each behind its lock.
//!
//! For several keys every shard is locked once, in ascending order, and no guard ever leaves this file. A call holds its
//! locks while it decides and writes, which takes well under a microsecond; long walks (sweep, snapshot, SCAN) take one
//! shard at a time and a part of it.

use super::key::Key;
use super::outline::{self, Outline};
use super::packed::Packed;
use super::table::{Fill, PLACE_BYTES, Table};
use super::value::Value;
use crate::core::bucket::Bucket;
use crate::core::units::Timestamp;
use ahash::RandomState;
use parking_lot::RwLock;
use smallvec::SmallVec;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Shards of a database, a power of two. Many, so that calls rarely meet at one, and that one of ten million keys (20,000)
/// is walked in a fraction of a millisecond, or written to a snapshot in one. Few, so that a database of some keys costs little.
pub const SHARDS: usize = 512;

/// The table takes the top seven bits of a hash and the lowest ones. Positions for SCAN are all but the top seven, and the
/// shard is the first of those, so that positions run shard by shard.
const POSITION_BITS: u32 = 57;

/// The position without the bits of the shard.
const SHARD_SHIFT: u32 = POSITION_BITS - SHARDS.trailing_zeros();

/// For how long, in nanoseconds, a key has been dead that is dropped to make room: one that is called several times a second
/// keeps its place, however soon it is full again. To make it anew takes longer than a call.
const DEAD_FOR_NS: u64 = 1_000_000_000;

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

/// One database.
pub struct Shards {
    shards: Box<[Shard]>,
    /// Of each shard's table, to be read without its lock.
    outlines: Box<[Outline]>,
    hasher: RandomState,
    crowded_out: AtomicUsize,
}

/// A table and its lock, in a cache line of their own.
#[derive(Default)]
#[repr(align(64))]
struct Shard(RwLock<Table>);

impl Shards {
    pub fn new(hasher: RandomState) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Shard::default()).collect(),
            outlines: (0..SHARDS).map(|_| Outline::default()).collect(),
            hasher,
            crowded_out: AtomicUsize::new(0),
        }
    }

    fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Reads one value, under a shared lock.
    pub fn read<R>(&self, key: &[u8], f: impl FnOnce(Option<&Value>) -> R) -> R {
        self.read_packed(key, |packed| match packed {
            Some(packed) => packed.read(|value| f(Some(value))),
            None => f(None),
        })
    }

    /// Bytes that a key takes whose value `exists` says is there: its place, its name, and what it holds.
    pub fn bytes(&self, key: &[u8], exists: impl FnOnce(&Value) -> bool) -> Option<usize> {
        self.read_packed(key, |packed| {
            let packed = packed?;
            let heap = Key::heap_bytes(key) + packed.heap_bytes();
            packed.read(exists).then_some(PLACE_BYTES + heap)
        })
    }

    fn read_packed<R>(&self, key: &[u8], f: impl FnOnce(Option<&Packed>) -> R) -> R {
        let hash = self.hash(key);
        let table = self.shards[shard_of(hash)].0.read();
        f(table.find(hash, key))
    }

    /// Calls `f` with each of several values in turn, their shards all under shared locks.
    pub fn read_many(&self, keys: &[&[u8]], mut f: impl FnMut(Option<&Value>)) {
        let hashes: SmallVec<[u64; 16]> = keys.iter().map(|key| self.hash(key)).collect();
        let order = order_of(&hashes);
        let lock = |&shard: &usize| self.shards[shard].0.read();
        let guards: SmallVec<[_; 16]> = order.iter().map(lock).collect();
        for (key, &hash) in keys.iter().zip(&hashes) {
            match guards[place_in(&order, hash)].find(hash, key) {
                Some(packed) => packed.read(|value| f(Some(value))),
                None => f(None),
            }
        }
    }

    /// Gives `f` the value of `key`, or a default one to fill; a void one is dropped afterwards.
    pub fn write<R>(&self, key: &[u8], now: Timestamp, f: impl FnOnce(&mut Value) -> R) -> R {
        let hash = self.hash(key);
        let mut table = self.shards[shard_of(hash)].0.write();
        let (result, value) = match table.find_mut(hash, key) {
            Some(packed) => {
                let mut value = packed.take();
                let result = f(&mut value);
                if !value.is_absent() {
                    packed.put(value);
                    return result;
                }
                (result, value)
            }
            None => {
                let mut value = Value::default();
                (f(&mut value), value)
            }
        };
        self.put(&mut table, key, hash, value, now);
        result
    }

    /// Gives `f` the bucket of `key` if it is packed, and of a key that is not there the one that `begin` makes. `None`
    /// for any other key, and if `f` says so: then the bucket must be as it was. `touch` is told of a change, with the
    /// key's hash, see [`Packed::with_bucket`].
    pub fn write_bucket<R>(
        &self,
        key: &[u8],
        now: Timestamp,
        begin: impl FnOnce() -> Bucket,
        f: impl FnOnce(&mut Bucket) -> Option<R>,
        touch: impl FnOnce(u64) -> bool,
    ) -> Option<R> {
        let hash = self.hash(key);
        let mut table = self.shards[shard_of(hash)].0.write();
        if let Some(packed) = table.find_mut(hash, key) {
            return packed.with_bucket(f, || touch(hash))?;
        }
        let mut bucket = begin();
        let result = f(&mut bucket)?;
        let packed = Packed::of_bucket(bucket).touched(touch(hash));
        self.insert(&mut table, key, hash, packed, now);
        Some(result)
    }

    /// As [`Self::read`], for whoever has taken the key out of those that were touched.
    pub fn read_touched<R>(&self, key: &[u8], f: impl FnOnce(Option<&Value>) -> R) -> R {
        let hash = self.hash(key);
        let mut table = self.shards[shard_of(hash)].0.write();
        match table.find_mut(hash, key) {
            Some(packed) => {
                packed.untouch();
                packed.read(|value| f(Some(value)))
            }
            None => f(None),
        }
    }

    /// Changes are told again of all keys, see [`Packed::untouch`].
    pub fn untouch_all(&self) {
        for shard in &self.shards {
            shard.0.write().for_each_mut(Packed::untouch);
        }
    }

    /// As [`Self::write`] for several keys at once, all locked before `f` sees them. A key named twice
    /// is one value only at its first place; callers that care refuse that.
    pub fn write_many<R>(
        &self,
        keys: &[&[u8]],
        now: Timestamp,
        f: impl FnOnce(&mut [Value]) -> R,
    ) -> R {
        let hashes: SmallVec<[u64; 16]> = keys.iter().map(|key| self.hash(key)).collect();
        let order = order_of(&hashes);
        let lock = |&shard: &usize| self.shards[shard].0.write();
        let mut guards: SmallVec<[_; 16]> = order.iter().map(lock).collect();
        let mut values: SmallVec<[Value; 16]> = SmallVec::new();
        for (key, &hash) in keys.iter().zip(&hashes) {
            let found = guards[place_in(&order, hash)].find_mut(hash, key);
            values.push(found.map_or_else(Value::default, Packed::take));
        }
        let result = f(&mut values);
        for ((key, &hash), value) in keys.iter().zip(&hashes).zip(values) {
            self.put(&mut guards[place_in(&order, hash)], key, hash, value, now);
        }
        result
    }

    /// Returns when every lock that is held now was let go once.
    pub fn pass(&self) {
        self.shards.iter().for_each(|shard| drop(shard.0.read()));
    }

    /// Puts a value at its key; a void one takes the key out of the table.
    fn put(&self, table: &mut Table, key: &[u8], hash: u64, value: Value, now: Timestamp) {
        if value.is_absent() {
            table.remove(hash, key);
        } else if let Some(packed) = table.find_mut(hash, key) {
            packed.put(value);
        } else {
            self.insert(table, key, hash, Packed::new(value), now);
        }
    }

    /// Puts in a key that is not there.
    fn insert(&self, table: &mut Table, key: &[u8], hash: u64, packed: Packed, now: Timestamp) {
        let rehash = |key: &Key| self.hash(key.as_bytes());
        let at = now.before_ns(DEAD_FOR_NS);
        let place = (Key::new(key), packed);
        let dropped = table.insert(hash, place, rehash, |packed| packed.is_dead(at));
        if dropped > 0 {
            self.crowded_out.fetch_add(dropped, Relaxed);
        }
        self.outlines[shard_of(hash)].follow(table.extent());
    }

    /// Has the processor fetch what it will look at for these keys, so that it waits for all of them at once and not for each in
    /// its turn. Nothing is promised and nothing locked.
    pub fn fetch<'a>(&self, keys: impl Iterator<Item = &'a [u8]>) {
        for key in keys {
            let hash = self.hash(key);
            let shard = shard_of(hash);
            outline::fetch_line(ptr::from_ref(&self.shards[shard]).addr());
            self.outlines[shard].fetch(hash);
        }
    }

    /// Keys dropped since the last call because there was no room.
    pub fn take_crowded_out(&self) -> usize {
        self.crowded_out.swap(0, Relaxed)
    }

    /// Keys in the table, those that nobody has yet noticed to be gone included.
    pub fn len(&self) -> usize {
        let tables = self.shards.iter();
        tables.map(|table| table.0.read().len()).sum()
    }

    /// Bytes of the tables: a place and a byte beside it for each key that they have room for.
    pub fn table_bytes(&self) -> usize {
        let tables = self.shards.iter();
        tables.map(|table| table.0.read().bytes()).sum()
    }

    /// The shard of a key.
    pub fn shard_of_key(&self, key: &[u8]) -> usize {
        shard_of(self.hash(key))
    }

    /// How full the table of a shard is.
    pub fn fill(&self, shard: usize) -> Fill {
        self.shards[shard].0.read().fill()
    }

    /// Ends the move of the keys of a shard to another table, if there is one.
    pub fn settle(&self, shard: usize) {
        let mut table = self.shards[shard].0.write();
        table.settle(|key| self.hash(key.as_bytes()));
    }

    /// Replaces the table of a shard by a new one of the same size, in which the places of keys that were dropped are
    /// free. They are not in a table that is nearly full: whoever looks for a key must not stop there.
    pub fn renew(&self, shard: usize) {
        let mut table = self.shards[shard].0.write();
        table.renew(|key| self.hash(key.as_bytes()));
    }

    /// Replaces the table of a shard by the smallest that holds its keys and some more; false if it is that already.
    pub fn shrink(&self, shard: usize) -> bool {
        let mut table = self.shards[shard].0.write();
        table.shrink_at_once(|key| self.hash(key.as_bytes()))
    }

    /// Empties the database. What it held is freed by a thread of its own if that is much.
    pub fn clear(&self) {
        let empty = |shard: &Shard| std::mem::take(&mut *shard.0.write());
        let garbage: Vec<Table> = self.shards.iter().map(empty).collect();
        if garbage.iter().map(Table::len).sum::<usize>() > 10_000 {
            std::thread::spawn(move || drop(garbage));
        }
    }

    /// Calls `f` with every key and value of one shard, under its shared lock.
    pub fn for_each_in(&self, shard: usize, mut f: impl FnMut(&Key, &Value)) {
        for (key, packed) in self.shards[shard].0.read().iter() {
            packed.read(|value| f(key, value));
        }
    }

    /// Drops what `is_dead` says, which may change what it looks at, from at most `budget` places of a shard,
    /// starting at `place`. At the shard's end a table that became much too large is given back.
    pub fn sweep(
        &self,
        shard: usize,
        place: usize,
        budget: usize,
        mut is_dead: impl FnMut(&Key, &mut Value) -> bool,
    ) -> Step {
        let mut table = self.shards[shard].0.write();
        let moved = table.move_on(budget, |key| self.hash(key.as_bytes()), |_| false);
        let places = table.places();
        let end = places.min(place.saturating_add(budget - moved.places));
        let mut is_dead = |key: &Key, packed: &mut Packed| {
            let mut value = packed.take();
            let dead = is_dead(key, &mut value);
            if !dead {
                packed.put(value);
            }
            dead
        };
        let mut dropped = 0;
        for index in place..end {
            dropped += usize::from(table.remove_if(index, &mut is_dead));
        }
        if end == places {
            table.shrink();
        }
        // A table that begins to shrink is not left before it has.
        let is_done = end == places && !table.is_moving();
        Step {
            looked: moved.places + end.saturating_sub(place),
            dropped,
            next: (!is_done).then_some(end),
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
        mut wanted: impl FnMut(&Value) -> bool,
    ) -> (Vec<Key>, u64) {
        let mut names = Vec::new();
        let (mut from, mut looked) = (position, 0);
        while looked < count {
            let shard = (from >> SHARD_SHIFT) as usize;
            if shard >= SHARDS {
                return (names, 0);
            }
            let mut found: Vec<(u64, Option<Key>)> = Vec::new();
            self.for_each_in(shard, |key, value| {
                let at = position_of(self.hash(key.as_bytes()));
                if at >= from {
                    found.push((at, wanted(value).then(|| key.clone())));
                }
            });
            let room = count - looked;
            from = ((shard as u64) + 1) << SHARD_SHIFT;
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

const fn position_of(hash: u64) -> u64 {
    hash & ((1 << POSITION_BITS) - 1)
}

fn shard_of(hash: u64) -> usize {
    (position_of(hash) >> SHARD_SHIFT) as usize
}

/// The shards of these hashes, in the order in which they are locked.
fn order_of(hashes: &[u64]) -> SmallVec<[usize; 16]> {
    let mut order: SmallVec<[usize; 16]> = hashes.iter().map(|&hash| shard_of(hash)).collect();
    order.sort_unstable();
    order.dedup();
    order
}

/// Where in that order the shard of a hash is.
fn place_in(order: &[usize], hash: u64) -> usize {
    order
        .binary_search(&shard_of(hash))
        .expect("its shard was locked with the others")
}
