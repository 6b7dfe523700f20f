//! Putting a file in the place of another, whole or not at all.
//!
//! The new content goes to a temporary file in the same directory, which is flushed to disk and then
//! renamed over the old file; then the directory is flushed. Whoever looks, and whenever the power
//! fails, sees the old file or the new one. Temporary files are called `<file>.<pid>-<count>.tmp`.

use super::disk::{Disk, DiskFile};
use super::error::{SaveError, SaveStep};
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Replaces `path` by what `write` writes, readable and writable for its owner only.
///
/// # Errors
/// The step that failed and why. `path` is as it was then (but see [`SaveStep::SyncDirectory`]), and
/// the temporary file is gone.
pub fn replace<T>(
    disk: &dyn Disk,
    path: &Path,
    write: impl FnOnce(&dyn DiskFile) -> io::Result<T>,
) -> Result<T, SaveError> {
    let failed = |step| {
        move |source| SaveError {
            path: path.to_owned(),
            step,
            source,
        }
    };
    let temporary = Temporary::beside(disk, path).map_err(failed(SaveStep::Create))?;
    let file = temporary.create().map_err(failed(SaveStep::Create))?;
    let result = write(&*file).map_err(failed(SaveStep::Write))?;
    file.sync().map_err(failed(SaveStep::Sync))?;
    drop(file);
    temporary.rename(path).map_err(failed(SaveStep::Rename))?;
    disk.sync_directory(directory(path))
        .map_err(failed(SaveStep::SyncDirectory))?;
    Ok(result)
}

/// Removes temporary files that a server which died has left beside `path`, or a save that failed; how
/// many. Not to be called while a save runs: they cannot be told from its own.
///
/// # Errors
/// If the directory cannot be read or a file in it not be removed.
pub fn remove_leftovers(disk: &dyn Disk, path: &Path) -> io::Result<usize> {
    let name = file_name(path)?;
    let mut removed = 0;
    for found in disk.names(directory(path))? {
        if is_temporary_of(name, &found) {
            disk.remove(&path.with_file_name(found))?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// The directory that a file is in.
pub fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// The name of a file in its directory.
///
/// # Errors
/// The path names no file.
pub fn file_name(path: &Path) -> io::Result<&OsStr> {
    path.file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))
}

fn is_temporary_of(name: &OsStr, candidate: &OsStr) -> bool {
    let middle = candidate.as_bytes().strip_prefix(name.as_bytes());
    let middle = middle.and_then(|rest| rest.strip_prefix(b".")?.strip_suffix(b".tmp"));
    let digits = |part: &[u8]| !part.is_empty() && part.iter().all(u8::is_ascii_digit);
    middle.is_some_and(|middle| {
        let mut parts = middle.splitn(2, |&byte| byte == b'-');
        parts.next().is_some_and(digits) && parts.next().is_some_and(digits)
    })
}

/// The name of a temporary file, which is removed when this is dropped.
struct Temporary<'a> {
    disk: &'a dyn Disk,
    path: PathBuf,
    exists: bool,
}

impl<'a> Temporary<'a> {
    fn beside(disk: &'a dyn Disk, path: &Path) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let mut name = OsString::from(file_name(path)?);
        name.push(format!(
            ".{}-{}.tmp",
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        ));
        Ok(Self {
            disk,
            path: path.with_file_name(name),
            exists: true,
        })
    }

    fn create(&self) -> io::Result<Arc<dyn DiskFile>> {
        // No other save of this process has the name; one that died may have had the same process id.
        let _ = self.disk.remove(&self.path);
        self.disk.create(&self.path)
    }

    fn rename(mut self, to: &Path) -> io::Result<()> {
        self.disk.rename(&self.path, to)?;
        self.exists = false;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if self.exists {
            // Nobody is left to tell; what stays behind is removed before the next save.
            let _ = self.disk.remove(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::disk::Machine;
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    fn names(directory: &Path) -> Vec<OsString> {
        let mut names: Vec<_> = fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        names
    }

    fn put(file: &dyn DiskFile, text: &str) -> io::Result<()> {
        file.append(text.as_bytes())
    }

    #[test]
    fn the_file_is_replaced_and_private() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        for text in ["old", "new"] {
            replace(&Machine, &path, |file| put(file, text)).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(names(directory.path()), ["data"]);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        fs::write(&path, "old").unwrap();
        let error = replace(&Machine, &path, |file| {
            put(file, "half")?;
            assert_eq!(names(directory.path()).len(), 2);
            Err::<(), _>(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(error.unwrap_err().step, SaveStep::Write);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(names(directory.path()), ["data"]);
    }

    #[test]
    fn a_place_that_cannot_be_written_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let step = |path: PathBuf| {
            replace(&Machine, &path, |file| put(file, "new"))
                .unwrap_err()
                .step
        };
        assert_eq!(
            step(directory.path().join("missing/data")),
            SaveStep::Create
        );
        assert_eq!(step(PathBuf::from("/")), SaveStep::Create);
        fs::create_dir(directory.path().join("data")).unwrap();
        assert_eq!(step(directory.path().join("data")), SaveStep::Rename);
        assert_eq!(names(directory.path()), ["data"]);
    }

    #[test]
    fn leftovers_are_removed_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let other = [
            "data",
            "data.1-.tmp",
            "data.1-2",
            "data.1.tmp",
            "data.bak.tmp",
            "other.1-2.tmp",
            "xdata.1-2.tmp",
        ];
        for name in other.iter().chain(&["data.1-2.tmp", "data.77-0.tmp"]) {
            fs::write(directory.path().join(name), "").unwrap();
        }
        assert_eq!(
            remove_leftovers(&Machine, &directory.path().join("data")).unwrap(),
            2
        );
        assert_eq!(names(directory.path()), other);
        assert!(remove_leftovers(&Machine, &directory.path().join("missing/data")).is_err());
    }
}
