//! A disk in memory, that fills up and fails when told to.

use crate::persistence::disk::{Disk, DiskFile, Held, Source};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Cursor, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

type Files = BTreeMap<PathBuf, Arc<Mutex<Vec<u8>>>>;

/// What goes wrong.
#[derive(Clone, Copy, Default)]
pub struct Faults {
    /// So many more bytes can be written.
    pub room: Option<usize>,
    pub no_sync: bool,
    pub no_truncate: bool,
    pub no_create: bool,
    pub no_remove: bool,
}

type Meanwhile = Box<dyn FnOnce() + Send>;
type Beside = Arc<dyn Fn() + Send + Sync>;

#[derive(Clone, Default)]
pub struct TestDisk {
    pub files: Arc<Mutex<Files>>,
    pub faults: Arc<Mutex<Faults>>,
    /// What happens while the next bytes are written.
    meanwhile: Arc<Mutex<Option<Meanwhile>>>,
    /// What happens while the disk is made to keep something.
    beside_flushes: Arc<Mutex<Option<Beside>>>,
}

impl TestDisk {
    /// A disk of its own with the same files.
    pub fn copy(&self) -> Self {
        let files = self.files.lock();
        let copied = files.iter().map(|(path, bytes)| {
            let bytes = bytes.lock().clone();
            (path.clone(), Arc::new(Mutex::new(bytes)))
        });
        Self {
            files: Arc::new(Mutex::new(copied.collect())),
            ..Self::default()
        }
    }

    pub fn meanwhile(&self, f: impl FnOnce() + Send + 'static) {
        *self.meanwhile.lock() = Some(Box::new(f));
    }

    pub fn beside_flushes(&self, f: impl Fn() + Send + Sync + 'static) {
        *self.beside_flushes.lock() = Some(Arc::new(f));
    }

    fn flush(&self) -> io::Result<()> {
        let beside = self.beside_flushes.lock().clone();
        if let Some(beside) = beside {
            beside();
        }
        self.check(|faults| faults.no_sync)
    }

    pub fn names(&self) -> Vec<String> {
        let files = self.files.lock();
        let names = files.keys().map(|path| path.display().to_string());
        names.collect()
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        self.files.lock()[Path::new(name)].lock().clone()
    }

    pub fn put(&self, name: &str, bytes: Vec<u8>) {
        let file = Arc::new(Mutex::new(bytes));
        self.files.lock().insert(PathBuf::from(name), file);
    }

    pub fn fail(&self, faults: Faults) {
        *self.faults.lock() = faults;
    }

    fn file(&self, path: &Path) -> io::Result<Arc<Mutex<Vec<u8>>>> {
        let files = self.files.lock();
        files
            .get(path)
            .cloned()
            .ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn check(&self, is_broken: impl FnOnce(&Faults) -> bool) -> io::Result<()> {
        if is_broken(&self.faults.lock()) {
            Err(io::Error::other("the disk fails"))
        } else {
            Ok(())
        }
    }
}

impl Disk for TestDisk {
    fn read(&self, path: &Path) -> io::Result<Box<dyn Source>> {
        let bytes = self.file(path)?.lock().clone();
        Ok(Box::new(Cursor::new(bytes)))
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.check(|faults| faults.no_create)?;
        if self.file(path).is_ok() {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let bytes = Arc::new(Mutex::new(Vec::new()));
        self.files.lock().insert(path.to_owned(), bytes.clone());
        let disk = self.clone();
        Ok(Arc::new(TestFile { disk, bytes }))
    }

    fn append(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let (disk, bytes) = (self.clone(), self.file(path)?);
        Ok(Arc::new(TestFile { disk, bytes }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut files = self.files.lock();
        let file = files.remove(from).ok_or(ErrorKind::NotFound)?;
        files.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.check(|faults| faults.no_remove)?;
        let removed = self.files.lock().remove(path);
        removed.map(drop).ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn names(&self, _: &Path) -> io::Result<Vec<OsString>> {
        Ok(self.names().into_iter().map(OsString::from).collect())
    }

    fn sync_directory(&self, _: &Path) -> io::Result<()> {
        self.flush()
    }

    fn lock(&self, _: &Path) -> io::Result<Option<Box<dyn Held>>> {
        Ok(Some(Box::new(())))
    }
}

struct TestFile {
    disk: TestDisk,
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl DiskFile for TestFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        let meanwhile = self.disk.meanwhile.lock().take();
        if let Some(meanwhile) = meanwhile {
            meanwhile();
        }
        let mut faults = self.disk.faults.lock();
        let fits = faults
            .room
            .map_or(bytes.len(), |room| room.min(bytes.len()));
        faults.room = faults.room.map(|room| room - fits);
        self.bytes.lock().extend_from_slice(&bytes[..fits]);
        if fits < bytes.len() {
            return Err(ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.flush()
    }

    fn is_there(&self) -> io::Result<bool> {
        let files = self.disk.files.lock();
        Ok(files.values().any(|file| Arc::ptr_eq(file, &self.bytes)))
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        self.disk.check(|faults| faults.no_truncate)?;
        self.bytes.lock().truncate(length as usize);
        Ok(())
    }
}
