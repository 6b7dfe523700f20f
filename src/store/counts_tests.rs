//! Leases are counted wherever they come and go.

use super::super::test_entries::{SECOND, at, spend};
use super::super::{Key, Store, Sweep, Value};
use crate::core::entry::Entry;
use crate::core::leases::{Lease, LeasesLimit};
use crate::core::limit::Limit;
use crate::core::units::{Span, Timestamp};

fn limit() -> LeasesLimit {
    LeasesLimit::new(100, Span::from_ns(SECOND).unwrap()).unwrap()
}

fn hold(entry: &mut Entry, number: u64, now: Timestamp) {
    let mut draft = entry.draft(&Limit::Leases(limit()), now).unwrap();
    draft.hold(0, number, Lease::new(limit(), now));
    draft.commit();
}

/// Takes leases of these numbers, each of which lasts a second.
fn lease(store: &Store, database: u8, key: &[u8], numbers: &[u64], now: Timestamp) {
    for &number in numbers {
        let held = store.with_limit(database, key, now, |entry| hold(entry, number, now));
        held.unwrap();
    }
}

fn release(store: &Store, key: &[u8], number: u64, now: Timestamp) -> bool {
    let released = store.with_limit(0, key, now, |entry| {
        entry
            .leases_mut()
            .is_some_and(|leases| leases.release(number, now).is_some())
    });
    released.unwrap()
}

fn counts(store: &Store) -> (u64, u64) {
    (store.counts.leases(), store.counts.lapsed_leases())
}

#[test]
fn those_held_and_those_lapsed_are_counted() {
    let store = Store::new();
    lease(&store, 0, b"k", &[1, 2, 3], at(0));
    lease(&store, 9, b"k", &[4], at(0));
    assert_eq!(counts(&store), (4, 0));
    assert!(release(&store, b"k", 2, at(1)));
    assert!(!release(&store, b"k", 2, at(1)));
    assert_eq!(counts(&store), (3, 0));
    // Whoever comes to the key notices, and counts once.
    assert!(!release(&store, b"k", 1, at(SECOND)));
    assert!(!release(&store, b"k", 1, at(SECOND)));
    assert_eq!(counts(&store), (1, 2));
    assert_eq!(store.len(0), 0, "and the key is gone");
    store.counts.reset_lapsed_leases();
    assert_eq!(counts(&store), (1, 0));
}

#[test]
fn a_look_does_not_count() {
    let store = Store::new();
    lease(&store, 0, b"k", &[1], at(0));
    lease(&store, 0, b"k", &[2], at(1));
    store.read(0, b"k", at(SECOND), |value| {
        let leases = value.unwrap().limit().unwrap().leases().unwrap();
        assert_eq!(leases.count(at(SECOND)), 1);
    });
    assert_eq!(counts(&store), (2, 0));
}

#[test]
fn the_sweep_counts_what_nobody_came_for() {
    let store = Store::new();
    for key in 0..1_000u64 {
        lease(&store, 0, &key.to_le_bytes(), &[2 * key + 1], at(0));
        lease(
            &store,
            0,
            &key.to_le_bytes(),
            &[2 * key + 2],
            at(key % 2 * SECOND / 2),
        );
    }
    let sweep = |now| {
        let (mut sweep, mut dropped) = (Sweep::default(), 0);
        while sweep.rounds == 0 {
            sweep = store.sweep(sweep, 100, now);
            dropped += sweep.dropped;
        }
        dropped
    };
    assert_eq!(sweep(at(SECOND - 1)), 0);
    assert_eq!(counts(&store), (2_000, 0));
    // Keys that live on have lost one, too.
    assert_eq!(sweep(at(SECOND)), 500);
    assert_eq!(counts(&store), (500, 1_500));
    assert_eq!(sweep(at(2 * SECOND)), 500);
    assert_eq!(counts(&store), (0, 2_000));
}

#[test]
fn what_is_deleted_is_held_no_longer_and_has_not_lapsed() {
    let store = Store::new();
    lease(&store, 0, b"a", &[1, 2], at(0));
    lease(&store, 0, b"b", &[3], at(0));
    lease(&store, 1, b"b", &[4], at(0));
    spend(&store, b"bucket", 1, at(0));
    assert!(store.remove(0, b"a", at(0)));
    assert_eq!(counts(&store), (2, 0));
    store.clear(0, at(0));
    assert_eq!(counts(&store), (1, 0));
    lease(&store, 0, b"b", &[5], at(0));
    store.clear_all(at(0));
    assert_eq!(counts(&store), (0, 0));
}

#[test]
fn several_keys_at_once_are_counted_together() {
    let store = Store::new();
    lease(&store, 0, b"a", &[1, 2], at(0));
    let moved = store.with_limits(0, &[b"a", b"b"], at(1), |entries| {
        entries[0].leases_mut().unwrap().release(1, at(1)).unwrap();
        entries[0].leases_mut().unwrap().release(2, at(1)).unwrap();
        (3..=5).for_each(|number| hold(entries[1], number, at(1)));
    });
    moved.unwrap();
    assert_eq!(counts(&store), (3, 0));
    let later = at(SECOND + 1);
    store.with_limits(0, &[b"a", b"b"], later, |_| ()).unwrap();
    assert_eq!(counts(&store), (0, 3));
}

#[test]
fn what_comes_out_of_a_snapshot_is_held() {
    let store = Store::new();
    let mut entry = Entry::default();
    (1..=3).for_each(|number| hold(&mut entry, number, at(0)));
    store.restore(2, &Key::new(b"k"), Value::Limit(entry));
    assert_eq!(counts(&store), (3, 0));
}
