//! Which keys are called most: see [`crate::hot`].

use super::Store;
use crate::core::units::Timestamp;
use crate::hot::{History, Kind, Ranked, Told};
use crate::store::shard::Count;

impl Store {
    pub(super) fn counting(&self, database: u8, now: Timestamp) -> Count<'_> {
        Count {
            hot: &self.hot,
            database,
            now,
        }
    }

    /// Counts what a call was told at a key. Not under the lock of a key; [`Self::with_bucket`] counts by itself.
    pub fn count(&self, database: u8, key: &[u8], told: Told, now: Timestamp) {
        let counting = self.counting(database, now);
        self.database(database).count(key, told, counting);
    }

    /// The `count` keys of a database that were counted most as that kind in the last minute, then in the last ten, and
    /// are `wanted`.
    pub fn top(
        &self,
        kind: Kind,
        database: u8,
        count: usize,
        now: Timestamp,
        wanted: impl FnMut(&[u8]) -> bool,
    ) -> Vec<Ranked> {
        self.hot.top(kind, database, count, now, wanted)
    }

    /// The last ten minutes of a key; `None` if it is none of those that are followed.
    pub fn history(&self, database: u8, key: &[u8], now: Timestamp) -> Option<History> {
        let hash = self.hasher.hash_one(key);
        self.hot.history(database, hash, now)
    }

    /// Has all handed in that was counted by now, so that [`Self::top`] and [`Self::history`] know it.
    pub fn gather_counts(&self, now: Timestamp) {
        self.hand_in(true, now);
        self.hot.settle(now);
    }

    /// Looks after what is counted; several times a second.
    pub fn settle_counts(&self, now: Timestamp) {
        if self.hot.is_due(now) {
            self.hand_in(false, now);
        }
        self.hot.settle(now);
    }

    /// Forgets what was counted.
    pub fn forget_counts(&self, now: Timestamp) {
        self.hand_in(true, now);
        self.hot.clear();
    }

    fn hand_in(&self, all: bool, now: Timestamp) {
        for (database, shards) in (0..).zip(&self.databases) {
            if let Some(shards) = shards.get() {
                shards.hand_in(all, self.counting(database, now));
            }
        }
    }
}
