use super::super::Store;
use super::super::test_entries::{CAPACITY, SECOND, at, spend, take};
use super::*;
use crate::core::limit::{BucketLimit, Keeps, Rate};
use crate::core::units::Timestamp;

fn noting() -> Store {
    let store = Store::new();
    store.note_changes();
    store
}

/// The names that were touched in a database since the last call, in order.
fn touched(store: &Store, database: u8) -> Vec<Key> {
    let mut names: Vec<Key> = store.touched.take(database).flatten().collect();
    names.sort();
    names
}

#[test]
fn a_key_is_noted_once_however_often_it_changes() {
    let store = noting();
    (0..5).for_each(|_| spend(&store, b"k", 1, at(0)));
    assert_eq!((store.changes(), store.has_changes()), (1, true));
    assert_eq!(touched(&store, 0), [Key::new(b"k")]);
    assert!(!store.has_changes());
    spend(&store, b"k", 1, at(0));
    assert_eq!(touched(&store, 0), [Key::new(b"k")]);
}

#[test]
fn names_take_no_more_room_however_often_keys_change() {
    let store = noting();
    for second in 0..10_000 {
        spend(&store, b"a", 1, at(second * SECOND));
        spend(&store, b"b", 1, at(second * SECOND));
    }
    let stripes = store.touched.databases[0].get().unwrap().iter();
    let room: usize = stripes.map(|names| names.0.lock().list.capacity()).sum();
    assert!(room <= 2 * 2 * REPEATED_MIN, "{room}");
    assert_eq!(touched(&store, 0), [Key::new(b"a"), Key::new(b"b")]);
}

#[test]
fn what_changes_nothing_is_not_noted() {
    let store = noting();
    let too_much = |now| {
        let taken = store.with_limit(0, b"k", at(now), |entry| take(entry, CAPACITY, at(now)));
        assert!(!taken.unwrap());
    };
    spend(&store, b"k", 1, at(0));
    assert_eq!(touched(&store, 0), [Key::new(b"k")]);
    too_much(0);
    store.with_value(0, b"absent", at(0), |_| ());
    store
        .with_limits(0, &[b"k", b"absent"], at(0), |_| ())
        .unwrap();
    assert!(!store.has_changes());
}

#[test]
fn every_way_to_change_a_key_is_noted() {
    let store = noting();
    let set = |slot: &mut Option<crate::plain::Plain>| {
        let text = crate::plain::Text::new(b"v").unwrap();
        *slot = Some(crate::plain::Plain::new(crate::plain::Data::Text(text)));
    };
    store.with_plain(3, b"plain", at(0), set).unwrap();
    assert_eq!(touched(&store, 3), [Key::new(b"plain")]);
    store
        .with_plains(3, &[b"plain", b"other"], at(0), |slots| {
            slots[1] = slots[0].take()
        })
        .unwrap();
    assert_eq!(touched(&store, 3), [Key::new(b"other"), Key::new(b"plain")]);
    assert!(store.remove(3, b"other", at(0)));
    assert_eq!(touched(&store, 3), [Key::new(b"other")]);
    let span = crate::core::units::Span::from_ns(1_000).unwrap();
    store
        .with_limit(0, b"paused", at(0), |entry| {
            entry.pause(span, false, false, at(0))
        })
        .unwrap();
    assert_eq!(touched(&store, 0), [Key::new(b"paused")]);
}

#[test]
fn nothing_is_noted_before_it_is_wanted() {
    let store = Store::new();
    spend(&store, b"k", 1, at(0));
    store.clear(0, at(0));
    assert!(!store.has_changes());
}

#[test]
fn what_is_put_back_is_noted_again() {
    let store = noting();
    spend(&store, b"k", 1, at(0));
    let names: Vec<Vec<Key>> = store.touched.take(0).collect();
    spend(&store, b"other", 1, at(0));
    names
        .into_iter()
        .for_each(|names| store.touched.put_back(0, names));
    assert_eq!(touched(&store, 0), [Key::new(b"k"), Key::new(b"other")]);
}

#[test]
fn a_database_that_was_emptied_is_told_once() {
    let store = noting();
    store.clear(2, at(0));
    assert!(store.has_changes());
    let emptied = || store.touched.take_emptied().collect::<Vec<_>>();
    assert_eq!((emptied(), emptied()), (vec![2], vec![]));
    store.clear_all(at(0));
    assert_eq!(emptied().len(), usize::from(DATABASES_MAX));
}

#[test]
fn moves_are_kept_while_somebody_asks_for_them() {
    let touched = noting().touched;
    touched.moves_to(0, b"unseen");
    touched.watch_moves();
    touched.moves_to(0, b"a");
    assert_eq!(touched.take_moved(), [(0, Key::new(b"a"))]);
    touched.moves_to(1, b"b");
    assert_eq!(touched.take_moved(), [(1, Key::new(b"b"))]);
    assert_eq!(touched.take_moved(), []);
    touched.moves_to(0, b"unseen");
    assert_eq!(touched.take_moved(), []);
}

/// The short way to a bucket notes a change once, and again after the journal has read the key or forgotten it.
#[test]
fn a_bucket_is_noted_again_once_it_was_read() {
    let store = Store::new();
    let limit = BucketLimit::new(5, Rate::parse(b"1").unwrap(), Keeps::Permits).unwrap();
    let call = |key: &[u8]| {
        store.with_bucket(0, key, &limit, at(1), |bucket| {
            bucket.book(1, at(1), Timestamp::ZERO).ok()
        })
    };
    let noted = || -> usize { store.touched.take(0).map(|names| names.len()).sum() };
    store.note_changes();
    for key in [b"short", b"other"] {
        // A new key, one that is there, and one that was noted already.
        (0..3).for_each(|_| assert!(call(key).is_some()));
    }
    assert_eq!(noted(), 2);
    // Taken out and not read yet: whoever reads it sees this change too.
    call(b"short");
    store.read_touched(0, b"short", at(1), |value| assert!(value.is_some()));
    call(b"short");
    assert_eq!(noted(), 1);
    store.note_anew();
    call(b"short");
    assert_eq!(noted(), 1);
    // What changes nothing is not noted.
    store.note_anew();
    store.with_bucket(0, b"short", &limit, at(1), |_| Some(()));
    assert_eq!(noted(), 0);
}

#[test]
fn what_names_take_is_known_until_they_are_written() {
    let store = noting();
    let name = |key: u32| format!("a name that takes bytes of its own {key:06}");
    let note = |from| {
        (from..from + 10_000).for_each(|key| spend(&store, name(key).as_bytes(), 1, at(0)));
    };
    let least = 10_000 * (size_of::<Key>() + name(0).len());
    note(0);
    let noted = store.touched.passing_bytes();
    assert!((least..2 * least).contains(&noted), "{noted}");
    let taken: Vec<_> = store.touched.take(0).collect();
    let being_written = store.touched.passing_bytes();
    assert!(
        (least..2 * least).contains(&being_written),
        "{being_written}"
    );
    // While nothing can be written they do not pass.
    taken
        .into_iter()
        .for_each(|names| store.touched.put_back(0, names));
    store.touched.end_taking(false);
    assert_eq!(store.touched.passing_bytes(), 0);
    store.touched.take(0).for_each(drop);
    store.touched.end_taking(true);
    assert_eq!(store.touched.passing_bytes(), 0);
    note(10_000);
    assert!(store.touched.passing_bytes() >= least);
}
