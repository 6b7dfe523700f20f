//! Disks that fill up and fail.

use super::test_disk::{Faults, TestDisk};
use super::test_kept::*;
use super::*;
use crate::plain::{Data, Plain, Text};
use crate::store::Key;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[test]
fn a_full_disk_loses_nothing_once_there_is_room() {
    let (kept, _) = four_batches();
    let (good, before) = (kept.disk.bytes("s.journal.1"), all(&kept.store));
    for room in [0, 1, 60, 100] {
        kept.disk.fail(Faults {
            room: Some(room),
            ..Faults::default()
        });
        kept.set(0, b"new", &[room as u8; 200]);
        kept.store.clear(3, at(0));
        kept.store.records.put(0, 77, ticket(b"bucket"));
        let error = kept.flush().unwrap_err().to_string();
        assert!(
            error.starts_with("journal s.journal.1: writing failed"),
            "{error}"
        );
        assert_eq!(
            kept.disk.bytes("s.journal.1"),
            good,
            "what was written is cut off"
        );
        assert!(kept.report().suspended_since(at(0), u64::MAX).is_some());
    }
    assert_same(&all(&kept.reopened().store), &before);
    kept.disk.fail(Faults::default());
    kept.flush().unwrap();
    assert_eq!(kept.report().suspended_since(at(0), u64::MAX), None);
    assert_same(all(&kept.reopened().store), all(&kept.store));
}

#[test]
fn a_disk_that_is_full_at_the_start_is_written_later() {
    let disk = TestDisk::default();
    disk.fail(Faults {
        no_create: true,
        ..Faults::default()
    });
    let kept = Kept::open(&disk);
    something(&kept);
    let error = kept.flush().unwrap_err().to_string();
    assert!(error.contains("beginning it failed"), "{error}");
    kept.disk.fail(Faults::default());
    kept.flush().unwrap();
    assert_same(all(&kept.reopened().store), all(&kept.store));
}

#[test]
fn after_a_flush_that_failed_only_a_snapshot_helps() {
    for break_it in [
        (|kept: &Kept| {
            kept.disk.fail(Faults {
                no_sync: true,
                ..Faults::default()
            });
            kept.sync().unwrap_err();
        }) as fn(&Kept),
        |kept| {
            kept.disk.fail(Faults {
                no_sync: true,
                ..Faults::default()
            });
            kept.set(0, b"k", b"");
            kept.flush_as(Flushing::Always).unwrap_err();
        },
        |kept| {
            kept.disk.fail(Faults {
                room: Some(5),
                no_truncate: true,
                ..Faults::default()
            });
            kept.set(0, b"k", b"");
            kept.flush().unwrap_err();
        },
    ] {
        let (kept, _) = four_batches();
        break_it(&kept);
        kept.disk.fail(Faults::default());
        kept.set(0, b"meanwhile", b"");
        kept.flush().unwrap_err();
        assert!(kept.report().needs_snapshot && kept.report().wants_snapshot(u64::MAX));
        // What is there still opens.
        kept.reopened();
        // A snapshot that fails does not help.
        kept.disk.fail(Faults {
            no_create: true,
            ..Faults::default()
        });
        kept.save().unwrap_err();
        kept.disk.fail(Faults::default());
        kept.set(0, b"beside", b"");
        kept.flush().unwrap_err();
        assert!(kept.report().needs_snapshot);
        let reopened = kept.reopened();
        assert!(
            !all(&reopened.store)
                .0
                .contains_key(&(0, Key::new(b"beside")))
        );
        assert!(!reopened.report().needs_snapshot);
        kept.save().unwrap();
        kept.set(0, b"later", b"");
        kept.flush().unwrap();
        assert_eq!(kept.report().suspended_since(at(0), u64::MAX), None);
        assert_same(all(&kept.reopened().store), all(&kept.store));
        assert_eq!(kept.journals().len(), 1);
    }
}

#[test]
fn a_file_that_somebody_removes_is_told_and_a_snapshot_helps() {
    let (kept, _) = four_batches();
    kept.disk.files.lock().clear();
    kept.set(0, b"k", b"");
    let error = kept.flush().unwrap_err().to_string();
    assert!(error.contains("somebody has removed the file"), "{error}");
    assert!(kept.report().wants_snapshot(u64::MAX));
    kept.save().unwrap();
    kept.set(0, b"later", b"");
    kept.flush().unwrap();
    assert_same(all(&kept.reopened().store), all(&kept.store));
}

#[test]
fn names_of_what_is_gone_are_not_kept_without_end() {
    let kept = Kept::new();
    kept.disk.fail(Faults {
        room: Some(0),
        ..Faults::default()
    });
    for key in 0..=PENDING_GONE_MAX as u32 {
        kept.set(0, &key.to_le_bytes(), b"");
        kept.store.remove(0, &key.to_le_bytes(), at(0));
    }
    kept.flush().unwrap_err();
    assert_eq!(kept.store.changes(), 0);
    assert!(kept.report().needs_snapshot);
    kept.disk.fail(Faults::default());
    kept.save().unwrap();
    kept.set(0, b"k", b"");
    kept.flush().unwrap();
    assert_same(all(&kept.reopened().store), all(&kept.store));
}

#[test]
fn no_batch_waits_for_a_flush() {
    let (kept, _) = four_batches();
    let (keeper, store, disk) = (kept.keeper.clone(), kept.store.clone(), kept.disk.clone());
    let count = Arc::new(AtomicU64::new(0));
    let counted = count.clone();
    // While the disk takes its time, another thread writes a batch, and the process may die.
    kept.disk.beside_flushes(move || {
        let journal = keeper.journal().unwrap();
        assert!(journal.state.try_lock().is_some(), "a batch would wait");
        let (keeper, store) = (keeper.clone(), store.clone());
        let number = counted.fetch_add(1, Relaxed);
        let written = std::thread::spawn(move || {
            let set = |key: &[u8]| {
                let plain = Plain::new(Data::Text(Text::from(number as i64)));
                let set = |slot: &mut Option<Plain>| *slot = Some(plain);
                store.with_plain(0, key, at(0), set).unwrap();
            };
            set(b"beside");
            let journal = keeper.journal().unwrap();
            journal.flush(&store, &|| at(0), Flushing::Apart, false)?;
            let written = all(&store);
            // Something is left for the next batch.
            set(b"later");
            Ok::<_, JournalError>(written)
        });
        let written = written.join().unwrap().unwrap();
        assert_same(all(&Kept::open(&disk.copy()).store), written);
    });
    kept.set(0, b"k", b"");
    kept.flush().unwrap();
    kept.sync().unwrap();
    assert_eq!(count.swap(0, Relaxed), 1);
    kept.set(0, b"k", b"1");
    kept.flush_as(Flushing::Always).unwrap();
    assert_eq!(count.swap(0, Relaxed), 1);
    for _ in 0..2 {
        kept.save().unwrap();
        // The generation ahead and its name, it and the one before, the snapshot and its name.
        assert_eq!(count.swap(0, Relaxed), 6);
        assert_eq!(kept.report().suspended_since(at(0), u64::MAX), None);
    }
    kept.flush().unwrap();
    assert_same(all(&kept.reopened().store), all(&kept.store));
}

#[test]
fn whichever_flush_of_a_snapshot_fails_batches_go_on() {
    for fails in 0..6 {
        let (kept, _) = four_batches();
        let (disk, count) = (kept.disk.clone(), AtomicU64::new(0));
        kept.disk.beside_flushes(move || {
            disk.fail(Faults {
                no_sync: count.fetch_add(1, Relaxed) == fails,
                ..Faults::default()
            });
        });
        kept.touch_beside_the_next_snapshot();
        let saved = kept.save();
        // The one before is not needed once the snapshot is in its place.
        assert_eq!(saved.is_ok(), fails == 2, "{fails}: {saved:?}");
        for round in 0..2u8 {
            kept.set(0, b"later", &[round]);
            kept.flush().unwrap();
            kept.sync().unwrap();
            assert_eq!(kept.report().suspended_since(at(0), u64::MAX), None);
            assert_same(all(&kept.reopened().store), all(&kept.store));
            // Whether the snapshot is there or not, which a power failure decides.
            if fails == 5 && round == 0 {
                let disk = kept.disk.copy();
                disk.remove(Path::new("s")).unwrap();
                assert_same(all(&Kept::open(&disk).store), all(&kept.store));
            }
            kept.save().unwrap();
            assert_eq!(kept.journals().len(), 1);
        }
    }
}

#[test]
fn a_disk_that_is_late_is_told() {
    let report = JournalReport {
        covers_until: at(0),
        ..JournalReport::default()
    };
    assert_eq!(report.suspended_since(at(9), 10), None);
    assert_eq!(report.suspended_since(at(10), 10), Some(at(0)));
}
