//! A snapshot takes the place of the generations before it.

use super::super::disk::Disk;
use super::recovery::generations;
use super::{Flushing, Journal, JournalError, State, Trust, path_of};
use crate::core::units::Timestamp;
use crate::store::Store;
use std::path::Path;

impl Journal {
    /// A snapshot begins: the first generation that it does not hold. There is one snapshot at a time.
    ///
    /// A new one is begun, unless the last snapshot failed, or the disk does: then the snapshot names the one that is
    /// written, and what that holds is read again over it.
    pub fn begin_fold(&self, store: &Store, now: &dyn Fn() -> Timestamp) -> u64 {
        let ends = self.state.lock().ends();
        if let Some(next) = ends {
            self.go_over_to(next, now);
        }
        let state = &mut *self.state.lock();
        if state.trust == Trust::Lost {
            // What changes from here on is in the snapshot or noted anew.
            store.note_anew();
            state.trust = Trust::Based;
        }
        state.since_fold = match &state.output {
            Some(output) if !output.is_empty() => 1,
            _ => 0,
        };
        state.first()
    }

    /// Ends the generation that is written and goes on with the next. Nobody who writes waits for the disk meanwhile.
    fn go_over_to(&self, next: u64, now: &dyn Fn() -> Timestamp) {
        // So that little is left to flush of the one that ends. An error is found again below, or has lost it.
        let _ = self.sync(now);
        let Ok(mut output) = self.create(next, false) else {
            return;
        };
        let mut state = self.state.lock();
        if state.ends() != Some(next) {
            // It was lost meanwhile, and the number is another's.
            let _ = self.disk.remove(&path_of(&self.snapshot, next));
            return;
        }
        output.previous = state
            .output
            .as_ref()
            .map(|ended| (ended.generation, ended.file.clone()));
        let ended = state.output.replace(output);
        state.earlier_bytes += ended.map_or(0, |output| output.length);
        state.next += 1;
        drop(state);
        // Until this is done, what is written does not count without what it goes on from. If it fails, it is lost.
        let _ = self.sync(now);
    }

    /// A snapshot is written and not yet in its place: all that it may have seen goes into the journal.
    ///
    /// # Errors
    /// That cannot be, and what the journal holds is older than the snapshot: the snapshot must not take its place.
    /// If the journal holds nothing that would be read over the snapshot, it does no harm.
    pub fn complete_fold(
        &self,
        store: &Store,
        now: &dyn Fn() -> Timestamp,
    ) -> Result<(), JournalError> {
        let flushed = self.flush(store, now, Flushing::Apart, false);
        match flushed.and_then(|()| self.sync(now)) {
            Err(error) if self.state.lock().since_fold > 0 => Err(error),
            _ => Ok(()),
        }
    }

    /// A snapshot of `bytes` bytes that names the generation `first` is in its place.
    pub fn end_fold(&self, first: u64, bytes: u64) {
        let mut state = self.state.lock();
        state.named = first;
        state.earlier_bytes = 0;
        if state.trust == Trust::Based {
            state.trust = Trust::Whole;
        }
        let (needs_snapshot, journal_bytes) = (state.trust != Trust::Whole, state.bytes());
        self.status.change(|report| {
            report.needs_snapshot = needs_snapshot;
            (report.base_bytes, report.bytes) = (bytes, journal_bytes);
        });
        drop(state);
        remove_before(&*self.disk, &self.snapshot, first);
    }
}

impl State {
    /// The number of the next generation, if the one that is written should end: the last snapshot has named it, and
    /// there is something in it.
    fn ends(&self) -> Option<u64> {
        let output = self.output.as_ref().filter(|output| {
            output.generation == self.named && !output.is_empty() && output.previous.is_none()
        });
        (self.trust == Trust::Whole && output.is_some()).then_some(self.next)
    }

    fn first(&self) -> u64 {
        let written = self.output.as_ref().map(|output| output.generation);
        written.unwrap_or(self.next)
    }
}

/// Removes the generations before `first`, the oldest first. Those that cannot be are passed over when the journal is
/// read, and removed with the next.
pub fn remove_before(disk: &dyn Disk, snapshot: &Path, first: u64) {
    let found = generations(disk, snapshot).unwrap_or_default();
    for generation in found
        .into_iter()
        .take_while(|generation| *generation < first)
    {
        let _ = disk.remove(&path_of(snapshot, generation));
    }
}
