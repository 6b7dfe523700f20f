//! How the journal does. Told the time; reads no clock, and waits for no disk.

use crate::core::units::Timestamp;
use parking_lot::Mutex;

/// Shared by those who write the journal and those who ask how it does.
#[derive(Debug, Default)]
pub struct JournalStatus(Mutex<JournalReport>);

/// What `INFO persistence` tells.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct JournalReport {
    /// The number of the generation that is written; 0 before the first.
    pub generation: u64,
    /// Bytes of all generations that the snapshot does not hold.
    pub bytes: u64,
    /// Bytes of the last good snapshot.
    pub base_bytes: u64,
    /// Batches written since the start.
    pub batches: u64,
    /// What was acknowledged before this instant is in the journal or the snapshot.
    pub covers_until: Timestamp,
    /// Why the last try failed; `None` if it did not.
    pub error: Option<String>,
    /// Writes and flushes that have failed since the start.
    pub failures: u64,
    /// Nothing is kept before the next snapshot: what had changed is no longer known.
    pub needs_snapshot: bool,
    /// How many changes are being written.
    pub writing: usize,
    /// When the last good flush to the disk ended.
    pub flushed_at: Timestamp,
    /// How long the last flush took, in nanoseconds, good or not.
    pub flush_took_ns: u64,
    /// When the flush that goes on began.
    pub flushing_since: Option<Timestamp>,
}

impl JournalReport {
    /// Since when what was acknowledged may be lost if the process dies: the last try failed, or the next one is late
    /// by
    /// `late_ns` and more. `None` if all is well.
    pub fn suspended_since(&self, now: Timestamp, late_ns: u64) -> Option<Timestamp> {
        let since = self.covers_until;
        let late = now.since(since) >= late_ns;
        (self.error.is_some() || self.needs_snapshot || late).then_some(since)
    }

    /// True if a snapshot should be taken: the journal is larger than `floor_bytes` and than the last snapshot, or
    /// nothing is kept without one.
    pub fn wants_snapshot(&self, floor_bytes: u64) -> bool {
        self.needs_snapshot || self.bytes > self.base_bytes.max(floor_bytes)
    }
}

impl JournalStatus {
    /// How things stand.
    pub fn report(&self) -> JournalReport {
        self.0.lock().clone()
    }

    pub(super) fn change(&self, f: impl FnOnce(&mut JournalReport)) {
        f(&mut self.0.lock());
    }
}
