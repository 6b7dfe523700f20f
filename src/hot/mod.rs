//! Which keys matter now: those that were denied, granted, made to wait or held by a pause most, over the last minute
//! and the last ten, and the last ten minutes of each, second by second. In memory that does not grow with the keys.
//!
//! **How.** Keys are shared out over [`GROUPS`] groups by their hash. A decision is counted in the [`sketch`] of its
//! group, each behind its lock, for one second; then its rows go into the inbox as a [`Report`], and several times a second
//! whoever looks after such things takes these to the [`board`], which adds them up. A caller does not wait for the
//! board, nor the board for a caller.
//!
//! **What it promises.** What is said of a key is an upper bound, and beside it stands by how much it may be too high. As
//! long as no sketch has more keys than counters in a second, and there are no more keys than a [`summary`] holds,
//! every count is exact. [`sketch`] and [`summary`] say how large the error may be, and docs/algorithms.md what it was.
//! Where more decisions are made than can be counted, [`sampler`] has one counted for several; then counts are
//! estimates, and the error has in it how far one of these is off by chance.

mod board;
mod history;
mod sampler;
mod sketch;
mod summary;

#[cfg(test)]
mod hot_tests;

use crate::core::units::{SECOND, Timestamp};
use ahash::RandomState;
use parking_lot::Mutex;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use board::Board;
use sketch::Group;

pub use board::{Count, HISTORIES_MAX, HISTORIES_OF_A_KIND, Ranked};
pub use history::{History, Second};
pub use sampler::{ALL_COUNTED, Periods, Sampler};

/// What is counted of a key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Calls that it refused.
    Denied,
    /// Calls that were granted for later, or waited.
    Waited,
    /// Calls that were refused or had to wait while it was paused.
    Paused,
    /// Calls that were let go and that it would have refused.
    Shadowed,
    /// Calls that it granted, at once or for later.
    Granted,
}

/// Kinds that there are.
pub const KINDS: usize = Kind::ALL.len();

impl Kind {
    /// All of them; what keeps callers from what they want comes first.
    pub const ALL: [Self; 5] = [
        Self::Denied,
        Self::Waited,
        Self::Paused,
        Self::Shadowed,
        Self::Granted,
    ];

    /// Its name, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Waited => "waited",
            Self::Paused => "paused",
            Self::Shadowed => "shadowed",
            Self::Granted => "granted",
        }
    }

    /// The kind of that name, in any case.
    pub fn named(name: &[u8]) -> Option<Self> {
        let mut kinds = Self::ALL.into_iter();
        kinds.find(|kind| name.eq_ignore_ascii_case(kind.name().as_bytes()))
    }
}

/// What a call was told, as far as it is counted at one of its keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    /// It may go, after so many milliseconds; 0 is now.
    Granted {
        /// Rounded up; the largest number for all that is longer.
        wait_ms: u32,
        /// It waits since the key is paused.
        paused: bool,
    },
    /// It may not.
    Denied {
        /// Since the key is paused.
        paused: bool,
    },
    /// It may go, and would not if the limit were in force.
    Shadowed {
        /// Since the key is paused.
        paused: bool,
    },
    /// Nothing yet: it waits at a key that is paused.
    PutOff,
}

impl Told {
    /// It may go now.
    pub const AT_ONCE: Self = Self::Granted {
        wait_ms: 0,
        paused: false,
    };

    /// It may go now, or it may not, and the key is not paused.
    pub const fn now(granted: bool) -> Self {
        match granted {
            true => Self::AT_ONCE,
            false => Self::Denied { paused: false },
        }
    }

    /// The kinds that it counts as, and the measure of each.
    fn kinds(self) -> impl Iterator<Item = (Kind, u32)> {
        let granted = matches!(self, Self::Granted { .. }).then_some((Kind::Granted, 0));
        let (other, paused) = match self {
            Self::Granted { wait_ms: 0, paused } => (None, paused),
            Self::Granted { wait_ms, paused } => (Some((Kind::Waited, wait_ms)), paused),
            Self::Denied { paused } => (Some((Kind::Denied, 0)), paused),
            Self::Shadowed { paused } => (Some((Kind::Shadowed, 0)), paused),
            Self::PutOff => (None, true),
        };
        let paused = paused.then_some((Kind::Paused, 0));
        [granted, other, paused].into_iter().flatten()
    }
}

/// A key of a database: a hash of both. That two of them share 63 bits is not to be expected.
type Id = NonZeroU64;

/// What a sketch has counted in a second, or in a part of one.
struct Report {
    kind: Kind,
    group: u16,
    /// The second, since the Unix epoch.
    second: u64,
    /// No key of the group that has no row was counted more often.
    floor: u32,
    rows: Vec<ReportRow>,
}

/// What a [`Report`] says of a key.
struct ReportRow {
    id: Id,
    database: u8,
    name: Box<[u8]>,
    count: u32,
    /// By how much the count may be too high.
    error: u32,
    /// The largest measure.
    most: u32,
    /// The variance of the count.
    chance: u64,
}

/// Groups of keys, by their hash.
pub const GROUPS: usize = 256;

/// Reports that wait at most, several times as many as come in a second: some megabytes, if all of their rows are used.
/// Whoever brings one more takes all to the board.
const INBOX_MAX: usize = 2_048;

/// All that is known of hot keys.
///
/// Of its locks a caller takes that of a group and under it, once a second, that of the inbox, for a moment. Sums are made
/// under that of the board, which may take some milliseconds; no caller takes it, but for one who finds the inbox
/// full since nobody has looked.
pub struct Hot {
    /// How many decisions are counted.
    pub periods: Periods,
    groups: Box<[Mutex<Group>]>,
    hasher: RandomState,
    inbox: Mutex<Vec<Report>>,
    board: Mutex<Board>,
    /// The last second in which somebody looked after it.
    looked_at: AtomicU64,
}

impl Default for Hot {
    fn default() -> Self {
        Self::with_hasher(RandomState::new())
    }
}

impl Hot {
    /// With hashes that are seeded by the caller: for a test that must run the same way twice.
    pub fn with_hasher(hasher: RandomState) -> Self {
        Self {
            periods: Periods::default(),
            groups: (0..GROUPS).map(|_| Mutex::default()).collect(),
            hasher,
            inbox: Mutex::default(),
            board: Mutex::default(),
            looked_at: AtomicU64::new(0),
        }
    }

    fn id(&self, database: u8, key: &[u8]) -> Id {
        NonZeroU64::MIN | self.hasher.hash_one((database, key))
    }

    /// Counts what a call was told at a key. It stands for `weight` calls that were told the same, see [`Sampler`].
    pub fn count(&self, database: u8, key: &[u8], told: Told, weight: u32, now: Timestamp) {
        let id = self.id(database, key);
        let index = (id.get() >> 56) as usize % GROUPS;
        let mut group = self.groups[index].lock();
        for (kind, measure) in told.kinds() {
            let sketch = group.of(kind);
            if sketch.is_over(now) {
                self.hand_in(sketch.hand_in(kind, index, now));
            }
            sketch.count(id, (database, key), weight, measure);
        }
    }

    fn hand_in(&self, reports: impl IntoIterator<Item = Report>) {
        let mut inbox = self.inbox.lock();
        inbox.extend(reports);
        if inbox.len() >= INBOX_MAX {
            let reports = std::mem::take(&mut *inbox);
            drop(inbox);
            self.board.lock().add_all(reports);
        }
    }

    fn hand_in_all(&self, unless_going_on: bool, now: Timestamp) {
        for (index, group) in self.groups.iter().enumerate() {
            let mut group = group.lock();
            for (kind, sketch) in group.all() {
                if !unless_going_on || sketch.is_over(now) {
                    self.hand_in(sketch.hand_in(kind, index, now));
                }
            }
        }
    }

    /// Looks after what is counted; several times a second.
    pub fn settle(&self, now: Timestamp) {
        let second = second_of(now);
        if self.looked_at.swap(second, Relaxed) != second {
            self.hand_in_all(true, now);
        }
        self.add_up(now);
    }

    /// Has all handed in that was counted by now, so that [`Self::top`] and [`Self::history`] know it.
    pub fn gather(&self, now: Timestamp) {
        self.hand_in_all(false, now);
        self.add_up(now);
    }

    fn add_up(&self, now: Timestamp) {
        let mut board = self.board.lock();
        let reports = std::mem::take(&mut *self.inbox.lock());
        board.add_all(reports);
        board.follow(second_of(now));
    }

    /// The `count` keys of a database that were counted most as that kind in the last minute, then in the last ten, and
    /// are `wanted`; those first that were surely counted most.
    pub fn top(
        &self,
        kind: Kind,
        database: u8,
        count: usize,
        now: Timestamp,
        wanted: impl FnMut(&[u8]) -> bool,
    ) -> Vec<Ranked> {
        let second = second_of(now);
        self.board.lock().top(kind, database, count, second, wanted)
    }

    /// The last ten minutes of a key; `None` if it is none of those that are followed.
    pub fn history(&self, database: u8, key: &[u8], now: Timestamp) -> Option<History> {
        let id = self.id(database, key);
        self.board.lock().history(id, second_of(now))
    }

    /// Forgets what was counted.
    pub fn clear(&self, now: Timestamp) {
        self.hand_in_all(false, now);
        let mut board = self.board.lock();
        self.inbox.lock().clear();
        *board = Board::default();
    }
}

/// The second since the Unix epoch.
const fn second_of(now: Timestamp) -> u64 {
    now.as_ns() / SECOND
}
