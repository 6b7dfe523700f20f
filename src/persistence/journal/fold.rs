//! A snapshot takes the place of the generations before it.

use super::super::disk::Disk;
use super::recovery::generations;
use super::{Flushing, Journal, JournalError, State, path_of};
use crate::core::units::Timestamp;
use crate::store::Store;
use std::io;
use std::path::Path;

impl Journal {
    /// A snapshot begins: the generation that it names, which begins as well. There is one snapshot at a time.
    ///
    /// # Errors
    /// The generation cannot be begun, and the journal is as it was.
    pub fn begin_fold(&self, store: &Store) -> Result<u64, JournalError> {
        let generation = {
            let state = &mut *self.state.lock();
            state.fold_error = None;
            if let Some(ahead) = &state.ahead {
                return Ok(ahead.generation);
            }
            // Where nothing is written yet, nothing is before the snapshot is there.
            state.lost |= state.output.is_none();
            state.next
        };
        // Nobody else begins one: something is written, or it waits for the snapshot.
        let ahead = self.create(generation, true)?;
        let state = &mut *self.state.lock();
        if state.lost {
            // What changes from here on is in the snapshot or noted anew.
            store.note_anew();
        }
        (state.ahead, state.next) = (Some(ahead), generation + 1);
        Ok(generation)
    }

    /// A snapshot is written and not yet in its place: all that it may have seen goes into the generation that it names.
    ///
    /// # Errors
    /// That cannot be, and the snapshot must not take its place: what it holds of one key may be older than what it holds of
    /// another, or of a ticket.
    pub fn complete_fold(
        &self,
        store: &Store,
        now: &dyn Fn() -> Timestamp,
    ) -> Result<(), JournalError> {
        // Also if nothing has changed: the clock must not start before what the snapshot has seen, which may be of later than
        // when it was begun.
        let flush = || self.flush(store, now, Flushing::Apart, true);
        // Where the generation before has failed, what is ahead is written without it.
        flush().or_else(|_| flush())?;
        let length = self.state.lock().ahead.as_ref().map(|ahead| ahead.length);
        // Of what is ahead it is told below, and of anything else a snapshot is the cure.
        let _ = self.sync(now);
        let state = &mut *self.state.lock();
        let lost = |state: &mut State| {
            let source = io::Error::other("what had changed is lost");
            let error = self.error(state.next, "writing", source);
            Err(state.fold_error.take().unwrap_or(error))
        };
        let Some(ahead) = &state.ahead else {
            return lost(state);
        };
        if Some(ahead.settled) < length {
            return lost(state);
        }
        state.may_be_named = true;
        Ok(())
    }

    /// A snapshot of `bytes` bytes that names the generation `first` is in its place.
    pub fn end_fold(&self, first: u64, bytes: u64) {
        let mut state = self.state.lock();
        state.may_be_named = false;
        state.earlier_bytes = 0;
        if let Some(ahead) = state.ahead.take() {
            (state.output, state.lost) = (Some(ahead), false);
        }
        let (needs_snapshot, journal_bytes) = (state.lost, state.bytes());
        self.status.change(|report| {
            report.needs_snapshot = needs_snapshot;
            (report.base_bytes, report.bytes) = (bytes, journal_bytes);
        });
        drop(state);
        remove_before(&*self.disk, &self.snapshot, first);
    }

    /// A snapshot has failed. If it cannot be in its place, what is ahead is not needed.
    pub fn abandon_fold(&self) {
        let state = &mut *self.state.lock();
        if !state.may_be_named {
            self.give_up_ahead(state);
        }
    }

    /// What is ahead cannot be gone on with, or need not.
    pub(super) fn give_up_ahead(&self, state: &mut State) {
        let Some(ahead) = state.ahead.take() else {
            return;
        };
        if state.may_be_named {
            // The file stays for the snapshot that may be there, and without it what is written is not all.
            state.lose();
        } else {
            // Its number is given again: none may be missing.
            state.next = ahead.generation;
            let _ = self.disk.remove(&path_of(&self.snapshot, ahead.generation));
        }
    }
}

/// Removes the generations from `first` on, the last one first: should this end half way, none is missing between those
/// that are left.
///
/// # Errors
/// Those of the disk.
pub fn remove_from(disk: &dyn Disk, snapshot: &Path, first: u64) -> io::Result<()> {
    let mut found = generations(disk, snapshot)?;
    found.retain(|generation| *generation >= first);
    let mut last_first = found.into_iter().rev();
    last_first.try_for_each(|generation| disk.remove(&path_of(snapshot, generation)))
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
