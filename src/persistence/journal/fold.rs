//! A snapshot takes the place of the generations before it.

use super::super::disk::Disk;
use super::recovery::generations;
use super::{Flushing, Journal, JournalError, State, Trust, path_of};
use crate::core::units::Timestamp;
use crate::store::Store;
use std::path::Path;

impl Journal {
    /// A snapshot begins: the first generation that it does not hold.
    ///
    /// A new one is begun, unless the last snapshot failed, or the disk does: then the snapshot names the one that is
    /// written, and what that holds is read again over it.
    pub fn begin_fold(&self, store: &Store, now: &dyn Fn() -> Timestamp) -> u64 {
        let state = &mut *self.state.lock();
        if state.trust == Trust::Whole {
            let full = state.output.as_ref().map(|output| !output.is_empty());
            let may_end =
                state.output.as_ref().map(|output| output.generation) == Some(state.named);
            if full == Some(true) && may_end {
                // If it cannot be flushed, it is lost.
                let flushed = self.sync_held(state, now);
                if flushed.is_ok()
                    && let Ok(output) = self.create(state.next, false)
                {
                    let ended = state.output.replace(output);
                    state.earlier_bytes += ended.map_or(0, |output| output.length);
                    state.next += 1;
                }
            }
        }
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
        let state = &mut *self.state.lock();
        match self.flush_held(state, store, now, Flushing::Always, false) {
            Err(error) if state.since_fold > 0 => Err(error),
            _ => match &state.output {
                // Nothing was touched, but what is there may not have been flushed.
                Some(output) if output.settled < output.length => self.sync_held(state, now),
                _ => Ok(()),
            },
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
