//! Entries for the tests of the store: buckets of ten permits, one permit a second.

use super::Store;
use crate::core::entry::Entry;
use crate::core::limit::{BucketLimit, Keeps, Limit, Rate};
use crate::core::units::Timestamp;

pub use crate::core::units::SECOND;

/// The permits that go at one instant.
pub const CAPACITY: u64 = 10;

/// `ns` after the test's beginning.
pub fn at(ns: u64) -> Timestamp {
    Timestamp::from_ns(1_700_000_000 * SECOND + ns).unwrap()
}

/// The limit of every key.
pub fn limit() -> Limit {
    let rate = Rate::parse(b"1").unwrap();
    Limit::Bucket(BucketLimit::new(CAPACITY, rate, Keeps::Permits).unwrap())
}

/// Takes `cost` permits if they can go now; true if they went.
pub fn take(entry: &mut Entry, cost: u64, now: Timestamp) -> bool {
    let mut draft = entry.draft(&limit(), now).unwrap();
    if !draft.earliest(cost).is_now() {
        return false;
    }
    draft.book(cost).unwrap();
    draft.commit();
    true
}

/// What a key of the first database has left.
pub fn remaining(store: &Store, key: &[u8], now: Timestamp) -> u64 {
    store
        .with_limit(0, key, now, |entry| {
            entry.draft(&limit(), now).unwrap().standing().remaining
        })
        .unwrap()
}

/// Takes `cost` permits of a key of the first database.
pub fn spend(store: &Store, key: &[u8], cost: u64, now: Timestamp) {
    assert!(
        store
            .with_limit(0, key, now, |entry| take(entry, cost, now))
            .unwrap()
    );
}

/// A store with the keys `0..keys`, as little-endian bytes, of which each has spent `cost`.
pub fn store_with(keys: u32, cost: u64, now: Timestamp) -> Store {
    let store = Store::new();
    (0..keys).for_each(|key| spend(&store, &key.to_le_bytes(), cost, now));
    store
}
