//! A save of many keys beside commands. Prints what it took: `cargo test --release --test
//! persistence_large -- --nocapture` for figures that mean something.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tollgate::core::entry::Entry;
use tollgate::core::limit::{BucketLimit, Keeps, Limit, Rate};
use tollgate::core::units::{SECOND, Timestamp};
use tollgate::persistence::disk::Machine;
use tollgate::persistence::snapshot::{load, save};
use tollgate::store::Store;

const KEYS: u64 = if cfg!(debug_assertions) {
    100_000
} else {
    1_000_000
};
const CAPACITY: u64 = 1_000_000;

#[expect(
    clippy::disallowed_methods,
    reason = "measures, and tests nothing by it"
)]
fn stopwatch() -> Instant {
    Instant::now()
}

fn name(index: u64) -> Vec<u8> {
    format!("account:{index}").into_bytes()
}

fn take_one(entry: &mut Entry, now: Timestamp) {
    let rate = Rate::parse(b"100/m").expect("a rate");
    let limit = Limit::Bucket(BucketLimit::new(CAPACITY, rate, Keeps::Permits).expect("a limit"));
    let mut draft = entry.draft(&limit, now).expect("the same limit");
    draft.book(1).expect("the capacity is far");
    draft.commit();
}

fn used(store: &Store, index: u64, now: Timestamp) -> u64 {
    store.read(0, &name(index), now, |entry| {
        entry
            .and_then(|value| value.limit().expect("no plain value").usage(now))
            .map_or(0, |usage| usage.limits[0].used)
    })
}

#[test]
fn a_save_beside_commands_is_consistent_for_every_key() {
    let now = Timestamp::from_ns(1_700_000_000 * SECOND).expect("in range");
    let store = Store::new();
    for index in 0..KEYS {
        store
            .with_limit(0, &name(index), now, |entry| take_one(entry, now))
            .expect("no plain value");
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("snapshot");

    // The quietest the machine gets, to tell a stall by the save from one by the machine.
    let (idle_stall, _) = call_until(&store, now, 7, |calls| calls < 500_000);

    let done = AtomicBool::new(false);
    let begun = AtomicU64::new(0);
    let (saved, took, callers) = std::thread::scope(|scope| {
        let (store, done, begun) = (&store, &done, &begun);
        let caller = |seed| {
            scope.spawn(move || {
                begun.fetch_add(1, Ordering::Release);
                call_until(store, now, seed, |_| !done.load(Ordering::Acquire))
            })
        };
        let callers = [caller(1), caller(2)];
        while begun.load(Ordering::Acquire) < 2 {
            std::thread::yield_now();
        }
        let watch = stopwatch();
        let saved =
            save(&Machine, store, now, &path, 1, || Ok(())).expect("the directory is there");
        let took = watch.elapsed();
        done.store(true, Ordering::Release);
        (
            saved,
            took,
            callers.map(|caller| caller.join().expect("a caller")),
        )
    });
    assert_eq!(saved.keys, KEYS);

    let other = Store::new();
    let watch = stopwatch();
    let loaded = load(&Machine, &other, &path)
        .expect("it is whole")
        .expect("it is there");
    let load_took = watch.elapsed();
    assert_eq!(
        (loaded.keys, loaded.bytes, other.len(0) as u64),
        (KEYS, saved.bytes, KEYS)
    );
    for index in 0..KEYS {
        // Each key as it was at some instant of the save: no less than before it, no more than after.
        let kept = used(&other, index, now);
        assert!((1..=used(&store, index, now)).contains(&kept), "{index}");
    }
    println!(
        "{KEYS} keys, {} bytes: saved in {took:?}, loaded in {load_took:?}; longest call {:?} and {:?} in {} calls beside the save, {idle_stall:?} without",
        saved.bytes,
        callers[0].0,
        callers[1].0,
        callers[0].1 + callers[1].1,
    );
}

/// Calls one key after the other; the longest that one call took, and how many there were.
fn call_until(
    store: &Store,
    now: Timestamp,
    seed: u64,
    goes_on: impl Fn(u64) -> bool,
) -> (Duration, u64) {
    let (mut longest, mut calls, mut index) = (Duration::ZERO, 0, seed);
    while goes_on(calls) {
        index = index
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let key = name((index >> 33) % KEYS);
        let watch = stopwatch();
        store
            .with_limit(0, &key, now, |entry| take_one(entry, now))
            .expect("no plain value");
        longest = longest.max(watch.elapsed());
        calls += 1;
    }
    (longest, calls)
}
