//! Saving the store to a file, and loading it.
//!
//! **Saving** takes one shard of one database at a time. Under the shard's shared lock its keys are
//! encoded into memory, which takes about a millisecond for a shard of ten million keys in all; then
//! the lock is let go and the bytes are written. Commands wait for no disk. A snapshot is therefore
//! not of one instant: a key that is called while the save runs is in it as before the call or as
//! after it, and a call on several keys may be in it for some of them. What it says was taken "at" is the
//! time at which the save began.
//!
//! **Loading** reads the file twice: once to check every byte of it, then to fill the store. So nothing is
//! loaded of a file that is not whole, and no more than a block of it is ever held in memory.

use super::codec::{self, Record};
use super::disk::{Appender, Disk};
use super::error::{Fault, LoadError, SaveError};
use super::files;
use super::frame::{BLOCK_BYTES, FrameReader, FrameWriter, Header};
use super::input::{DecodeError, Input};
use crate::core::units::Timestamp;
use crate::store::{DATABASES_MAX, Store};
use std::io::{self, BufReader, BufWriter, ErrorKind, Read, Seek, Write};
use std::path::Path;

/// Tickets or answers that are copied out under one hold of their lock: a fraction of a millisecond.
pub const RECORDS_AT_A_TIME: usize = 500;

/// The first generation of a journal.
pub const JOURNAL_BEGIN: u64 = 1;

/// What a save has written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Saved {
    /// Keys.
    pub keys: u64,
    /// The length of the file.
    pub bytes: u64,
}

/// What a load has read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loaded {
    /// When the snapshot was taken. The clock must not start before this instant.
    pub taken_at: Timestamp,
    /// The version of the server that wrote it.
    pub server_version: String,
    /// Keys.
    pub keys: u64,
    /// The length of the file.
    pub bytes: u64,
    /// The first generation of the journal that is not in it.
    pub journal_from: u64,
}

/// Writes all keys that exist at `now` to `path`, in the place of the snapshot there. All that the journal holds
/// before the generation `journal_from` must be in the store; `complete` is called when all is written, and if that
/// fails, so does the save.
///
/// # Errors
/// What failed. The old snapshot is as it was then, and no temporary file stays.
pub fn save(
    disk: &dyn Disk,
    store: &Store,
    now: Timestamp,
    path: &Path,
    journal_from: u64,
    complete: impl FnOnce() -> io::Result<()>,
) -> Result<Saved, SaveError> {
    save_in_a_manner(
        disk,
        store,
        now,
        path,
        journal_from,
        Manner::default(),
        complete,
    )
}

/// How a snapshot is written.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    /// A block that holds so much is cut.
    pub block_bytes: usize,
    /// It says that numbers ahead are given, as the batches do that it takes the place of.
    pub numbers_ahead: bool,
}

impl Default for Manner {
    fn default() -> Self {
        Self {
            block_bytes: BLOCK_BYTES,
            numbers_ahead: false,
        }
    }
}

/// As [`save`], in a manner of its own.
pub(super) fn save_in_a_manner(
    disk: &dyn Disk,
    store: &Store,
    now: Timestamp,
    path: &Path,
    journal_from: u64,
    manner: Manner,
    complete: impl FnOnce() -> io::Result<()>,
) -> Result<Saved, SaveError> {
    files::replace(disk, path, |file| {
        let out = BufWriter::with_capacity(2 * manner.block_bytes, Appender(file));
        let saved = write_in_a_manner(store, now, journal_from, manner, out)?;
        complete()?;
        Ok(saved)
    })
}

/// Fills an empty store from `path`. `None` if there is no such file.
///
/// # Errors
/// If the file is anything but a whole snapshot. The store is empty then.
pub fn load(disk: &dyn Disk, store: &Store, path: &Path) -> Result<Option<Loaded>, LoadError> {
    let failed = |fault| LoadError {
        path: path.to_owned(),
        is_journal: false,
        fault,
    };
    match disk.read(path) {
        Ok(file) => fill(store, file).map(Some).map_err(failed),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(Fault::Io(error))),
    }
}

/// Fills an empty store from what [`write`] has written.
///
/// # Errors
/// As [`load`].
pub fn fill(store: &Store, mut file: impl Read + Seek) -> Result<Loaded, Fault> {
    read(BufReader::new(&mut file), drop)?;
    file.rewind().map_err(Fault::Io)?;
    read(BufReader::new(&mut file), |record| restore(store, record)).inspect_err(|_| {
        // The file was whole a moment ago, but the disk failed or somebody wrote to it since.
        store.clear_all(Timestamp::ZERO);
    })
}

/// Does to a store that is being loaded what a record says.
pub(super) fn restore(store: &Store, record: Record) {
    match record {
        Record::JournalFrom(_) => {}
        Record::Gone(gone) => gone.take_out(store),
        Record::Key {
            database,
            key,
            value,
        } => store.restore(database, &key, value),
        Record::Policy { name, limits } => {
            store.policies.set(&name, limits);
        }
        Record::LastNumber(number) => store.records.start_above(number),
        Record::Ticket {
            database,
            number,
            ticket,
        } => store.records.put(database, number, ticket),
        Record::Answer {
            database,
            key,
            id,
            remembered,
        } => {
            store
                .records
                .remember(database, key.as_bytes(), &id, remembered);
        }
    }
}

/// Writes a snapshot to `out`, with the first generation of the journal that is not in it.
///
/// # Errors
/// Those of `out`, and [`ErrorKind::InvalidInput`] for a `now` above [`Timestamp::MAX`].
pub fn write(
    store: &Store,
    now: Timestamp,
    journal_from: u64,
    out: impl Write,
) -> io::Result<Saved> {
    write_in_a_manner(store, now, journal_from, Manner::default(), out)
}

fn write_in_a_manner(
    store: &Store,
    now: Timestamp,
    journal_from: u64,
    manner: Manner,
    out: impl Write,
) -> io::Result<Saved> {
    if now > Timestamp::MAX {
        return Err(io::Error::new(
            ErrorKind::InvalidInput,
            "the clock is out of range",
        ));
    }
    let header = Header {
        taken_at: now,
        server_version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let mut frame = FrameWriter::begin(out, &header)?;
    let mut batch = Batch {
        block_bytes: manner.block_bytes,
        ..Batch::default()
    };
    let mut keys = 0;
    batch.add(|out| codec::encode_journal_from(out, journal_from));
    for (name, limits) in store.policies.all() {
        batch.add(|out| codec::encode_policy(out, &name, &limits));
    }
    for database in 0..DATABASES_MAX {
        for shard in 0..store.shards() {
            store.for_each_in(database, shard, |key, value| {
                if !value.is_forgettable(now) && codec::is_kept(value) {
                    batch.add(|out| codec::encode_key(out, database, key, value));
                    keys += 1;
                }
            });
            batch.write_full_blocks(&mut frame)?;
        }
    }
    let number = match manner.numbers_ahead {
        true => store.records.number_ahead(),
        false => store.records.last_number(),
    };
    batch.add(|out| codec::encode_last_number(out, number));
    write_records(store, now, &mut batch, &mut frame)?;
    batch.write_rest(&mut frame)?;
    let (_, bytes) = frame.end()?;
    Ok(Saved { keys, bytes })
}

/// Tickets and answers, some at a time, so that nobody waits long for their lock. They are behind the
/// keys: a ticket whose key was written before it was charged gives back no more than the key holds.
fn write_records(
    store: &Store,
    now: Timestamp,
    batch: &mut Batch,
    frame: &mut FrameWriter<impl Write>,
) -> io::Result<()> {
    // What has expired would be passed over again and again under the lock.
    store.records.sweep(now);
    let mut after = 0;
    loop {
        let tickets = store.records.tickets_after(after, RECORDS_AT_A_TIME, now);
        let Some((_, last, _)) = tickets.last() else {
            break;
        };
        after = *last;
        for (database, number, ticket) in &tickets {
            batch.add(|out| codec::encode_ticket(out, *database, *number, ticket));
        }
        batch.write_full_blocks(frame)?;
    }
    after = 0;
    loop {
        let answers = store.records.answers_after(after, RECORDS_AT_A_TIME, now);
        let Some((order, ..)) = answers.last() else {
            break;
        };
        after = *order;
        for (_, (database, key), id, remembered) in &answers {
            batch.add(|out| codec::encode_answer(out, *database, key, id, remembered));
        }
        batch.write_full_blocks(frame)?;
    }
    Ok(())
}

/// Reads a snapshot that is in memory. Takes any bytes.
///
/// # Errors
/// If they are anything but a whole snapshot.
pub fn decode(bytes: &[u8]) -> Result<(Loaded, Vec<Record>), Fault> {
    let mut records = Vec::new();
    let loaded = read(bytes, |record| records.push(record))?;
    Ok((loaded, records))
}

/// Hands `each` every record. Only if this succeeds has `each` seen a whole snapshot.
fn read(input: impl Read, mut each: impl FnMut(Record)) -> Result<Loaded, Fault> {
    let mut frame = FrameReader::begin(input)?;
    let mut block = Vec::new();
    let (mut keys, mut found, mut journal_from) = (0, 0, JOURNAL_BEGIN);
    let announced = loop {
        let offset = frame.bytes();
        if let Some(records) = frame.block(&mut block)? {
            break records;
        }
        let mut input = Input::new(&block);
        while !input.is_empty() {
            let record = codec::decode(&mut input).map_err(|error| match error {
                DecodeError::Short => Fault::Damaged {
                    offset,
                    what: "a block ends inside a record",
                },
                DecodeError::Invalid(what) => Fault::Damaged { offset, what },
                DecodeError::Unknown(what, tag) => frame.newer(what, u32::from(tag)),
            })?;
            match record {
                Record::Key { .. } => keys += 1,
                Record::JournalFrom(generation) => journal_from = generation,
                Record::Gone(_) => {
                    let what = "it tells of something gone, as a journal does";
                    return Err(Fault::Damaged { offset, what });
                }
                _ => {}
            }
            found += 1;
            each(record);
        }
    };
    if found != announced {
        return Err(Fault::Damaged {
            offset: frame.bytes(),
            what: "records are missing",
        });
    }
    let Header {
        taken_at,
        server_version,
    } = frame.header().clone();
    Ok(Loaded {
        taken_at,
        server_version,
        keys,
        bytes: frame.bytes(),
        journal_from,
    })
}

/// Records on their way to the file. Blocks are cut here and written later, since the cutting
/// happens under a shard's lock; what is short of a block waits for the next shard.
#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Where each full block ends, and how many records it holds.
    full: Vec<(usize, u64)>,
    /// Where the block that fills begins, and how many records it holds.
    open: (usize, u64),
    /// A block that holds so much is cut.
    block_bytes: usize,
}

impl Batch {
    fn add(&mut self, encode: impl FnOnce(&mut Vec<u8>)) {
        encode(&mut self.bytes);
        self.open.1 += 1;
        if self.bytes.len() - self.open.0 >= self.block_bytes {
            self.full.push((self.bytes.len(), self.open.1));
            self.open = (self.bytes.len(), 0);
        }
    }

    fn write_full_blocks(&mut self, frame: &mut FrameWriter<impl Write>) -> io::Result<()> {
        let mut begin = 0;
        for (end, records) in self.full.drain(..) {
            frame.block(&self.bytes[begin..end], records)?;
            begin = end;
        }
        self.bytes.drain(..begin);
        self.open.0 = 0;
        Ok(())
    }

    fn write_rest(&mut self, frame: &mut FrameWriter<impl Write>) -> io::Result<()> {
        // The last record may have filled a block.
        self.write_full_blocks(frame)?;
        frame.block(&self.bytes, self.open.1)
    }
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
