//! Snapshots: whatever the bytes, they are refused or loaded, and what was loaded can be saved, loaded and used.

use super::holdings::Holdings;
use super::records::encode;
use super::session::{self, Play};
use std::io::Cursor;
use tollgate::core::units::Timestamp;
use tollgate::persistence::codec::{self, Record};
use tollgate::persistence::frame::{FrameWriter, Header};
use tollgate::persistence::input::Input;
use tollgate::persistence::snapshot;
use tollgate::store::Store;

/// When snapshots of nothing but records were taken: where the manual clock starts.
pub const TAKEN_AT_NS: u64 = 1_700_000_000_000_000_000;

/// Keys and tickets that are used, so that an input takes milliseconds.
const USED_MAX: usize = 8;

/// Takes the input as a file, as a file whose checksums are right, and as the records of a file.
pub fn check(input: &[u8]) {
    file(input);
    if let Some(sealed) = sealed(input) {
        file(&sealed);
    }
    records(input);
}

fn file(bytes: &[u8]) {
    let store = Store::new();
    match snapshot::fill(&store, Cursor::new(bytes)) {
        Ok(loaded) => used(store, loaded.taken_at),
        Err(fault) => {
            let nothing = Holdings::default();
            assert_eq!(Holdings::of(&store, Timestamp::ZERO), nothing, "{fault}");
        }
    }
}

/// The same file with the checksums that it should have, as far as it is one.
fn sealed(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut file = bytes.to_vec();
    // Magic, format, time, length of the version.
    let version_bytes = usize::from(*file.get(20)?);
    let mut at = 21 + version_bytes;
    seal(&mut file, 0..at, at)?;
    at += 4;
    loop {
        let length: [u8; 4] = file.get(at..at + 4)?.try_into().ok()?;
        let length = u32::from_le_bytes(length) as usize;
        if length == 0 {
            // Then the records and the blocks, as they are.
            let end = at + 4 + 16;
            seal(&mut file, 0..end, end)?;
            return Some(file);
        }
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(file.get(at..at + 4)?);
        hasher.update(file.get(at + 8..at + 8 + length)?);
        file[at + 4..at + 8].copy_from_slice(&hasher.finalize().to_le_bytes());
        at += 8 + length;
    }
}

fn seal(file: &mut [u8], what: std::ops::Range<usize>, at: usize) -> Option<()> {
    let checksum = crc32fast::hash(file.get(what)?);
    file.get_mut(at..at + 4)?
        .copy_from_slice(&checksum.to_le_bytes());
    Some(())
}

/// Reads records until the first that is none.
fn records(bytes: &[u8]) {
    let (mut rest, mut found) = (Input::new(bytes), Vec::new());
    let mut written = Vec::new();
    while !rest.is_empty()
        && let Ok(record) = codec::decode(&mut rest)
    {
        encode(&record, &mut written);
        assert!(bytes.starts_with(&written), "there is one encoding");
        // In a journal only.
        if !matches!(record, Record::Gone(_)) {
            found.push(record);
        }
    }
    if found.is_empty() {
        return;
    }
    let mut payload = Vec::new();
    found.iter().for_each(|record| encode(record, &mut payload));
    let header = Header {
        taken_at: Timestamp::from_ns(TAKEN_AT_NS).expect("in range"),
        server_version: "1".to_owned(),
    };
    let mut frame = FrameWriter::begin(Vec::new(), &header).expect("memory takes it");
    frame
        .block(&payload, found.len() as u64)
        .expect("memory takes it");
    let (bytes, _) = frame.end().expect("memory takes it");
    let (_, again) = snapshot::decode(&bytes).expect("each record can be read");
    assert_eq!(again, found);
    file(&bytes);
}

/// What is asked of every key, and of every ticket.
const OF_A_KEY: &str = "\
RL.USAGE KEY
PTTL KEY
MEMORY USAGE KEY
RL.TAKE KEY 2 7/2s
RL.PEEK KEY WINDOW 2 1s INFO
RL.PEEK KEY SLIDING 2 1s INFO
RL.PEEK KEY LOG 2 1s INFO
RL.RESERVE KEY 3 3 3650d COST 3 TICKET
RL.RESERVE KEY 1000000000000 99999.999999999999 3650d COST 1000000000000 TICKET
RL.RESERVE KEY WINDOW 1000000000000 1s 3650d COST 1000000000000 TICKET
RL.TAKE KEY SLIDING 1000000000000 3650d COST 1000000000000 TICKET
RL.RESERVE KEY LOG 100000 3650d 3650d COST 100000 TICKET
RL.ACQUIRE KEY 3 3 0
RL.LEASES KEY
RL.LEASE KEY 100000 3650d
RL.TAKE KEY LEASES 2 1s TICKET
RL.TAKE KEY POLICY p
RL.CHARGE KEY 2 1/3650d 1000000000000
RL.CHARGE KEY WINDOW 2 1s 1000000000000
RL.CHARGE KEY SLIDING 2 1s 1000000000000
RL.CHARGE KEY LOG 2 1s 1000000000000
RL.REFUND KEY 1000000000000
RL.PAUSE KEY 1s SLOW 0.5 10s
RL.RESUME KEY
RL.PAUSE KEY 1s
GET KEY
APPEND KEY x
INCR KEY
HGETALL KEY
LRANGE KEY 0 -1
ZRANGE KEY 0 -1 WITHSCORES
EXPIRE KEY 10
RL.USAGE KEY";
const OF_A_TICKET: &str = "\
RL.CONFIRM KEY NUMBER
RL.SETTLE KEY NUMBER 5
RL.CANCEL KEY NUMBER";

/// It can be saved and loaded again, and whatever is done to it nothing overflows.
pub fn used(store: Store, taken_at: Timestamp) {
    session::counts_agree(&store);
    session::comes_back(&store, taken_at);
    let mut keys = Vec::new();
    for shard in 0..store.shards() {
        store.for_each_in(0, shard, |key, _| keys.push(key.as_bytes().to_vec()));
    }
    // The same for the same input, wherever the hasher has put them.
    keys.sort();
    keys.truncate(USED_MAX);
    let mut tickets = store.records.tickets_after(0, USED_MAX, taken_at);
    tickets.retain(|(database, ..)| *database == 0);
    let mut play = Play::with_store(store, taken_at);
    for step in ["1ms", "10s", "3650d"] {
        for (_, number, ticket) in &tickets {
            let number = number.to_string();
            ask(
                &mut play,
                OF_A_TICKET,
                ticket.parts[0].key.as_bytes(),
                &number,
            );
        }
        for key in &keys {
            ask(&mut play, OF_A_KEY, key, "0");
        }
        ask(&mut play, &format!("DEBUG CLOCK ADVANCE {step}"), b"", "0");
    }
    play.end();
}

fn ask(play: &mut Play, lines: &str, key: &[u8], number: &str) {
    for line in lines.lines() {
        let words = line.split(' ').map(|word| match word {
            "KEY" => key.to_vec(),
            "NUMBER" => number.as_bytes().to_vec(),
            _ => word.as_bytes().to_vec(),
        });
        play.request(0, &words.collect::<Vec<_>>());
    }
}
