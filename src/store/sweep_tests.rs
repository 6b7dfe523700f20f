//! Keys that are forgotten go, in bounded steps, and their memory with them.

use super::test_entries::{SECOND, at, spend, store_with};
use super::{Store, Sweep};
use crate::core::units::Timestamp;

/// Sweeps one whole round in steps of `budget`; keys dropped and places looked at.
fn sweep_round(store: &Store, budget: usize, now: Timestamp) -> (usize, usize) {
    let (mut sweep, mut dropped, mut looked) = (Sweep::default(), 0, 0);
    while sweep.rounds == 0 {
        sweep = store.sweep(sweep, budget, now);
        assert!(sweep.dropped <= sweep.looked);
        assert!(sweep.looked <= budget, "{sweep:?}");
        (dropped, looked) = (dropped + sweep.dropped, looked + sweep.looked);
    }
    (dropped, looked)
}

#[test]
fn a_step_looks_at_no_more_places_than_its_budget() {
    for budget in [1, 2, 7, 100, 1_000, 10_000] {
        let store = store_with(20_000, 1, at(0));
        let mut sweep = Sweep::default();
        while sweep.rounds == 0 {
            sweep = store.sweep(sweep, budget, at(SECOND));
            assert!(
                sweep.looked <= budget && sweep.dropped <= budget,
                "budget {budget}: {sweep:?}"
            );
        }
        assert_eq!(store.len(0), 0, "budget {budget}");
    }
}

#[test]
fn only_what_is_forgotten_is_swept() {
    let store = store_with(1_000, 1, at(0));
    for key in 0..500u32 {
        spend(&store, &key.to_le_bytes(), 2, at(0));
    }
    assert_eq!(sweep_round(&store, 64, at(SECOND - 1)).0, 0);
    assert_eq!(sweep_round(&store, 64, at(SECOND)).0, 500);
    assert_eq!(store.len(0), 500);
    assert_eq!(sweep_round(&store, 64, at(3 * SECOND)).0, 500);
    assert_eq!(store.len(0), 0);
}

#[test]
fn every_database_is_swept() {
    let store = Store::new();
    for database in [0, 7, 15] {
        store
            .with_limit(database, b"k", at(0), |entry| {
                super::test_entries::take(entry, 1, at(0))
            })
            .unwrap();
    }
    assert_eq!(sweep_round(&store, 10, at(SECOND)).0, 3);
    assert!((0..16).all(|database| store.len(database) == 0));
}

#[test]
fn a_sweep_of_nothing_ends() {
    assert_eq!(sweep_round(&Store::new(), 1, at(0)), (0, 0));
    let emptied = store_with(1, 1, at(0));
    sweep_round(&emptied, 1, at(SECOND));
    assert_eq!(sweep_round(&emptied, 1, at(SECOND)), (0, emptied.shards()));
}

#[test]
fn keys_that_come_during_a_sweep_stay() {
    let store = store_with(5_000, 1, at(0));
    let mut sweep = Sweep::default();
    let mut next = 5_000u32;
    while sweep.rounds == 0 {
        sweep = store.sweep(sweep, 100, at(SECOND));
        for _ in 0..20 {
            spend(&store, &next.to_le_bytes(), 1, at(SECOND));
            next += 1;
        }
    }
    for key in 5_000..next {
        let exists = store.read(0, &key.to_le_bytes(), at(SECOND), |entry| entry.is_some());
        assert!(exists, "{key}");
    }
    // What a growing table moved behind the sweep is reached in the next round.
    sweep_round(&store, 100, at(SECOND));
    assert_eq!(store.len(0), (next - 5_000) as usize);
}

#[test]
fn memory_returns_after_a_million_one_shot_keys() {
    let store = store_with(1_000_000, 1, at(0));
    for survivor in 0..2_000u32 {
        spend(&store, &survivor.to_le_bytes(), 9, at(0));
    }
    let (dropped, looked) = sweep_round(&store, 1_000, at(SECOND));
    assert_eq!((dropped, store.len(0)), (998_000, 2_000));
    assert!(looked >= 1_000_000, "{looked}");
    // The tables that are walked now are as small as what is in them.
    let (dropped, looked) = sweep_round(&store, 1_000, at(SECOND));
    assert_eq!(dropped, 0);
    assert!((2_000..=20_000).contains(&looked), "{looked}");
}
