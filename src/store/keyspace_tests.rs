//! What calls may rely on: existence, several keys at once, watches.

use super::super::KEY_BYTES_MAX;
use super::super::test_entries::{CAPACITY, SECOND, at, limit, remaining, spend, store_with, take};
use super::*;
use crate::core::units::Span;
use std::collections::HashMap;

/// Keys of which the first two share a shard, and the third is in another one.
fn neighbours_and_a_stranger(store: &Store) -> [Vec<u8>; 3] {
    let mut shards: HashMap<usize, Vec<Vec<u8>>> = HashMap::new();
    for shard in 0..store.shards() {
        store.for_each_in(0, shard, |key, _| {
            shards
                .entry(shard)
                .or_default()
                .push(key.as_bytes().to_vec());
        });
    }
    let pair = shards.iter().find(|(_, keys)| keys.len() > 1).unwrap();
    let other = shards.iter().find(|(shard, _)| *shard != pair.0).unwrap();
    [pair.1[0].clone(), pair.1[1].clone(), other.1[0].clone()]
}

#[test]
fn a_key_that_nothing_happened_to_is_not_kept() {
    let store = Store::new();
    store
        .with_limit(0, b"k", at(0), |entry| assert!(entry.is_absent()))
        .unwrap();
    assert_eq!(remaining(&store, b"k", at(0)), CAPACITY);
    assert!(
        !store
            .with_limit(0, b"k", at(0), |entry| take(entry, CAPACITY + 1, at(0)))
            .unwrap()
    );
    assert_eq!(store.len(0), 0);
}

#[test]
fn a_key_exists_until_it_can_no_longer_be_told_from_a_new_one() {
    let store = store_with(1, 3, at(0));
    let key = &0u32.to_le_bytes();
    let exists = |now| store.read(0, key, now, |entry| entry.is_some());
    assert!(exists(at(3 * SECOND - 1)));
    assert!(!exists(at(3 * SECOND)));
    assert_eq!(store.len(0), 1, "nobody has noticed");
    assert!(!store.remove(0, key, at(3 * SECOND)));
    assert_eq!(store.len(0), 0);
}

#[test]
fn a_call_that_leaves_nothing_drops_the_key() {
    let store = store_with(1, 3, at(0));
    let key = &0u32.to_le_bytes();
    store
        .with_limit(0, key, at(0), |entry| assert_eq!(entry.refund(3, at(0)), 3))
        .unwrap();
    assert_eq!(store.len(0), 0);
}

#[test]
fn a_removed_key_begins_anew() {
    let store = store_with(1, CAPACITY, at(0));
    let key = &0u32.to_le_bytes();
    store
        .with_limit(0, key, at(0), |entry| {
            entry.pause(Span::from_ns(SECOND).unwrap(), false, false, at(0))
        })
        .unwrap();
    assert!(store.remove(0, key, at(0)));
    assert!(!store.remove(0, key, at(0)));
    assert_eq!(remaining(&store, key, at(0)), CAPACITY);
}

#[test]
fn databases_do_not_see_each_other() {
    let store = Store::new();
    for database in 0..DATABASES_MAX {
        let took = store
            .with_limit(database, b"k", at(0), |entry| take(entry, CAPACITY, at(0)))
            .unwrap();
        assert!(took);
    }
    store.clear(3, at(0));
    for database in 0..DATABASES_MAX {
        assert_eq!(store.len(database), usize::from(database != 3));
    }
}

#[test]
fn names_are_any_bytes_and_of_any_length() {
    let store = Store::new();
    let long = [0xff; KEY_BYTES_MAX];
    let names: [&[u8]; 6] = [b"", b"\0", b"\0\0", b"\r\n", &long[..16], &long];
    for (spent, name) in (1..).zip(names) {
        spend(&store, name, spent, at(0));
    }
    for (spent, name) in (1..).zip(names) {
        assert_eq!(remaining(&store, name, at(0)), CAPACITY - spent);
    }
    assert_eq!(store.len(0), names.len());
}

#[test]
fn several_keys_are_seen_in_the_order_asked() {
    let store = store_with(2_000, 1, at(0));
    let [near, neighbour, far] = neighbours_and_a_stranger(&store);
    spend(&store, &near, 1, at(0));
    spend(&store, &neighbour, 2, at(0));
    spend(&store, &far, 3, at(0));
    let orders: [[(&[u8], u64); 4]; 3] = [
        [(&near, 8), (&neighbour, 7), (&far, 6), (b"new", 10)],
        [(b"new", 10), (&far, 6), (&neighbour, 7), (&near, 8)],
        [(&far, 6), (&near, 8), (b"new", 10), (&neighbour, 7)],
    ];
    for order in orders {
        let names = order.map(|(name, _)| name);
        let left = store
            .with_limits(0, &names, at(0), |entries| {
                let mut left = Vec::new();
                for entry in entries {
                    left.push(entry.draft(&limit(), at(0)).unwrap().standing().remaining);
                }
                left
            })
            .unwrap();
        assert_eq!(left, order.map(|(_, left)| left));
    }
    assert_eq!(store.len(0), 2_000, "a look creates nothing");
}

#[test]
fn several_keys_are_written_dropped_and_begun_in_one_call() {
    let store = store_with(2_000, 1, at(0));
    let [near, neighbour, far] = neighbours_and_a_stranger(&store);
    let names: [&[u8]; 4] = [&near, &neighbour, &far, b"new"];
    store
        .with_limits(0, &names, at(0), |entries| {
            assert!(take(entries[0], 4, at(0)));
            assert_eq!(entries[1].refund(1, at(0)), 1);
            assert!(take(entries[3], 2, at(0)));
        })
        .unwrap();
    for (name, left) in names.into_iter().zip([5, 10, 9, 8]) {
        assert_eq!(remaining(&store, name, at(0)), left);
    }
    let gone = store.read(0, &neighbour, at(0), |entry| entry.is_none());
    assert!(gone);
    assert_eq!(store.len(0), 2_000);
}

#[test]
fn sixteen_keys_and_more_go_in_one_call() {
    let store = Store::new();
    let names: Vec<[u8; 1]> = (0..40).map(|name| [name]).collect();
    let names: Vec<&[u8]> = names.iter().map(|name| &name[..]).collect();
    for round in 1..=CAPACITY {
        store
            .with_limits(0, &names, at(0), |entries| {
                assert!(entries.iter_mut().all(|entry| take(entry, 1, at(0))));
            })
            .unwrap();
        for name in &names {
            assert_eq!(remaining(&store, name, at(0)), CAPACITY - round);
        }
    }
}

#[test]
fn a_watch_breaks_when_its_key_changes() {
    let store = Store::new();
    let broken_by = |change: &dyn Fn()| {
        let mut watch = Watch::default();
        store.watch(0, b"k", &mut watch, at(0));
        change();
        let broken = watch.is_broken(at(0));
        store.unwatch(&watch);
        broken
    };
    assert!(broken_by(&|| spend(&store, b"k", 1, at(0))));
    assert!(broken_by(&|| store
        .with_limits(0, &[b"x", b"k"], at(0), |entries| {
            assert!(take(entries[1], 1, at(0)));
        })
        .unwrap()));
    assert!(broken_by(&|| store
        .with_limit(0, b"k", at(0), |entry| {
            entry.pause(Span::from_ns(SECOND).unwrap(), false, false, at(0));
        })
        .unwrap()));
    assert!(broken_by(&|| assert!(store.remove(0, b"k", at(0)))));
    spend(&store, b"k", 1, at(0));
    assert!(broken_by(&|| store.clear(0, at(0))));
}

#[test]
fn a_watch_holds_while_its_key_stays_as_it_is() {
    let store = Store::new();
    spend(&store, b"k", CAPACITY, at(0));
    let mut watch = Watch::default();
    store.watch(0, b"k", &mut watch, at(0));
    store.watch(0, b"absent", &mut watch, at(0));
    assert_eq!(remaining(&store, b"k", at(0)), 0);
    assert!(
        !store
            .with_limit(0, b"k", at(0), |entry| take(entry, 1, at(0)))
            .unwrap()
    );
    store
        .with_limits(0, &[b"k", b"other"], at(0), |entries| {
            assert!(take(entries[1], 1, at(0)));
        })
        .unwrap();
    assert!(!store.remove(0, b"absent", at(0)));
    assert!(
        store
            .with_limit(1, b"k", at(0), |entry| take(entry, 1, at(0)))
            .unwrap()
    );
    store.clear(1, at(0));
    assert!(!watch.is_broken(at(0)));
    store.unwatch(&watch);
    spend(&store, b"absent", 1, at(0));
    assert!(!watch.is_broken(at(0)), "nor afterwards");
}

#[test]
fn a_broken_watch_stays_broken_and_breaks_nobody_elses() {
    let store = Store::new();
    let (mut mine, mut yours) = (Watch::default(), Watch::default());
    store.watch(0, b"mine", &mut mine, at(0));
    store.watch(0, b"mine", &mut mine, at(0));
    store.watch(0, b"yours", &mut yours, at(0));
    spend(&store, b"mine", 1, at(0));
    store
        .with_limit(0, b"mine", at(0), |entry| {
            assert_eq!(entry.refund(1, at(0)), 1)
        })
        .unwrap();
    assert!(mine.is_broken(at(0)) && !yours.is_broken(at(0)));
    store.unwatch(&mine);
    spend(&store, b"yours", 1, at(0));
    assert!(yours.is_broken(at(0)));
}

#[test]
fn clearing_leaves_nothing_behind_however_much_there_was() {
    for keys in [0, 1, 30_000] {
        let store = store_with(keys, 1, at(0));
        store.clear(0, at(0));
        assert_eq!(store.len(0), 0);
        assert_eq!(remaining(&store, &0u32.to_le_bytes(), at(0)), CAPACITY);
        spend(&store, b"k", 1, at(0));
        assert_eq!(store.len(0), 1);
    }
}

#[test]
fn a_restored_entry_replaces_the_one_there() {
    let store = store_with(1, 1, at(0));
    let key = Key::new(&0u32.to_le_bytes());
    let mut entry = Entry::default();
    assert!(take(&mut entry, 7, at(0)));
    store.restore(0, &key, Value::Limit(entry));
    assert_eq!(remaining(&store, key.as_bytes(), at(0)), 3);
    assert_eq!(store.len(0), 1);
}

#[test]
fn a_key_takes_its_place_its_name_and_what_it_holds() {
    let store = Store::new();
    let long = [b'k'; KEY_BYTES_MAX];
    for key in [&b"k"[..], &long] {
        let taken = store.with_limit(0, key, at(0), |entry| take(entry, 1, at(0)));
        assert_eq!(taken, Ok(true));
    }
    let bytes = |key: &[u8]| store.bytes(0, key, at(0));
    let short = bytes(b"k").unwrap();
    assert_eq!(short, 41);
    assert_eq!(bytes(&long), Some(short + 4 + KEY_BYTES_MAX));
    // A pause is not among what fits the place.
    let minute = Span::from_ns(60 * SECOND).unwrap();
    let paused = store.with_limit(0, b"p", at(0), |entry| {
        entry.pause(minute, false, false, at(0))
    });
    assert!(paused.is_ok());
    assert_eq!(bytes(b"p"), Some(short + size_of::<Value>()));
    assert_eq!(bytes(b"nobody"), None);
    assert_eq!(store.bytes(1, b"k", at(0)), None);
    // A table has room for more than it holds, and there is one for each key at most.
    assert!((3 * short..3 * (8 * short)).contains(&store.table_bytes(0)));
    assert_eq!(store.table_bytes(1), 0);
}
