//! A journal that is written beside calls: what a crash would leave at any moment holds together.
//!
//! The clock stands still, so nothing refills, and what a key owes is the sum of what was granted and not given back.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

use bytes::BytesMut;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tollgate::clock::Clock;
use tollgate::core::entry::Entry;
use tollgate::core::units::Timestamp;
use tollgate::engine::Engine;
use tollgate::persistence::disk::Machine;
use tollgate::persistence::journal::Flushing;
use tollgate::persistence::{Keeper, Keeping};
use tollgate::session::Session;
use tollgate::settings::Settings;
use tollgate::store::{Key, Store, Ticket, Value};

const LIMIT: &str = "1000000 1";
const KEYS: u64 = 8;
const ROUNDS: usize = 40;

struct Client(Session);

impl Client {
    fn new(engine: &Arc<Engine>) -> Self {
        let (peer, local) = ("127.0.0.1:50001".to_owned(), "127.0.0.1:6379".to_owned());
        let (clients, now) = (&engine.shared.clients, engine.shared.clock.now());
        let client = clients.register(peer, local, now, Box::new(|| {}));
        Self(Session::new(engine.clone(), client))
    }

    fn call(&mut self, line: &str) -> String {
        let mut output = Vec::new();
        let mut input = BytesMut::from(format!("{line}\r\n").as_bytes());
        self.0.receive(&mut input, &mut output);
        let text = String::from_utf8(output).unwrap();
        assert!(!text.starts_with('-'), "{line}: {text}");
        text
    }
}

/// Numbers that look drawn, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % end
    }
}

/// Takes and gives back, on one key and on two.
fn take_and_cancel(engine: &Arc<Engine>, seed: u64, done: &AtomicBool) {
    let (mut client, mut numbers) = (Client::new(engine), Numbers(seed));
    let mut tickets: Vec<(u64, String)> = Vec::new();
    let mut count = 0;
    while !done.load(Relaxed) {
        let (first, cost) = (numbers.below(KEYS), 1 + numbers.below(3));
        if numbers.below(2) == 0 && !tickets.is_empty() {
            let index = numbers.below(tickets.len() as u64) as usize;
            let (key, ticket) = tickets.swap_remove(index);
            client.call(&format!("RL.CANCEL k{key} {ticket}"));
            continue;
        }
        let more = match numbers.below(3) {
            0 => format!(" AND k{} {LIMIT}", (first + 1) % KEYS),
            1 => format!(" ID {seed}-{count}"),
            _ => String::new(),
        };
        count += 1;
        let reply = client.call(&format!(
            "RL.RESERVE k{first} {LIMIT} 0 COST {cost}{more} TICKET"
        ));
        let ticket = reply.trim_end().rsplit(':').next().unwrap().to_owned();
        tickets.push((first, ticket));
    }
}

/// Gives a value one new name after the other, among many keys that change.
fn rename(engine: &Arc<Engine>, done: &AtomicBool) {
    let mut client = Client::new(engine);
    let many: String = (0..500).map(|key| format!(" filler{key} x")).collect();
    let (mut at, mut renamed) = (0, 0);
    while !done.load(Relaxed) {
        renamed += 1;
        if renamed % 200 == 0 {
            client.call(&format!("MSET{many}"));
        }
        let next = (at + 1) % 5;
        client.call(&format!("RENAME token{at} token{next}"));
        at = next;
    }
}

/// Fills another database and empties it.
fn fill_and_empty(engine: &Arc<Engine>, done: &AtomicBool) {
    let (mut client, mut numbers) = (Client::new(engine), Numbers(5));
    client.call("SELECT 1");
    while !done.load(Relaxed) {
        match numbers.below(60) {
            0 => client.call("FLUSHDB"),
            1 => client.call("RL.POLICY SET p 5 1"),
            2 => client.call("RL.POLICY DEL p"),
            key => client.call(&format!("RL.RESERVE f{key} {LIMIT} 0 TICKET")),
        };
    }
}

/// What a store is, kept in `path`, after a crash.
fn recover(path: &Path) -> Store {
    let store = Store::new();
    let keeping = Keeping {
        saves: false,
        journal: false,
        salt: 0,
    };
    Keeper::open(Arc::new(Machine), path, keeping, &store)
        .unwrap_or_else(|error| panic!("{error}"));
    store
}

type Keys = BTreeMap<(u8, Key), Value>;

fn keys(store: &Store) -> Keys {
    let mut keys = Keys::new();
    for (database, shard) in
        (0..2).flat_map(|database| (0..store.shards()).map(move |s| (database, s)))
    {
        store.for_each_in(database, shard, |key, value| {
            keys.insert((database, key.clone()), value.clone());
        });
    }
    keys
}

fn tickets(store: &Store, now: Timestamp) -> Vec<(u8, u64, Ticket)> {
    store.records.tickets_after(0, usize::MAX, now)
}

/// No ticket is there whose cost its key does not owe, and the value with many names has one.
fn check(store: &Store, now: Timestamp) {
    let mut promised: BTreeMap<(u8, Key), u64> = BTreeMap::new();
    for (database, _, ticket) in tickets(store, now) {
        for part in &ticket.parts {
            *promised.entry((database, part.key.clone())).or_default() += part.costs[0];
        }
    }
    for ((database, key), promised) in promised {
        let used = |value: Option<&Value>| {
            let usage = |entry: &Entry| entry.usage(now).map(|usage| usage.limits[0].used);
            value
                .and_then(|value| usage(value.limit().unwrap()))
                .unwrap_or(0)
        };
        let used = store.read(database, key.as_bytes(), now, used);
        assert!(
            used >= promised,
            "{database} {key:?}: {used} used, {promised} in tickets"
        );
    }
    let tokens = (0..5).filter(|at| {
        let name = format!("token{at}");
        store.read(0, name.as_bytes(), now, |value| value.is_some())
    });
    assert!((1..=2).contains(&tokens.count()));
}

/// Has the callers end, also when the test fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn what_a_crash_leaves_at_any_moment_holds_together() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let store = Store::new();
    let keeping = Keeping {
        saves: true,
        journal: true,
        salt: 7,
    };
    let (keeper, _) = Keeper::open(Arc::new(Machine), &path, keeping, &store).unwrap();
    let engine = Engine::with_store(Clock::manual(Timestamp::ZERO), Settings::default(), store);
    let engine = Arc::new(engine);
    let (store, at) = (&engine.shared.store, engine.shared.clock.now());
    let now = || at;
    keeper.begin(store, &now).unwrap();
    Client::new(&engine).call("SET token0 x");
    let journal = keeper.journal().unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _ends = Ends(&done);
        for seed in 1..3 {
            let (engine, done) = (&engine, &done);
            scope.spawn(move || take_and_cancel(engine, seed, done));
        }
        scope.spawn(|| rename(&engine, &done));
        scope.spawn(|| fill_and_empty(&engine, &done));
        for round in 0..ROUNDS {
            if round % 10 == 9 {
                keeper.save(store, &now).unwrap();
            } else {
                journal.flush(store, &now, Flushing::Never, false).unwrap();
            }
            check(&recover(&path), at);
        }
    });
    journal.flush(store, &now, Flushing::Never, false).unwrap();
    let recovered = recover(&path);
    check(&recovered, at);
    assert!(keys(&recovered) == keys(store));
    assert!(tickets(&recovered, at) == tickets(store, at));
    assert_eq!(recovered.policies.names(), store.policies.names());
}
