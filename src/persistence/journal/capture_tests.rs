//! What is written while keys go on changing.

use super::test_disk::TestDisk;
use super::test_kept::*;
use crate::core::entry::Entry;
use crate::plain::{Data, Plain, Text};
use crate::store::Remembered;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const SOME: std::ops::Range<u8> = 0..40;

#[test]
fn a_value_that_is_renamed_while_keys_are_read_has_a_name() {
    let kept = Kept::new();
    for key in SOME {
        kept.set(0, &[b'a', key], b"value");
        kept.set(0, &[b'b', key], b"");
        kept.store.remove(0, &[b'b', key], at(0));
    }
    kept.flush_and_meanwhile(|store| {
        for key in SOME {
            let (from, to) = ([b'a', key], [b'b', key]);
            let rename = |slots: &mut [Option<Plain>]| {
                store.touched.moves_to(0, &to);
                slots[1] = slots[0].take();
            };
            store.with_plains(0, &[&from, &to], at(0), rename).unwrap();
        }
    });
    let reopened = kept.reopened().store;
    let exists = |name: &[u8]| reopened.read(0, name, at(0), |value| value.is_some());
    assert!({ SOME }.all(|key| exists(&[b'a', key]) || exists(&[b'b', key])));
    kept.flush().unwrap();
    assert_same(all(&kept.reopened().store), all(&kept.store));
}

#[test]
fn a_database_that_is_emptied_while_keys_are_read_is_empty() {
    let kept = Kept::new();
    for key in SOME {
        kept.set(0, &[key], b"before");
        kept.store.records.put(0, u64::from(key), ticket(&[key]));
    }
    kept.set(3, b"elsewhere", b"");
    kept.flush_and_meanwhile(|store| {
        store.clear(0, at(0));
        for key in SOME {
            let text = Plain::new(Data::Text(Text::new(b"after").unwrap()));
            let set = |slot: &mut Option<Plain>| *slot = Some(text);
            store.with_plain(0, &[key], at(0), set).unwrap();
        }
    });
    let reopened = all(&kept.reopened().store);
    assert_eq!((reopened.0.len(), reopened.2.len()), (1, 0));
    kept.flush().unwrap();
    assert_same(all(&kept.reopened().store), all(&kept.store));
}

#[test]
fn tickets_that_come_and_go_while_keys_are_read_are_owed() {
    let kept = Kept::new();
    for key in SOME {
        kept.spend(&[key], 1);
        kept.store
            .records
            .put(0, 100 + u64::from(key), ticket(&[key]));
        // To be there already when the next one comes.
        kept.spend(&[100 + key], 1);
    }
    kept.flush_and_meanwhile(|store| {
        for key in SOME {
            let give_back = |entry: &mut Entry| {
                store.records.remove(0, &[key], 100 + u64::from(key));
                assert_eq!(entry.refund(1, at(0)), 1);
            };
            store.with_limit(0, &[key], at(0), give_back).unwrap();
            let take = |entry: &mut Entry| {
                store
                    .records
                    .put(0, 200 + u64::from(key), ticket(&[100 + key]));
                let mut draft = entry.draft(&limit(), at(0)).unwrap();
                draft.book(1).unwrap();
                draft.commit();
            };
            store.with_limit(0, &[100 + key], at(0), take).unwrap();
        }
    });
    let reopened = kept.reopened().store;
    for (_, number, ticket) in all(&reopened).2 {
        let key = ticket.parts[0].key.as_bytes();
        let used = reopened.read(0, key, at(0), |value| {
            let usage = value.and_then(|value| value.limit().unwrap().usage(at(0)));
            usage.map_or(0, |usage| usage.limits[0].used)
        });
        let owed = if number < 200 { 1 } else { 2 };
        assert_eq!(used, owed, "{number}");
    }
    kept.flush().unwrap();
    assert_same(all(&kept.reopened().store), all(&kept.store));
}

#[test]
fn a_ticket_is_not_written_without_the_booking_that_its_call_is_about_to_make() {
    let kept = Kept::new();
    let (noted, is_noted) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let book = |entry: &mut Entry| {
                kept.store.records.put(0, 1, ticket(b"k"));
                noted.send(()).unwrap();
                while kept.store.records.touched() > 0 {
                    std::thread::yield_now();
                }
                // The journal has the ticket, and must not go on before the key has changed.
                (0..1_000).for_each(|_| std::thread::yield_now());
                let mut draft = entry.draft(&limit(), at(0)).unwrap();
                draft.book(1).unwrap();
                draft.commit();
            };
            kept.store.with_limit(0, b"k", at(0), book).unwrap();
        });
        is_noted.recv().unwrap();
        kept.flush().unwrap();
    });
    let reopened = all(&kept.reopened().store);
    assert_eq!((reopened.0.len(), reopened.2.len()), (1, 1));
}

#[test]
fn an_answer_goes_whose_id_becomes_another_requests_while_keys_are_read() {
    let kept = Kept::new();
    let answer = |request| Remembered {
        request,
        ..remembered()
    };
    for key in SOME {
        kept.spend(&[key], 1);
        let id = b"id".as_slice();
        kept.store.records.remember(0, &[key], id, answer(1));
    }
    kept.flush().unwrap();
    // So that it is read once more, before or after.
    { SOME }.for_each(|key| kept.spend(&[key], 1));
    kept.flush_and_meanwhile(move |store| {
        for key in SOME {
            store.remove(0, &[key], at(0));
            let take = |entry: &mut Entry| {
                let id = b"id".as_slice();
                store.records.remember(0, &[key], id, answer(2));
                let mut draft = entry.draft(&limit(), at(0)).unwrap();
                draft.book(9).unwrap();
                draft.commit();
            };
            store.with_limit(0, &[key], at(0), take).unwrap();
        }
    });
    let reopened = kept.reopened().store;
    for key in SOME {
        assert_eq!(reopened.records.answer(0, &[key], b"id", at(0)), None);
    }
    kept.flush().unwrap();
    assert_same(all(&kept.reopened().store), all(&kept.store));
}

/// Does `f` while the bytes are written that come behind as many writes.
fn meanwhile_behind(disk: &TestDisk, writes: usize, f: impl FnOnce() + Send + 'static) {
    let again = disk.clone();
    disk.meanwhile(move || match writes.checked_sub(1) {
        Some(left) => meanwhile_behind(&again, left, f),
        None => f(),
    });
}

#[test]
fn an_answer_that_is_gone_goes_whenever_its_id_becomes_another_requests() {
    let happened = Arc::new(AtomicBool::new(true));
    for writes in 0.. {
        let mut kept = Kept::new();
        let (id, keeper) = (b"id".as_slice(), Arc::into_inner(kept.keeper).unwrap());
        // Each record is a write, so that something may happen between any two.
        kept.keeper = Arc::new(keeper.in_pieces(1));
        for key in [b"k", b"t"] {
            kept.spend(key, 1);
        }
        kept.store.records.remember(0, b"k", id, remembered());
        kept.store.records.put(0, 1, ticket(b"t"));
        kept.flush().unwrap();
        for key in [b"k", b"t"] {
            kept.store.remove(0, key, at(0));
            kept.spend(key, 2);
        }
        let (store, tells) = (kept.store.clone(), happened.clone());
        meanwhile_behind(&kept.disk, writes, move || {
            let other = Remembered {
                request: 2,
                ..remembered()
            };
            store.records.remember(0, b"k", b"id", other);
            tells.store(true, Relaxed);
        });
        if !happened.swap(false, Relaxed) {
            assert!(writes > 5, "{writes}");
            return;
        }
        kept.flush().unwrap();
        let reopened = kept.reopened().store;
        let found = reopened.records.answer(0, b"k", id, at(0));
        assert_eq!(found, None, "behind {writes} writes");
        kept.flush().unwrap();
        assert_same(all(&kept.reopened().store), all(&kept.store));
    }
}
