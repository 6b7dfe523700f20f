//! A generation that is being written.

use super::super::disk::{Disk, DiskFile};
use super::super::files::directory;
use super::format::{HEADER_BYTES, Header};
use super::scan::Scan;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A generation of the journal, open at its end.
pub struct Output {
    /// The file.
    pub file: Arc<dyn DiskFile>,
    /// Its number.
    pub generation: u64,
    /// Bytes up to the end of its last whole batch.
    pub length: u64,
    /// Of these the disk keeps so many.
    pub settled: u64,
    /// What the checksums of its parts begin with.
    pub salt: u64,
    /// Parts up to the end of its last whole batch.
    pub parts: u64,
}

impl Output {
    /// Begins a generation, of which there is no file. When this returns, the disk keeps that it is there.
    ///
    /// # Errors
    /// Those of the disk; there is no such file then, unless it cannot be removed either.
    pub fn create(disk: &dyn Disk, path: &Path, header: &Header) -> io::Result<Self> {
        let file = disk.create(path)?;
        let written = file.append(&header.encode()).and_then(|()| file.sync());
        let kept = written.and_then(|()| disk.sync_directory(directory(path)));
        if let Err(error) = kept {
            let _ = disk.remove(path);
            return Err(error);
        }
        Ok(Self {
            file,
            generation: header.generation,
            length: HEADER_BYTES as u64,
            settled: HEADER_BYTES as u64,
            salt: header.salt,
            parts: 0,
        })
    }

    /// Goes on with a generation that was read, after its last whole batch.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn go_on(disk: &dyn Disk, path: &Path, scan: &Scan) -> io::Result<Self> {
        let file = disk.append(path)?;
        if scan.end < scan.length {
            file.truncate(scan.end)?;
        }
        file.sync()?;
        Ok(Self {
            file,
            generation: scan.header.generation,
            length: scan.end,
            settled: scan.end,
            salt: scan.header.salt,
            parts: scan.parts,
        })
    }

    /// Cuts off what a batch that failed may have left.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn cut(&self) -> io::Result<()> {
        self.file.truncate(self.length)
    }
}
