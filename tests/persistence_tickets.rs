//! A save of many tickets beside commands that use them. Prints what it took: `cargo test --release --test
//! persistence_tickets -- --nocapture` for figures that mean something.

use bytes::BytesMut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tollgate::clock::Clock;
use tollgate::core::units::Timestamp;
use tollgate::engine::Engine;
use tollgate::persistence::disk::Machine;
use tollgate::persistence::snapshot::{RECORDS_AT_A_TIME, load, save};
use tollgate::session::Session;
use tollgate::settings::{Initial, Settings};
use tollgate::store::Store;

const TICKETS: u64 = if cfg!(debug_assertions) {
    100_000
} else {
    1_000_000
};
const KEYS: u64 = TICKETS / 1_000;

#[expect(
    clippy::disallowed_methods,
    reason = "measures, and tests nothing by it"
)]
fn stopwatch() -> Instant {
    Instant::now()
}

fn session(engine: &Arc<Engine>) -> Session {
    let (peer, local) = ("127.0.0.1:50000".to_owned(), "127.0.0.1:6379".to_owned());
    let now = engine.shared.clock.now();
    let clients = &engine.shared.clients;
    let client = clients.register(peer, local, now, Box::new(|| {}));
    Session::new(engine.clone(), client)
}

fn send(session: &mut Session, requests: &str) -> Vec<u8> {
    let mut output = Vec::new();
    session.receive(&mut BytesMut::from(requests.as_bytes()), &mut output);
    output
}

/// Confirms one ticket after the other; the longest that one call took, and how many there were.
fn confirm_until(
    engine: &Arc<Engine>,
    first: u64,
    goes_on: impl Fn(u64) -> bool,
) -> (Duration, u64) {
    let mut session = session(engine);
    let (mut longest, mut calls) = (Duration::ZERO, 0);
    while goes_on(calls) {
        // Any step that shares no divisor with the number of tickets visits them all.
        let index = calls * 7_919 % TICKETS;
        let request = format!("RL.CONFIRM k{} {}\r\n", index % KEYS, first + index);
        let watch = stopwatch();
        let reply = send(&mut session, &request);
        longest = longest.max(watch.elapsed());
        assert_eq!(reply, b":0\r\n", "{request}");
        calls += 1;
    }
    (longest, calls)
}

/// How long a save holds the lock of the tickets at a time, on average and at most: it takes them out as
/// this does.
fn holds(store: &Store, now: Timestamp) -> (Duration, Duration) {
    let (mut longest, mut all, mut count, mut after) = (Duration::ZERO, Duration::ZERO, 0, 0);
    loop {
        let watch = stopwatch();
        let tickets = store.records.tickets_after(after, RECORDS_AT_A_TIME, now);
        let hold = watch.elapsed();
        (longest, all, count) = (longest.max(hold), all + hold, count + 1);
        match tickets.last() {
            Some((_, last, _)) => after = *last,
            None => return (all / count, longest),
        }
    }
}

#[test]
fn a_save_of_many_tickets_holds_up_no_confirm() {
    let settings = Settings::new(Initial::default());
    let engine = Arc::new(Engine::new(Clock::manual(Timestamp::ZERO), settings));
    let store = &engine.shared.store;
    let first = store.records.last_number() + 1;
    let mut asks = session(&engine);
    for index in 0..TICKETS {
        let reply = send(
            &mut asks,
            &format!("RL.TAKE k{} 1000000 100/m TICKET 1h\r\n", index % KEYS),
        );
        assert!(reply.starts_with(b"*6\r\n:0\r\n"));
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("snapshot");

    // The quietest the machine gets, to tell a stall by the save from one by the machine.
    let (idle_stall, _) = confirm_until(&engine, first, |calls| calls < 200_000);

    let (mean_hold, hold) = holds(store, engine.shared.clock.now());
    let (done, begun) = (AtomicBool::new(false), AtomicU64::new(0));
    let (saved, took, confirms) = std::thread::scope(|scope| {
        let (engine, done, begun) = (&engine, &done, &begun);
        let confirms = scope.spawn(move || {
            begun.fetch_add(1, Ordering::Release);
            confirm_until(engine, first, |_| !done.load(Ordering::Acquire))
        });
        while begun.load(Ordering::Acquire) == 0 {
            std::thread::yield_now();
        }
        let watch = stopwatch();
        let saved = save(&Machine, store, engine.shared.clock.now(), &path, 1, || {
            Ok(())
        })
        .expect("the directory is there");
        let took = watch.elapsed();
        done.store(true, Ordering::Release);
        (saved, took, confirms.join().expect("it confirms"))
    });

    let other = Store::new();
    let watch = stopwatch();
    load(&Machine, &other, &path)
        .expect("it is whole")
        .expect("it is there");
    let load_took = watch.elapsed();
    assert_eq!(other.records.counts(), (TICKETS as usize, 0));
    assert_eq!(
        other.records.last_number(),
        first + TICKETS - 1,
        "the next number is a new one"
    );
    println!(
        "{TICKETS} tickets of {KEYS} keys, {} bytes: saved in {took:?}, loaded in {load_took:?}; their lock held for {mean_hold:?}, {hold:?} at most; longest CONFIRM {:?} in {} beside the save, {idle_stall:?} without",
        saved.bytes, confirms.0, confirms.1,
    );
}
