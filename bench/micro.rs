//! What the parts of a call cost, without sockets: `cargo bench`. One part a group; `session` is all of them together.
#![allow(missing_docs, reason = "criterion's macro writes a function")]

use std::hint::black_box;
use std::sync::Arc;

use bytes::BytesMut;
use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use tollgate::clock::Clock;
use tollgate::core::decision::Earliest;
use tollgate::core::entry::Entry;
use tollgate::core::limit::{BucketLimit, Keeps, Limit, Rate};
use tollgate::core::units::{MICROSECOND, Timestamp};
use tollgate::engine::Engine;
use tollgate::protocol::{Protocol, Reply, RequestLimits, Scan, Scanner};
use tollgate::session::Session;
use tollgate::settings::{Initial, Settings};
use tollgate::store::Store;

/// Keys of the table: more than the processor's second cache holds.
const KEYS: u64 = 100_000;
/// Key numbers are drawn by steps of this, which has no divisor in common with their number.
const STEP: u64 = 61_803;

const COMMANDS: [(&str, &[&str]); 4] = [
    ("RL.RESERVE", &["RL.RESERVE", "KEY", "80", "80", "30000"]),
    ("RL.TAKE", &["RL.TAKE", "KEY", "80", "80"]),
    ("CL.THROTTLE", &["CL.THROTTLE", "KEY", "79", "80", "1"]),
    ("GET", &["GET", "absent:KEY"]),
];

fn key(number: u64) -> String {
    format!("key:{number:010}")
}

/// A request, its `KEY` replaced.
fn request(words: &[&str], number: u64) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len());
    for word in words {
        let word = word.replace("KEY", &key(number));
        bytes += &format!("${}\r\n{word}\r\n", word.len());
    }
    bytes.into_bytes()
}

/// Key numbers, spread over the table.
fn numbers() -> impl FnMut() -> u64 {
    let mut number = 0;
    move || {
        number = (number + STEP) % KEYS;
        number
    }
}

fn bucket() -> Limit {
    let rate = Rate::parse(b"80").expect("is a rate");
    let bucket = BucketLimit::new(80, rate, Keeps::Permits).expect("is a limit");
    Limit::Bucket(bucket)
}

/// Books one permit if it may go now.
fn decide(entry: &mut Entry, limit: &Limit, now: Timestamp) -> Earliest {
    let mut draft = entry.draft(limit, now).expect("all are buckets");
    let earliest = draft.earliest(1);
    if draft.book(1).is_ok() {
        draft.commit();
    }
    earliest
}

fn scanner(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scanner");
    for pipeline in [1, 16] {
        let one = request(COMMANDS[0].1, 7);
        let input = one.repeat(pipeline);
        group.throughput(Throughput::Elements(pipeline as u64));
        group.bench_function(format!("RL.RESERVE, {pipeline}"), |bencher| {
            let mut scanner = Scanner::new();
            bencher.iter(|| {
                let mut rest = black_box(&input[..]);
                while let Ok(Scan::Request {
                    arguments,
                    consumed,
                }) = scanner.scan(rest, &RequestLimits::AUTHENTICATED)
                {
                    black_box(arguments.get(1));
                    rest = &rest[consumed..];
                }
                assert!(rest.is_empty());
            });
        });
    }
}

fn decision(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decision");
    let (mut entry, limit) = (Entry::default(), bucket());
    let mut now = Clock::manual(Timestamp::ZERO).now();
    group.bench_function("a bucket, one key", |bencher| {
        bencher.iter(|| {
            now = now.after_ns(MICROSECOND);
            black_box(decide(&mut entry, black_box(&limit), now))
        });
    });
}

fn store(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("store");
    let (store, limit) = (Store::new(), bucket());
    let mut now = Clock::manual(Timestamp::ZERO).now();
    let (keys, mut number) = ((0..KEYS).map(key).collect::<Vec<_>>(), numbers());
    group.bench_function("a bucket, 100,000 keys", |bencher| {
        bencher.iter(|| {
            now = now.after_ns(MICROSECOND);
            let key = keys[number() as usize].as_bytes();
            store.with_limit(0, key, now, |entry| decide(entry, &limit, now))
        });
    });
}

fn reply(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("reply");
    let mut output = Vec::with_capacity(1 << 10);
    group.bench_function("an integer", |bencher| {
        bencher.iter(|| {
            output.clear();
            Reply::new(&mut output, Protocol::Resp2).integer(black_box(0));
            output.len()
        });
    });
    group.bench_function("five integers", |bencher| {
        bencher.iter(|| {
            output.clear();
            Reply::new(&mut output, Protocol::Resp2).integers(black_box(&[0, 80, 79, -1, 13]));
            output.len()
        });
    });
}

fn session(criterion: &mut Criterion) {
    let engine = Arc::new(Engine::new(
        Clock::system(Timestamp::ZERO),
        Settings::new(Initial::default()),
    ));
    let shared = &engine.shared;
    let client = shared.clients.register(
        String::new(),
        String::new(),
        shared.clock.now(),
        Box::new(|| {}),
    );
    let mut session = Session::new(engine.clone(), client);
    let mut group = criterion.benchmark_group("session");
    let mut output = Vec::with_capacity(1 << 16);
    for (name, words) in COMMANDS {
        for pipeline in [1, 16] {
            let mut number = numbers();
            group.throughput(Throughput::Elements(pipeline));
            group.bench_function(format!("{name}, {pipeline}"), |bencher| {
                let input = || {
                    let requests = (0..pipeline).map(|_| request(words, number()));
                    BytesMut::from(&requests.collect::<Vec<_>>().concat()[..])
                };
                bencher.iter_batched_ref(
                    input,
                    |input| {
                        output.clear();
                        session.receive(input, &mut output)
                    },
                    BatchSize::SmallInput,
                );
            });
        }
    }
}

criterion_group!(micro, scanner, decision, store, reply, session);
criterion_main!(micro);
