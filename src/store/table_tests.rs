//! A table holds what was put in, and no call moves more than a few keys.

use super::super::value::Value;
use super::*;
use crate::plain::{Data, Plain, Text};
use ahash::RandomState;
use proptest::prelude::*;
use std::cell::Cell;
use std::collections::HashMap;

/// A table that counts how many keys it hashes by itself.
#[derive(Default)]
struct Counted {
    table: Table,
    hasher: RandomState,
    hashed: Cell<usize>,
    /// Keys below are dead.
    alive_from: i64,
    dropped: usize,
}

fn integer(value: &Value) -> i64 {
    let plain = value.plain().unwrap().unwrap();
    plain.text().unwrap().as_integer().unwrap()
}

impl Counted {
    fn hash(&self, key: u32) -> u64 {
        self.hasher.hash_one(key.to_le_bytes())
    }

    /// Puts in a key; how many others it moved.
    fn insert(&mut self, key: u32) -> usize {
        let hash = self.hash(key);
        let value = Value::Plain(Plain::new(Data::Text(Text::from(i64::from(key)))));
        let (hasher, hashed) = (&self.hasher, &self.hashed);
        hashed.set(0);
        let place = (Key::new(&key.to_le_bytes()), Packed::new(value));
        let alive_from = self.alive_from;
        let is_dead = |packed: &Packed| packed.read(|value| integer(value) < alive_from);
        let rehash = |key: &Key| rehash(hasher, hashed, key);
        self.dropped += self.table.insert(hash, place, rehash, is_dead);
        self.hashed.get()
    }

    fn remove(&mut self, key: u32) {
        let hash = self.hash(key);
        self.table.remove(hash, &key.to_le_bytes());
    }

    fn holds(&mut self, key: u32) -> bool {
        let (hash, name) = (self.hash(key), key.to_le_bytes());
        let found = self.table.find(hash, &name).is_some();
        assert_eq!(self.table.find_mut(hash, &name).is_some(), found);
        found
    }

    fn move_on(&mut self, count: usize) -> usize {
        let (hasher, hashed) = (&self.hasher, &self.hashed);
        let rehash = |key: &Key| rehash(hasher, hashed, key);
        self.table.move_on(count, rehash, |_| false).places
    }

    /// Its outline is true: places lie where it says, or it says nothing.
    fn check_extent(&self) {
        let Extent { end, mask } = self.table.extent();
        let places = &self.table.places;
        assert_eq!(mask + 1, places.num_buckets());
        for index in (0..=mask).filter(|_| end != 0) {
            if let Some(place) = places.get_bucket(index) {
                let behind = (index + 1) * size_of::<Place>();
                assert_eq!(ptr::from_ref(place).addr(), end - behind);
            }
        }
    }

    fn keys(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = self.table.iter().map(|(key, _)| key.clone()).collect();
        keys.sort();
        keys
    }
}

fn rehash(hasher: &RandomState, hashed: &Cell<usize>, key: &Key) -> u64 {
    hashed.set(hashed.get() + 1);
    let key: [u8; 4] = key.as_bytes().try_into().unwrap();
    hasher.hash_one(key)
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Insert(u32),
    Remove(u32),
    MoveOn(usize),
    Shrink,
    /// Takes out keys whose number is divisible, from part of the places.
    RemoveIf(u32, usize, usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = || 0..2_000u32;
    let step = prop_oneof![
        20 => key().prop_map(Step::Insert),
        8 => key().prop_map(Step::Remove),
        2 => (0..100usize).prop_map(Step::MoveOn),
        1 => Just(Step::Shrink),
        1 => (2..5u32, any::<usize>(), 0..3_000usize).prop_map(|(by, from, count)| Step::RemoveIf(by, from, count)),
    ];
    prop::collection::vec(step, 0..3_000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_was_put_in_is_there_until_it_is_taken_out(steps in steps()) {
        let (mut counted, mut model) = (Counted::default(), HashMap::new());
        for step in steps {
            match step {
                Step::Insert(key) => {
                    if model.insert(key, ()).is_none() {
                        counted.insert(key);
                    }
                }
                Step::Remove(key) => {
                    model.remove(&key);
                    counted.remove(key);
                }
                Step::MoveOn(count) => prop_assert!(counted.move_on(count) <= count),
                Step::Shrink => counted.table.shrink(),
                Step::RemoveIf(by, from, count) => {
                    let places = counted.table.places();
                    let from = from % places.max(1);
                    for index in from..places.min(from + count) {
                        counted.table.remove_if(index, |key, _| {
                            let key = u32::from_le_bytes(key.as_bytes().try_into().unwrap());
                            let goes = key.is_multiple_of(by);
                            if goes {
                                model.remove(&key);
                            }
                            goes
                        });
                    }
                }
            }
            prop_assert_eq!(counted.table.len(), model.len());
        }
        counted.check_extent();
        for key in 0..2_000 {
            prop_assert_eq!(counted.holds(key), model.contains_key(&key), "{}", key);
        }
        let mut names: Vec<Key> = model.keys().map(|key| Key::new(&key.to_le_bytes())).collect();
        names.sort();
        prop_assert_eq!(counted.keys(), names);
        // A sweep over all places comes by every key.
        let (mut passed, mut table) = (0, counted.table);
        for index in 0..table.places() {
            passed += usize::from(table.remove_if(index, |_, _| true));
        }
        prop_assert_eq!((passed, table.len(), table.places()), (model.len(), 0, 0));
    }
}

#[test]
fn no_call_moves_more_than_a_few_keys_however_many_there_are() {
    let mut counted = Counted::default();
    for key in 0..200_000 {
        let moved = counted.insert(key);
        assert!(moved <= MOVED_AT_A_TIME, "{moved} with {key}");
    }
    assert!(counted.holds(0) && counted.holds(199_999));
}

#[test]
fn keys_that_come_and_go_neither_move_many_nor_let_the_table_grow() {
    let mut counted = Counted::default();
    for key in 0..10_000 {
        counted.insert(key);
    }
    counted.move_on(usize::MAX);
    let bytes = counted.table.bytes();
    for key in 10_000..200_000 {
        counted.remove(key - 10_000);
        let moved = counted.insert(key);
        assert!(moved <= MOVED_AT_A_TIME, "{moved} with {key}");
        // The old table is there until all have moved.
        assert!(counted.table.bytes() <= 2 * bytes);
    }
    counted.move_on(usize::MAX);
    assert_eq!(counted.table.bytes(), bytes);
}

#[test]
fn keys_that_live_for_a_moment_do_not_let_the_table_grow() {
    let mut counted = Counted::default();
    for key in 0..100_000 {
        counted.alive_from = i64::from(key) - 100;
        let moved = counted.insert(key);
        assert!(moved <= MOVED_AT_A_TIME, "{moved} with {key}");
        assert!(counted.table.bytes() <= 1_000 * PLACE_BYTES, "{key}");
    }
    assert_eq!(counted.dropped + counted.table.len(), 100_000);
    assert!((99_900..100_000).all(|key| counted.holds(key)));
}

#[test]
fn a_table_whose_keys_are_gone_becomes_small() {
    let mut counted = Counted::default();
    for key in 0..100_000 {
        counted.insert(key);
    }
    counted.move_on(usize::MAX);
    (100..100_000).for_each(|key| counted.remove(key));
    counted.table.shrink();
    while counted.table.is_moving() {
        counted.move_on(1_000);
        counted.table.shrink();
    }
    assert!((0..100).all(|key| counted.holds(key)));
    assert!(counted.table.bytes() < 1_000 * PLACE_BYTES);
    (0..100).for_each(|key| counted.remove(key));
    counted.table.shrink();
    assert_eq!((counted.table.bytes(), counted.table.places()), (0, 0));
}
