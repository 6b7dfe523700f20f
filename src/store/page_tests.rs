//! SCAN's promise: a key that is there from the first page to the last is on exactly one of them.

use super::test_entries::{SECOND, at, spend, store_with};
use super::{Key, Store};
use crate::core::units::Timestamp;
use std::collections::HashMap;

fn name(key: u32) -> [u8; 4] {
    key.to_le_bytes()
}

/// Walks all pages, with `between` after each; how often each key came, and the pages there were.
fn walk(
    store: &Store,
    count: usize,
    now: Timestamp,
    mut between: impl FnMut(usize),
) -> (HashMap<Key, u32>, usize) {
    let (mut seen, mut cursor, mut pages) = (HashMap::new(), 0, 0);
    loop {
        let page = store.page(0, cursor, count, now, |_| true);
        for key in page.keys {
            *seen.entry(key).or_insert(0) += 1;
        }
        pages += 1;
        if page.next == 0 {
            return (seen, pages);
        }
        assert!(page.next > cursor, "a cursor moves on");
        cursor = page.next;
        between(pages);
    }
}

fn assert_each_once(seen: &HashMap<Key, u32>, keys: impl Iterator<Item = u32>) {
    for key in keys {
        assert_eq!(seen.get(&Key::new(&name(key))), Some(&1), "key {key}");
    }
}

#[test]
fn every_key_is_on_exactly_one_page() {
    let store = store_with(3_000, 1, at(0));
    for count in [1, 2, 10, 999, 3_000, usize::MAX] {
        let (seen, pages) = walk(&store, count, at(0), |_| ());
        assert_eq!(seen.len(), 3_000);
        assert_each_once(&seen, 0..3_000);
        // One more where the last key's page does not know that it is the last.
        let full = 3_000usize.div_ceil(count);
        assert!((full..=full + 1).contains(&pages), "{pages} of {count}");
    }
}

#[test]
fn an_empty_database_has_one_empty_page() {
    let store = Store::new();
    assert_eq!(walk(&store, 10, at(0), |_| ()), (HashMap::new(), 1));
    let emptied = store_with(100, 1, at(0));
    emptied.clear(0, at(0));
    assert_eq!(walk(&emptied, 10, at(0), |_| ()), (HashMap::new(), 1));
}

#[test]
fn any_cursor_is_answered() {
    let store = store_with(100, 1, at(0));
    for cursor in [1, 1 << 49, (1 << 57) - 1, 1 << 57, u64::MAX] {
        let page = store.page(0, cursor, 1_000, at(0), |_| true);
        assert_eq!(page.next, 0);
        assert!(page.keys.len() <= 100);
    }
}

#[test]
fn growth_between_pages_neither_hides_nor_repeats_a_key() {
    let store = store_with(500, 1, at(0));
    let mut next = 500;
    let (seen, _) = walk(&store, 7, at(0), |_| {
        for _ in 0..if next < 10_000 { 300 } else { 0 } {
            spend(&store, &name(next), 1, at(0));
            next += 1;
        }
    });
    assert!(next > 10_000, "the tables grew");
    assert_each_once(&seen, 0..500);
    assert!(seen.values().all(|&times| times == 1));
}

#[test]
fn removals_and_shrinking_between_pages_neither_hide_nor_repeat_a_key() {
    let store = store_with(20_000, 1, at(0));
    let mut sweep = super::Sweep::default();
    let (seen, _) = walk(&store, 50, at(0), |page| {
        // All but the first 500 keys go, as the walk comes on, and the tables shrink after them.
        for key in (page * 300..(page + 1) * 300).filter(|key| (500..20_000).contains(key)) {
            store.remove(0, &name(key as u32), at(0));
        }
        sweep = store.sweep(sweep, 10_000, at(0));
    });
    assert!(sweep.rounds > 1);
    assert!(store.len(0) < 15_000, "many went: {}", store.len(0));
    assert_each_once(&seen, 0..500);
    assert!(seen.values().all(|&times| times == 1));
}

#[test]
fn keys_that_have_gone_by_themselves_are_on_no_page() {
    let store = store_with(1_000, 1, at(0));
    spend(&store, b"stays", 2, at(0));
    let (seen, _) = walk(&store, 100, at(SECOND), |_| ());
    assert_eq!(seen, HashMap::from([(Key::new(b"stays"), 1)]));
}

#[test]
fn a_page_looks_at_a_bounded_number_of_forgotten_keys() {
    let store = store_with(2_000, 1, at(0));
    let (seen, pages) = walk(&store, 10, at(SECOND), |_| ());
    assert!(seen.is_empty());
    assert!((200..=201).contains(&pages), "{pages}");
}
