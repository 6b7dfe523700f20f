//! Reading a generation of the journal: which of it holds.
//!
//! What was being written when the process ended, or the power, is torn: it is cut, back to the end of the last whole
//! batch. Anything else that does not read as it was written is damage, and damage is refused. The two are told apart
//! by what follows:
//!
//! - In a generation that another one goes on from nothing is torn: it was flushed before the other was begun.
//! - If no part follows the bad bytes, they are the last that was written: torn.
//! - If one follows, they are damage, unless two things hold: no part behind them says that the disk kept them, and
//!   a whole sector of them is zero, or what they fill of the sector in which they begin. So the disk leaves what it had
//!   not written yet when the power went, while it had written what came later. Then all from there on is torn.

use super::super::codec::{self, Record};
use super::super::disk::Source;
use super::super::error::Fault;
use super::super::input::{DecodeError, Input};
use super::format::{HEAD_BYTES, HEADER_BYTES, Head, Header, MARK};
use crate::core::units::Timestamp;
use std::io::{BufReader, Read, SeekFrom};

/// What a disk writes at once, at least.
const SECTOR_BYTES: usize = 512;

/// What is read at a time where nothing tells how long a part is.
const LOOK_BYTES: usize = 64 << 10;

/// What a generation holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scan {
    /// What it says of itself.
    pub header: Header,
    /// Where its last whole batch ends, in bytes.
    pub end: u64,
    /// The length of the file.
    pub length: u64,
    /// Parts up to the end.
    pub parts: u64,
    /// Batches.
    pub batches: u64,
    /// When the last of them was captured.
    pub at: Timestamp,
}

/// Looks at all of a generation and loads nothing. `None` if it was being made when the server ended. `goes_on` tells
/// that a later generation goes on from this one.
///
/// # Errors
/// Every [`Fault`].
pub fn scan(source: &mut dyn Source, goes_on: bool) -> Result<Option<Scan>, Fault> {
    let length = source.seek(SeekFrom::End(0)).map_err(Fault::Io)?;
    let mut parts = match Parts::begin(source, length)? {
        Some(parts) => parts,
        None if goes_on => return Err(ends_early(length)),
        None => return Ok(None),
    };
    let mut scan = Scan {
        header: parts.header.clone(),
        end: parts.offset,
        length,
        parts: 0,
        batches: 0,
        at: Timestamp::ZERO,
    };
    let bad = loop {
        let offset = parts.offset;
        match parts.next()? {
            Next::Part(head) => {
                check(&parts.records, offset, &scan.header)?;
                if head.is_last {
                    (scan.end, scan.parts, scan.at) = (parts.offset, head.number, head.at);
                    scan.batches += 1;
                }
            }
            // The file may end behind a part that is not its batch's last.
            Next::End if scan.end == offset => return Ok(Some(scan)),
            Next::End => break offset,
            Next::Bad => break offset,
        }
    };
    let damaged = |what| Fault::Damaged { offset: bad, what };
    if goes_on {
        return Err(damaged("it ends in bytes that are no part of it"));
    }
    if look_behind(source, bad, length, scan.header.salt)? == Behind::Damage {
        return Err(damaged("what stands there is not what was written"));
    }
    Ok(Some(scan))
}

/// Hands `each` the records of all batches up to `end`.
///
/// # Errors
/// Every [`Fault`], though [`scan`] found none a moment ago.
pub fn replay(
    source: &mut dyn Source,
    end: u64,
    mut each: impl FnMut(Record),
) -> Result<u64, Fault> {
    let mut parts = Parts::begin(source, end)?.ok_or(ends_early(0))?;
    let mut records = 0;
    while parts.offset < end {
        let offset = parts.offset;
        let Next::Part(_) = parts.next()? else {
            return Err(ends_early(offset));
        };
        records += decode(&parts.records, offset, &parts.header, &mut each)?;
    }
    Ok(records)
}

const fn ends_early(offset: u64) -> Fault {
    Fault::Damaged {
        offset,
        what: "it ends too early",
    }
}

fn check(records: &[u8], offset: u64, header: &Header) -> Result<u64, Fault> {
    decode(records, offset, header, &mut drop)
}

fn decode(
    records: &[u8],
    offset: u64,
    header: &Header,
    each: &mut impl FnMut(Record),
) -> Result<u64, Fault> {
    let (mut input, mut count) = (Input::new(records), 0);
    while !input.is_empty() {
        let record = codec::decode(&mut input).map_err(|error| match error {
            DecodeError::Short => Fault::Damaged {
                offset,
                what: "a part ends inside a record",
            },
            DecodeError::Invalid(what) => Fault::Damaged { offset, what },
            DecodeError::Unknown(what, tag) => Fault::Newer {
                server_version: header.server_version.clone(),
                what,
                number: u32::from(tag),
            },
        })?;
        count += 1;
        each(record);
    }
    Ok(count)
}

enum Next {
    /// A part, with its records.
    Part(Head),
    /// The end of the file.
    End,
    /// Something else.
    Bad,
}

/// The parts of a file, one after the other.
struct Parts<'a> {
    input: BufReader<&'a mut dyn Source>,
    header: Header,
    /// Where the next one begins.
    offset: u64,
    number: u64,
    records: Vec<u8>,
}

impl<'a> Parts<'a> {
    fn begin(source: &'a mut dyn Source, length: u64) -> Result<Option<Self>, Fault> {
        source.rewind().map_err(Fault::Io)?;
        let mut input = BufReader::new(source);
        Ok(Header::read(&mut input, length)?.map(|header| Self {
            input,
            header,
            offset: HEADER_BYTES as u64,
            number: 1,
            records: Vec::new(),
        }))
    }

    fn next(&mut self) -> Result<Next, Fault> {
        let mut head = Vec::with_capacity(HEAD_BYTES);
        self.read(HEAD_BYTES as u64, &mut head)?;
        let Ok(bytes) = <[u8; HEAD_BYTES]>::try_from(&head[..]) else {
            return Ok(if head.is_empty() {
                Next::End
            } else {
                Next::Bad
            });
        };
        let head = Head::decode(&bytes, self.header.salt, self.offset);
        let Some(head) = head.filter(|head| head.number == self.number) else {
            return Ok(Next::Bad);
        };
        let mut records = std::mem::take(&mut self.records);
        records.clear();
        self.read(u64::from(head.length), &mut records)?;
        self.records = records;
        if self.records.len() < head.length as usize
            || crc32fast::hash(&self.records) != head.records_crc
        {
            return Ok(Next::Bad);
        }
        self.offset += (HEAD_BYTES + self.records.len()) as u64;
        self.number += 1;
        Ok(Next::Part(head))
    }

    /// Grows with what is there and not with what a length says.
    fn read(&mut self, count: u64, into: &mut Vec<u8>) -> Result<(), Fault> {
        let read = (&mut self.input).take(count).read_to_end(into);
        read.map(drop).map_err(Fault::Io)
    }
}

#[derive(PartialEq)]
enum Behind {
    Torn,
    Damage,
}

/// Looks for parts behind the bad bytes at `bad`.
fn look_behind(source: &mut dyn Source, bad: u64, length: u64, salt: u64) -> Result<Behind, Fault> {
    // Read in steps of whole sectors; the end of each is kept, since a head may begin in it.
    let mut from = bad - bad % SECTOR_BYTES as u64;
    source.seek(SeekFrom::Start(from)).map_err(Fault::Io)?;
    let (mut bytes, mut zeros_at) = (Vec::new(), None);
    while from < length {
        bytes.clear();
        let read = source.take(LOOK_BYTES as u64).read_to_end(&mut bytes);
        let read = read.map_err(Fault::Io)?;
        if read == 0 {
            break;
        }
        let starts = (from..).step_by(SECTOR_BYTES);
        let mut sectors = starts.zip(bytes.chunks_exact(SECTOR_BYTES));
        let is_zero = |&(at, sector): &(u64, &[u8])| {
            let good = bad.saturating_sub(at) as usize;
            sector[good..].iter().all(|&byte| byte == 0)
        };
        zeros_at = zeros_at.or_else(|| sectors.find(is_zero).map(|(at, _)| at));
        for at in memchr::memmem::find_iter(&bytes, &MARK) {
            let offset = from + at as u64;
            let head = bytes.get(at..at + HEAD_BYTES);
            let head = head.and_then(|head| head.try_into().ok());
            let head = head.and_then(|head| Head::decode(head, salt, offset));
            let head = head.filter(|_| offset > bad);
            let zeros = zeros_at.is_some_and(|zeros| zeros < offset);
            if let Some(head) = head
                && (head.settled > bad || !zeros)
            {
                return Ok(Behind::Damage);
            }
        }
        let step = if read < LOOK_BYTES {
            read
        } else {
            LOOK_BYTES - SECTOR_BYTES
        };
        from += step as u64;
        source.seek(SeekFrom::Start(from)).map_err(Fault::Io)?;
    }
    Ok(Behind::Torn)
}
