//! Keys that hold plain values, beside keys that hold limits.

use super::test_entries::{SECOND, at, remaining, spend};
use super::{Key, Store, Sweep, Value, Watch};
use crate::core::decision::Refusal;
use crate::core::units::Timestamp;
use crate::plain::text::{self, Condition};
use crate::plain::{Data, Deadline, Expiry, Plain, Text, counter};

/// Counts a key up by one.
fn count(store: &Store, key: &[u8], now: Timestamp) -> i64 {
    let counted = store.with_plain(0, key, now, |slot| counter::add(slot, 1));
    counted.unwrap().unwrap()
}

/// Sets a key that goes after a second.
fn set(store: &Store, key: &[u8], now: Timestamp) {
    let expiry = Expiry::At(Deadline::after_ms(now, 1000).unwrap());
    let set = store.with_plain(0, key, now, |slot| {
        text::set(slot, Text::from(5), Condition::Always, expiry, now)
    });
    assert_eq!(set, Ok(true));
}

fn exists(store: &Store, key: &[u8], now: Timestamp) -> bool {
    store.read(0, key, now, |value| value.is_some())
}

#[test]
fn a_slot_keeps_what_is_left_in_it() {
    let store = Store::new();
    assert_eq!(
        store.with_plain(0, b"k", at(0), |slot| slot.is_none()),
        Ok(true)
    );
    assert_eq!(store.len(0), 0);
    assert_eq!(count(&store, b"k", at(0)), 1);
    assert_eq!(count(&store, b"k", at(0)), 2);
    assert_eq!(store.len(0), 1);
    store
        .with_plain(0, b"k", at(0), |slot| *slot = None)
        .unwrap();
    assert_eq!(store.len(0), 0);
}

#[test]
fn a_plain_value_is_gone_at_its_instant() {
    let store = Store::new();
    set(&store, b"k", at(7));
    assert!(exists(&store, b"k", at(SECOND + 6)));
    assert!(!exists(&store, b"k", at(SECOND + 7)));
    assert_eq!(count(&store, b"k", at(SECOND + 7)), 1);
    set(&store, b"k", at(0));
    spend(&store, b"k", 1, at(SECOND));
    assert_eq!(remaining(&store, b"k", at(SECOND)), 9);
}

#[test]
fn limits_and_plain_values_refuse_each_other() {
    let store = Store::new();
    spend(&store, b"limit", 1, at(0));
    count(&store, b"plain", at(0));
    let plain = |key| store.with_plain(0, key, at(0), |_| ());
    assert_eq!(plain(b"limit"), Err(Refusal::WrongKind));
    assert_eq!(plain(b"plain"), Ok(()));
    let read = |key| store.read_plain(0, key, at(0), |plain| plain.is_some());
    assert_eq!(read(b"limit"), Err(Refusal::WrongKind));
    assert_eq!(read(b"plain"), Ok(true));
    assert_eq!(read(b"none"), Ok(false));
    let limit = |key| store.with_limit(0, key, at(0), |_| ());
    assert_eq!(limit(b"plain"), Err(Refusal::WrongKind));
    // One that is paused is a limit key too, and one that is full is none.
    let span = crate::core::units::Span::from_ns(SECOND).unwrap();
    let pause = store.with_limit(0, b"paused", at(0), |entry| {
        entry.pause(span, false, false, at(0));
    });
    assert_eq!(pause, Ok(()));
    assert_eq!(plain(b"paused"), Err(Refusal::WrongKind));
    assert_eq!(store.with_plain(0, b"limit", at(SECOND), |_| ()), Ok(()));
}

#[test]
fn several_slots_are_handed_out_together_or_not_at_all() {
    let store = Store::new();
    spend(&store, b"limit", 1, at(0));
    count(&store, b"a", at(0));
    let count_all = |keys: &[&[u8]]| {
        store.with_plains(0, keys, at(0), |slots| {
            let sums = slots.iter_mut().map(|slot| counter::add(slot, 1).unwrap());
            sums.collect::<Vec<_>>()
        })
    };
    assert_eq!(count_all(&[b"a", b"b"]), Ok(vec![2, 1]));
    assert_eq!(count_all(&[b"a", b"b", b"limit"]), Err(Refusal::WrongKind));
    assert_eq!(count_all(&[b"a", b"b"]), Ok(vec![3, 2]));
    assert_eq!(remaining(&store, b"limit", at(0)), 9);
}

#[test]
fn several_keys_are_read_in_the_order_asked_for() {
    let store = Store::new();
    let names: Vec<Vec<u8>> = (0..300).map(|i| format!("k{i}").into_bytes()).collect();
    for (times, name) in names.iter().enumerate() {
        let set = store.with_plain(0, name, at(0), |slot| counter::add(slot, times as i64));
        set.unwrap().unwrap();
    }
    set(&store, b"k7", at(0));
    let keys: Vec<&[u8]> = names.iter().chain(&names).map(Vec::as_slice).collect();
    let mut read = Vec::new();
    store.read_many(0, &keys, at(SECOND), |value| {
        let plain = value.map(|value| value.plain().unwrap().unwrap());
        read.push(plain.map(|plain| plain.text().unwrap().as_integer().unwrap()));
    });
    let expected = (0..300).map(|i| Some(i).filter(|&i| i != 7));
    assert_eq!(read, expected.clone().chain(expected).collect::<Vec<_>>());
    let mut none = 0;
    store.read_many(9, &[b"k1", b"k2"], at(0), |value| {
        none += i32::from(value.is_none())
    });
    assert_eq!(none, 2);
}

#[test]
fn a_watch_breaks_when_a_plain_value_changes_or_goes() {
    let store = Store::new();
    let watched = |now| {
        let mut watch = Watch::default();
        store.watch(0, b"k", &mut watch, now);
        watch
    };
    let watch = watched(at(0));
    count(&store, b"k", at(0));
    assert!(watch.is_broken(at(0)));

    set(&store, b"k", at(0));
    let watch = watched(at(0));
    assert!(!watch.is_broken(at(SECOND - 1)));
    assert!(watch.is_broken(at(SECOND)), "it has gone");
    // One that was gone before is none that goes.
    assert!(!watched(at(SECOND)).is_broken(at(9 * SECOND)));

    set(&store, b"k", at(0));
    let watch = watched(at(0));
    let persist = |slot: &mut Option<Plain>| crate::plain::expiry::persist(slot);
    assert_eq!(store.with_plain(0, b"k", at(0), persist), Ok(true));
    assert!(watch.is_broken(at(0)), "a new end is a change");
    let watch = watched(at(0));
    assert!(!watch.is_broken(at(9 * SECOND)));
    store.unwatch(&watch);
}

#[test]
fn the_sweep_drops_plain_values_that_have_gone() {
    let store = Store::new();
    for i in 0..100u32 {
        set(&store, &i.to_le_bytes(), at(0));
    }
    count(&store, b"stays", at(0));
    let swept = store.sweep(Sweep::default(), 100_000, at(SECOND - 1));
    assert_eq!((swept.dropped, store.len(0)), (0, 101));
    let swept = store.sweep(Sweep::default(), 100_000, at(SECOND));
    assert_eq!((swept.dropped, store.len(0)), (100, 1));
    assert_eq!(
        store.read(0, b"stays", at(SECOND), |value| value.map(Value::type_name)),
        Some("string")
    );
}

#[test]
fn keys_that_stay_are_counted_however_they_come_and_go() {
    let store = Store::new();
    let names: [&[u8]; 2] = [b"a", b"b"];
    spend(&store, b"limit", 1, at(0));
    set(&store, b"goes", at(0));
    assert_eq!((store.len(0), store.counts.staying(0)), (2, 0));
    assert_eq!(names.map(|name| count(&store, name, at(0))), [1, 1]);
    assert_eq!((store.len(0), store.counts.staying(0)), (4, 2));
    count(&store, b"a", at(0));
    set(&store, b"a", at(0));
    assert_eq!(store.counts.staying(0), 1);
    let both = store.with_plains(0, &names, at(0), |slots| {
        slots[0].as_mut().unwrap().expires = None;
        slots[1] = None;
    });
    assert_eq!((both, store.counts.staying(0)), (Ok(()), 1));
    store.sweep(Sweep::default(), 100_000, at(SECOND));
    assert_eq!((store.len(0), store.counts.staying(0)), (1, 1));
    assert!(store.remove(0, b"a", at(SECOND)));
    assert_eq!((store.len(0), store.counts.staying(0)), (0, 0));

    let stays = || Value::Plain(Plain::new(Data::Text(Text::from(1))));
    store.restore(0, &Key::new(b"a"), stays());
    store.restore(0, &Key::new(b"a"), stays());
    assert_eq!(
        (
            store.len(0),
            store.counts.staying(0),
            store.counts.staying(1)
        ),
        (1, 1, 0)
    );
    store.clear(0, at(SECOND));
    assert_eq!((store.len(0), store.counts.staying(0)), (0, 0));
}
