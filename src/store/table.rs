//! A hash table of keys that grows, and shrinks, a little at a time.
//!
//! A table that is full is exchanged for an empty one, twice as large, in no time; its keys move over with the keys that
//! are new after that, a few for each. Until all have moved a key is looked for in both. So no call waits for a hundred
//! thousand keys to move, as it would in a table that moves all of them when it is full. Redis's own dictionary works
//! this way.
//!
//! Keys that went leave marks in a table, which fill it as keys do; and of keys that live for a moment each, a table may
//! hold little but dead ones. It is exchanged for one of the same size then, and the dead do not move.

use super::key::Key;
use super::packed::Packed;
use hashbrown::HashTable;
use std::ptr;

/// A key and what it holds.
type Place = (Key, Packed);

// A table has room for 1.7 keys for each that it holds, on average: a byte more here costs 1.7 bytes a key.
const _: () = assert!(size_of::<Place>() == 40);

/// Bytes of a key's place, with the byte beside it.
pub const PLACE_BYTES: usize = size_of::<Place>() + 1;

/// Places of the old table that are emptied with each new key: some microseconds' work. Few enough that nobody waits, and
/// many enough that there are soon not two tables any more; the new one has room for eight times the keys that come
/// meanwhile.
const MOVED_AT_A_TIME: usize = 64;

/// Places from which is told how many keys of a full table are dead: some microseconds' work.
const SAMPLE_PLACES: usize = 128;

/// Keys and what they hold. Whoever calls has hashed the key.
#[derive(Default)]
pub struct Table {
    places: HashTable<Place>,
    old: Option<Box<Old>>,
    /// Of [`Self::places`]; zero until a key has been put into it.
    end: usize,
}

/// Where the places of a table lie.
#[derive(Clone, Copy)]
pub struct Extent {
    /// The address behind the place of index 0. Those of others are before it, in order.
    pub end: usize,
    /// The bits of a hash that are the index from which on its key is looked for.
    pub mask: usize,
}

/// What was done about an old table.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Moved {
    /// Its places that are empty now.
    pub places: usize,
    /// Keys that were dead and are gone.
    pub dropped: usize,
}

/// The table before, on its way out.
struct Old {
    places: HashTable<Place>,
    /// Those before it are empty.
    next: usize,
}

/// How the places of a table are used; those of an old one are left out, though its keys are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fill {
    /// All; at least one, though an empty table takes no memory.
    pub places: usize,
    /// Those with a key.
    pub keys: usize,
    /// Those that keys can take before the table is exchanged for another.
    pub free: usize,
    /// Keys that it would hold if it were made anew: one place in eight stays free.
    pub keys_max: usize,
}

impl Fill {
    /// Bytes of the table that this one is exchanged for if so many keys more come than have room, at the most.
    pub fn grown_bytes(self, count: usize) -> usize {
        let places = places_for(grown(self.keys + count, self.places));
        // There is a group of bytes more than places.
        places * PLACE_BYTES + 16
    }

    /// Bytes of the table.
    pub const fn bytes(self) -> usize {
        self.places * PLACE_BYTES + 16
    }
}

/// The keys that a table has room for that follows on one of so many places, with so many keys: more by a quarter, and
/// by eight times as many as come until all have moved.
fn grown(keys: usize, places: usize) -> usize {
    keys + (keys / 4).max(places / 8).max(1)
}

/// The keys that so many places hold.
const fn keys_max(places: usize) -> usize {
    if places < 8 {
        places - 1
    } else {
        places / 8 * 7
    }
}

/// The places of a table with room for so many keys.
fn places_for(keys: usize) -> usize {
    (keys * 8).div_ceil(7).next_power_of_two().max(4)
}

/// True of the place of a key.
fn is(key: &[u8]) -> impl Fn(&Place) -> bool {
    move |(name, _)| name.as_bytes() == key
}

impl Table {
    /// What the key holds.
    pub fn find(&self, hash: u64, key: &[u8]) -> Option<&Packed> {
        let in_old = || self.old.as_ref()?.places.find(hash, is(key));
        let place = self.places.find(hash, is(key)).or_else(in_old);
        place.map(|(_, packed)| packed)
    }

    /// What the key holds, to change.
    pub fn find_mut(&mut self, hash: u64, key: &[u8]) -> Option<&mut Packed> {
        let Self { places, old, .. } = self;
        let place = match places.find_mut(hash, is(key)) {
            None => old.as_mut()?.places.find_mut(hash, is(key)),
            found => found,
        };
        place.map(|(_, packed)| packed)
    }

    /// Takes a key out.
    pub fn remove(&mut self, hash: u64, key: &[u8]) {
        let tables = [
            Some(&mut self.places),
            self.old.as_mut().map(|old| &mut old.places),
        ];
        for table in tables.into_iter().flatten() {
            if let Ok(place) = table.find_entry(hash, is(key)) {
                place.remove();
                return;
            }
        }
    }

    /// Puts in a key that is not there. Of others, those that are dead may go; how many did.
    pub fn insert(
        &mut self,
        hash: u64,
        place: (Key, Packed),
        rehash: impl Fn(&Key) -> u64,
        is_dead: impl Fn(&Packed) -> bool,
    ) -> usize {
        let mut dropped = 0;
        if self.places.len() == self.places.capacity() {
            dropped += self.move_on(usize::MAX, &rehash, &is_dead).dropped;
            let living = self.living(hash as usize, &is_dead);
            let (keys, places) = (self.places.len(), self.places.num_buckets());
            self.exchange(match grown(living, places) {
                room if room <= keys_max(places) => keys_max(places),
                room => room.max(grown(keys, places)),
            });
        }
        dropped += self.move_on(MOVED_AT_A_TIME, &rehash, &is_dead).dropped;
        let place = self
            .places
            .insert_unique(hash, place, |(key, _)| rehash(key));
        if self.end == 0 {
            let before = (place.bucket_index() + 1) * size_of::<Place>();
            self.end = ptr::from_ref(place.get()).addr().wrapping_add(before);
        }
        dropped
    }

    /// Where it lies, as far as that can be told from outside of hashbrown: for hints only.
    pub fn extent(&self) -> Extent {
        Extent {
            end: self.end,
            mask: self.places.num_buckets() - 1,
        }
    }

    /// About how many keys of a full table are not dead, going by some of its places.
    fn living(&self, from: usize, is_dead: impl Fn(&Packed) -> bool) -> usize {
        let places = self.places.num_buckets();
        let (mut looked, mut dead) = (0, 0);
        for index in 0..places.min(SAMPLE_PLACES) {
            if let Some((_, packed)) = self.places.get_bucket(from.wrapping_add(index) % places) {
                looked += 1;
                dead += usize::from(is_dead(packed));
            }
        }
        let keys = self.places.len();
        keys - keys * dead / looked.max(1)
    }

    /// Begins to move to a table with room for so many keys in all, once nothing is on its way.
    fn exchange(&mut self, keys_max: usize) {
        let places = std::mem::replace(&mut self.places, HashTable::with_capacity(keys_max));
        self.end = 0;
        if !places.is_empty() {
            self.old = Some(Box::new(Old { places, next: 0 }));
        }
    }

    /// Empties at most `count` places of the old table. Keys that are dead need not move.
    pub fn move_on(
        &mut self,
        count: usize,
        rehash: impl Fn(&Key) -> u64,
        is_dead: impl Fn(&Packed) -> bool,
    ) -> Moved {
        let mut moved = Moved::default();
        let Some(old) = &mut self.old else {
            return moved;
        };
        let end = old.places.num_buckets().min(old.next.saturating_add(count));
        for index in old.next..end {
            if let Ok(place) = old.places.get_bucket_entry(index) {
                let (place, _) = place.remove();
                if is_dead(&place.1) {
                    moved.dropped += 1;
                } else {
                    let hash = rehash(&place.0);
                    self.places
                        .insert_unique(hash, place, |(key, _)| rehash(key));
                }
            }
        }
        moved.places = end - old.next;
        old.next = end;
        if end == old.places.num_buckets() || old.places.is_empty() {
            self.old = None;
        }
        moved
    }

    /// Ends the move to another table, if there is one.
    pub fn settle(&mut self, rehash: impl Fn(&Key) -> u64) {
        self.move_on(usize::MAX, rehash, |_| false);
    }

    /// Begins to move to a smaller table, if this one is much too large and nothing is on its way.
    pub fn shrink(&mut self) {
        let keys = self.places.len();
        if self.old.is_none() && keys < self.places.capacity() / 4 {
            // What is empty goes whole; else the smaller table has room for what comes while the keys move.
            let least = if keys == 0 {
                0
            } else {
                self.places.num_buckets() / 8
            };
            self.exchange(keys + keys.max(least));
        }
    }

    /// Moves at once to a table of the same size, in which the places of keys that went are free.
    pub fn renew(&mut self, rehash: impl Fn(&Key) -> u64) {
        self.settle(&rehash);
        self.exchange(keys_max(self.places.num_buckets()));
        self.settle(&rehash);
    }

    /// Moves at once to the smallest table that holds the keys and some more; false if this is it.
    pub fn shrink_at_once(&mut self, rehash: impl Fn(&Key) -> u64) -> bool {
        self.settle(&rehash);
        let keys = self.places.len() + self.places.len() / 8;
        let shrinks = self.places.capacity() > 0 && places_for(keys) < self.places.num_buckets();
        if shrinks {
            self.exchange(keys);
            self.settle(&rehash);
        }
        shrinks
    }

    /// How its places are used.
    pub fn fill(&self) -> Fill {
        let (places, keys) = (self.places.num_buckets(), self.len());
        Fill {
            places,
            keys,
            free: self.places.capacity().saturating_sub(keys),
            keys_max: keys_max(places),
        }
    }

    /// True while keys move from one table to another.
    pub const fn is_moving(&self) -> bool {
        self.old.is_some()
    }

    /// Keys in the table.
    pub fn len(&self) -> usize {
        self.places.len() + self.old.as_ref().map_or(0, |old| old.places.len())
    }

    /// Bytes that it takes, empty places included.
    pub fn bytes(&self) -> usize {
        let old = self.old.as_ref();
        self.places.allocation_size() + old.map_or(0, |old| old.places.allocation_size())
    }

    /// All keys.
    pub fn iter(&self) -> impl Iterator<Item = &(Key, Packed)> {
        let old = self.old.iter().flat_map(|old| &old.places);
        self.places.iter().chain(old)
    }

    /// Calls `f` with what each key holds.
    pub fn for_each_mut(&mut self, mut f: impl FnMut(&mut Packed)) {
        let old = self.old.iter_mut().flat_map(|old| &mut old.places);
        let all = self.places.iter_mut().chain(old);
        all.for_each(|(_, packed)| f(packed));
    }

    /// How many places there are; none if all are empty.
    pub fn places(&self) -> usize {
        if self.len() == 0 {
            return 0;
        }
        let old = self.old.as_ref();
        self.places.num_buckets() + old.map_or(0, |old| old.places.num_buckets())
    }

    /// Calls `f` with what stands at a place below [`Self::places`], if anything does, and takes it out if that says so: true then.
    pub fn remove_if(&mut self, index: usize, f: impl FnOnce(&Key, &mut Packed) -> bool) -> bool {
        let new = self.places.num_buckets();
        let place = match &mut self.old {
            Some(old) if index >= new => old.places.get_bucket_entry(index - new),
            _ => self.places.get_bucket_entry(index),
        };
        let Ok(mut place) = place else {
            return false;
        };
        let (key, packed) = place.get_mut();
        let goes = f(key, packed);
        if goes {
            place.remove();
        }
        goes
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
