use super::super::disk::Machine;
use super::super::error::SaveStep;
use super::*;
use crate::core::entry::Entry;
use crate::core::limit::{BucketLimit, Keeps, Limit, Rate};
use crate::core::units::{SECOND, Span};
use crate::plain::collection::{BYTES_MAX, ELEMENTS_MAX};
use crate::plain::sorted_set::Score;
use crate::plain::{Data, Hash, List, Plain, SortedSet, Text};
use crate::store::Key;
use crate::store::Value;
use proptest::prelude::*;
use std::fs;

const START: u64 = 1_700_000_000 * SECOND;

fn at(ns: u64) -> Timestamp {
    Timestamp::from_ns(START + ns).expect("in range")
}

fn charge(entry: &mut Entry, capacity: u64, rate: &str, cost: u64) {
    let rate = Rate::parse(rate.as_bytes()).expect("a rate");
    let limit = Limit::Bucket(BucketLimit::new(capacity, rate, Keeps::Permits).expect("a limit"));
    let mut draft = entry.draft(&limit, at(0)).expect("it carries over");
    draft.book(cost).expect("it can be owed");
    draft.commit();
}

fn save_at(store: &Store, now: Timestamp, path: &Path) -> Result<Saved, SaveError> {
    save(&Machine, store, now, path, JOURNAL_BEGIN, || Ok(()))
}

/// A few keys in two databases, in different states.
fn small_store() -> Store {
    let store = Store::new();
    let span = Span::from_ns(30 * SECOND).expect("a span");
    store
        .with_limit(0, b"rl:meta:123", at(0), |entry| {
            charge(entry, 80, "80", 95)
        })
        .unwrap();
    store
        .with_limit(0, b"", at(0), |entry| {
            charge(entry, 10, "0.0002777777777777778", 3)
        })
        .unwrap();
    store
        .with_limit(0, &[0xff; 40], at(0), |entry| {
            charge(entry, 5, "1/5m", 1);
            entry.pause(span, false, false, at(0));
        })
        .unwrap();
    store
        .with_limit(3, b"paused", at(0), |entry| {
            entry.pause(span, false, false, at(0))
        })
        .unwrap();
    store
}

fn bytes_of(store: &Store) -> Vec<u8> {
    let mut bytes = Vec::new();
    let saved = write(store, at(0), JOURNAL_BEGIN, &mut bytes).expect("memory takes it");
    assert_eq!(saved.bytes, bytes.len() as u64);
    bytes
}

fn keys_of(store: &Store) -> Vec<(u8, Key, Value)> {
    let mut keys = Vec::new();
    for database in 0..DATABASES_MAX {
        for shard in 0..store.shards() {
            store.for_each_in(database, shard, |key, entry| {
                keys.push((database, key.clone(), entry.clone()))
            });
        }
    }
    keys.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    keys
}

fn keys_in(records: &[Record]) -> usize {
    let is_key = |record: &&Record| matches!(record, Record::Key { .. });
    records.iter().filter(is_key).count()
}

/// Loads `bytes` from a file and tells why that was refused, and sees to it that nothing was loaded.
fn refusal(path: &Path, bytes: &[u8]) -> Fault {
    fs::write(path, bytes).expect("a temporary file");
    let store = Store::new();
    let error = load(&Machine, &store, path).expect_err("a damaged file is refused");
    assert!(
        keys_of(&store).is_empty(),
        "nothing of a damaged file is loaded"
    );
    error.fault
}

#[test]
fn what_is_saved_is_loaded() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("snapshot");
    let store = small_store();
    let saved = save_at(&store, at(0), &path).unwrap();
    assert_eq!(
        (saved.keys, saved.bytes),
        (4, fs::metadata(&path).unwrap().len())
    );
    let other = Store::new();
    let loaded = load(&Machine, &other, &path).unwrap().unwrap();
    assert_eq!(
        (loaded.keys, loaded.bytes, loaded.taken_at),
        (4, saved.bytes, at(0))
    );
    assert_eq!(loaded.server_version, env!("CARGO_PKG_VERSION"));
    assert_eq!(keys_of(&other), keys_of(&store));
}

#[test]
fn an_absent_file_is_nothing_to_load() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(
        load(&Machine, &Store::new(), &directory.path().join("snapshot")).unwrap(),
        None
    );
}

#[test]
fn keys_that_have_gone_by_themselves_are_not_saved() {
    let (store, mut bytes) = (small_store(), Vec::new());
    let later = at(31 * SECOND);
    assert_eq!(
        write(&store, later, JOURNAL_BEGIN, &mut bytes)
            .unwrap()
            .keys,
        3
    );
    let (loaded, records) = decode(&bytes).unwrap();
    assert_eq!((loaded.keys, keys_in(&records)), (3, 3));
    // The pause on "paused" is over, but for as long again it drains what begins there.
    assert!(
        records
            .iter()
            .any(|record| matches!(record, Record::Key { database: 3, .. }))
    );
}

#[test]
fn a_file_cut_at_any_length_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let bytes = bytes_of(&small_store());
    for length in 0..bytes.len() {
        let fault = refusal(&directory.path().join("snapshot"), &bytes[..length]);
        assert!(matches!(fault, Fault::Damaged { .. }), "{length}: {fault}");
    }
}

#[test]
fn a_file_with_any_bit_flipped_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("snapshot");
    let mut bytes = bytes_of(&small_store());
    for index in 0..bytes.len() {
        let good = bytes[index];
        for flip in (0..8).map(|bit| 1 << bit).chain([0xff]) {
            bytes[index] = good ^ flip;
            let fault = refusal(&path, &bytes);
            let expected = matches!(fault, Fault::Damaged { .. })
                || (index < 8 && matches!(fault, Fault::Foreign));
            assert!(expected, "byte {index} ^ {flip}: {fault}");
        }
        bytes[index] = good;
    }
    assert!(decode(&bytes).is_ok());
}

#[test]
fn whatever_follows_the_end_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("snapshot");
    let bytes = bytes_of(&small_store());
    for garbage in [&[0][..], b"\n", &bytes] {
        let fault = refusal(&path, &[&bytes[..], garbage].concat());
        let expected = Fault::Damaged {
            offset: bytes.len() as u64,
            what: "something follows its end",
        };
        assert_eq!(fault.to_string(), expected.to_string());
    }
}

#[test]
fn blocks_that_are_missing_or_moved_are_noticed() {
    let header = Header {
        taken_at: at(0),
        server_version: "1".to_owned(),
    };
    let file = |blocks: &[&[u8]]| {
        let mut frame = FrameWriter::begin(Vec::new(), &header).unwrap();
        blocks
            .iter()
            .for_each(|block| frame.block(block, 1).unwrap());
        frame.end().unwrap().0
    };
    let (one, two) = (
        &[1, 0, 1, b'a', 0, 1, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0][..],
        &[1, 0, 1, b'b', 0, 1, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0][..],
    );
    let good = file(&[one, two]);
    assert_eq!(decode(&good).unwrap().0.keys, 2);
    let (start, length) = (file(&[]).len() - 24, one.len() + 8);
    let moved = [
        &good[..start],
        &good[start + length..][..length],
        &good[start..][..length],
        &good[start + 2 * length..],
    ];
    assert!(
        matches!(decode(&moved.concat()), Err(Fault::Damaged { what, .. }) if what.contains("whole file"))
    );
    let missing = [&good[..start], &good[start + length..]].concat();
    assert!(
        matches!(decode(&missing), Err(Fault::Damaged { what, .. }) if what.contains("whole file"))
    );
}

#[test]
fn a_length_that_lies_takes_no_memory() {
    let mut bytes = FrameWriter::begin(
        Vec::new(),
        &Header {
            taken_at: at(0),
            server_version: String::new(),
        },
    )
    .unwrap()
    .end()
    .unwrap()
    .0;
    bytes.truncate(bytes.len() - 24);
    for length in [u32::MAX, (8 << 20) + 1, 8 << 20] {
        let file = [&bytes[..], &length.to_le_bytes(), &[0; 4], &[0; 100]].concat();
        let mut reader = FrameReader::begin(&file[..]).unwrap();
        let mut block = Vec::new();
        assert!(reader.block(&mut block).is_err());
        assert!(block.capacity() <= 64 << 10, "{}", block.capacity());
    }
}

#[test]
fn a_newer_file_is_refused_by_what_is_new_in_it() {
    let header = Header {
        taken_at: at(0),
        server_version: "7.8.9".to_owned(),
    };
    let mut frame = FrameWriter::begin(Vec::new(), &header).unwrap();
    frame.block(&[9, 1, 2, 3], 1).unwrap();
    let unknown = frame.end().unwrap().0;
    assert_eq!(
        decode(&unknown).unwrap_err().to_string(),
        format!(
            "was written by Tollgate 7.8.9 and has a record of kind 9, which Tollgate {} does not know",
            env!("CARGO_PKG_VERSION")
        )
    );

    let mut bytes = unknown[..26].to_vec();
    bytes[8] = 2;
    bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
    let fault = decode(&bytes).unwrap_err();
    assert!(
        matches!(&fault, Fault::Newer { server_version, what: "format", number: 2 } if server_version == "7.8.9")
    );
}

#[test]
fn an_error_says_which_file_what_is_wrong_and_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("snapshot");
    let text = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        load(&Machine, &Store::new(), &path)
            .unwrap_err()
            .to_string()
            .replace(path.to_str().unwrap(), "S")
    };
    assert_eq!(
        text(b"REDIS0011 and so on"),
        "snapshot S is not a Tollgate snapshot. Nothing was loaded. Name another file with --dbfilename, or move it and its journal away to start empty."
    );
    assert_eq!(
        text(b"TOLLGATE"),
        "snapshot S is damaged: it ends too early (at byte 8). Nothing was loaded. Restore the file from a backup, or move it and its journal away to start empty."
    );
    let error = load(&Machine, &Store::new(), directory.path()).unwrap_err();
    assert!(
        matches!(error.fault, Fault::Io(_)),
        "a directory is no file: {error}"
    );
}

/// A file that somebody cuts while it is read: `.1` bytes are left of it at the second reading.
struct Shrinking<'a>(io::Cursor<&'a [u8]>, usize);

impl Read for Shrinking<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Seek for Shrinking<'_> {
    fn seek(&mut self, to: io::SeekFrom) -> io::Result<u64> {
        self.0 = io::Cursor::new(&self.0.get_ref()[..self.1]);
        self.0.seek(to)
    }
}

#[test]
fn a_file_that_changes_while_it_is_loaded_is_not_loaded_in_part() {
    let store = Store::new();
    for index in 0..5_000u32 {
        store
            .with_limit(1, &index.to_be_bytes(), at(0), |entry| {
                charge(entry, 5, "1", 5)
            })
            .unwrap();
    }
    let bytes = bytes_of(&store);
    let other = Store::new();
    let fault = fill(&other, Shrinking(io::Cursor::new(&bytes), bytes.len() - 1)).unwrap_err();
    assert!(matches!(fault, Fault::Damaged { .. }));
    assert!(keys_of(&other).is_empty());
    assert_eq!(fill(&other, io::Cursor::new(&bytes)).unwrap().keys, 5_000);
}

/// A disk that is full after so many bytes.
struct Full<W>(W, usize);

impl<W: Write> Write for Full<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let fits = bytes.len().min(self.1);
        if fits == 0 && !bytes.is_empty() {
            return Err(ErrorKind::StorageFull.into());
        }
        self.1 -= fits;
        self.0.write(&bytes[..fits])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[test]
fn a_disk_that_fills_at_any_byte_leaves_the_old_snapshot() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("snapshot");
    let store = small_store();
    save_at(&store, at(0), &path).unwrap();
    let old = fs::read(&path).unwrap();
    store
        .with_limit(0, b"another", at(1), |entry| charge(entry, 5, "1", 5))
        .unwrap();
    for room in 0..bytes_of(&store).len() {
        let error = files::replace(&Machine, &path, |file| {
            let full = Full(Appender(file), room);
            write(&store, at(1), JOURNAL_BEGIN, BufWriter::new(full))
        })
        .unwrap_err();
        assert_eq!(error.step, SaveStep::Write, "{room}");
        assert_eq!(error.source.kind(), ErrorKind::StorageFull);
        assert_eq!(fs::read(&path).unwrap(), old);
        assert_eq!(
            fs::read_dir(directory.path()).unwrap().count(),
            1,
            "the temporary file is gone"
        );
    }
}

#[test]
fn a_directory_that_is_gone_is_an_error_that_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("gone/snapshot");
    let error = save_at(&small_store(), at(0), &path).unwrap_err();
    assert_eq!(error.step, SaveStep::Create);
    let text = error.to_string();
    assert!(
        text.contains(path.to_str().unwrap()) && text.contains("the last good one stands"),
        "{text}"
    );
}

#[test]
fn a_clock_out_of_range_saves_nothing() {
    let beyond = Timestamp::MAX.after(Span::from_ns(1).unwrap());
    assert_eq!(
        write(&small_store(), beyond, JOURNAL_BEGIN, Vec::new())
            .unwrap_err()
            .kind(),
        ErrorKind::InvalidInput
    );
}

#[test]
fn many_keys_go_into_blocks_and_come_back() {
    let store = Store::new();
    for index in 0..20_000u32 {
        store
            .with_limit(
                (index % 16) as u8,
                format!("key:{index}").as_bytes(),
                at(0),
                |entry| {
                    charge(entry, 100, "1/s", 1 + u64::from(index % 300));
                },
            )
            .unwrap();
    }
    let bytes = bytes_of(&store);
    let (loaded, records) = decode(&bytes).unwrap();
    assert_eq!((loaded.keys, keys_in(&records)), (20_000, 20_000));
    let other = Store::new();
    records
        .into_iter()
        .for_each(|record| restore(&other, record));
    assert_eq!(keys_of(&other), keys_of(&store));
    let mut frame = FrameReader::begin(&bytes[..]).unwrap();
    let (mut block, mut blocks) = (Vec::new(), 0);
    while frame.block(&mut block).unwrap().is_none() {
        assert!(block.len() < BLOCK_BYTES + 1024);
        blocks += 1;
    }
    assert_eq!(blocks, bytes.len().div_ceil(BLOCK_BYTES));
}

#[test]
fn a_record_that_fills_the_last_block_is_counted() {
    // Whatever stands in front of the last record, which is the number of the last ticket.
    for padding in 0..16 {
        let store = Store::new();
        store.records.start_above(u64::from(u32::MAX));
        let put = |key: &[u8], length: usize| {
            let text = Data::Text(Text::new(&vec![b'x'; length]).unwrap());
            let put = |slot: &mut _| *slot = Some(Plain::new(text));
            store.with_plain(0, key, at(0), put).unwrap();
        };
        put(b"j", 1000); // one text is not as long as a block
        let before = bytes_of(&store).len();
        put(b"k", BLOCK_BYTES - before + 60 + padding);
        assert_eq!(decode(&bytes_of(&store)).unwrap().0.keys, 2, "{padding}");
    }
}

#[test]
fn a_value_at_its_bounds_is_saved_and_loaded() {
    const PER_ELEMENT: usize = BYTES_MAX / ELEMENTS_MAX;
    let store = Store::new();
    let element = |index: usize| format!("{index:0PER_ELEMENT$}").into_bytes();
    let put = |key: &[u8], data: Data| {
        let set = |slot: &mut Option<Plain>| *slot = Some(Plain::new(data));
        store.with_plain(0, key, at(0), set).unwrap();
    };
    let (mut list, mut set, mut hash) = (List::default(), SortedSet::default(), Hash::default());
    for index in 0..ELEMENTS_MAX {
        let text = Text::new(&element(index)).unwrap();
        list.push_back(text).unwrap();
        let score = Score::new(index as f64).unwrap();
        set.set(&element(index), score).unwrap();
        let (field, text) = (element(index), Text::new(b"").unwrap());
        hash.set(&field, text).unwrap();
    }
    put(b"list", Data::List(list));
    put(b"set", Data::SortedSet(Box::new(set)));
    put(b"hash", Data::Hash(hash));
    let other = Store::new();
    let (_, records) = decode(&bytes_of(&store)).unwrap();
    records
        .into_iter()
        .for_each(|record| restore(&other, record));
    assert!(keys_of(&other) == keys_of(&store));
}

proptest! {
    #[test]
    fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), as_header in any::<bool>()) {
        let mut file = bytes;
        if as_header {
            file.splice(..0, bytes_of(&Store::new())[..30].iter().copied());
        }
        prop_assert!(decode(&file).is_err());
    }

    #[test]
    fn any_records_under_good_checksums_do_not_panic(block in prop::collection::vec(any::<u8>(), 1..200), records in 0u64..3) {
        let header = Header { taken_at: at(0), server_version: "1".to_owned() };
        let mut frame = FrameWriter::begin(Vec::new(), &header).unwrap();
        frame.block(&block, records).unwrap();
        let _ = decode(&frame.end().unwrap().0);
    }
}
