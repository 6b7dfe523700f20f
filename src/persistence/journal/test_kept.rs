//! A store that is kept on a disk of tests, and what is in it.

use super::test_disk::TestDisk;
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

pub const SNAPSHOT: &str = "s";

pub fn at(ns: u64) -> Timestamp {
    Timestamp::from_ns(1_700_000_000 * SECOND + ns).unwrap()
}

pub fn limit() -> Limit {
    let rate = Rate::parse(b"1/h").unwrap();
    Limit::Bucket(BucketLimit::new(1_000, rate, Keeps::Permits).unwrap())
}

/// A store that is kept on a disk, at an instant that stands still.
pub struct Kept {
    pub disk: TestDisk,
    pub store: Arc<Store>,
    pub keeper: Arc<Keeper>,
    pub restored: Restored,
    pub now: u64,
}

impl Kept {
    pub fn try_open(disk: &TestDisk) -> Result<Self, OpenError> {
        let keeping = Keeping {
            saves: true,
            journal: true,
            salt: 0x5a17,
        };
        let store = Arc::new(Store::new());
        let opened = Keeper::open(Arc::new(disk.clone()), Path::new(SNAPSHOT), keeping, &store);
        let (keeper, restored) = opened.inspect_err(|_| assert_eq!(all(&store), empty()))?;
        let kept = Self {
            disk: disk.clone(),
            store,
            keeper: Arc::new(keeper),
            restored,
            now: 0,
        };
        // It may fail where the disk does.
        let _ = kept.keeper.begin(&kept.store, &|| at(kept.now));
        Ok(kept)
    }

    pub fn open(disk: &TestDisk) -> Self {
        Self::try_open(disk).unwrap_or_else(|error| panic!("{error}"))
    }

    pub fn new() -> Self {
        Self::open(&TestDisk::default())
    }

    /// What is there after the process has died and was started again.
    pub fn reopened(&self) -> Self {
        Self::open(&self.disk.copy())
    }

    pub fn spend(&self, key: &[u8], cost: u64) {
        let now = at(self.now);
        let book = |entry: &mut Entry| {
            let mut draft = entry.draft(&limit(), now).unwrap();
            draft.book(cost).unwrap();
            draft.commit();
        };
        self.store.with_limit(0, key, now, book).unwrap();
    }

    pub fn set(&self, database: u8, key: &[u8], text: &[u8]) {
        let plain = Plain::new(Data::Text(Text::new(text).unwrap()));
        let set = |slot: &mut Option<Plain>| *slot = Some(plain);
        self.store
            .with_plain(database, key, at(self.now), set)
            .unwrap();
    }

    /// Flushes, and does `f` when two thirds of what has changed were read.
    pub fn flush_and_meanwhile(&self, f: impl FnOnce(&Store) + Send + 'static) {
        let large = format::PART_BYTES * 3 / 2 / 60_000;
        (0..large as u32).for_each(|key| self.set(0, &key.to_le_bytes(), &[0; 60_000]));
        let store = self.store.clone();
        self.disk.meanwhile(move || f(&store));
        self.flush().unwrap();
    }

    /// A key changes when a snapshot has begun.
    pub fn touch_beside_the_next_snapshot(&self) {
        let (store, now) = (self.store.clone(), at(self.now));
        self.disk.meanwhile(move || {
            let set = |slot: &mut Option<Plain>| *slot = Some(Plain::new(Data::Text(1.into())));
            store.with_plain(0, b"meanwhile", now, set).unwrap();
        });
    }

    pub fn flush_as(&self, flushing: Flushing) -> Result<(), JournalError> {
        let journal = self.keeper.journal().unwrap();
        journal.flush(&self.store, &|| at(self.now), flushing, false)
    }

    pub fn flush(&self) -> Result<(), JournalError> {
        self.flush_as(Flushing::Apart)
    }

    pub fn sync(&self) -> Result<(), JournalError> {
        self.keeper.journal().unwrap().sync(&|| at(self.now))
    }

    pub fn save(&self) -> Result<(), crate::persistence::SaveError> {
        self.keeper.save(&self.store, &|| at(self.now)).map(drop)
    }

    pub fn report(&self) -> JournalReport {
        self.keeper.journal().unwrap().status().report()
    }

    pub fn journals(&self) -> Vec<String> {
        let mut names = self.disk.names();
        names.retain(|name| name.contains(".journal."));
        names
    }
}

/// Keys, policies, tickets and answers of a store.
pub type All = (
    BTreeMap<(u8, Key), Value>,
    Vec<Box<[u8]>>,
    Vec<(u8, u64, Ticket)>,
    Vec<Box<[u8]>>,
);

pub fn empty() -> All {
    Default::default()
}

pub fn all(store: &Store) -> All {
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

pub fn ticket(key: &[u8]) -> Ticket {
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

pub fn remembered() -> Remembered {
    Remembered {
        answer: Answer::Number(7),
        request: 1,
        expires: at(60 * SECOND),
    }
}

/// Something of every kind.
pub fn something(kept: &Kept) {
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
pub fn assert_same<T: PartialEq + Debug>(left: T, right: T) {
    assert!(left == right, "{left:#?}\nis not\n{right:#?}");
}

/// A journal of four batches, with the states after each of them.
pub fn four_batches() -> (Kept, Vec<(usize, All)>) {
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
