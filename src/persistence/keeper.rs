//! All that is kept on disk of one store: a snapshot, its journal, and the lock that keeps others out.

use super::disk::{Disk, Held};
use super::error::{LoadError, SaveError, SaveStep};
use super::files::{self, directory};
use super::frame::BLOCK_BYTES;
use super::journal::recovery::{self, Base, Recovered};
use super::journal::{Flushing, Journal, JournalError};
use super::snapshot::{self, JOURNAL_BEGIN, Loaded, Manner, Saved};
use crate::core::units::Timestamp;
use crate::store::{DATABASES_MAX, Store};
use parking_lot::Mutex;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file in the directory of the snapshot that a server locks which writes there.
pub const LOCK_NAME: &str = "tollgate.lock";

/// How a store is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Keeping {
    /// Snapshots are taken by themselves.
    pub saves: bool,
    /// There is a journal.
    pub journal: bool,
    /// A random number, for the checksums of the journal.
    pub salt: u64,
}

/// What was read at start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Restored {
    /// The snapshot; `None` if there is none.
    pub snapshot: Option<Loaded>,
    /// What the journal had since.
    pub journal: Recovered,
    /// The clock must not start before this instant.
    pub until: Timestamp,
    /// Keys that were restored.
    pub keys: u64,
}

impl Restored {
    /// True if there was anything.
    pub const fn is_something(&self) -> bool {
        self.snapshot.is_some() || self.journal.batches > 0
    }
}

/// Why nothing is kept: in one line that says what to do.
#[derive(Debug)]
pub enum OpenError {
    /// Another server keeps its store there.
    Locked(PathBuf),
    /// The lock cannot be had.
    Lock(PathBuf, io::Error),
    /// What a server that died has left cannot be removed.
    Leftovers(PathBuf, io::Error),
    /// What is there cannot be loaded.
    Load(LoadError),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Locked(path) => write!(
                f,
                "another server uses this directory, it holds the lock {}; stop it, or give this one a directory of its own with --dir",
                path.display()
            ),
            Self::Lock(path, error) => write!(
                f,
                "cannot lock {}: {error}; see --dir, or switch off what is written there with --save 0 --journal no",
                path.display()
            ),
            Self::Leftovers(path, error) => write!(
                f,
                "cannot write to the directory {}: {error}; make it writable, see --dir, or switch off what is written there with --save 0 --journal no",
                path.display()
            ),
            Self::Load(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OpenError {}

/// What is kept of one store.
pub struct Keeper {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    journal: Option<Journal>,
    /// The generation that a snapshot names while there is no journal.
    next: u64,
    /// A block of a snapshot holds so much.
    block_bytes: usize,
    lock: Mutex<Option<Box<dyn Held>>>,
}

impl Keeper {
    /// Fills an empty store with what is kept under `path`, the name of the snapshot. If something will be written
    /// there by itself, the directory is locked first, and what servers that died have left is removed.
    ///
    /// # Errors
    /// The directory is another server's; what is there is damaged. The store is empty then.
    pub fn open(
        disk: Arc<dyn Disk>,
        path: &Path,
        keeping: Keeping,
        store: &Store,
    ) -> Result<(Self, Restored), OpenError> {
        let writes = keeping.saves || keeping.journal;
        let lock_path = directory(path).join(LOCK_NAME);
        let lock = match writes.then(|| disk.lock(&lock_path)) {
            None => None,
            Some(Ok(Some(held))) => Some(held),
            Some(Ok(None)) => return Err(OpenError::Locked(lock_path)),
            Some(Err(error)) => return Err(OpenError::Lock(lock_path, error)),
        };
        if writes {
            let removed = files::remove_leftovers(&*disk, path);
            removed.map_err(|error| OpenError::Leftovers(directory(path).to_owned(), error))?;
        }
        let snapshot = snapshot::load(&*disk, store, path).map_err(OpenError::Load)?;
        let base = Base {
            first: snapshot
                .as_ref()
                .map_or(JOURNAL_BEGIN, |loaded| loaded.journal_from),
            is_named: snapshot.is_some(),
            bytes: snapshot.as_ref().map_or(0, |loaded| loaded.bytes),
        };
        let recovered = recovery::recover(&*disk, path, base, store).map_err(OpenError::Load)?;
        let journal = keeping
            .journal
            .then(|| Journal::open(disk.clone(), path, base, &recovered, keeping.salt));
        let found = recovery::generations(&*disk, path).unwrap_or_default();
        let keeper = Self {
            next: found
                .last()
                .map_or(recovered.next, |last| recovered.next.max(last + 1)),
            disk,
            path: path.to_owned(),
            journal,
            block_bytes: BLOCK_BYTES,
            lock: Mutex::new(lock),
        };
        let taken_at = snapshot
            .as_ref()
            .map_or(Timestamp::ZERO, |loaded| loaded.taken_at);
        let keys = (0..DATABASES_MAX).map(|database| store.len(database) as u64);
        let restored = Restored {
            until: taken_at.max(recovered.until),
            keys: keys.sum(),
            snapshot,
            journal: recovered,
        };
        Ok((keeper, restored))
    }

    /// Writes in pieces that hold so many bytes and a bit, instead of those that are fast: for a test that looks at what happens
    /// between two of them.
    pub fn in_pieces(mut self, bytes: usize) -> Self {
        self.block_bytes = bytes;
        if let Some(journal) = &mut self.journal {
            journal.part_bytes = bytes;
        }
        self
    }

    /// The journal, if there is one.
    pub const fn journal(&self) -> Option<&Journal> {
        self.journal.as_ref()
    }

    /// Begins to journal what changes. To be called before anything does.
    ///
    /// # Errors
    /// The first batch cannot be written; [`Journal::flush`] tries again.
    pub fn begin(&self, store: &Store, now: &dyn Fn() -> Timestamp) -> Result<(), JournalError> {
        let Some(journal) = &self.journal else {
            return Ok(());
        };
        store.note_changes();
        // So that no number is given again that is given before the next batch, and the clock does not go back: not even
        // if the power fails before the disk is made to keep a batch for other reasons.
        journal.flush(store, now, Flushing::Always, true)
    }

    /// Writes a snapshot, in the place of the one there, and removes what it holds of the journal.
    ///
    /// # Errors
    /// What failed. The old snapshot is as it was, and no temporary file stays.
    pub fn save(&self, store: &Store, now: &dyn Fn() -> Timestamp) -> Result<Saved, SaveError> {
        self.hold_lock()?;
        // What a save before this one could not remove; if it still cannot be, it is tried again the next time.
        let _ = files::remove_leftovers(&*self.disk, &self.path);
        let first = match &self.journal {
            Some(journal) => {
                let begun = journal.begin_fold(store).map_err(io::Error::other);
                begun.map_err(self.failed(SaveStep::Journal))?
            }
            None => self.next,
        };
        let complete = || match &self.journal {
            Some(journal) => journal.complete_fold(store, now).map_err(io::Error::other),
            None => Ok(()),
        };
        let manner = Manner {
            block_bytes: self.block_bytes,
            numbers_ahead: self.journal.is_some(),
        };
        let saved = snapshot::save_in_a_manner(
            &*self.disk,
            store,
            now(),
            &self.path,
            first,
            manner,
            complete,
        );
        match (&self.journal, &saved) {
            (Some(journal), Ok(saved)) => journal.end_fold(first, saved.bytes),
            (Some(journal), Err(_)) => journal.abandon_fold(),
            (None, Ok(_)) => super::journal::remove_before(&*self.disk, &self.path, first),
            (None, Err(_)) => {}
        }
        saved
    }

    fn failed(&self, step: SaveStep) -> impl Fn(io::Error) -> SaveError {
        move |source| SaveError {
            path: self.path.clone(),
            step,
            source,
        }
    }

    /// A server that writes nothing by itself locks its directory when it is told to save.
    fn hold_lock(&self) -> Result<(), SaveError> {
        let mut lock = self.lock.lock();
        if lock.is_some() {
            return Ok(());
        }
        let failed = self.failed(SaveStep::Lock);
        let path = directory(&self.path).join(LOCK_NAME);
        *lock = self.disk.lock(&path).map_err(&failed)?;
        if lock.is_none() {
            let text = "another server uses the directory";
            return Err(failed(io::Error::new(ErrorKind::WouldBlock, text)));
        }
        Ok(())
    }
}
