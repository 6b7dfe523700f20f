//! Which keys matter now: those that were denied, granted, made to wait or held by a pause most, over the last minute
//! and the last ten, and the last ten minutes of each, second by second. In memory that does not grow with the keys.
//!
//! **How.** A decision is counted in a [`Sketch`] of eight keys, under the lock of the key's shard that the call holds
//! anyway. Keys are shared out over 1024 of them by their hash, so that each counts few. It counts for one second; then
//! its rows go into the inbox as a [`Report`], and several times a second whoever looks after such things takes these
//! to the [`Board`], which adds them up. A caller never waits for the board, nor the board for a caller.
//!
//! **What it promises.** Nothing is drawn at random: what is said of a key is an upper bound, and beside it stands by how
//! much it may be too high. As long as no sketch had more than eight keys in a second, and there were no more keys
//! than a [`Summary`] holds, every count is exact. [`Sketch`] and [`Summary`] say how large the error may be, and
//! docs/algorithms.md what it was.

mod board;
mod history;
mod sketch;
mod summary;

#[cfg(test)]
mod hot_tests;

use crate::core::units::{SECOND, Timestamp};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use board::Board;

pub use board::{Count, HISTORIES_MAX, HISTORIES_OF_A_KIND, Ranked};
pub use history::{History, Second};
pub use sketch::{KEYS_OF_A_SKETCH, SKETCHES_OF_A_SHARD, Sketches};
pub use summary::GROUPS;

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

    /// The kinds that it counts as beside [`Kind::Granted`], and the measure of each.
    fn others(self) -> impl Iterator<Item = (Kind, u32)> {
        let (first, paused) = match self {
            Self::Granted { wait_ms: 0, paused } => (None, paused),
            Self::Granted { wait_ms, paused } => (Some((Kind::Waited, wait_ms)), paused),
            Self::Denied { paused } => (Some((Kind::Denied, 0)), paused),
            Self::Shadowed { paused } => (Some((Kind::Shadowed, 0)), paused),
            Self::PutOff => (None, true),
        };
        let paused = paused.then_some((Kind::Paused, 0));
        first.into_iter().chain(paused)
    }
}

/// Whose key it is: a database, and the hash of the name in it. That two keys of a store share 64 bits is not to be
/// expected.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Id {
    database: u8,
    hash: u64,
}

/// What a sketch has counted in a second, or in a part of one.
pub struct Report {
    kind: Kind,
    database: u8,
    /// Which sketch of its database.
    group: u16,
    /// The second, since the Unix epoch.
    second: u64,
    /// No key of the group that has no row was counted more often.
    floor: u32,
    rows: Vec<ReportRow>,
}

/// What a [`Report`] says of a key.
struct ReportRow {
    hash: u64,
    name: Box<[u8]>,
    count: u32,
    /// By how much the count may be too high.
    error: u32,
    /// The largest measure.
    most: u32,
}

/// Where and when a decision is counted.
#[derive(Clone, Copy)]
pub struct Spot<'a> {
    /// Who is told of it.
    pub hot: &'a Hot,
    /// The database.
    pub database: u8,
    /// The shard of the key.
    pub shard: usize,
    /// The instant.
    pub now: Timestamp,
}

/// Reports that are waiting at most, far more than come until somebody looks: a megabyte. Whoever brings one more takes all
/// to the board itself.
const INBOX_MAX: usize = 4_096;

/// All that is known of hot keys, but for what the sketches are counting.
///
/// The inbox is locked under the lock of a shard, for a moment. The board is not, but by whoever finds the inbox full;
/// under its lock none of a shard is taken.
#[derive(Default)]
pub struct Hot {
    inbox: Mutex<Vec<Report>>,
    board: Mutex<Board>,
    /// The last second in which somebody looked after it.
    looked_at: AtomicU64,
}

impl Hot {
    fn hand_in(&self, report: Report) {
        let mut inbox = self.inbox.lock();
        inbox.push(report);
        if inbox.len() >= INBOX_MAX {
            let reports = std::mem::take(&mut *inbox);
            drop(inbox);
            self.board.lock().add_all(reports);
        }
    }

    /// True once a second: it is time to have what the sketches counted handed in, and to [`Self::settle`].
    pub fn is_due(&self, now: Timestamp) -> bool {
        let second = second_of(now);
        self.looked_at.swap(second, Relaxed) != second
    }

    /// Adds up what was handed in.
    pub fn settle(&self, now: Timestamp) {
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

    /// The last ten minutes of the key of a database that has this hash; `None` if it is none of those that are followed.
    pub fn history(&self, database: u8, hash: u64, now: Timestamp) -> Option<History> {
        let id = Id { database, hash };
        self.board.lock().history(id, second_of(now))
    }

    /// Forgets all that was handed in.
    pub fn clear(&self) {
        let mut board = self.board.lock();
        self.inbox.lock().clear();
        *board = Board::default();
    }
}

/// The second since the Unix epoch.
const fn second_of(now: Timestamp) -> u64 {
    now.as_ns() / SECOND
}
