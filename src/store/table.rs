//! A hash table of keys that grows, and shrinks, a little at a time.
//!
//! A table that is full is exchanged for an empty one, twice as large, in no time; its keys move over with the keys that
//! are new after that, a few for each. Until all have moved a key is looked for in both. So no call waits for a hundred
//! thousand keys to move, as it would in a table that moves all of them when it is full. Redis's own dictionary works
//! this way.
//!
//! Keys that went leave marks in a table, which fill it as keys do. It is exchanged for one of the same size then.

use super::key::Key;
use super::packed::Packed;
use super::pages::Pages;
use hashbrown::HashTable;

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

/// Keys and what they hold. Whoever calls has hashed the key.
#[derive(Default)]
pub struct Table {
    places: HashTable<Place, Pages>,
    old: Option<Box<Old>>,
}

/// The table before, on its way out.
struct Old {
    places: HashTable<Place, Pages>,
    /// Those before it are empty.
    next: usize,
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
        let Self { places, old } = self;
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

    /// Puts in a key that is not there.
    pub fn insert(&mut self, hash: u64, place: (Key, Packed), rehash: impl Fn(&Key) -> u64) {
        self.move_on(MOVED_AT_A_TIME, &rehash);
        if self.places.len() == self.places.capacity() {
            self.move_on(usize::MAX, &rehash);
            let room = (self.places.len() / 4).max(self.places.num_buckets() / 8);
            self.exchange(room.max(1));
        }
        self.places
            .insert_unique(hash, place, |(key, _)| rehash(key));
    }

    /// Begins to move to a table with room for so many keys more.
    fn exchange(&mut self, room: usize) {
        let keys = self.places.len();
        let empty = HashTable::with_capacity_in(keys + room, Pages);
        let places = std::mem::replace(&mut self.places, empty);
        if keys > 0 {
            self.old = Some(Box::new(Old { places, next: 0 }));
        }
    }

    /// Empties at most `count` places of the old table; how many it was.
    pub fn move_on(&mut self, count: usize, rehash: impl Fn(&Key) -> u64) -> usize {
        let Some(old) = &mut self.old else {
            return 0;
        };
        let end = old.places.num_buckets().min(old.next.saturating_add(count));
        let moved = end - old.next;
        for index in old.next..end {
            if let Ok(place) = old.places.get_bucket_entry(index) {
                let (place, _) = place.remove();
                let hash = rehash(&place.0);
                self.places
                    .insert_unique(hash, place, |(key, _)| rehash(key));
            }
        }
        old.next = end;
        if end == old.places.num_buckets() || old.places.is_empty() {
            self.old = None;
        }
        moved
    }

    /// Begins to move to a smaller table, if this one is much too large and nothing is on its way.
    pub fn shrink(&mut self) {
        let keys = self.places.len();
        if self.old.is_none() && keys < self.places.capacity() / 4 {
            // What is empty goes whole, else the smaller table has room for what comes while the keys move.
            let least = if keys == 0 {
                0
            } else {
                self.places.num_buckets() / 8
            };
            self.exchange(keys.max(least));
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
