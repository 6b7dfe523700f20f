//! A small file that holds every kind of record, and what is made of it when its bytes are others.

use crate::holdings::Holdings;
use crate::server::Server;
use proptest::prelude::*;
use std::io::Cursor;
use tollgate::core::entry::Entry;
use tollgate::core::units::{MICROSECOND, MILLISECOND, SECOND, Span, Timestamp};
use tollgate::persistence::frame::{FrameReader, FrameWriter, Header};
use tollgate::persistence::input::put_varint;
use tollgate::persistence::{Fault, snapshot};
use tollgate::store::Store;

/// Each line is a request, in which `%8` is the number of the eighth ticket, or `+` and the milliseconds
/// that pass.
const STORY: &str = "\
RL.POLICY SET p WINDOW 7 2s AND SLIDING 9 1s AND LOG 5 1s AND GCRA 2 3 7ms AND PACE 1/5m
RL.POLICY SET q 80 80 AND WINDOW 150 60s ALIGN
RL.TAKE bucket 2 3 COST 2
RL.RESERVE bucket 2 3 60s TICKET ID a
RL.RESERVE bucket 2 3 60s TICKET
RL.PAUSE bucket 500ms KEEP
RL.TAKE drained 2 7/2s COST 2
RL.RESERVE drained 2 7/2s 60s TICKET
RL.RESERVE drained 2 7/2s 60s TICKET
RL.PAUSE drained 400ms
RL.TAKE slowed 9 7/2s COST 5
RL.PAUSE slowed 1s SLOW 0.5 10s
RL.PAUSE new 3s
RL.PAUSE kept 3s KEEP
RL.RESERVE window WINDOW 2 1s 60s COST 2
RL.RESERVE window WINDOW 2 1s 60s COST 2 TICKET 5s
RL.TAKE sliding SLIDING 5 1500ms COST 2
RL.RESERVE log LOG 2 1s 60s TICKET
RL.RESERVE log LOG 2 1s 60s COST 2 AND window2 WINDOW 3 1s ALIGN AND bucket2 5 99999.999999999999 TICKET ID b
RL.TAKE acct:7 POLICY p COST 1 TICKET
RL.TAKE acct:8 POLICY q COST 1,3 INFO
RL.CHARGE debt 1 0.0002777777777777778 3 ID c
RL.REFUND debt 1 ID c2
RL.POLICY SET r LEASES 2 30s AND 10 1
RL.LEASE slots 3 5s OWNER me ID d
RL.LEASE slots 3 10ms
RL.TAKE leased LEASES 2 30s AND bucket3 5 1 TICKET ID e
RL.TAKE acct:9 POLICY r
SET string abc PX 3000
SET counter -17
RL.CONFIRM acct:7 %8
+20
";

/// A server after the story.
fn told() -> Server {
    let mut server = Server::new();
    for line in STORY.lines() {
        match line.strip_prefix('+') {
            Some(ms) => server.advance(ms.parse::<u64>().expect("a number") * MILLISECOND),
            None => {
                let before_first = server.engine.shared.started_at.as_ns() / MICROSECOND;
                let reply = server.ask(&line.replace("%8", &(before_first + 8).to_string()));
                assert!(!reply.starts_with('-'), "{line}: {reply}");
            }
        }
    }
    server
}

fn file() -> (Vec<u8>, Timestamp) {
    let server = told();
    let mut bytes = Vec::new();
    snapshot::write(&server.engine.shared.store, server.now(), 1, &mut bytes)
        .expect("memory takes it");
    (bytes, server.now())
}

/// The records of a file, without what is around them, and how many there are.
fn records(file: &[u8]) -> (Vec<u8>, u64) {
    let mut reader = FrameReader::begin(file).expect("it is whole");
    let (mut all, mut block) = (Vec::new(), Vec::new());
    loop {
        if let Some(count) = reader.block(&mut block).expect("it is whole") {
            return (all, count);
        }
        all.extend_from_slice(&block);
    }
}

fn refusal(bytes: &[u8], now: Timestamp) -> Fault {
    let store = Store::new();
    let fault = snapshot::fill(&store, Cursor::new(bytes)).expect_err("it is damaged");
    assert_eq!(Holdings::of(&store, now), Holdings::default(), "{fault}");
    fault
}

#[test]
fn the_story_leaves_every_kind_of_record() {
    let (bytes, _) = file();
    let (_, records) = snapshot::decode(&bytes).expect("it was just written");
    let text = format!("{records:?}");
    for kind in [
        "Bucket(",
        "Window(",
        "Sliding(",
        "Log(",
        "Leases(Leases {",
        "owner: Some(",
        "Leases(LeasesLimit {",
        "lease: 1",
        "Some(Timeline",
        "shelved: [Booking",
        "ahead: [Booking",
        "undrained: Some",
        "drains: true",
        "drains: false",
        "Some(Slow",
        "keeps: Time",
        "align: true",
        "Integer(-17)",
        "Bytes([97, 98, 99])",
        "Some(Deadline",
        "Policy {",
        "LastNumber(",
        "Ticket {",
        "under_policy: true",
        "confirmed: true",
        "overtaken: true",
        "id: Some(",
        "Granted {",
        "Until(",
        "Number(",
    ] {
        assert!(text.contains(kind), "no {kind} in {text}");
    }
}

#[test]
fn a_file_cut_at_any_length_loads_nothing() {
    let (bytes, now) = file();
    for length in 0..bytes.len() {
        let fault = refusal(&bytes[..length], now);
        assert!(matches!(fault, Fault::Damaged { .. }), "{length}: {fault}");
    }
}

#[test]
fn a_file_with_any_byte_changed_loads_nothing() {
    let (mut bytes, now) = file();
    for index in 0..bytes.len() {
        for flip in [1, 2, 4, 8, 16, 32, 64, 128, 255] {
            bytes[index] ^= flip;
            let fault = refusal(&bytes, now);
            let expected = matches!(fault, Fault::Damaged { .. })
                || (index < 8 && matches!(fault, Fault::Foreign));
            assert!(expected, "byte {index} ^ {flip}: {fault}");
            bytes[index] ^= flip;
        }
    }
    snapshot::fill(&Store::new(), Cursor::new(&bytes)).expect("all is as it was");
}

/// Loads records under good checksums and does everything to what came of them: debug builds panic where
/// arithmetic overflows, and that none does is what is tested.
fn survives(bytes: &[u8], count: u64, later: u64) {
    let header = Header {
        taken_at: Server::new().now(),
        server_version: "1".to_owned(),
    };
    let mut frame = FrameWriter::begin(Vec::new(), &header).expect("memory takes it");
    frame.block(bytes, count).expect("memory takes it");
    let file = frame.end().expect("memory takes it").0;
    let store = Store::new();
    let Ok(loaded) = snapshot::fill(&store, Cursor::new(file)) else {
        return;
    };
    let mut server = Server::start(store, loaded.taken_at);
    let store = &server.engine.shared.store;
    let (mut keys, mut leases) = (Vec::new(), Vec::new());
    for shard in 0..store.shards() {
        store.for_each_in(0, shard, |key, value| {
            let key = key.as_bytes().to_vec();
            let held = value.limit().ok().and_then(Entry::leases);
            let numbers = held.iter().flat_map(|held| held.all());
            leases.extend(numbers.map(|(number, _)| (key.clone(), number)));
            keys.push(key);
        });
    }
    let tickets = store.records.tickets_after(0, usize::MAX, server.now());
    let on_key = |server: &mut Server, key: &[u8], line: &str| {
        let words = line.split(' ').map(|word| match word {
            "KEY" => key.to_vec(),
            _ => word.as_bytes().to_vec(),
        });
        server.send(0, &words.collect::<Vec<_>>());
    };
    for _ in 0..2 {
        // Ids that are there already are answered from what was loaded.
        for line in STORY.lines().filter(|line| line.contains(" ID ")) {
            server.ask(line);
        }
        for (_, number, ticket) in &tickets {
            for verb in ["CONFIRM KEY {}", "SETTLE KEY {} 5", "CANCEL KEY {}"] {
                let line = format!("RL.{}", verb.replace("{}", &number.to_string()));
                on_key(&mut server, ticket.parts[0].key.as_bytes(), &line);
            }
        }
        for (key, number) in &leases {
            for verb in ["RENEW KEY {} 3650d", "RELEASE KEY {}"] {
                let line = format!("RL.{}", verb.replace("{}", &number.to_string()));
                on_key(&mut server, key, &line);
            }
        }
        for key in &keys {
            for line in LINES.lines() {
                on_key(&mut server, key, line);
            }
        }
        server.advance(later);
    }
}

/// What is asked of every key.
const LINES: &str = "\
RL.USAGE KEY
PTTL KEY
RL.TAKE KEY 2 7/2s
RL.PEEK KEY WINDOW 2 1s INFO
RL.PEEK KEY SLIDING 2 1s INFO
RL.PEEK KEY LOG 2 1s INFO
RL.RESERVE KEY 3 3 3650d COST 3 TICKET
RL.RESERVE KEY 1000000000000 99999.999999999999 3650d COST 1000000000000 TICKET
RL.RESERVE KEY WINDOW 1000000000000 1s 3650d COST 1000000000000 TICKET
RL.TAKE KEY SLIDING 1000000000000 3650d COST 1000000000000 TICKET
RL.RESERVE KEY LOG 100000 3650d 3650d COST 100000 TICKET
RL.PEEK KEY LEASES 1 1s INFO
RL.LEASES KEY
RL.LEASE KEY 100000 3650d
RL.TAKE KEY LEASES 2 1s TICKET
RL.TAKE KEY POLICY p
RL.CHARGE KEY 2 1/3650d 1000000000000
RL.CHARGE KEY WINDOW 2 1s 1000000000000
RL.CHARGE KEY SLIDING 2 1s 1000000000000
RL.CHARGE KEY LOG 2 1s 1000000000000
RL.REFUND KEY 1000000000000
RL.PAUSE KEY 1s
RL.TAKE KEY 2 7/2s
RL.RESUME KEY
RL.PAUSE KEY 1s SLOW 0.5 10s
RL.RESERVE KEY 3 3 3650d
RL.USAGE KEY";

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_refused(
        noise in prop::collection::vec(any::<u8>(), 0..300),
        headed in any::<bool>(),
    ) {
        let (file, now) = file();
        let bytes = if headed { [&file[..30], &noise].concat() } else { noise };
        refusal(&bytes, now);
    }

    #[test]
    fn the_arithmetic_holds_for_whatever_is_loaded(
        changes in prop::collection::vec((any::<prop::sample::Index>(), numbers()), 1..3),
        later in prop_oneof![0..=3 * SECOND, 0..=Span::MAX.as_ns()],
    ) {
        let (mut bytes, count) = records(&file().0);
        for (at, number) in changes {
            let at = at.index(bytes.len());
            bytes.splice(at..=at, number);
        }
        survives(&bytes, count, later);
    }
}

/// What may stand where a byte stood: another byte, or a number as varints are written.
fn numbers() -> impl Strategy<Value = Vec<u8>> {
    let varint = (any::<u64>(), 0..64u32).prop_map(|(number, shift)| {
        let mut bytes = Vec::new();
        put_varint(&mut bytes, number >> shift);
        bytes
    });
    let largest = Just([&[0xff; 9][..], &[1]].concat());
    prop_oneof![2 => any::<u8>().prop_map(|byte| vec![byte]), 2 => varint, 1 => largest]
}
