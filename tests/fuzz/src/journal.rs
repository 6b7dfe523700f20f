//! The journal: what is read of any bytes, and of one that broke off or was changed.

use super::disk::MemoryDisk;
use super::holdings::Holdings;
use super::random::Random;
use super::session::{self, Play, settled};
use super::snapshot;
use std::path::Path;
use std::sync::Arc;
use tollgate::core::units::Timestamp;
use tollgate::persistence::input::Input;
use tollgate::persistence::journal::Flushing;
use tollgate::persistence::{Keeper, Keeping, codec};
use tollgate::store::Store;

/// The name of the snapshot, and of the first generation beside it.
const SNAPSHOT: &str = "s";
const FIRST: &str = "s.journal.1";

const HEADER_BYTES: usize = 65;
const HEAD_BYTES: usize = 49;
const MARK: [u8; 4] = [0xb7, b'P', b'T', 0x1d];

/// Lines of a script that are played, each with a batch of its own.
const LINES_MAX: usize = 20;

/// The first byte says what the rest is: `f` for a file, also with its checksums set right; `r` for the records of one; anything
/// else for what happens to the journal of a script, which follows.
pub fn check(input: &[u8]) {
    match input {
        [b'f', bytes @ ..] => {
            file(bytes);
            if let Some(sealed) = sealed(bytes) {
                file(&sealed);
            }
        }
        [b'r', bytes @ ..] => records(bytes),
        [_, rest @ ..] => {
            if let Some((mishap, script)) = rest.split_first_chunk() {
                broken_off(Mishap::from(mishap), script);
            }
        }
        [] => {}
    }
}

/// An input that differs a little in its script, half the time if it has one.
pub fn mutate(input: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let has_script = input.len() > MISHAP_BYTES && !matches!(input[0], b'f' | b'r');
    (has_script && random.once_in(2)).then(|| {
        let (mishap, script) = input.split_at(1 + MISHAP_BYTES);
        [mishap, &session::mutate(script, random)].concat()
    })
}

/// Fills a store from a disk; `None`, and nothing in the store, if what is there is refused.
fn open(disk: &MemoryDisk) -> Option<(Keeper, Store, Timestamp)> {
    let keeping = Keeping {
        saves: true,
        journal: true,
        salt: 0x5a17,
    };
    let store = Store::new();
    match Keeper::open(Arc::new(disk.clone()), Path::new(SNAPSHOT), keeping, &store) {
        Ok((keeper, restored)) => Some((keeper, store, restored.until)),
        Err(error) => {
            // The snapshot was read already; numbers that it knows of are not given again.
            let held = Holdings::of(&store, Timestamp::ZERO).journaled();
            assert_eq!(held, Holdings::default(), "{error}");
            None
        }
    }
}

fn file(bytes: &[u8]) {
    let disk = MemoryDisk::default();
    disk.put(FIRST, bytes);
    let Some((keeper, store, until)) = open(&disk) else {
        return;
    };
    let found = settled(&store, until);
    goes_on(&keeper, &store, &disk, until);
    assert_eq!(settled(&store, until), found);
    snapshot::used(store, until);
}

/// What was read is written on to, and read again as the same.
fn goes_on(keeper: &Keeper, store: &Store, disk: &MemoryDisk, now: Timestamp) {
    let begun = keeper.begin(store, &|| now);
    begun.expect("memory takes it");
    let journal = keeper.journal().expect("it was asked for");
    let flushed = journal.flush(store, &|| now, Flushing::Always, true);
    flushed.expect("memory takes it");
    let (_, again, _) = open(&disk.copy()).expect("it was just written");
    assert_eq!(settled(&again, now), settled(store, now));
}

/// The same file with the checksums, marks, numbers and places that it should have, as far as it is one.
fn sealed(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut file = bytes.to_vec();
    let header = file.get_mut(..HEADER_BYTES)?;
    let checksum = crc32fast::hash(&header[..HEADER_BYTES - 4]);
    header[HEADER_BYTES - 4..].copy_from_slice(&checksum.to_le_bytes());
    let salt: [u8; 8] = header[21..29].try_into().ok()?;
    let mut at = HEADER_BYTES;
    for number in 1u64.. {
        let Some((head, rest)) = file[at..].split_first_chunk_mut::<HEAD_BYTES>() else {
            break;
        };
        let length = u32::from_le_bytes([head[4], head[5], head[6], head[7]]) as usize;
        let records = &rest[..length.min(rest.len())];
        head[..4].copy_from_slice(&MARK);
        head[8..16].copy_from_slice(&number.to_le_bytes());
        head[16..24].copy_from_slice(&(at as u64).to_le_bytes());
        head[41..45].copy_from_slice(&crc32fast::hash(records).to_le_bytes());
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&salt);
        hasher.update(&head[..45]);
        head[45..].copy_from_slice(&hasher.finalize().to_le_bytes());
        at += HEAD_BYTES + records.len();
    }
    Some(file)
}

/// A file whose only part has the records up to the first that is none.
fn records(bytes: &[u8]) {
    let (mut rest, mut payload) = (Input::new(bytes), Vec::new());
    while !rest.is_empty()
        && let Ok(record) = codec::decode(&mut rest)
    {
        super::records::encode(&record, &mut payload);
    }
    if payload.is_empty() {
        return;
    }
    let mut bytes = vec![0; HEADER_BYTES + HEAD_BYTES];
    bytes[..12].copy_from_slice(b"TOLLJRNL\x01\0\0\0");
    bytes[12] = 1;
    let head = &mut bytes[HEADER_BYTES..];
    head[4..8].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    head[32..40].copy_from_slice(&snapshot::TAKEN_AT_NS.to_le_bytes());
    head[40] = 1;
    bytes.append(&mut payload);
    let sealed = sealed(&bytes).expect("it has a header");
    let disk = MemoryDisk::default();
    disk.put(FIRST, &sealed);
    assert!(open(&disk).is_some(), "each record can be read");
    file(&sealed);
}

const MISHAP_BYTES: usize = 6;

/// What happens while a script is played, and to the journal afterwards.
struct Mishap {
    /// The snapshot is written behind this line.
    save_at: usize,
    /// So many bytes of the last generation are left.
    left: usize,
    /// One of them is changed.
    flip: (usize, u8),
}

impl From<&[u8; MISHAP_BYTES]> for Mishap {
    fn from(bytes: &[u8; MISHAP_BYTES]) -> Self {
        let place = |low, high| usize::from(u16::from_le_bytes([low, high]));
        let [save_at, low, high, flip_low, flip_high, flip] = *bytes;
        Self {
            save_at: save_at.into(),
            left: place(low, high),
            flip: (place(flip_low, flip_high), flip),
        }
    }
}

/// What is read of a journal that was cut, or changed in one byte, is what the store held behind one of its batches: of one
/// that was only cut, behind the last that is whole. A change may also be refused.
fn broken_off(mishap: Mishap, script: &[u8]) {
    let disk = MemoryDisk::default();
    let (keeper, store, _) = open(&disk).expect("nothing is there");
    let mut play = Play::with_store(store, Timestamp::ZERO);
    let begun = keeper.begin(play.store(), &|| play.now());
    begun.expect("memory takes it");
    let journal = keeper.journal().expect("it was asked for");
    let mut name = FIRST.to_owned();
    // What the store held, where the file ended, and when that was.
    let mut behind = vec![(0, Holdings::default(), Timestamp::ZERO)];
    let mut lines = session::lines(script).take(LINES_MAX);
    for index in 0.. {
        let now = play.now();
        let flushed = journal.flush(play.store(), &|| now, Flushing::Apart, false);
        flushed.expect("memory takes it");
        let end = disk.bytes(&name).len();
        // Where nothing was touched nothing is written.
        if behind.last().is_some_and(|(before, ..)| *before < end) {
            behind.push((end, settled(play.store(), now), now));
        }
        if index == mishap.save_at {
            let saved = keeper.save(play.store(), &|| now);
            saved.expect("memory takes it");
            name = "s.journal.2".to_owned();
            // What the snapshot may have seen stands in the generation already.
            let ends = [0, disk.bytes(&name).len()];
            behind = ends
                .map(|end| (end, settled(play.store(), now), now))
                .into();
        }
        let Some(line) = lines.next() else {
            break;
        };
        play.line(line);
    }
    let mut bytes = disk.bytes(&name);
    bytes.truncate(mishap.left);
    let (at, flip) = mishap.flip;
    let changed = at < bytes.len() && flip != 0;
    if changed {
        bytes[at] ^= flip;
    }
    disk.put(&name, &bytes);
    let found = open(&disk);
    assert!(changed || found.is_some(), "what is torn is cut off");
    if let Some((keeper, store, until)) = found {
        let held = settled(&store, until);
        let candidates = behind.iter().rev();
        let mut candidates = candidates.filter(|(end, ..)| *end <= bytes.len());
        let is_it =
            |(_, other, now): &(usize, Holdings, Timestamp)| (other, *now) == (&held, until);
        let found = match changed {
            true => candidates.any(is_it),
            false => candidates.next().is_some_and(is_it),
        };
        assert!(found, "it holds what the store never held");
        goes_on(&keeper, &store, &disk, until);
    }
    play.end();
}
