//! What is counted of memory is what the allocator has handed out, whatever has happened to keys.
//!
//! One test in a process of its own: the count is of the whole process.
#![cfg(all(target_os = "linux", target_env = "gnu"))]
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

use bytes::BytesMut;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::sync::Arc;
use tollgate::clients::Client;
use tollgate::clock::Clock;
use tollgate::core::units::Timestamp;
use tollgate::engine::Engine;
use tollgate::memory::{Counting, allocated_bytes};
use tollgate::session::Session;
use tollgate::settings::{Initial, Settings};
use tollgate::store::Sweep;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Freed blocks that the allocator keeps at hand for each thread and calls used: up to seven of each of 64 sizes.
const KEPT_BYTES: usize = 240 * 1024;

/// What the allocator says it has handed out. Tables that are mapped beside it are not in it.
fn handed_out() -> usize {
    // SAFETY: it only counts.
    let info = unsafe { libc::mallinfo2() };
    info.uordblks + info.hblkhd
}

struct Server {
    engine: Arc<Engine>,
    client: Arc<Client>,
    session: Session,
    sweep: Sweep,
    output: Vec<u8>,
}

impl Server {
    fn new() -> Self {
        let settings = Settings::new(Initial::default());
        let engine = Arc::new(Engine::new(Clock::manual(Timestamp::ZERO), settings));
        let now = engine.shared.clock.now();
        let clients = &engine.shared.clients;
        let client = clients.register("a".into(), "b".into(), now, Box::new(|| {}));
        Self {
            session: Session::new(engine.clone(), client.clone()),
            client,
            engine,
            sweep: Sweep::default(),
            output: Vec::with_capacity(1 << 16),
        }
    }

    fn call(&mut self, line: &str) {
        let mut input = BytesMut::from(format!("{line}\r\n").as_bytes());
        self.session.receive(&mut input, &mut self.output);
        self.output.clear();
        self.engine.fire();
        self.client.take_messages(&mut self.output);
        self.sweep = self.engine.sweep(self.sweep, 50);
    }

    fn table_bytes(&self) -> usize {
        let store = &self.engine.shared.store;
        (0..16).map(|database| store.table_bytes(database)).sum()
    }
}

/// One request on one of some thousand keys, by what it does to memory.
fn request() -> impl Strategy<Value = String> {
    let key = (0..3_000_u32, 0..3_usize).prop_map(|(key, long)| {
        let tail = ["", "-of-a-name-that-is-allocated", "-x"][long];
        format!("k{key}{tail}")
    });
    let text = (1..300_usize).prop_map(|length| "x".repeat(length));
    let call = (0..24_u32, 1..100_000_u32, text);
    (key, call).prop_map(|(key, (kind, number, text))| match kind {
        0 => format!("RL.TAKE b:{key} 100 1/h"),
        1 => format!("RL.TAKE b:{key} 100 1/h TICKET"),
        2 => format!("RL.TAKE b:{key} 100 1/h ID {number}"),
        3 => format!("RL.RESERVE b:{key} 100 1/h 100h COST 90 AND c:{key} 7 7/m"),
        4 => format!("RL.TAKE w:{key} WINDOW 100 1h"),
        5 => format!("RL.RESERVE w:{key} WINDOW 100 1h 100h COST 60"),
        6 => format!("RL.TAKE s:{key} SLIDING 100 1h"),
        7 | 8 => format!("RL.TAKE l:{key} LOG 1000 1h"),
        9 => format!(
            "RL.LEASE leased:{key} 10 1h OWNER {}",
            &text[..text.len().min(60)]
        ),
        10 => format!("RL.PAUSE b:{key} 10s SLOW 0.5 1h"),
        11 => format!("RL.CANCEL b:{key} {number}"),
        12 => format!("SET t:{key} {text}"),
        13 => format!("SET t:{key} {text} PX {number}"),
        14 => format!("HSET h:{key} {number} {text}"),
        15 => format!("RPUSH r:{key} {text} {text}"),
        16 => format!("ZADD z:{key} {number} {text}"),
        17 => format!("DEL b:{key} l:{key} t:{key} h:{key} r:{key} z:{key}"),
        18 => format!("RL.POLICY SET p{} 10 1 AND 100 1/m", number % 50),
        19 => format!("SUBSCRIBE c{number}"),
        20 => "UNSUBSCRIBE".to_owned(),
        21 => format!("RENAME t:{key} t:{number}"),
        22 => format!("DEBUG CLOCK ADVANCE {}ms", number % 2_000),
        _ => format!("RL.CHARGE g:{key} GCRA 10 5 60s {}", number % 10 + 1),
    })
}

#[test]
fn the_count_is_what_the_allocator_has_handed_out() {
    let mut runner = TestRunner::deterministic();
    let requests = proptest::collection::vec(request(), 12_000);
    let requests = requests.new_tree(&mut runner).unwrap().current();
    let (counted_before, handed_out_before) = (allocated_bytes(), handed_out());
    let mut server = Server::new();
    for chunk in requests.chunks(2_000) {
        for request in chunk {
            // Subscribed, only that is let through in RESP2.
            server.call(request);
            if request.starts_with("SUBSCRIBE") {
                server.call("UNSUBSCRIBE");
            }
        }
        let counted = allocated_bytes() - counted_before;
        let handed_out = handed_out() - handed_out_before;
        let tables = server.table_bytes();
        // Tables of 4 KiB and more are mapped; here there are such in the first database only, or none.
        assert!(
            counted + KEPT_BYTES >= handed_out && counted <= handed_out + tables + KEPT_BYTES,
            "{counted} counted, {handed_out} handed out, {tables} of tables"
        );
    }
    let store = &server.engine.shared.store;
    let mut named = 0;
    for shard in 0..store.shards() {
        store.for_each_in(0, shard, |_, value| named += value.heap_bytes());
    }
    let counted = allocated_bytes() - counted_before;
    assert!(
        counted > 2 << 20,
        "{counted}: the history makes some megabytes"
    );
    assert!(
        named + server.table_bytes() <= counted,
        "what MEMORY USAGE tells of all keys is a part of it"
    );
    assert!(store.len(0) > 1_000 && store.records.any());
    drop(server);
    let left = allocated_bytes() - counted_before;
    assert!(left < 64 * 1024, "{left} bytes are left of nothing");
}
