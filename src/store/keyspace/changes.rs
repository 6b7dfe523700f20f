//! What the journal asks of the store as a whole.

use super::Store;
use crate::core::units::Timestamp;
use crate::store::Value;
use crate::store::shard::Shards;
use std::sync::OnceLock;

impl Store {
    /// From now on what changes is noted, for the journal to look at: keys, policies, tickets and answers.
    pub fn note_changes(&self) {
        self.touched.start();
        self.policies.note_changes();
        self.records.note_changes();
    }

    /// Forgets what was noted as changed. Of keys whose change was noted no other is until [`Self::note_anew`] or until they
    /// are [read](Self::read_touched).
    pub fn forget_changes(&self) {
        self.touched.forget();
        drop(self.policies.take_touched());
        drop(self.records.take_touched());
    }

    /// Forgets what was noted as changed, and notes what changes from here on: a snapshot of all is about to be written.
    pub fn note_anew(&self) {
        self.forget_changes();
        let databases = self.databases.iter().filter_map(OnceLock::get);
        databases.for_each(Shards::untouch_all);
    }

    /// As [`Store::read`], for a key that was taken out of those that were touched: its next change is noted again.
    pub fn read_touched<R>(
        &self,
        database: u8,
        key: &[u8],
        now: Timestamp,
        f: impl FnOnce(Option<&Value>) -> R,
    ) -> R {
        match self.existing(database) {
            Some(shards) => shards.read_touched(key, |value| {
                f(value.filter(|value| !value.is_forgettable(now)))
            }),
            None => f(None),
        }
    }

    /// Returns when every call that holds keys now has let go of them.
    pub fn wait_for_calls(&self) {
        let databases = self.databases.iter().filter_map(OnceLock::get);
        databases.for_each(Shards::pass);
    }

    /// True if anything was noted as changed.
    pub fn has_changes(&self) -> bool {
        self.touched.any_emptied() || self.changes() > 0
    }

    /// How many keys, policies, tickets and answers were noted as changed.
    pub fn changes(&self) -> usize {
        self.touched.len() + self.policies.touched() + self.records.touched()
    }
}
