//! What is on disk after a flush, a fold, a crash, a fault of the disk; and what is read of it.

use super::test_disk::{Faults, TestDisk};
use super::*;
use crate::core::entry::Entry;
use crate::core::limit::{BucketLimit, Keeps, Limit, Rate};
use crate::core::timeline::Slot;
use crate::core::units::{SECOND, Span};
use crate::persistence::keeper::OpenError;
use crate::persistence::{Keeper, Keeping, Restored};
use crate::plain::{Data, Plain, Text};
use crate::store::{Answer, Key, Part, Remembered, Ticket, Value};
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::fmt::Debug;

const SNAPSHOT: &str = "s";

fn at(ns: u64) -> Timestamp {
    Timestamp::from_ns(1_700_000_000 * SECOND + ns).unwrap()
}

fn limit() -> Limit {
    let rate = Rate::parse(b"1/h").unwrap();
    Limit::Bucket(BucketLimit::new(1_000, rate, Keeps::Permits).unwrap())
}

/// A store that is kept on a disk, at an instant that stands still.
struct Kept {
    disk: TestDisk,
    store: Store,
    keeper: Keeper,
    restored: Restored,
    now: u64,
}

impl Kept {
    fn try_open(disk: &TestDisk) -> Result<Self, OpenError> {
        let keeping = Keeping {
            saves: true,
            journal: true,
            salt: 0x5a17,
        };
        let store = Store::new();
        let opened = Keeper::open(Arc::new(disk.clone()), Path::new(SNAPSHOT), keeping, &store);
        let (keeper, restored) = opened.inspect_err(|_| assert_eq!(all(&store), empty()))?;
        let kept = Self {
            disk: disk.clone(),
            store,
            keeper,
            restored,
            now: 0,
        };
        // It may fail where the disk does.
        let _ = kept
            .keeper
            .begin(&kept.store, &|| at(kept.now), Flushing::Apart);
        Ok(kept)
    }

    fn open(disk: &TestDisk) -> Self {
        Self::try_open(disk).unwrap_or_else(|error| panic!("{error}"))
    }

    fn new() -> Self {
        Self::open(&TestDisk::default())
    }

    /// What is there after the process has died and was started again.
    fn reopened(&self) -> Self {
        Self::open(&self.disk.copy())
    }

    fn spend(&self, key: &[u8], cost: u64) {
        let now = at(self.now);
        let book = |entry: &mut Entry| {
            let mut draft = entry.draft(&limit(), now).unwrap();
            draft.book(cost).unwrap();
            draft.commit();
        };
        self.store.with_limit(0, key, now, book).unwrap();
    }

    fn set(&self, database: u8, key: &[u8], text: &[u8]) {
        let plain = Plain::new(Data::Text(Text::new(text).unwrap()));
        let set = |slot: &mut Option<Plain>| *slot = Some(plain);
        self.store
            .with_plain(database, key, at(self.now), set)
            .unwrap();
    }

    fn flush_as(&self, flushing: Flushing) -> Result<(), JournalError> {
        let journal = self.keeper.journal().unwrap();
        journal.flush(&self.store, &|| at(self.now), flushing, false)
    }

    fn flush(&self) -> Result<(), JournalError> {
        self.flush_as(Flushing::Apart)
    }

    fn sync(&self) -> Result<(), JournalError> {
        self.keeper.journal().unwrap().sync(&|| at(self.now))
    }

    fn save(&self) -> Result<(), crate::persistence::SaveError> {
        self.keeper.save(&self.store, &|| at(self.now)).map(drop)
    }

    fn report(&self) -> JournalReport {
        self.keeper.journal().unwrap().status().report()
    }

    fn journals(&self) -> Vec<String> {
        let mut names = self.disk.names();
        names.retain(|name| name.contains(".journal."));
        names
    }
}

/// Keys, policies, tickets and answers of a store.
type All = (
    BTreeMap<(u8, Key), Value>,
    Vec<Box<[u8]>>,
    Vec<(u8, u64, Ticket)>,
    Vec<Box<[u8]>>,
);

fn empty() -> All {
    Default::default()
}

fn all(store: &Store) -> All {
    let mut keys = BTreeMap::new();
    for database in 0..DATABASES_MAX {
        for shard in 0..store.shards() {
            store.for_each_in(database, shard, |key, value| {
                keys.insert((database, key.clone()), value.clone());
            });
        }
    }
    let tickets = store.records.tickets_after(0, usize::MAX, at(0));
    let answers = store.records.answers_after(0, usize::MAX, at(0));
    let mut ids: Vec<Box<[u8]>> = answers.into_iter().map(|(_, _, id, _)| id).collect();
    ids.sort();
    (keys, store.policies.names(), tickets, ids)
}

fn ticket(key: &[u8]) -> Ticket {
    Ticket {
        parts: SmallVec::from_elem(
            Part {
                key: Key::new(key),
                limits: SmallVec::from_elem(limit(), 1),
                under_policy: false,
                costs: SmallVec::from_elem(1, 1),
                slots: SmallVec::from_elem(Slot::whole(at(0)), 1),
            },
            1,
        ),
        slot: at(0),
        ttl: Span::from_ns(600 * SECOND).unwrap(),
        confirmed: false,
        overtaken: false,
        id: None,
        lease: 0,
    }
}

fn remembered() -> Remembered {
    Remembered {
        answer: Answer::Number(7),
        request: 1,
        expires: at(60 * SECOND),
    }
}

/// Something of every kind.
fn something(kept: &Kept) {
    let store = &kept.store;
    kept.spend(b"bucket", 7);
    kept.set(3, b"plain, and longer than sixteen bytes", b"text");
    store
        .policies
        .set(b"policy", SmallVec::from_elem(limit(), 1));
    store
        .records
        .put(0, store.records.next_number(), ticket(b"bucket"));
    let id = b"id".as_slice();
    store.records.remember(0, b"bucket", id, remembered());
    let span = Span::from_ns(3600 * SECOND).unwrap();
    let pause = |entry: &mut Entry| entry.pause(span, false, false, at(0));
    store.with_limit(0, b"paused", at(0), pause).unwrap();
}

#[track_caller]
fn assert_same<T: PartialEq + Debug>(left: T, right: T) {
    assert!(left == right, "{left:#?}\nis not\n{right:#?}");
}

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
    kept.save().unwrap();
    assert_eq!(
        kept.journals(),
        ["s.journal.3"],
        "one that is empty is not followed by another"
    );
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
fn a_snapshot_that_fails_leaves_both_generations_and_makes_no_more() {
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
        assert_eq!(kept.journals(), ["s.journal.1", "s.journal.2"]);
        assert_same(all(&kept.reopened().store), all(&kept.store));
    }
    kept.save().unwrap();
    assert_eq!(kept.disk.names(), ["s", "s.journal.2"]);
    assert_same(all(&kept.reopened().store), all(&kept.store));
}

/// A journal of four batches, with the states after each of them.
fn four_batches() -> (Kept, Vec<(usize, All)>) {
    let kept = Kept::new();
    let length = || kept.disk.bytes("s.journal.1").len();
    let mut states = vec![(length(), empty())];
    for step in 0..3u8 {
        something(&kept);
        kept.set(0, &[step], &[step; 30]);
        kept.flush().unwrap();
        states.push((length(), all(&kept.store)));
    }
    (kept, states)
}

#[test]
fn a_journal_that_is_cut_anywhere_holds_its_whole_batches() {
    let (kept, states) = four_batches();
    let bytes = kept.disk.bytes("s.journal.1");
    for cut in 0..=bytes.len() {
        let disk = kept.disk.copy();
        disk.put("s.journal.1", bytes[..cut].to_vec());
        let reopened = Kept::open(&disk);
        let whole = states.iter().rfind(|(length, _)| *length <= cut);
        assert_same(
            Some(&all(&reopened.store)),
            whole.map(|(_, state)| state).or(Some(&empty())),
        );
        // It goes on from there.
        reopened.set(9, b"more", b"1");
        reopened.flush().unwrap();
        assert_same(all(&reopened.reopened().store), all(&reopened.store));
    }
}

#[test]
fn a_changed_byte_is_refused_or_of_the_last_write() {
    let (kept, states) = four_batches();
    let bytes = kept.disk.bytes("s.journal.1");
    let [.., (last, before), _] = &states[..] else {
        panic!()
    };
    for place in 0..bytes.len() {
        for bit in [1, 0x80] {
            let mut changed = bytes.clone();
            changed[place] ^= bit;
            let disk = kept.disk.copy();
            disk.put("s.journal.1", changed);
            match Kept::try_open(&disk) {
                Err(error) => {
                    let text = error.to_string();
                    assert!(
                        text.starts_with("journal s.journal.1 ")
                            && text.contains("Nothing was loaded"),
                        "{text}"
                    );
                    assert!(place < *last);
                }
                Ok(reopened) => {
                    assert!(place >= *last, "{place}");
                    assert_same(&all(&reopened.store), before);
                }
            }
        }
    }
}

#[test]
fn bytes_behind_the_end_are_torn_whatever_they_are() {
    let (kept, states) = four_batches();
    let whole = kept.disk.bytes("s.journal.1");
    for garbage in [vec![0; 1000], vec![0xff; 70_000], b"\xb7PT\x1d".repeat(300)] {
        let disk = kept.disk.copy();
        disk.put("s.journal.1", [whole.clone(), garbage.clone()].concat());
        let reopened = Kept::open(&disk);
        assert_eq!(reopened.restored.journal.torn_bytes, garbage.len() as u64);
        assert_same(&all(&reopened.store), &states.last().unwrap().1);
        assert_eq!(disk.bytes("s.journal.1")[..whole.len()], whole);
    }
}

#[test]
fn sectors_that_never_came_to_the_disk_are_torn_unless_they_were_flushed() {
    for flushed in [false, true] {
        let kept = Kept::new();
        kept.set(0, b"first", b"1");
        kept.flush().unwrap();
        let before = all(&kept.store);
        let start = kept.disk.bytes("s.journal.1").len();
        kept.set(0, b"second", &[b'x'; 3_000]);
        kept.flush().unwrap();
        if flushed {
            kept.sync().unwrap();
        }
        kept.set(0, b"third", b"3");
        kept.flush().unwrap();
        let mut bytes = kept.disk.bytes("s.journal.1");
        let sector = (start + 600) / 512 * 512;
        bytes[sector..sector + 1024].fill(0);
        let disk = kept.disk.copy();
        disk.put("s.journal.1", bytes);
        match Kept::try_open(&disk) {
            Ok(reopened) => {
                assert!(!flushed);
                assert_same(&all(&reopened.store), &before);
            }
            Err(error) => assert!(flushed, "{error}"),
        }
    }
}

#[test]
fn a_batch_of_several_parts_holds_as_a_whole() {
    let kept = Kept::new();
    let count = 3 * format::PART_BYTES / 60_000;
    for key in 0..count as u32 {
        kept.set(0, &key.to_le_bytes(), &[1; 60_000]);
    }
    kept.flush().unwrap();
    assert_eq!(kept.reopened().store.len(0), count);
    let bytes = kept.disk.bytes("s.journal.1");
    let disk = kept.disk.copy();
    disk.put("s.journal.1", bytes[..bytes.len() - 1].to_vec());
    assert_eq!(Kept::open(&disk).store.len(0), 0);
}

#[test]
fn a_generation_that_is_missing_is_told() {
    let kept = Kept::new();
    something(&kept);
    kept.flush().unwrap();
    kept.save().unwrap();
    something(&kept);
    kept.flush().unwrap();
    let disk = kept.disk.copy();
    let bytes = disk.bytes("s.journal.2");
    disk.put("s.journal.3", bytes);
    disk.remove(Path::new("s.journal.2")).unwrap();
    let error = Kept::try_open(&disk).err().unwrap().to_string();
    assert!(
        error.starts_with("journal s.journal.2 is missing"),
        "{error}"
    );
    // Under its own name it would be another generation than it says.
    disk.put("s.journal.2", kept.disk.bytes("s.journal.2"));
    let error = Kept::try_open(&disk).err().unwrap().to_string();
    assert!(
        error.contains("another generation than its name says"),
        "{error}"
    );
    // Without a snapshot the first one is missing.
    disk.remove(Path::new("s.journal.3")).unwrap();
    disk.remove(Path::new("s")).unwrap();
    let error = Kept::try_open(&disk).err().unwrap().to_string();
    assert!(
        error.starts_with("journal s.journal.1 is missing"),
        "{error}"
    );
}

#[test]
fn a_generation_that_others_follow_must_be_whole() {
    let kept = Kept::new();
    something(&kept);
    kept.flush().unwrap();
    kept.disk.fail(Faults {
        no_remove: true,
        ..Faults::default()
    });
    kept.save().unwrap();
    let disk = kept.disk.copy();
    disk.remove(Path::new("s")).unwrap();
    assert_same(all(&Kept::open(&disk.copy()).store), all(&kept.store));
    let bytes = disk.bytes("s.journal.1");
    disk.put("s.journal.1", bytes[..bytes.len() - 1].to_vec());
    let error = Kept::try_open(&disk).err().unwrap().to_string();
    assert!(error.contains("is damaged"), "{error}");
}

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
        // A snapshot that fails does not help, and what is written beside it does not count.
        kept.disk.fail(Faults {
            no_create: true,
            ..Faults::default()
        });
        kept.save().unwrap_err();
        kept.disk.fail(Faults::default());
        kept.set(0, b"beside", b"");
        kept.flush().unwrap();
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
fn a_disk_that_is_late_is_told() {
    let report = JournalReport {
        covers_until: at(0),
        writing_since: Some(at(1)),
        ..JournalReport::default()
    };
    assert_eq!(report.suspended_since(at(9), 10), None);
    assert_eq!(report.suspended_since(at(10), 10), Some(at(0)));
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
