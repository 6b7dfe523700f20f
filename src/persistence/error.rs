//! What can go wrong with a snapshot or its journal, in words that say what to do.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// What is wrong with a snapshot or a journal that is read.
#[derive(Debug)]
pub enum Fault {
    /// The file cannot be read.
    Io(io::Error),
    /// It does not begin as a snapshot does.
    Foreign,
    /// It does not begin as a journal does.
    ForeignJournal,
    /// A journal that must be there is not.
    Missing,
    /// A later version wrote it, with something that this one does not know.
    Newer {
        /// The version that wrote it.
        server_version: String,
        /// What is not known.
        what: &'static str,
        /// Its number.
        number: u32,
    },
    /// It is not as it was written.
    Damaged {
        /// Where that showed, in bytes from the start.
        offset: u64,
        /// What showed.
        what: &'static str,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "cannot be read: {error}"),
            Self::Foreign => f.write_str("is not a Tollgate snapshot"),
            Self::ForeignJournal => f.write_str("is not a Tollgate journal"),
            Self::Missing => f.write_str("is missing, and what follows it is there"),
            Self::Newer {
                server_version,
                what,
                number,
            } => {
                let (by, this) = (server_version.escape_debug(), env!("CARGO_PKG_VERSION"));
                write!(
                    f,
                    "was written by Tollgate {by} and has {what} {number}, which Tollgate {this} does not know"
                )
            }
            Self::Damaged { offset, what } => write!(f, "is damaged: {what} (at byte {offset})"),
        }
    }
}

/// A snapshot or a journal that was not loaded. The store is empty.
#[derive(Debug)]
pub struct LoadError {
    /// The file.
    pub path: PathBuf,
    /// It is a journal.
    pub is_journal: bool,
    /// What is wrong with it.
    pub fault: Fault,
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let remedy = match &self.fault {
            Fault::Io(error) if error.kind() == io::ErrorKind::InvalidInput => {
                "Put the file there that belongs there"
            }
            Fault::Io(_) => "Make it readable for the user that the server runs as",
            Fault::Foreign | Fault::ForeignJournal => "Name another file with --dbfilename",
            Fault::Newer { .. } => "Start that version or a later one",
            Fault::Damaged { .. } if !self.is_journal => "Restore the file from a backup",
            Fault::Damaged { .. } | Fault::Missing => {
                "Restore the snapshot and all files of its journal from a backup"
            }
        };
        let (kind, otherwise) = if self.is_journal {
            (
                "journal",
                "move all files of the journal away to start from the snapshot alone",
            )
        } else {
            ("snapshot", "move it and its journal away to start empty")
        };
        let Self { path, fault, .. } = self;
        write!(
            f,
            "{kind} {} {fault}. Nothing was loaded. {remedy}, or {otherwise}.",
            path.display()
        )
    }
}

impl std::error::Error for LoadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.fault {
            Fault::Io(error) => Some(error),
            _ => None,
        }
    }
}

/// The step of a save that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SaveStep {
    /// Locking the directory: another server has it.
    Lock,
    /// Beginning the generation of the journal that goes on from it.
    Journal,
    /// Making the temporary file.
    Create,
    /// Writing it.
    Write,
    /// Having the disk keep it.
    Sync,
    /// Putting it in the place of the old snapshot.
    Rename,
    /// Having the disk keep that.
    SyncDirectory,
}

impl SaveStep {
    /// What was being done.
    pub const fn doing(self) -> &'static str {
        match self {
            Self::Lock => "locking the directory",
            Self::Journal => "beginning the journal that goes on from it",
            Self::Create => "making a temporary file beside it",
            Self::Write => "writing",
            Self::Sync => "flushing to disk",
            Self::Rename => "putting the new file in place",
            Self::SyncDirectory => "flushing its directory to disk",
        }
    }
}

/// A save that failed. The snapshot from before stands, except after [`SaveStep::SyncDirectory`].
#[derive(Debug)]
pub struct SaveError {
    /// The snapshot, not its temporary file.
    pub path: PathBuf,
    /// What failed.
    pub step: SaveStep,
    /// Why.
    pub source: io::Error,
}

impl fmt::Display for SaveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let doing = self.step.doing();
        let outcome = match self.step {
            SaveStep::SyncDirectory => "it may not outlast a power failure",
            _ => "the last good one stands",
        };
        write!(
            f,
            "snapshot {} was not saved: {doing} failed: {} ({outcome})",
            self.path.display(),
            self.source
        )
    }
}

impl std::error::Error for SaveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
