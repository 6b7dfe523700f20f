//! A record has one encoding: whatever bytes are read as a record are those that it is written as.

use crate::records::encode;
use crate::server::Server;
use std::collections::HashSet;
use std::mem::discriminant;
use tollgate::persistence::codec::{self, Record};
use tollgate::persistence::input::Input;
use tollgate::persistence::snapshot;

/// Leaves a record of every kind, and in them every state, flag and option.
const HISTORY: &str = "
    RL.TAKE bucket 10 1 COST 3
    RL.RESERVE owing GCRA 4 3 1s 1m COST 5
    RL.RESERVE booked 10 1 1m COST 9 TICKET
    RL.RESERVE booked 10 1 1m COST 9 AND beside 5 1/m COST 4 TICKET 1h ID i1
    RL.PAUSE booked 3s
    RL.RESERVE booked 10 1 1m COST 2 TICKET
    RL.TAKE window WINDOW 5 1m ALIGN
    RL.RESERVE later WINDOW 5 1m 1h COST 4
    RL.RESERVE later WINDOW 5 1m 1h COST 4
    RL.TAKE sliding SLIDING 5 1m COST 2
    RL.TAKE log LOG 5 1m COST 2 TICKET
    RL.LEASE leases 3 1m OWNER somebody
    RL.LEASE leases 3 2m ID i2
    RL.TAKE joined LEASES 3 1m AND bucket 10 1 TICKET ID i3
    RL.PAUSE paused 1m KEEP
    RL.TAKE slowed 10 1 COST 10
    RL.TAKE slowed GCRA 9 1 1s COST 4
    RL.PAUSE slowed 1s SLOW 0.5 1h
    RL.POLICY SET p 10 1 AND WINDOW 5 1h ALIGN AND GCRA 3 1 1s AND SLIDING 5 1m AND LOG 5 1m AND LEASES 2 1m
    RL.POLICY SET meta 7 7/2s AND 150 150/60s
    RL.TAKE many POLICY meta COST 2,3 TICKET ID i4
    RL.CHARGE many POLICY meta 9 ID i5
    RL.PAUSE many 1s SLOW 0.25 1m
    RL.REFUND bucket 1 ID i6
    SET text x
    SET number 17 PX 90000
    HSET hash b 2 a 1 c x
    RPUSH list a 2 c
    ZADD set 1 b 1 a -0.5 c
";

/// What is gone, which only a journal tells: a key, a database, a policy, a ticket, an answer.
const GONE: [&[u8]; 5] = [
    &[8, 1, 1, 1, b'k'],
    &[8, 2, 2],
    &[8, 3, 1, b'p'],
    &[8, 4, 0xac, 2],
    &[8, 5, 3, 1, b'k', 1, b'i'],
];

fn records() -> Vec<Record> {
    let mut server = Server::new();
    let lines = HISTORY.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty()) {
        let reply = server.ask(line);
        assert!(!reply.starts_with('-'), "{line}: {reply}");
    }
    // Into the slow return.
    server.advance(2_000_000_000);
    server.ask("RL.TAKE slowed GCRA 9 1 1s");
    let mut bytes = Vec::new();
    let (store, now) = (&server.engine.shared.store, server.now());
    snapshot::write(store, now, 3, &mut bytes).expect("memory takes it");
    let (_, mut records) = snapshot::decode(&bytes).expect("it was just written");
    let gone = GONE.map(|bytes| codec::decode(&mut Input::new(bytes)).expect("a record"));
    records.extend(gone);
    records
}

fn encoded(record: &Record) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(record, &mut bytes);
    bytes
}

/// True if the bytes are read as a record.
fn check(bytes: &[u8]) -> bool {
    let Ok(record) = codec::decode(&mut Input::new(bytes)) else {
        return false;
    };
    let again = encoded(&record);
    assert!(
        bytes.starts_with(&again),
        "{bytes:?} was read as {record:?}, which is {again:?}"
    );
    let mut input = Input::new(&again);
    assert_eq!(codec::decode(&mut input), Ok(record));
    assert!(input.is_empty(), "something of {bytes:?} was passed over");
    true
}

#[test]
fn whatever_is_read_as_a_record_is_the_one_encoding_of_it() {
    let records = records();
    let kinds = records.iter().map(discriminant).collect::<HashSet<_>>();
    assert_eq!(kinds.len(), 7, "there is one of each kind");
    let (mut tried, mut read) = (0_u32, 0_u32);
    for record in &records {
        let bytes = encoded(record);
        assert!(check(&bytes));
        let mut changed = bytes.clone();
        let mut try_it = |bytes: &[u8]| {
            tried += 1;
            read += u32::from(check(bytes));
        };
        for at in 0..bytes.len() {
            for byte in 0..=255 {
                changed[at] = byte;
                try_it(&changed);
                // With the byte behind it, which may be its length or its last part.
                if let Some(&next) = bytes.get(at + 1) {
                    for other in [0, next ^ 1, next ^ 0x80, 0xff] {
                        changed[at + 1] = other;
                        try_it(&changed);
                    }
                    changed[at + 1] = next;
                }
            }
            changed[at] = bytes[at];
            let (head, tail) = bytes.split_at(at);
            try_it(&[head, &tail[1..]].concat());
            for byte in [0, 1, 0x80] {
                try_it(&[head, &[byte], tail].concat());
            }
        }
    }
    assert!(read > tried / 20, "{read} of {tried} were read");
}
