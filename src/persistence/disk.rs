//! What snapshots and journals need of a file system: a dozen operations, so that a test can put one in its place that
//! fills up, fails, or loses what was not flushed.
//!
//! A file that is read or appended to must be a regular one. A pipe or a device in its place is an error at once, and
//! nothing waits for whoever might write to it.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

/// A file that is read.
pub trait Source: Read + Seek {}

impl<T: Read + Seek> Source for T {}

/// A file that is written, at its end only. Shared: one thread may flush it while another appends.
pub trait DiskFile: Send + Sync {
    /// Writes `bytes` behind what is there. After an error some of them may be.
    ///
    /// # Errors
    /// The disk is full, or fails.
    fn append(&self, bytes: &[u8]) -> io::Result<()>;

    /// Returns when the disk keeps all that was appended before the call. After an error nobody knows what it keeps of
    /// what was appended since the last good call.
    ///
    /// # Errors
    /// The disk fails.
    fn sync(&self) -> io::Result<()>;

    /// True while the file has a name. What is written to one that somebody has removed is lost with the process.
    ///
    /// # Errors
    /// The disk fails.
    fn is_there(&self) -> io::Result<bool>;

    /// Cuts the file to `length` bytes.
    ///
    /// # Errors
    /// The disk fails.
    fn truncate(&self, length: u64) -> io::Result<()>;
}

/// Holds a lock for as long as it is there.
pub trait Held: Send + Sync {}

impl<T: Send + Sync> Held for T {}

/// A file system. Every method may fail with what the system says.
#[allow(
    clippy::missing_errors_doc,
    reason = "those of the system, of every method"
)]
pub trait Disk: Send + Sync {
    /// Opens a file to read it.
    fn read(&self, path: &Path) -> io::Result<Box<dyn Source>>;

    /// Makes a new file, for its owner only. There must be none of the name.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Opens a file to write on at its end.
    fn append(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>>;

    /// Gives a file another name, in the place of one that has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// The names in a directory.
    fn names(&self, directory: &Path) -> io::Result<Vec<OsString>>;

    /// Returns when the disk keeps what was made, renamed and removed in a directory.
    fn sync_directory(&self, directory: &Path) -> io::Result<()>;

    /// Locks a file, which is made if there is none: `None` if somebody else holds it. The lock ends with its holder,
    /// at the latest with the process, however that ends.
    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Held>>>;
}

/// The file system of the machine.
pub struct Machine;

impl Disk for Machine {
    fn read(&self, path: &Path) -> io::Result<Box<dyn Source>> {
        check_regular(path)?;
        Ok(Box::new(File::open(path)?))
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.append(true).create_new(true).mode(0o600);
        Ok(Arc::new(options.open(path)?))
    }

    fn append(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        check_regular(path)?;
        Ok(Arc::new(OpenOptions::new().append(true).open(path)?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn names(&self, directory: &Path) -> io::Result<Vec<OsString>> {
        let names = fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name()));
        names.collect()
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        File::open(directory)?.sync_all()
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Held>>> {
        match check_regular(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut options = OpenOptions::new();
        let file = options.append(true).create(true).mode(0o600).open(path)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Box::new(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

impl DiskFile for File {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let mut file = self;
        file.write_all(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_all()
    }

    fn is_there(&self) -> io::Result<bool> {
        Ok(self.metadata()?.nlink() > 0)
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

fn check_regular(path: &Path) -> io::Result<()> {
    if fs::metadata(path)?.is_file() {
        Ok(())
    } else {
        Err(io::Error::new(
            ErrorKind::InvalidInput,
            "it is no regular file",
        ))
    }
}

/// A file as something that the standard library writes to.
pub struct Appender<'a>(pub &'a dyn DiskFile);

impl Write for Appender<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_once_and_ends_with_its_holder() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let held = Machine.lock(&path).unwrap();
        assert!(held.is_some());
        assert!(Machine.lock(&path).unwrap().is_none());
        drop(held);
        assert!(Machine.lock(&path).unwrap().is_some());
    }

    #[test]
    fn what_is_no_regular_file_is_refused_at_once() {
        let directory = tempfile::tempdir().unwrap();
        for path in [Path::new("/dev/zero"), directory.path()] {
            let refused = |error: io::Error| error.kind() == ErrorKind::InvalidInput;
            assert!(Machine.read(path).err().is_some_and(refused));
            assert!(Machine.append(path).err().is_some_and(refused));
            assert!(Machine.lock(path).err().is_some_and(refused));
        }
    }

    #[test]
    fn a_file_grows_at_its_end_after_it_was_cut() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        let file = Machine.create(&path).unwrap();
        assert!(Machine.create(&path).is_err());
        file.append(b"abcdef").unwrap();
        file.truncate(2).unwrap();
        file.append(b"x").unwrap();
        file.sync().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"abx");
        Machine.append(&path).unwrap().append(b"y").unwrap();
        let mut text = String::new();
        let mut source = Machine.read(&path).unwrap();
        source.read_to_string(&mut text).unwrap();
        assert_eq!(text, "abxy");
    }
}
