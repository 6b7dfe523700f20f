//! A disk in memory.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Cursor, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tollgate::persistence::disk::{Disk, DiskFile, Held, Source};

/// One that never fails.
#[derive(Clone, Default)]
pub struct MemoryDisk(Arc<Mutex<BTreeMap<PathBuf, Arc<MemoryFile>>>>);

#[derive(Default)]
struct MemoryFile(Mutex<Vec<u8>>);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryDisk {
    /// Puts a file there.
    pub fn put(&self, name: &str, bytes: &[u8]) {
        let file = MemoryFile(Mutex::new(bytes.to_vec()));
        lock(&self.0).insert(name.into(), Arc::new(file));
    }

    /// What a file holds; nothing if there is none.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        let file = self.file(Path::new(name));
        file.map_or_else(|_| Vec::new(), |file| lock(&file.0).clone())
    }

    /// One of its own with the same files.
    pub fn copy(&self) -> Self {
        let copy = Self::default();
        for (path, file) in &*lock(&self.0) {
            copy.put(&path.to_string_lossy(), &lock(&file.0));
        }
        copy
    }

    fn file(&self, path: &Path) -> io::Result<Arc<MemoryFile>> {
        let file = lock(&self.0).get(path).cloned();
        file.ok_or_else(|| ErrorKind::NotFound.into())
    }
}

impl Disk for MemoryDisk {
    fn read(&self, path: &Path) -> io::Result<Box<dyn Source>> {
        let bytes = lock(&self.file(path)?.0).clone();
        Ok(Box::new(Cursor::new(bytes)))
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        if self.file(path).is_ok() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        lock(&self.0).insert(path.to_owned(), Arc::default());
        Ok(self.file(path)?)
    }

    fn append(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        Ok(self.file(path)?)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let file = self.file(from)?;
        let mut files = lock(&self.0);
        files.remove(from);
        files.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let removed = lock(&self.0).remove(path);
        removed.map(drop).ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn names(&self, _: &Path) -> io::Result<Vec<OsString>> {
        let files = lock(&self.0);
        Ok(files.keys().map(OsString::from).collect())
    }

    fn sync_directory(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, _: &Path) -> io::Result<Option<Box<dyn Held>>> {
        Ok(Some(Box::new(())))
    }
}

impl DiskFile for MemoryFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        lock(&self.0).extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn is_there(&self) -> io::Result<bool> {
        Ok(true)
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        lock(&self.0).truncate(length as usize);
        Ok(())
    }
}
