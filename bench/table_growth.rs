//! What a call costs while the tables grow, and what a key does: `cargo bench --bench table_growth`. `KEYS` is how many, a
//! million unless given.
#![allow(clippy::unwrap_used, reason = "nobody is served who could be let down")]

use tollgate::core::entry::Entry;
use tollgate::core::limit::{BucketLimit, Keeps, Limit, Rate};
use tollgate::core::units::{DAY, Timestamp};
use tollgate::store::Store;

/// Nanoseconds that this thread has run, as the processor counts them: what else the machine does is left out.
fn ran_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: it writes to `time` and nothing else.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    let kib = line.split_ascii_whitespace().nth(1).unwrap();
    kib.parse::<usize>().unwrap() * 1024
}

fn now() -> Timestamp {
    Timestamp::from_ns(20_000 * DAY).unwrap()
}

fn take(entry: &mut Entry, limit: &Limit) {
    let mut draft = entry.draft(limit, now()).unwrap();
    assert!(draft.earliest(1).is_now());
    draft.book(1).unwrap();
    draft.commit();
}

/// Calls each key once; prints the mean of what a call took, the longest, and the one that the table of every shard
/// grew in at the last: of the longest as many as there are shards, the middle one.
fn calls(store: &Store, keys: u32, what: &str) {
    let rate = Rate::parse(b"80").unwrap();
    let limit = Limit::Bucket(BucketLimit::new(80, rate, Keeps::Permits).unwrap());
    let mut took = vec![0; keys as usize];
    let begin = ran_ns();
    let mut before = begin;
    for key in 0..keys {
        // Names in no order, of 14 bytes.
        let name = format!("rl:{:011}", key.wrapping_mul(0x9e37_79b1));
        store
            .with_limit(0, name.as_bytes(), now(), |entry| take(entry, &limit))
            .unwrap();
        let after = ran_ns();
        took[key as usize] = (after - before) as u32;
        before = after;
    }
    let mean = (before - begin) / u64::from(keys);
    took.sort_unstable_by(|a, b| b.cmp(a));
    let (longest, growth) = (took[0] / 1000, took[store.shards() / 2] / 1000);
    println!(
        "{keys} {what} keys: {mean} ns each, {longest} us the longest, {growth} us that of rank {}",
        store.shards() / 2
    );
}

fn main() {
    let keys = std::env::var("KEYS").map_or(1_000_000, |keys| keys.parse().unwrap());
    let (store, empty) = (Store::new(), resident_bytes());
    calls(&store, keys, "new");
    let bytes = (resident_bytes() - empty) as f64 / f64::from(keys);
    println!("{bytes:.1} bytes a key");
    calls(&store, keys, "old");
}
