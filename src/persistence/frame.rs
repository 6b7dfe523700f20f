//! The file around the records. All integers are little-endian.
//!
//! ```text
//! file   = header block* end
//! header = "TOLLGATE" format:u32 taken_at:u64 length:u8 server_version crc:u32
//! block  = length:u32 crc:u32 records        crc over length and records; length is not 0
//! end    = 0:u32 records:u64 blocks:u64 crc:u32                crc over the whole file before it
//! ```
//!
//! Nothing follows the end. So a file cut anywhere, with a byte changed anywhere, with blocks swapped
//! or left out, or with something behind it, is told from a good one. The header keeps this shape in
//! every format, so that an old server can say who wrote what it cannot read.

use super::error::Fault;
use crate::core::units::Timestamp;
use crate::plain::collection::{BYTES_MAX, ELEMENTS_MAX};
use crc32fast::Hasher;
use std::io::{ErrorKind, Read, Write};

const MAGIC: [u8; 8] = *b"TOLLGATE";

/// The format written here, and the latest that is read.
pub const FORMAT: u32 = 1;

/// A block is closed once it holds this much: enough that its 8 bytes of frame do not count, little
/// enough to stay in the processor's cache while it is checked and decoded.
pub const BLOCK_BYTES: usize = 64 << 10;

/// The longest block that is written and read. Above what one record and a block take, the largest being a
/// collection at its bounds, and what a damaged length can make a reader hold before the checksum tells.
const BLOCK_BYTES_MAX: u32 = 32 << 20;

// A score, two lengths, and whatever a key has beside its elements.
const _: () = assert!(BYTES_MAX + ELEMENTS_MAX * 16 + 2 * BLOCK_BYTES < BLOCK_BYTES_MAX as usize);

/// What a snapshot says of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// The instant it was taken at, in wall time.
    pub taken_at: Timestamp,
    /// The version of the server that wrote it; at most 255 bytes are kept.
    pub server_version: String,
}

/// Writes a file, block by block.
pub struct FrameWriter<W> {
    out: W,
    whole: Hasher,
    bytes: u64,
    blocks: u64,
    records: u64,
}

impl<W: Write> FrameWriter<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// Those of `out`, here and below.
    pub fn begin(out: W, header: &Header) -> std::io::Result<Self> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&FORMAT.to_le_bytes());
        bytes.extend_from_slice(&header.taken_at.as_ns().to_le_bytes());
        let version = header.server_version.as_bytes();
        let length = u8::try_from(version.len()).unwrap_or(u8::MAX);
        bytes.push(length);
        bytes.extend_from_slice(&version[..usize::from(length)]);
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
        let mut writer = Self {
            out,
            whole: Hasher::new(),
            bytes: 0,
            blocks: 0,
            records: 0,
        };
        writer.put(&bytes)?;
        Ok(writer)
    }

    /// Writes a block of `records` records; an empty one is left out.
    pub fn block(&mut self, payload: &[u8], records: u64) -> std::io::Result<()> {
        if payload.is_empty() {
            return Ok(());
        }
        let length = u32::try_from(payload.len())
            .ok()
            .filter(|&length| length <= BLOCK_BYTES_MAX);
        let length = length.ok_or_else(|| {
            std::io::Error::new(ErrorKind::InvalidInput, "a block that is too long")
        })?;
        self.put(&length.to_le_bytes())?;
        self.put(&block_checksum(length, payload).to_le_bytes())?;
        self.put(payload)?;
        self.blocks += 1;
        self.records += records;
        Ok(())
    }

    /// Writes the end and flushes; what was written goes back, with its length in bytes.
    pub fn end(mut self) -> std::io::Result<(W, u64)> {
        self.put(&0u32.to_le_bytes())?;
        self.put(&self.records.to_le_bytes())?;
        self.put(&self.blocks.to_le_bytes())?;
        self.put(&self.whole.clone().finalize().to_le_bytes())?;
        self.out.flush()?;
        Ok((self.out, self.bytes))
    }

    fn put(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.whole.update(bytes);
        self.bytes += bytes.len() as u64;
        self.out.write_all(bytes)
    }
}

/// Reads a file, block by block, and checks it on the way.
pub struct FrameReader<R> {
    input: R,
    whole: Hasher,
    bytes: u64,
    blocks: u64,
    header: Header,
}

impl<R: Read> FrameReader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// Every [`Fault`].
    pub fn begin(input: R) -> Result<Self, Fault> {
        let header = Header {
            taken_at: Timestamp::ZERO,
            server_version: String::new(),
        };
        let mut reader = Self {
            input,
            whole: Hasher::new(),
            bytes: 0,
            blocks: 0,
            header,
        };
        if reader.array::<8>()? != MAGIC {
            return Err(Fault::Foreign);
        }
        let format = u32::from_le_bytes(reader.array()?);
        let taken_at = u64::from_le_bytes(reader.array()?);
        let [length] = reader.array()?;
        let mut text = [0; u8::MAX as usize];
        let text = &mut text[..usize::from(length)];
        reader.fill(text)?;
        let checksum = reader.whole.clone().finalize();
        if u32::from_le_bytes(reader.array()?) != checksum {
            return Err(Fault::Damaged {
                offset: 0,
                what: "the checksum of the header does not match",
            });
        }
        reader.header.server_version = String::from_utf8_lossy(text).into_owned();
        if format != FORMAT {
            return Err(reader.newer("format", format));
        }
        reader.header.taken_at = Timestamp::from_ns(taken_at)
            .filter(|&at| at <= Timestamp::MAX)
            .ok_or(Fault::Damaged {
                offset: 12,
                what: "its time is out of range",
            })?;
        Ok(reader)
    }

    /// What the file says of itself.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Bytes read so far.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads the next block in the place of what `block` held. `Some(records)` at the end, with how
    /// many records the file says it has; only then has all of it been checked.
    ///
    /// # Errors
    /// Every [`Fault`]; what earlier blocks held must then not be used.
    pub fn block(&mut self, block: &mut Vec<u8>) -> Result<Option<u64>, Fault> {
        let offset = self.bytes;
        let length = u32::from_le_bytes(self.array()?);
        if length == 0 {
            return self.end(offset).map(Some);
        }
        if length > BLOCK_BYTES_MAX {
            return Err(Fault::Damaged {
                offset,
                what: "a block says that it is longer than any can be",
            });
        }
        let checksum = u32::from_le_bytes(self.array()?);
        block.clear();
        // Grows with what is there and not with what the length says.
        (&mut self.input)
            .take(u64::from(length))
            .read_to_end(block)
            .map_err(Fault::Io)?;
        if block.len() < length as usize {
            return Err(Fault::Damaged {
                offset: self.bytes + block.len() as u64,
                what: ENDS_EARLY,
            });
        }
        if block_checksum(length, block) != checksum {
            return Err(Fault::Damaged {
                offset,
                what: "the checksum of a block does not match",
            });
        }
        self.whole.update(block);
        self.bytes += u64::from(length);
        self.blocks += 1;
        Ok(None)
    }

    fn end(&mut self, offset: u64) -> Result<u64, Fault> {
        let records = u64::from_le_bytes(self.array()?);
        let blocks = u64::from_le_bytes(self.array()?);
        let checksum = self.whole.clone().finalize();
        if u32::from_le_bytes(self.array()?) != checksum {
            return Err(Fault::Damaged {
                offset,
                what: "the checksum of the whole file does not match",
            });
        }
        if blocks != self.blocks {
            return Err(Fault::Damaged {
                offset,
                what: "blocks are missing",
            });
        }
        if (&mut self.input)
            .take(1)
            .read_to_end(&mut Vec::new())
            .map_err(Fault::Io)?
            != 0
        {
            return Err(Fault::Damaged {
                offset: self.bytes,
                what: "something follows its end",
            });
        }
        Ok(records)
    }

    /// The fault of a file that holds what this version does not know.
    pub fn newer(&self, what: &'static str, number: u32) -> Fault {
        Fault::Newer {
            server_version: self.header.server_version.clone(),
            what,
            number,
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Fault> {
        self.input
            .read_exact(bytes)
            .map_err(|error| match error.kind() {
                ErrorKind::UnexpectedEof => Fault::Damaged {
                    offset: self.bytes,
                    what: ENDS_EARLY,
                },
                _ => Fault::Io(error),
            })?;
        self.whole.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}

const ENDS_EARLY: &str = "it ends too early";

fn block_checksum(length: u32, payload: &[u8]) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(&length.to_le_bytes());
    hasher.update(payload);
    hasher.finalize()
}
