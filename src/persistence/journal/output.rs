//! The generation that is being written.

use super::super::disk::{Disk, DiskFile};
use super::super::files::directory;
use super::format::{HEAD_BYTES, HEADER_BYTES, Head, Header};
use super::scan::Scan;
use crate::core::units::Timestamp;
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
    salt: u64,
    parts: u64,
}

impl Output {
    /// Begins a generation. When this returns, the disk keeps that it is there.
    ///
    /// # Errors
    /// Those of the disk; there is no such file then, unless it cannot be removed either.
    pub fn create(disk: &dyn Disk, path: &Path, header: &Header) -> io::Result<Self> {
        // One that was being made when a server ended, or that could not be removed.
        let _ = disk.remove(path);
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

    /// True if it holds no batch.
    pub const fn is_empty(&self) -> bool {
        self.parts == 0
    }

    /// Cuts off what a batch that failed may have left.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn cut(&self) -> io::Result<()> {
        self.file.truncate(self.length)
    }

    /// Begins a batch, whose parts are closed once they hold `part_bytes`. With `trusting`, what was written before counts
    /// as kept by the disk.
    pub fn batch<'a>(
        &'a mut self,
        now: &'a dyn Fn() -> Timestamp,
        part_bytes: usize,
        trusting: bool,
    ) -> BatchWriter<'a> {
        BatchWriter {
            offset: self.length,
            parts: self.parts,
            output: self,
            bytes: vec![0; HEAD_BYTES],
            now,
            part_bytes,
            trusting,
        }
    }
}

/// A batch on its way to the file.
pub struct BatchWriter<'a> {
    output: &'a mut Output,
    /// Room for a head, and the records of the part that fills.
    bytes: Vec<u8>,
    offset: u64,
    parts: u64,
    now: &'a dyn Fn() -> Timestamp,
    part_bytes: usize,
    trusting: bool,
}

impl BatchWriter<'_> {
    /// Adds a record, or some.
    ///
    /// # Errors
    /// Those of the disk. [`Output::cut`] must follow.
    pub fn add(&mut self, encode: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        encode(&mut self.bytes);
        if self.bytes.len() - HEAD_BYTES >= self.part_bytes {
            self.write(false)?;
        }
        Ok(())
    }

    /// Writes what is left. All of the batch holds from then on.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn finish(mut self) -> io::Result<()> {
        self.write(true)?;
        (self.output.length, self.output.parts) = (self.offset, self.parts);
        Ok(())
    }

    fn write(&mut self, is_last: bool) -> io::Result<()> {
        let records = &self.bytes[HEAD_BYTES..];
        let head = Head {
            // A part is closed long before, and no record is nearly as long.
            length: u32::try_from(records.len()).map_err(io::Error::other)?,
            number: self.parts + 1,
            offset: self.offset,
            settled: if self.trusting {
                self.output.length
            } else {
                self.output.settled
            },
            // Read when all of it is captured: the clock must not start before any state that it holds.
            at: (self.now)(),
            is_last,
            records_crc: crc32fast::hash(records),
        };
        self.bytes[..HEAD_BYTES].copy_from_slice(&head.encode(self.output.salt));
        self.output.file.append(&self.bytes)?;
        self.offset += self.bytes.len() as u64;
        self.parts += 1;
        self.bytes.truncate(HEAD_BYTES);
        Ok(())
    }
}
