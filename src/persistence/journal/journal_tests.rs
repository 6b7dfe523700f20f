//! What is on disk after a flush, a snapshot, a crash; and what is read of it.

use super::test_disk::Faults;
use super::test_kept::*;
use super::*;
use crate::persistence::{Keeper, Keeping};

#[test]
fn what_was_flushed_is_there_after_a_crash() {
    let mut kept = Kept::new();
    something(&kept);
    kept.now = 5;
    kept.flush().unwrap();
    let flushed = all(&kept.store);
    assert_eq!(
        (
            flushed.0.len(),
            flushed.1.len(),
            flushed.2.len(),
            flushed.3.len()
        ),
        (3, 1, 1, 1)
    );
    kept.spend(b"bucket", 1);
    kept.set(0, b"late", b"");
    let reopened = kept.reopened();
    assert_same(all(&reopened.store), flushed);
    assert_eq!(reopened.restored.until, at(5));
    assert!(reopened.store.records.last_number() > kept.store.records.last_number());
}

#[test]
fn what_is_gone_stays_gone() {
    let kept = Kept::new();
    something(&kept);
    kept.flush().unwrap();
    let number = all(&kept.store).2[0].1;
    kept.store
        .remove(3, b"plain, and longer than sixteen bytes", at(0));
    kept.store.policies.remove(b"policy");
    kept.store.records.remove(0, b"bucket", number);
    kept.flush().unwrap();
    let reopened = all(&kept.reopened().store);
    assert_same(&reopened, &all(&kept.store));
    assert_eq!(
        (reopened.0.len(), reopened.1.len(), reopened.2.len()),
        (2, 0, 0)
    );
    // A deleted key takes its tickets and answers along.
    kept.store.records.put(0, 9, ticket(b"bucket"));
    kept.flush().unwrap();
    assert_eq!(all(&kept.reopened().store).2.len(), 1);
    kept.store.remove(0, b"bucket", at(0));
    kept.flush().unwrap();
    let reopened = all(&kept.reopened().store);
    assert_eq!((reopened.2.len(), reopened.3.len()), (0, 0));
}

#[test]
fn a_key_that_changes_often_costs_one_record() {
    let kept = Kept::new();
    (0..10_000).for_each(|_| kept.set(0, b"k", b"text"));
    let before = kept.report().bytes;
    kept.flush().unwrap();
    assert!(kept.report().bytes - before < 100);
    let before = kept.report().bytes;
    kept.flush().unwrap();
    assert_eq!(
        kept.report().bytes,
        before,
        "nothing changed, nothing is written"
    );
}

#[test]
fn an_emptied_database_is_empty_and_others_are_not() {
    let kept = Kept::new();
    something(&kept);
    kept.flush().unwrap();
    kept.set(0, b"before", b"");
    kept.store.clear(0, at(0));
    kept.set(0, b"after", b"");
    kept.flush().unwrap();
    let reopened = all(&kept.reopened().store);
    assert_same(&reopened, &all(&kept.store));
    assert_eq!(reopened.0.len(), 2);
    kept.store.clear_all(at(0));
    kept.flush().unwrap();
    assert_same(all(&kept.reopened().store), empty());
}

#[test]
fn a_snapshot_takes_the_place_of_the_journal_before_it() {
    let kept = Kept::new();
    something(&kept);
    kept.flush().unwrap();
    kept.spend(b"bucket", 1);
    kept.save().unwrap();
    assert_eq!(kept.journals(), ["s.journal.2"]);
    let saved = all(&kept.store);
    assert_same(all(&kept.reopened().store), saved);
    kept.spend(b"bucket", 1);
    kept.flush().unwrap();
    assert_same(all(&kept.reopened().store), all(&kept.store));
    kept.save().unwrap();
    assert_eq!(kept.journals(), ["s.journal.3"]);
}

#[test]
fn generations_that_a_crash_left_are_passed_over_and_removed() {
    let kept = Kept::new();
    kept.spend(b"bucket", 5);
    kept.flush().unwrap();
    kept.disk.fail(Faults {
        no_remove: true,
        ..Faults::default()
    });
    kept.save().unwrap();
    kept.disk.fail(Faults::default());
    assert_eq!(kept.journals(), ["s.journal.1", "s.journal.2"]);
    kept.store.remove(0, b"bucket", at(0));
    kept.flush().unwrap();
    let reopened = kept.reopened();
    assert_same(all(&reopened.store), empty());
    assert_eq!(reopened.journals(), ["s.journal.2"]);
}

#[test]
fn a_snapshot_that_fails_leaves_the_journal_as_it_was() {
    let kept = Kept::new();
    kept.set(0, b"a", b"1");
    kept.flush().unwrap();
    let full = Faults {
        room: Some(200),
        ..Faults::default()
    };
    for round in 0..3u8 {
        kept.set(0, b"b", &[round]);
        kept.flush().unwrap();
        kept.disk.fail(full);
        kept.set(0, b"c", &[0; 400]);
        kept.save().unwrap_err();
        kept.disk.fail(Faults::default());
        kept.flush().unwrap();
        assert_eq!(kept.journals(), ["s.journal.1"]);
        assert_same(all(&kept.reopened().store), all(&kept.store));
    }
    kept.save().unwrap();
    assert_eq!(kept.disk.names(), ["s", "s.journal.2"]);
    assert_same(all(&kept.reopened().store), all(&kept.store));
}

#[test]
fn a_large_journal_asks_for_a_snapshot() {
    let mut report = JournalReport::default();
    (report.bytes, report.base_bytes) = (100, 100);
    assert!(!report.wants_snapshot(10));
    report.bytes = 101;
    assert!(report.wants_snapshot(10) && !report.wants_snapshot(101));
}

#[test]
fn without_a_journal_what_one_has_left_is_read_and_then_folded() {
    let kept = Kept::new();
    something(&kept);
    kept.flush().unwrap();
    let disk = kept.disk.copy();
    let keeping = Keeping {
        saves: true,
        journal: false,
        salt: 0,
    };
    let store = Store::new();
    let (keeper, _) =
        Keeper::open(Arc::new(disk.clone()), Path::new(SNAPSHOT), keeping, &store).unwrap();
    assert_same(all(&store), all(&kept.store));
    store.remove(0, b"bucket", at(0));
    keeper.save(&store, &|| at(0)).unwrap();
    assert_eq!(disk.names(), ["s"]);
    let again = Kept::open(&disk);
    assert_same(all(&again.store), all(&store));
    again.set(0, b"k", b"");
    again.flush().unwrap();
    assert_same(all(&again.reopened().store), all(&again.store));
}
