//! What must hold of a store, and whether two hold the same.

use super::super::holdings::Holdings;
use std::io::Cursor;
use tollgate::core::units::Timestamp;
use tollgate::persistence::snapshot;
use tollgate::store::{DATABASES_MAX, Store, Value};

/// What is counted of the keys is what a walk over them finds.
pub fn counts_agree(store: &Store) {
    let mut leases = 0;
    for database in 0..DATABASES_MAX {
        let (mut staying, mut keys) = (0, 0);
        for shard in 0..store.shards() {
            store.for_each_in(database, shard, |_, value| {
                assert!(!value.is_absent(), "a place is taken by nothing");
                keys += 1;
                staying += usize::from(value.stays());
                leases += Value::leases(value) as u64;
            });
        }
        assert_eq!(store.len(database), keys);
        assert_eq!(store.counts.staying(database), staying);
    }
    assert_eq!(store.counts.leases(), leases);
}

/// A snapshot brings back everything.
pub fn comes_back(store: &Store, now: Timestamp) {
    let mut bytes = Vec::new();
    let saved = snapshot::write(store, now, 1, &mut bytes).expect("memory takes it");
    let other = Store::new();
    let loaded = snapshot::fill(&other, Cursor::new(&bytes)).expect("it was just written");
    assert_eq!((loaded.taken_at, loaded.keys), (now, saved.keys));
    assert_eq!(Holdings::of(&other, now), Holdings::of(store, now));
    counts_agree(&other);
}

/// All that a store holds, as bytes.
pub fn image(store: &Store, now: Timestamp) -> Vec<u8> {
    let mut bytes = Vec::new();
    snapshot::write(store, now, 1, &mut bytes).expect("memory takes it");
    bytes
}

/// What a store holds when what has come due by `now` is worked in, as far as a journal keeps it exactly.
pub fn settled(store: &Store, now: Timestamp) -> Holdings {
    settled_image(&image(store, now), now)
}

fn settled_image(image: &[u8], now: Timestamp) -> Holdings {
    let store = Store::new();
    snapshot::fill(&store, Cursor::new(image)).expect("it was just written");
    for database in 0..DATABASES_MAX {
        let mut keys = Vec::new();
        for shard in 0..store.shards() {
            store.for_each_in(database, shard, |key, _| keys.push(key.clone()));
        }
        for key in keys {
            store.with_value(database, key.as_bytes(), now, |_| ());
        }
    }
    Holdings::of(&store, now).journaled()
}

/// True if two images are of the same, once what has come due by `now` is worked in.
pub fn are_alike(one: &[u8], other: &[u8], now: Timestamp) -> bool {
    one == other || settled_image(one, now) == settled_image(other, now)
}
