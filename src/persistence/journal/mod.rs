//! The journal: what has changed since the last snapshot, so that a server that dies loses no more than its last
//! moment.
//!
//! Beside the snapshot lie **generations**, `<snapshot>.journal.<number>`. Into the last one goes, several times a
//! second, a **batch**: the new state of every key, policy, ticket and answer that was touched since the batch
//! before. A batch holds as a whole or not at all. States are absolute, so whoever reads the batches one after the
//! other ends with the last.
//!
//! A snapshot begins a generation **ahead** and names it: it holds all that is in those before, which are removed once
//! the snapshot is in its place. While the snapshot is written, keys go on changing, and each batch goes into both files:
//! the generation ahead counts only together with the snapshot that names it, the one before only without. So neither has
//! to wait for the other, and whichever snapshot a crash leaves has all that came after it. For that, all that the
//! snapshot may have seen must be in the generation ahead before the snapshot takes its place
//! ([`Journal::complete_fold`]).
//!
//! **Waiting for the disk.** A flush may take any time, and batches must not wait for it: no file is flushed while
//! [`State`] is held, and flushes are made one after the other.
//!
//! **When the disk fails.** What a failed write has left is cut off, what it should have written stays noted, and the next
//! try writes it. If that cannot be had (the file cannot be cut, a flush has failed, so that nobody knows what the
//! disk keeps, or too much is noted), the journal is **lost** until a snapshot is in its place: what is written goes only
//! into the generation ahead, and before that is begun nowhere.
//!
//! No threads and no clock: [`Journal::flush`] is called now and then by somebody who says what time it is.

mod batch;
mod capture;
mod fold;
mod format;
mod output;
pub mod recovery;
mod scan;
mod status;

pub(super) use fold::remove_before;
pub use status::{JournalReport, JournalStatus};

use super::disk::{Disk, DiskFile};
use crate::core::units::Timestamp;
use crate::store::{DATABASES_MAX, Store};
use batch::BatchWriter;
use capture::Taken;
use format::Header;
use output::Output;
use parking_lot::Mutex;
use smallvec::SmallVec;
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

/// The journal of one store.
pub struct Journal {
    disk: Arc<dyn Disk>,
    snapshot: PathBuf,
    salt: u64,
    /// A part of a batch is closed once it holds so much.
    pub(super) part_bytes: usize,
    state: Mutex<State>,
    /// Held while a file is flushed and until it is noted how that went. The system tells of an error once: whoever
    /// flushes next must know of it.
    flushes: Mutex<()>,
    status: Arc<JournalStatus>,
}

struct State {
    /// The generation that is written. `None` before the first batch, and if it is lost.
    output: Option<Output>,
    /// The one that the next snapshot names, from its beginning until it is in its place.
    ahead: Option<Output>,
    /// A snapshot that names `ahead` may be in its place already: then both are needed.
    may_be_named: bool,
    /// Why there is none ahead any more, for the snapshot that is being written.
    fold_error: Option<JournalError>,
    /// What is on disk is not all that there was, and what is missing is not known any more.
    lost: bool,
    /// The number of the next generation. None is ever left out.
    next: u64,
    /// Bytes of generations that the snapshot does not hold, that which is written aside.
    earlier_bytes: u64,
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
    /// It is not written, all or nothing, and stays noted; or it is, and with [`Flushing::Always`] the disk may not keep it.
    pub fn flush(
        &self,
        store: &Store,
        now: &dyn Fn() -> Timestamp,
        flushing: Flushing,
        force: bool,
    ) -> Result<(), JournalError> {
        self.write(&mut self.state.lock(), store, now, flushing, force)?;
        match flushing {
            Flushing::Always => self.sync(now),
            Flushing::Apart | Flushing::Never => Ok(()),
        }
    }

    fn write(
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
        let result = if state.lost && state.ahead.is_none() {
            store.forget_changes();
            let source =
                io::Error::other("it waits for a snapshot, since what had changed before is lost");
            Err(self.error(state.next, "writing", source))
        } else if force || store.has_changes() {
            self.write_batch(state, store, began, now, flushing)
        } else {
            Ok(())
        };
        let (is_lost, bytes) = (state.lost, state.bytes());
        let generation = state.written().map_or(0, |output| output.generation);
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
        let ready = self
            .begin_generation(state)
            .and_then(|()| self.check_there(state));
        if let Err(error) = ready {
            self.give_up_if_too_much(state, store);
            return Err(error);
        }
        let trusting = flushing == Flushing::Never;
        let mut taken = Taken::default();
        let (output, beside) = state
            .files()
            .expect("one was just begun, if there was none");
        let (generation, other) = (
            output.generation,
            beside.as_ref().map(|beside| beside.generation),
        );
        let mut batch = BatchWriter::begin(output, beside, now, self.part_bytes, trusting);
        let captured = capture::capture(store, began, &mut batch, &mut taken);
        match captured.and_then(|()| batch.finish()) {
            Ok(beside) => {
                taken.finish(store);
                self.status.change(|report| report.batches += 1);
                match (beside, other) {
                    (Err(source), Some(other)) => self.fail(state, other, "writing", source),
                    _ => Ok(()),
                }
            }
            Err(source) => {
                taken.put_back(store);
                self.cut(state);
                self.give_up_if_too_much(state, store);
                Err(self.error(generation, "writing", source))
            }
        }
    }

    /// Cuts off what a batch that failed may have left.
    fn cut(&self, state: &mut State) {
        let files = [&state.output, &state.ahead].into_iter().flatten();
        let results: SmallVec<[_; 2]> = files
            .map(|output| (output.generation, output.cut()))
            .collect();
        for (generation, result) in results {
            if let Err(source) = result {
                // Why the batch failed is told, not this.
                let _ = self.fail(state, generation, "cutting it", source);
            }
        }
    }

    /// Begins a generation if none is written.
    fn begin_generation(&self, state: &mut State) -> Result<(), JournalError> {
        if state.written().is_none() {
            state.output = Some(self.create(state.next, false)?);
            state.next += 1;
        }
        Ok(())
    }

    fn create(&self, generation: u64, based: bool) -> Result<Output, JournalError> {
        let header = Header {
            generation,
            based,
            salt: self.salt,
            server_version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let path = path_of(&self.snapshot, generation);
        // Of those that do not count some may be left that could not be removed.
        let alone = fold::remove_from(&*self.disk, &self.snapshot, generation);
        let created = alone.and_then(|()| Output::create(&*self.disk, &path, &header));
        created.map_err(|source| self.error(generation, "beginning it", source))
    }

    /// What is written to a file that somebody has removed is lost.
    fn check_there(&self, state: &mut State) -> Result<(), JournalError> {
        let files = [&state.output, &state.ahead].into_iter().flatten();
        let gone: SmallVec<[u64; 2]> = files
            .filter(|output| !output.file.is_there().unwrap_or(true))
            .map(|output| output.generation)
            .collect();
        gone.into_iter().try_for_each(|generation| {
            let source = io::Error::new(io::ErrorKind::NotFound, "somebody has removed the file");
            self.fail(state, generation, "writing", source)
        })
    }

    /// Makes the disk keep what was written. Others may write meanwhile.
    ///
    /// # Errors
    /// The disk fails. Nobody knows then what it keeps, and the journal waits for a snapshot.
    pub fn sync(&self, now: &dyn Fn() -> Timestamp) -> Result<(), JournalError> {
        let _one_at_a_time = self.flushes.lock();
        let unsettled = self.state.lock().unsettled();
        let mut result = Ok(());
        for (file, generation, length) in unsettled {
            let flushed = self.timed(now, || file.sync());
            let state = &mut *self.state.lock();
            let noted = match flushed {
                Ok(()) => {
                    state.settle(generation, length);
                    Ok(())
                }
                Err(source) => self.fail(state, generation, "flushing it to the disk", source),
            };
            result = result.and(noted);
        }
        result
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

    /// What a generation holds is not known any more.
    ///
    /// # Errors
    /// The journal is lost by that. If it was the generation ahead, the snapshot that would name it fails, and that is all.
    fn fail(
        &self,
        state: &mut State,
        generation: u64,
        doing: &'static str,
        source: io::Error,
    ) -> Result<(), JournalError> {
        let error = self.error(generation, doing, source);
        let is = |output: &Option<Output>| {
            output
                .as_ref()
                .is_some_and(|output| output.generation == generation)
        };
        if is(&state.output) {
            // What is ahead goes on.
            state.lose();
        } else if is(&state.ahead) {
            self.give_up_ahead(state);
            if !state.lost {
                state.fold_error = Some(error);
                return Ok(());
            }
        } else {
            // A snapshot has taken its place.
            return Ok(());
        }
        let text = error.to_string();
        self.status.change(|report| {
            report.needs_snapshot = true;
            report.error = Some(text);
        });
        Err(error)
    }

    fn error(&self, generation: u64, doing: &'static str, source: io::Error) -> JournalError {
        self.status.change(|report| report.failures += 1);
        JournalError {
            path: path_of(&self.snapshot, generation),
            doing,
            source,
        }
    }

    /// While the disk takes no writes, no more is noted than there is room for.
    fn give_up_if_too_much(&self, state: &mut State, store: &Store) {
        let keys: usize = (0..DATABASES_MAX).map(|database| store.len(database)).sum();
        let (tickets, answers) = store.records.counts();
        if store.changes() > keys + tickets + answers + PENDING_GONE_MAX {
            state.lose();
            self.give_up_ahead(state);
            store.forget_changes();
        }
    }
}

/// A file of which the disk may not keep all, its number, and its length.
type Unsettled = (Arc<dyn DiskFile>, u64, u64);

impl State {
    /// The generation that batches go into; while there are two, the one that counts now.
    fn written(&self) -> Option<&Output> {
        self.output.as_ref().or(self.ahead.as_ref())
    }

    /// The file that batches go into, and the one that they go into as well.
    fn files(&mut self) -> Option<(&mut Output, Option<&mut Output>)> {
        match (&mut self.output, &mut self.ahead) {
            (Some(output), ahead) => Some((output, ahead.as_mut())),
            (None, ahead) => ahead.as_mut().map(|ahead| (ahead, None)),
        }
    }

    fn unsettled(&self) -> SmallVec<[Unsettled; 2]> {
        let files = [&self.output, &self.ahead].into_iter().flatten();
        files
            .filter(|output| output.settled < output.length)
            .map(|output| (output.file.clone(), output.generation, output.length))
            .collect()
    }

    /// The disk keeps so much of a generation.
    fn settle(&mut self, generation: u64, length: u64) {
        let files = [&mut self.output, &mut self.ahead].into_iter().flatten();
        for output in files.filter(|output| output.generation == generation) {
            output.settled = output.settled.max(length);
        }
    }

    /// What is on disk is not all that there was, and nobody knows any more what is missing.
    fn lose(&mut self) {
        self.earlier_bytes += self.output.take().map_or(0, |output| output.length);
        self.lost = true;
    }

    fn bytes(&self) -> u64 {
        self.earlier_bytes + self.written().map_or(0, |output| output.length)
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
