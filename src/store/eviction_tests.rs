//! What goes when there is no room, what stays, and in which order.

use super::super::test_entries::{CAPACITY, SECOND, at, remaining, spend, store_with};
use super::super::{ANSWER_TTL, Answer, Fit, Remembered, Store, Thinning, Watch};
use crate::core::units::{Span, Timestamp};
use crate::plain::{Data, Deadline, Plain, Text};

/// Evicts until a whole round drops nothing.
fn evict_all(store: &Store, now: Timestamp) -> usize {
    let mut all = 0;
    loop {
        // The hand may stand in the middle.
        let dropped =
            store.evict(usize::MAX, now, || false) + store.evict(usize::MAX, now, || false);
        if dropped == 0 {
            return all;
        }
        all += dropped;
    }
}

fn is_there(store: &Store, key: &[u8], now: Timestamp) -> bool {
    store.read(0, key, now, |value| value.is_some())
}

#[test]
fn the_nearly_full_go_and_the_used_stay() {
    let store = Store::new();
    for key in 0..2_000_u32 {
        spend(&store, &key.to_le_bytes(), u64::from(key % 10) + 1, at(0));
    }
    // Two of ten are a quarter at most; at once a third that has gone by itself.
    assert_eq!(evict_all(&store, at(0)), 400);
    for key in 0..2_000_u32 {
        assert_eq!(
            is_there(&store, &key.to_le_bytes(), at(0)),
            key % 10 + 1 > 2,
            "{key}"
        );
    }
    assert_eq!(store.counts.evicted_keys(), 400);
    assert_eq!(evict_all(&store, at(SECOND)), 200);
    let drained = 9_u32.to_le_bytes();
    assert_eq!(remaining(&store, &drained, at(SECOND)), 1);
}

#[test]
fn a_step_takes_the_fullest_of_a_window() {
    let store = Store::new();
    // Keys of one shard: the window is all of its places.
    spend(&store, b"first", 1, at(0));
    let shard = store.shard_of(0, b"first");
    let of_shard = |key: &u32| store.shard_of(0, &key.to_le_bytes()) == shard;
    let keys: Vec<u32> = (0..).filter(of_shard).take(80).collect();
    for (index, key) in keys.iter().enumerate() {
        let cost = if index % 2 == 0 { 1 } else { 2 };
        spend(&store, &key.to_le_bytes(), cost, at(0));
    }
    let left = |parity: usize| {
        let keys = keys.iter().enumerate();
        keys.filter(|(index, _)| index % 2 == parity)
            .filter(|(_, key)| is_there(&store, &key.to_le_bytes(), at(0)))
            .count()
    };
    let evicted = store.evict_window(0, shard, 0, 128, at(0)).dropped;
    assert_eq!(evicted, 81_usize.div_ceil(4));
    assert_eq!(left(1), 40, "none of the emptier half");
    assert!(left(0) <= 40 - (evicted - 1));
}

#[test]
fn a_plain_value_stays_until_its_time_is_over() {
    let store = Store::new();
    let put = |key: &[u8], expires| {
        store
            .with_plain(0, key, at(0), |slot| {
                *slot = Some(Plain {
                    data: Data::Text(Text::new(b"1").unwrap()),
                    expires,
                });
            })
            .unwrap();
    };
    put(b"stays", None);
    put(b"goes", Deadline::after_ms(at(0), 1_000));
    assert_eq!(evict_all(&store, at(0)), 0);
    assert_eq!(evict_all(&store, at(SECOND)), 1);
    assert!(is_there(&store, b"stays", at(SECOND)));
}

#[test]
fn what_is_kept_or_watched_beside_a_key_holds_it() {
    let store = store_with(300, 1, at(0));
    let remembered = Remembered {
        answer: Answer::Number(1),
        request: 0,
        expires: at(0).after(ANSWER_TTL),
    };
    let (answered, watched) = (7_u32.to_le_bytes(), 8_u32.to_le_bytes());
    store.records.remember(0, &answered, b"id", remembered);
    let mut watch = Watch::default();
    store.watch(0, &watched, &mut watch, at(0));
    assert_eq!(evict_all(&store, at(0)), 298);
    assert!(!watch.is_broken(at(0)));
    store.unwatch(&watch);
    assert_eq!(evict_all(&store, at(0)), 1);
    assert!(is_there(&store, &answered, at(0)));
}

#[test]
fn the_journal_learns_of_what_had_to_go() {
    let store = Store::new();
    store.note_changes();
    spend(&store, b"evicted", 1, at(0));
    spend(&store, b"gone by itself", 1, at(0));
    spend(&store, b"stays", CAPACITY, at(0));
    store.touched.take(0).for_each(drop);
    spend(&store, b"evicted", 1, at(SECOND));
    store.touched.take(0).for_each(drop);
    assert_eq!(evict_all(&store, at(SECOND)), 2);
    let touched: Vec<_> = store.touched.take(0).flatten().collect();
    assert_eq!(touched, [crate::store::Key::new(b"evicted")]);
}

#[test]
fn places_are_made_where_keys_come() {
    let store = store_with(20_000, 1, at(0));
    let before = store.table_bytes(0);
    let mut made = 0;
    for key in 20_000..60_000_u32 {
        let key = key.to_le_bytes();
        let shard = store.shard_of(0, &key);
        if store.fit(0, shard, 1) != Fit::Has {
            assert!(store.make_places(0, shard, 1, at(0), |_| true));
            made += 1;
        }
        assert_eq!(store.fit(0, shard, 1), Fit::Has);
        spend(&store, &key, 1, at(0));
    }
    assert!(made > 0);
    assert_eq!(store.table_bytes(0), before, "no table has grown");
    assert!(
        store.len(0) > 15_000,
        "{} are left: more went than had to",
        store.len(0)
    );
}

#[test]
fn no_place_is_made_among_keys_that_are_used() {
    let store = store_with(20_000, CAPACITY, at(0));
    let full = (0_u32..).map(u32::to_be_bytes).find_map(|key| {
        let shard = store.shard_of(0, &key);
        (store.fit(0, shard, 100) != Fit::Has).then_some(shard)
    });
    let shard = full.unwrap();
    assert!(!store.make_places(0, shard, 100, at(0), |_| true));
    assert_ne!(store.fit(0, shard, 100), Fit::Has);
    assert_eq!(store.len(0), 20_000);
}

#[test]
fn a_table_that_would_grow_says_to_what_size() {
    let store = store_with(1, 1, at(0));
    for count in [1, 3, 4, 100, 1_000] {
        let Fit::Grows(bytes) = store.fit(0, 0, count) else {
            continue;
        };
        let before = store.table_bytes(0);
        let mut added = 0;
        for key in 1_u32.. {
            let key = key.to_le_bytes();
            if store.shard_of(0, &key) == 0 && !is_there(&store, &key, at(0)) {
                spend(&store, &key, 1, at(0));
                added += 1;
            }
            if added == count {
                break;
            }
        }
        assert!(store.table_bytes(0) - before <= bytes, "{count}");
    }
}

/// Thins until nothing more goes; the steps that took.
fn thin_all(store: &Store, now: Timestamp) -> usize {
    let mut thinning = Thinning::default();
    for step in 1.. {
        thinning = store.thin(thinning, 500, now);
        if thinning.is_stuck {
            return step;
        }
    }
    unreachable!("a round ends");
}

#[test]
fn thinning_makes_tables_smaller_and_leaves_what_is_used() {
    let store = store_with(30_000, 1, at(0));
    for key in 0..3_000_u32 {
        spend(&store, &key.to_le_bytes(), CAPACITY - 1, at(0));
    }
    let before = store.table_bytes(0);
    thin_all(&store, at(0));
    assert_eq!(store.len(0), 3_000);
    assert!(store.table_bytes(0) <= before / 4);
    for key in 0..3_000_u32 {
        assert_eq!(remaining(&store, &key.to_le_bytes(), at(0)), 0);
    }
}

#[test]
fn thinning_takes_one_table_after_the_other() {
    let store = store_with(30_000, 1, at(0));
    let (bytes, keys) = (store.table_bytes(0), store.len(0));
    let mut thinning = Thinning::default();
    while store.table_bytes(0) == bytes {
        thinning = store.thin(thinning, 500, at(0));
    }
    // One shard has lost up to about half of its keys.
    assert!(
        keys - store.len(0) <= keys / store.shards(),
        "{} went",
        keys - store.len(0)
    );
}

#[test]
fn thinning_an_empty_store_ends() {
    assert_eq!(thin_all(&Store::new(), at(0)), 1);
    let store = store_with(10, CAPACITY, at(0));
    assert!(thin_all(&store, at(0)) <= 2 * store.shards());
    let ttl = Span::from_ns(CAPACITY * SECOND).unwrap();
    thin_all(&store, at(0).after(ttl));
    assert_eq!(store.len(0), 0);
}
