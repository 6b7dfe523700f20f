//! The journal: what has changed since the last snapshot, so that a server that dies loses no more than its last
//! moment.
//!
//! Beside the snapshot lie **generations**, `<snapshot>.journal.<number>`. Into the last one goes, several times a
//! second, a **batch**: the new state of every key, policy, ticket and answer that was touched since the batch
//! before. A batch holds as a whole or not at all. States are absolute, so whoever reads the batches one after the
//! other ends with the last.
//!
//! A snapshot begins a new generation and names it: it holds all that is in those before, which are removed once the
//! snapshot is in its place. While the snapshot is written, keys go on changing and go into the new generation, so
//! each key is in the snapshot or in the generation as it was last. For that, all that the snapshot may have seen
//! must be in the generation before the snapshot takes its place ([`Journal::complete_fold`]).
//!
//! **When the disk fails.** What a failed write has left is cut off, what it should have written stays noted, and the next
//! try writes it. If that cannot be had (the file cannot be cut, a flush has failed, so that nobody knows what the
//! disk keeps, or too much is noted), the journal is **lost**: nothing is written until a snapshot begins, and the
//! generation that then begins counts only together with the snapshot that names it.
//!
//! No threads and no clock: [`Journal::flush`] is called now and then by somebody who says what time it is.

mod capture;
mod fold;
mod format;
mod output;
pub mod recovery;
mod scan;
mod status;

pub(super) use fold::remove_before;
pub use status::{JournalReport, JournalStatus};

use super::disk::Disk;
use crate::core::units::Timestamp;
use crate::store::{DATABASES_MAX, Store};
use capture::Taken;
use format::Header;
use output::Output;
use parking_lot::Mutex;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Names of what is gone that are kept while the disk takes no writes, beside those of what is there: some tens of
/// megabytes.
const PENDING_GONE_MAX: usize = if cfg!(test) { 1_000 } else { 1_000_000 };

/// When the disk is made to keep what was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flushing {
    /// With each batch, by who writes it.
    Always,
    /// Now and then, by somebody who calls [`Journal::sync`].
    Apart,
    /// When the system does it by itself.
    Never,
}

/// A batch that was not written. What it should have held stays noted.
#[derive(Debug)]
pub struct JournalError {
    path: PathBuf,
    doing: &'static str,
    source: io::Error,
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            doing,
            source,
        } = self;
        write!(f, "journal {}: {doing} failed: {source}", path.display())
    }
}

impl std::error::Error for JournalError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Whether what is on disk, read from the snapshot on, is all that there was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Trust {
    /// It is.
    Whole,
    /// It is not, and what is missing is not known any more. Nothing is written.
    Lost,
    /// It will be, once a snapshot names the generation that is written or comes next.
    Based,
}

/// The journal of one store.
pub struct Journal {
    disk: Arc<dyn Disk>,
    snapshot: PathBuf,
    salt: u64,
    /// A part of a batch is closed once it holds so much.
    pub(super) part_bytes: usize,
    state: Mutex<State>,
    status: Arc<JournalStatus>,
}

struct State {
    /// `None` before the first batch of a generation.
    output: Option<Output>,
    /// The number of the next generation.
    next: u64,
    trust: Trust,
    /// The first generation that the snapshot on disk does not hold.
    named: u64,
    /// Bytes of generations from there on, that which is written aside.
    earlier_bytes: u64,
    /// Batches since the last snapshot began.
    since_fold: u64,
}

impl Journal {
    /// How it does.
    pub fn status(&self) -> Arc<JournalStatus> {
        self.status.clone()
    }

    /// Writes what was touched since the last call, at the time that `now` tells. `force` writes a batch even if
    /// nothing was.
    ///
    /// # Errors
    /// It is not written, all or nothing, and stays noted.
    pub fn flush(
        &self,
        store: &Store,
        now: &dyn Fn() -> Timestamp,
        flushing: Flushing,
        force: bool,
    ) -> Result<(), JournalError> {
        self.flush_held(&mut self.state.lock(), store, now, flushing, force)
    }

    fn flush_held(
        &self,
        state: &mut State,
        store: &Store,
        now: &dyn Fn() -> Timestamp,
        flushing: Flushing,
        force: bool,
    ) -> Result<(), JournalError> {
        let began = now();
        let changes = store.changes();
        self.status.change(|report| report.writing = changes);
        let result = if state.trust == Trust::Lost {
            store.forget_changes();
            let source =
                io::Error::other("it waits for a snapshot, since what had changed before is lost");
            Err(self.error(state.next, "writing", source))
        } else if force || store.has_changes() {
            self.write_batch(state, store, began, now, flushing)
        } else {
            Ok(())
        };
        let is_lost = state.trust != Trust::Whole;
        let bytes = state.bytes();
        let generation = state.output.as_ref().map_or(0, |output| output.generation);
        self.status.change(|report| {
            report.writing = 0;
            report.needs_snapshot = is_lost;
            (report.bytes, report.generation) = (bytes, generation);
            match &result {
                Ok(()) if is_lost => {}
                Ok(()) => (report.covers_until, report.error) = (began, None),
                Err(error) => report.error = Some(error.to_string()),
            }
        });
        result
    }

    fn write_batch(
        &self,
        state: &mut State,
        store: &Store,
        began: Timestamp,
        now: &dyn Fn() -> Timestamp,
        flushing: Flushing,
    ) -> Result<(), JournalError> {
        let begun = self.begin_generation(state);
        let output = match begun {
            Ok(output) => output,
            Err(error) => {
                self.give_up_if_too_much(state, store);
                return Err(error);
            }
        };
        let generation = output.generation;
        if !output.file.is_there().unwrap_or(true) {
            self.lose(state);
            let source = io::Error::new(io::ErrorKind::NotFound, "somebody has removed the file");
            return Err(self.error(generation, "writing", source));
        }
        let mut taken = Taken::default();
        let mut batch = output.batch(now, self.part_bytes, flushing == Flushing::Never);
        let captured = capture::capture(store, began, &mut batch, &mut taken);
        if let Err(source) = captured.and_then(|()| batch.finish()) {
            taken.put_back(store);
            if output.cut().is_err() {
                self.lose(state);
            }
            self.give_up_if_too_much(state, store);
            return Err(self.error(generation, "writing", source));
        }
        taken.finish(store);
        state.since_fold += 1;
        self.status.change(|report| report.batches += 1);
        if flushing == Flushing::Always {
            return self.sync_held(state, now);
        }
        Ok(())
    }

    /// The generation that is written; begins one if there is none.
    fn begin_generation<'a>(&self, state: &'a mut State) -> Result<&'a mut Output, JournalError> {
        let (next, based) = (state.next, state.trust == Trust::Based);
        if state.output.is_none() {
            let created = self.create(next, based);
            let output = created.map_err(|source| self.error(next, "beginning it", source))?;
            (state.output, state.next) = (Some(output), next + 1);
        }
        Ok(state.output.as_mut().expect("it was just begun"))
    }

    fn create(&self, generation: u64, based: bool) -> io::Result<Output> {
        let header = Header {
            generation,
            based,
            salt: self.salt,
            server_version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let path = path_of(&self.snapshot, generation);
        Output::create(&*self.disk, &path, &header)
    }

    /// Makes the disk keep what was written. Others may write meanwhile.
    ///
    /// # Errors
    /// The disk fails. Nobody knows then what it keeps, and the journal waits for a snapshot.
    pub fn sync(&self, now: &dyn Fn() -> Timestamp) -> Result<(), JournalError> {
        let (file, generation, length) = {
            let state = self.state.lock();
            let Some(output) = &state.output else {
                return Ok(());
            };
            if output.settled == output.length {
                return Ok(());
            }
            (output.file.clone(), output.generation, output.length)
        };
        let result = self.timed(now, || file.sync());
        let mut state = self.state.lock();
        let same = state.output.as_mut();
        let same = same.filter(|output| output.generation == generation);
        match (result, same) {
            (Ok(()), Some(output)) => output.settled = output.settled.max(length),
            (Err(source), Some(_)) => return Err(self.sync_failed(&mut state, generation, source)),
            // It was flushed when the next one was begun.
            (_, None) => {}
        }
        Ok(())
    }

    fn sync_held(
        &self,
        state: &mut State,
        now: &dyn Fn() -> Timestamp,
    ) -> Result<(), JournalError> {
        let Some(output) = state.output.as_mut() else {
            return Ok(());
        };
        let generation = output.generation;
        match self.timed(now, || output.file.sync()) {
            Ok(()) => {
                output.settled = output.length;
                Ok(())
            }
            Err(source) => Err(self.sync_failed(state, generation, source)),
        }
    }

    fn timed(
        &self,
        now: &dyn Fn() -> Timestamp,
        sync: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let began = now();
        self.status
            .change(|report| report.flushing_since = Some(began));
        let result = sync();
        let ended = now();
        self.status.change(|report| {
            report.flushing_since = None;
            report.flush_took_ns = ended.since(began);
            if result.is_ok() {
                report.flushed_at = ended;
            }
        });
        result
    }

    fn sync_failed(&self, state: &mut State, generation: u64, source: io::Error) -> JournalError {
        self.lose(state);
        let error = self.error(generation, "flushing it to the disk", source);
        let text = error.to_string();
        self.status.change(|report| {
            report.needs_snapshot = true;
            report.error = Some(text);
        });
        error
    }

    fn error(&self, generation: u64, doing: &'static str, source: io::Error) -> JournalError {
        self.status.change(|report| report.failures += 1);
        JournalError {
            path: path_of(&self.snapshot, generation),
            doing,
            source,
        }
    }

    /// What is on disk is not all that there was, and nobody knows any more what is missing.
    fn lose(&self, state: &mut State) {
        let output = state.output.take();
        state.earlier_bytes += output.map_or(0, |output| output.length);
        state.trust = Trust::Lost;
    }

    /// While the disk takes no writes, no more is noted than there is room for.
    fn give_up_if_too_much(&self, state: &mut State, store: &Store) {
        let keys: usize = (0..DATABASES_MAX).map(|database| store.len(database)).sum();
        let (tickets, answers) = store.records.counts();
        if store.changes() > keys + tickets + answers + PENDING_GONE_MAX {
            self.lose(state);
            store.forget_changes();
        }
    }
}

impl State {
    fn bytes(&self) -> u64 {
        let written = self.output.as_ref().map_or(0, |output| output.length);
        self.earlier_bytes + written
    }
}

/// The file of a generation.
fn path_of(snapshot: &Path, generation: u64) -> PathBuf {
    let mut name = snapshot.as_os_str().to_owned();
    name.push(format!(".journal.{generation}"));
    PathBuf::from(name)
}

#[cfg(test)]
mod capture_tests;
#[cfg(test)]
mod damage_tests;
#[cfg(test)]
mod fault_tests;
#[cfg(test)]
mod journal_tests;
#[cfg(test)]
mod test_disk;
#[cfg(test)]
mod test_kept;
