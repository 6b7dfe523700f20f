//! A generation of the journal as bytes. All integers are little-endian.
//!
//! ```text
//! file   = header part*
//! header = "TOLLJRNL" format:u32 generation:u64 flags:u8 salt:u64 server_version:[u8; 32] crc:u32
//! part   = head records
//! head   = mark:u32 length:u32 number:u64 offset:u64 settled:u64 at:u64 flags:u8 records_crc:u32 crc:u32
//! ```
//!
//! A batch is one part, or several of which only the last says that it is. A part is numbered from 1 on and says where
//! in the file it stands. `settled` is how much of the file the disk is known to keep. The head's checksum begins with
//! the salt of the file, so that no bytes that a client has stored look like a part.

use super::super::error::Fault;
use crate::core::units::Timestamp;
use crc32fast::Hasher;
use std::io::Read;

const MAGIC: [u8; 8] = *b"TOLLJRNL";

/// The format written here, and the latest that is read.
const FORMAT: u32 = 1;

/// Bytes of a server's version; shorter ones end in zeros.
const VERSION_BYTES: usize = 32;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 8 + 4 + 8 + 1 + 8 + VERSION_BYTES + 4;

/// Where a part begins.
pub const MARK: [u8; 4] = [0xb7, b'P', b'T', 0x1d];

/// Bytes of a part's head.
pub const HEAD_BYTES: usize = 4 + 4 + 4 * 8 + 1 + 4 + 4;

/// A part is closed once it holds this much: a batch of ten thousand keys is one part, and one that is very large
/// is not held in memory as a whole, of which there may be little left.
pub const PART_BYTES: usize = 1 << 20;

const FLAG_BASED: u8 = 1;
const FLAG_LAST: u8 = 1;

/// What a generation says of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// Its number.
    pub generation: u64,
    /// It does not go on where the generation before it ends: only a snapshot that names it makes it whole.
    pub based: bool,
    /// What the checksums of its parts begin with.
    pub salt: u64,
    /// The version of the server that began it; at most 32 bytes are kept.
    pub server_version: String,
}

impl Header {
    /// As bytes.
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.generation.to_le_bytes());
        bytes[20] = if self.based { FLAG_BASED } else { 0 };
        bytes[21..29].copy_from_slice(&self.salt.to_le_bytes());
        let version = self.server_version.as_bytes();
        let length = version.len().min(VERSION_BYTES);
        bytes[29..29 + length].copy_from_slice(&version[..length]);
        let checksum = crc32fast::hash(&bytes[..HEADER_BYTES - 4]);
        bytes[HEADER_BYTES - 4..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads one from the start of a file of `length` bytes. `None` if the file was being made: it ends in the header,
    /// or is nothing but the zeros of one.
    ///
    /// # Errors
    /// Every [`Fault`].
    pub fn read(input: &mut dyn Read, length: u64) -> Result<Option<Self>, Fault> {
        let mut bytes = [0; HEADER_BYTES];
        if length < HEADER_BYTES as u64 {
            return Ok(None);
        }
        input.read_exact(&mut bytes).map_err(Fault::Io)?;
        if length == HEADER_BYTES as u64 && bytes.iter().all(|&byte| byte == 0) {
            return Ok(None);
        }
        if bytes[..8] != MAGIC {
            return Err(Fault::ForeignJournal);
        }
        let (body, checksum) = bytes.split_at(HEADER_BYTES - 4);
        if checksum != crc32fast::hash(body).to_le_bytes() {
            return Err(Fault::Damaged {
                offset: 0,
                what: "the checksum of the header does not match",
            });
        }
        let version = String::from_utf8_lossy(&body[29..]);
        let server_version = version.trim_end_matches('\0').to_owned();
        let newer = |what, number| Fault::Newer {
            server_version: server_version.clone(),
            what,
            number,
        };
        let format = u32_at(body, 8);
        if format != FORMAT {
            return Err(newer("format", format));
        }
        let flags = body[20];
        if flags & !FLAG_BASED != 0 {
            return Err(newer("a journal with flags", u32::from(flags)));
        }
        Ok(Some(Self {
            generation: u64_at(body, 12),
            based: flags & FLAG_BASED != 0,
            salt: u64_at(body, 21),
            server_version,
        }))
    }
}

/// What stands before the records of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// Bytes of the records.
    pub length: u32,
    /// Its number in the file, from 1 on.
    pub number: u64,
    /// Where in the file it stands.
    pub offset: u64,
    /// So many bytes of the file the disk was known to keep when this was written.
    pub settled: u64,
    /// When its batch was captured.
    pub at: Timestamp,
    /// It ends its batch.
    pub is_last: bool,
    /// Checksum of the records.
    pub records_crc: u32,
}

impl Head {
    /// As bytes, in a file with that salt.
    pub fn encode(&self, salt: u64) -> [u8; HEAD_BYTES] {
        let mut bytes = [0; HEAD_BYTES];
        bytes[..4].copy_from_slice(&MARK);
        bytes[4..8].copy_from_slice(&self.length.to_le_bytes());
        let numbers = [self.number, self.offset, self.settled, self.at.as_ns()];
        for (place, number) in bytes[8..40].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes[40] = if self.is_last { FLAG_LAST } else { 0 };
        bytes[41..45].copy_from_slice(&self.records_crc.to_le_bytes());
        let checksum = checksum(salt, &bytes[..45]);
        bytes[45..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads one that stands at `offset` in a file with that salt; `None` if these bytes are none.
    pub fn decode(bytes: &[u8; HEAD_BYTES], salt: u64, offset: u64) -> Option<Self> {
        if bytes[..4] != MARK || u32_at(bytes, 45) != checksum(salt, &bytes[..45]) {
            return None;
        }
        let head = Self {
            length: u32_at(bytes, 4),
            number: u64_at(bytes, 8),
            offset: u64_at(bytes, 16),
            settled: u64_at(bytes, 24),
            at: Timestamp::from_ns(u64_at(bytes, 32)).filter(|&at| at <= Timestamp::MAX)?,
            is_last: bytes[40] & FLAG_LAST != 0,
            records_crc: u32_at(bytes, 41),
        };
        let is_good =
            head.offset == offset && head.settled <= offset && bytes[40] & !FLAG_LAST == 0;
        is_good.then_some(head)
    }
}

fn checksum(salt: u64, bytes: &[u8]) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(&salt.to_le_bytes());
    hasher.update(bytes);
    hasher.finalize()
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut four = [0; 4];
    four.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(four)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut eight = [0; 8];
    eight.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(eight)
}
