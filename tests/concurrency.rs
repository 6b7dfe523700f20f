//! Many threads on the same keys: nothing is granted twice, nothing is lost, nothing locks up.
//!
//! The clock is frozen, so that the exact sum of what is granted is known. A watchdog fails a test
//! that hangs, which nothing else would.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;
use tollgate::core::entry::Entry;
use tollgate::core::limit::{BucketLimit, Keeps, Limit, Rate};
use tollgate::core::units::{SECOND, Timestamp};
use tollgate::plain::{Data, Plain, Text, counter};
use tollgate::store::{Key, Store, Sweep};

const THREADS: usize = 64;

/// The instant at which the clock stands.
fn now() -> Timestamp {
    Timestamp::from_ns(1_700_000_000 * SECOND).unwrap()
}

fn limit(capacity: u64) -> Limit {
    let rate = Rate::parse(b"1").unwrap();
    Limit::Bucket(BucketLimit::new(capacity, rate, Keeps::Permits).unwrap())
}

fn take(entry: &mut Entry, limit: &Limit) -> bool {
    take_all(&mut [entry], limit)
}

/// One permit of each entry, or none of any.
fn take_all(entries: &mut [&mut Entry], limit: &Limit) -> bool {
    let draft = |entry| Entry::draft(entry, limit, now()).unwrap();
    let entries = entries.iter_mut().map(|entry| &mut **entry);
    let mut drafts: Vec<_> = entries.map(draft).collect();
    let goes = drafts.iter().all(|draft| draft.earliest(1).is_now());
    if goes {
        for mut draft in drafts.drain(..) {
            draft.book(1).unwrap();
            draft.commit();
        }
    }
    goes
}

fn remaining(store: &Store, key: &[u8], limit: &Limit) -> u64 {
    store
        .with_limit(0, key, now(), |entry| {
            entry.draft(limit, now()).unwrap().standing().remaining
        })
        .unwrap()
}

/// Fails, instead of hanging, if `test` never ends. The time is a bound on despair, not on speed.
fn under_watchdog(test: impl FnOnce() + Send + 'static) {
    let (done, ended) = mpsc::channel();
    let tester = thread::spawn(move || {
        test();
        done.send(()).unwrap();
    });
    match ended.recv_timeout(Duration::from_secs(120)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("the threads have locked each other up"),
        // A panic in the test drops the channel; its message comes with the join.
        _ => tester.join().unwrap(),
    }
}

/// Runs `work` on as many threads as are given, all let go at once; the sum of what they return.
fn together(threads: usize, work: impl Fn(usize) -> u64 + Sync) -> u64 {
    let gate = Barrier::new(threads);
    thread::scope(|scope| {
        let (gate, work) = (&gate, &work);
        let run = |thread| {
            scope.spawn(move || {
                gate.wait();
                work(thread)
            })
        };
        let handles: Vec<_> = (0..threads).map(run).collect();
        handles
            .into_iter()
            .map(|handle| handle.join().unwrap())
            .sum()
    })
}

#[test]
fn one_key_grants_exactly_its_capacity() {
    under_watchdog(|| {
        for capacity in [1, 63, 1_000, 20_000] {
            let (store, limit) = (Store::new(), limit(capacity));
            let granted = together(THREADS, |_| {
                let mut granted = 0;
                // Each tries until it is refused, and could have had all of it.
                while store
                    .with_limit(0, b"k", now(), |entry| take(entry, &limit))
                    .unwrap()
                {
                    granted += 1;
                }
                granted
            });
            assert_eq!(granted, capacity);
            assert_eq!(remaining(&store, b"k", &limit), 0);
        }
    });
}

#[test]
fn no_step_of_a_counter_is_lost() {
    under_watchdog(|| {
        let store = Store::new();
        together(THREADS, |_| {
            for _ in 0..1_000 {
                let count = |slot: &mut Option<Plain>| counter::add(slot, 1).unwrap();
                store.with_plain(0, b"k", now(), count).unwrap();
            }
            0
        });
        let value = |slot: &mut Option<Plain>| counter::value::<i64>(slot);
        let value = store.with_plain(0, b"k", now(), value).unwrap();
        assert_eq!(value, Ok(THREADS as i64 * 1_000));
    });
}

/// Writers set all keys to one number, in any order of the keys; who reads them sees one number.
#[test]
fn several_values_are_read_and_written_at_one_instant() {
    under_watchdog(|| {
        let store = Store::new();
        let names: Vec<Vec<u8>> = (0..40).map(|name| vec![name]).collect();
        together(THREADS, |thread| {
            let mut keys: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
            keys.rotate_left(thread % names.len());
            for round in 0..200 {
                if thread % 2 == 0 {
                    let number = (thread * 1_000 + round) as i64;
                    let set = |slots: &mut [Option<Plain>]| {
                        for slot in slots {
                            *slot = Some(Plain::new(Data::Text(Text::from(number))));
                        }
                    };
                    store.with_plains(0, &keys, now(), set).unwrap();
                    continue;
                }
                let mut seen = Vec::new();
                store.read_many(0, &keys, now(), |value| {
                    let plain = value.and_then(|value| value.plain().unwrap());
                    seen.push(plain.map(|plain| plain.text().unwrap().as_integer().unwrap()));
                });
                assert!(seen.iter().all(|number| *number == seen[0]), "{seen:?}");
            }
            0
        });
    });
}

#[test]
fn two_keys_in_opposite_order_lock_nothing_up_and_lose_nothing() {
    under_watchdog(|| {
        let (store, limit) = (Store::new(), limit(10_000));
        let granted = together(THREADS, |thread| {
            let keys: [&[u8]; 2] = if thread % 2 == 0 {
                [b"a", b"b"]
            } else {
                [b"b", b"a"]
            };
            let mut granted = 0;
            while store
                .with_limits(0, &keys, now(), |entries| take_all(entries, &limit))
                .unwrap()
            {
                granted += 1;
            }
            granted
        });
        assert_eq!(granted, 10_000);
        assert_eq!(remaining(&store, b"a", &limit), 0);
        assert_eq!(remaining(&store, b"b", &limit), 0);
    });
}

#[test]
fn overlapping_sets_of_keys_are_charged_whole_or_not_at_all() {
    const KEYS: usize = 12;
    const CAPACITY: u64 = 4_000;
    under_watchdog(|| {
        let (store, limit) = (Store::new(), limit(CAPACITY));
        let charged: Vec<AtomicU64> = (0..KEYS).map(|_| AtomicU64::new(0)).collect();
        together(16, |thread| {
            for round in 0..2_000 {
                // Three different keys, in an order that depends on the thread.
                let first = (thread * 5 + round) % KEYS;
                let (step, turned) = (1 + thread % 3, thread % 2 == 1);
                let mut set = [first, (first + step) % KEYS, (first + 2 * step) % KEYS];
                if turned {
                    set.reverse();
                }
                let names = set.map(|key| [key as u8]);
                let names = [&names[0][..], &names[1], &names[2]];
                if store
                    .with_limits(0, &names, now(), |entries| take_all(entries, &limit))
                    .unwrap()
                {
                    for key in set {
                        charged[key].fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
            0
        });
        for (key, charged) in charged.iter().enumerate() {
            let charged = charged.load(Ordering::Relaxed);
            assert_eq!(remaining(&store, &[key as u8], &limit), CAPACITY - charged);
        }
    });
}

#[test]
fn readers_of_several_keys_never_see_half_a_call() {
    under_watchdog(|| {
        let (store, limit) = (Store::new(), limit(3_000));
        let seen = together(8, |thread| {
            let keys: [&[u8]; 2] = if thread % 2 == 0 {
                [b"a", b"b"]
            } else {
                [b"b", b"a"]
            };
            let mut rounds = 0;
            loop {
                let (even, went) = store
                    .with_limits(0, &keys, now(), |entries| {
                        (entries[0] == entries[1], take_all(entries, &limit))
                    })
                    .unwrap();
                assert!(even);
                rounds += 1;
                if !went {
                    return rounds;
                }
            }
        });
        assert_eq!(seen, 3_000 + 8);
    });
}

/// The keys of all pages.
fn pages(store: &Store) -> Vec<Key> {
    let (mut keys, mut cursor) = (Vec::new(), 0);
    loop {
        let page = store.page(0, cursor, 500, now(), |_| true);
        keys.extend(page.keys);
        cursor = page.next;
        if cursor == 0 {
            return keys;
        }
    }
}

#[test]
fn walks_of_all_kinds_go_on_beside_calls() {
    const LASTING: u32 = 3_000;
    under_watchdog(|| {
        let (store, limit) = (Arc::new(Store::new()), limit(10_000));
        let lasting = |key: &Key| key.as_bytes().starts_with(b"lasting:");
        let name = |key: u32| [b"lasting:", &key.to_le_bytes()[..]].concat();
        for key in 0..LASTING {
            assert!(
                store
                    .with_limit(0, &name(key), now(), |entry| take(entry, &limit))
                    .unwrap()
            );
        }
        let running = AtomicBool::new(true);
        let granted = thread::scope(|scope| {
            // Sweep, SCAN and snapshot, again and again until the calls are done.
            let walks = [
                scope.spawn(|| {
                    let mut sweep = Sweep::default();
                    while running.load(Ordering::Relaxed) || sweep.rounds == 0 {
                        sweep = store.sweep(sweep, 777, now());
                    }
                }),
                scope.spawn(|| {
                    let mut walked = false;
                    while running.load(Ordering::Relaxed) || !walked {
                        let mut found = pages(&store);
                        found.retain(lasting);
                        assert_eq!(found.len(), LASTING as usize);
                        found.sort();
                        found.dedup();
                        assert_eq!(found.len(), LASTING as usize);
                        walked = true;
                    }
                }),
                scope.spawn(|| {
                    let mut walked = false;
                    while running.load(Ordering::Relaxed) || !walked {
                        let mut found = 0;
                        for shard in 0..store.shards() {
                            store.for_each_in(0, shard, |key, _| found += u32::from(lasting(key)));
                        }
                        assert_eq!(found, LASTING);
                        walked = true;
                    }
                }),
            ];
            let granted = together(16, |thread| {
                let mut granted = 0;
                let mut passing = 0u32;
                let own = [b"own:", &[thread as u8][..]].concat();
                let mut keys: [&[u8]; 3] = [b"shared:a", b"shared:b", &own];
                keys.rotate_left(thread % 3);
                while store
                    .with_limits(0, &keys, now(), |entries| take_all(entries, &limit))
                    .unwrap()
                {
                    granted += 1;
                    // Keys that come and go, so that tables grow and shrink under the walks.
                    let key = (passing / 2).to_le_bytes();
                    let key = [b"passing:", &[thread as u8][..], &key].concat();
                    if passing.is_multiple_of(2) || passing % 64 > 32 {
                        assert!(
                            store
                                .with_limit(0, &key, now(), |entry| take(entry, &limit))
                                .unwrap()
                        );
                    } else {
                        store.remove(0, &key, now());
                    }
                    passing += 1;
                }
                granted
            });
            running.store(false, Ordering::Relaxed);
            walks.into_iter().for_each(|walk| walk.join().unwrap());
            granted
        });
        assert_eq!(granted, 10_000);
        let own_spent: u64 = (0..16u8)
            .map(|thread| 10_000 - remaining(&store, &[b"own:", &[thread][..]].concat(), &limit))
            .sum();
        assert_eq!(own_spent, 10_000);
    });
}
