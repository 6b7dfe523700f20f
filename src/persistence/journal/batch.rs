//! A batch on its way to the disk: into one generation, or into two while a snapshot is written.

use super::format::{HEAD_BYTES, Head};
use super::output::Output;
use crate::core::units::Timestamp;
use std::io;

/// A batch on its way. The parts are the same in both files, but for what their heads say of the file.
pub struct BatchWriter<'a> {
    output: Draft<'a>,
    /// The other file; what happens to it does not keep the batch out of the first.
    beside: Option<Draft<'a>>,
    beside_result: io::Result<()>,
    /// Room for a head, and the records of the part that fills.
    bytes: Vec<u8>,
    now: &'a dyn Fn() -> Timestamp,
    part_bytes: usize,
    trusting: bool,
}

/// How far a batch has come in one file.
struct Draft<'a> {
    output: &'a mut Output,
    offset: u64,
    parts: u64,
}

impl<'a> BatchWriter<'a> {
    /// Begins a batch, whose parts are closed once they hold `part_bytes`. With `trusting`, what was written before counts
    /// as kept by the disk.
    pub fn begin(
        output: &'a mut Output,
        beside: Option<&'a mut Output>,
        now: &'a dyn Fn() -> Timestamp,
        part_bytes: usize,
        trusting: bool,
    ) -> Self {
        let draft = |output: &'a mut Output| Draft {
            offset: output.length,
            parts: output.parts,
            output,
        };
        Self {
            output: draft(output),
            beside: beside.map(draft),
            beside_result: Ok(()),
            bytes: vec![0; HEAD_BYTES],
            now,
            part_bytes,
            trusting,
        }
    }

    /// Adds a record, or some.
    ///
    /// # Errors
    /// Those of the disk. [`Output::cut`] must follow, of both.
    pub fn add(&mut self, encode: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        encode(&mut self.bytes);
        if self.bytes.len() - HEAD_BYTES >= self.part_bytes {
            self.write(false)?;
        }
        Ok(())
    }

    /// Writes what is left. All of the batch holds from then on. How the other file has fared is the result within.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub fn finish(mut self) -> io::Result<io::Result<()>> {
        self.write(true)?;
        self.output.keep();
        if let (Some(beside), Ok(())) = (self.beside, &self.beside_result) {
            beside.keep();
        }
        Ok(self.beside_result)
    }

    fn write(&mut self, is_last: bool) -> io::Result<()> {
        // Read when all of it is captured: the clock must not start before any state that it holds.
        let at = (self.now)();
        let (bytes, trusting) = (&mut self.bytes, self.trusting);
        self.output.append(bytes, at, is_last, trusting)?;
        if let (Some(beside), Ok(())) = (&mut self.beside, &self.beside_result) {
            self.beside_result = beside.append(bytes, at, is_last, trusting);
        }
        self.bytes.truncate(HEAD_BYTES);
        Ok(())
    }
}

impl Draft<'_> {
    /// Appends a part: `bytes` are room for its head, and its records.
    fn append(
        &mut self,
        bytes: &mut [u8],
        at: Timestamp,
        is_last: bool,
        trusting: bool,
    ) -> io::Result<()> {
        let records = &bytes[HEAD_BYTES..];
        let head = Head {
            // A part is closed long before, and no record is nearly as long.
            length: u32::try_from(records.len()).map_err(io::Error::other)?,
            number: self.parts + 1,
            offset: self.offset,
            settled: if trusting {
                self.output.length
            } else {
                self.output.settled
            },
            at,
            is_last,
            records_crc: crc32fast::hash(records),
        };
        bytes[..HEAD_BYTES].copy_from_slice(&head.encode(self.output.salt));
        self.output.file.append(bytes)?;
        self.offset += bytes.len() as u64;
        self.parts += 1;
        Ok(())
    }

    fn keep(self) {
        (self.output.length, self.output.parts) = (self.offset, self.parts);
    }
}
