//! The way of a request through a session, without sockets: pipelines of one command over many keys, driven by one
//! thread.
//!
//!     cargo bench --bench hotpath                           nanoseconds a call, case by case
//!     cargo bench --bench hotpath -- reserve 64 1000 5000   one case: pipeline, batches, keys
//!     cargo bench --bench hotpath -- reserve 64 1000 5000 still     the same way each time, for who counts instructions
//!
//!     cargo bench --bench hotpath -- counting               what it takes to count calls at their keys
//!
//! `bench/instructions` runs it under callgrind, by a clock that is moved by hand and with a hash that is not drawn: what a
//! call finds must not depend on how fast the machine is, nor on luck.

use ahash::RandomState;
use bytes::BytesMut;
use std::env;
use std::sync::Arc;
use tollgate::clock::Clock;
use tollgate::core::units::{MILLISECOND, SECOND, Span, Timestamp};
use tollgate::engine::Engine;
use tollgate::hot::ALL_COUNTED;
use tollgate::session::Session;
use tollgate::settings::{Initial, Settings};
use tollgate::store::{Store, Sweep};

/// Keys that are called, unless told otherwise. Nearly all of them are there when the measurement begins.
const KEYS: usize = 100_000;

/// The cases: a name, and the words of the request but for its key.
const CASES: [(&str, &str, &[&str]); 6] = [
    ("ping", "PING", &[]),
    ("get", "GET", &[]),
    ("reserve", "RL.RESERVE", &["80", "80", "30000"]),
    ("take", "RL.TAKE", &["80", "80"]),
    ("throttle", "CL.THROTTLE", &["79", "80", "1"]),
    ("policy", "RL.TAKE", &["POLICY", "bench"]),
];

/// How long a batch takes where the clock is moved by hand.
const BATCH_NS: u64 = 32_000;
/// One call in so many is counted at its key there: as under load.
const COUNTED_PERIOD: u64 = 64;

/// As in the server.
const SWEEP_PLACES: usize = 2_000;
const SWEEP_REST_NS: u64 = 100 * MILLISECOND;
/// How often it is looked whether it is time.
const BATCHES_A_SWEEP: usize = 64;

struct Bench {
    engine: Arc<Engine>,
    session: Session,
    input: BytesMut,
    output: Vec<u8>,
    sweep: Sweep,
    swept_at: Timestamp,
    said_ns: u64,
    said_calls: u64,
}

impl Bench {
    fn new(is_still: bool) -> Self {
        let settings = Settings::new(Initial::default());
        let engine = match is_still {
            false => Engine::new(Clock::system(Timestamp::ZERO), settings),
            true => {
                let store = Store::with_hasher(RandomState::with_seeds(1, 2, 3, 4));
                Engine::with_store(Clock::manual(Timestamp::ZERO), settings, store)
            }
        };
        let engine = Arc::new(engine);
        let now = engine.shared.clock.now();
        let clients = &engine.shared.clients;
        let client = clients.register(String::new(), String::new(), now, Box::new(|| {}));
        let mut bench = Self {
            session: Session::new(engine.clone(), client),
            engine,
            input: BytesMut::new(),
            output: Vec::new(),
            sweep: Sweep::default(),
            swept_at: Timestamp::ZERO,
            // Behind all that the sweep has said.
            said_ns: 1 << 62,
            said_calls: 1 << 40,
        };
        bench.receive(b"RL.POLICY SET bench 80 80 AND 4800 4800/m\r\n");
        bench
    }

    fn receive(&mut self, requests: &[u8]) {
        self.input.extend_from_slice(requests);
        self.session.receive(&mut self.input, &mut self.output);
        assert!(self.input.is_empty() && !self.output.starts_with(b"-"));
        self.output.clear();
    }

    /// As the server does it, ten times a second: it settles how many calls are counted at their keys.
    fn sweep(&mut self) {
        let now = self.engine.shared.clock.now();
        if now.since(self.swept_at) >= SWEEP_REST_NS {
            self.swept_at = now;
            self.sweep = self.engine.sweep(self.sweep, SWEEP_PLACES);
        }
    }

    /// Has one in `period` calls counted at its key, as if so many had come in a second more.
    fn count_one_in(&mut self, period: u64) {
        self.said_ns += SECOND;
        self.said_calls += period * ALL_COUNTED;
        let now = Timestamp::from_ns(self.said_ns).expect("before the last instant");
        let periods = &self.engine.shared.hot.periods;
        periods.follow(self.said_calls, self.said_calls, now);
    }

    /// Nanoseconds a call.
    fn run(&mut self, batches: &[Vec<u8>], count: usize) -> u64 {
        let began = self.engine.shared.clock.now();
        for (at, batch) in batches.iter().cycle().take(count).enumerate() {
            self.receive(batch);
            let clock = &self.engine.shared.clock;
            if clock.is_manual() {
                clock.advance(Span::from_ns(BATCH_NS).expect("a short span"));
            } else if at % BATCHES_A_SWEEP == 0 {
                self.sweep();
            }
        }
        self.engine.shared.clock.now().since(began)
    }
}

/// Batches of `pipeline` requests, on keys that differ each time (xorshift).
fn batches((_, name, words): (&str, &str, &[&str]), pipeline: usize, keys: usize) -> Vec<Vec<u8>> {
    let mut random = 0x9e37_79b9_7f4a_7c15u64;
    let mut key = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        format!("key:{:012}", random % keys as u64)
    };
    let mut batch = || {
        let mut requests = String::new();
        for _ in 0..pipeline {
            let key = (name != "PING").then(&mut key);
            let words = [name]
                .into_iter()
                .chain(key.as_deref())
                .chain(words.iter().copied());
            let words: Vec<&str> = words.collect();
            requests += &format!("*{}\r\n", words.len());
            words
                .iter()
                .for_each(|word| requests += &format!("${}\r\n{word}\r\n", word.len()));
        }
        requests.into_bytes()
    };
    (0..(2 * keys).div_ceil(pipeline))
        .map(|_| batch())
        .collect()
}

/// What it takes to count all calls, or one in some, beside one in so many that it does not matter: in short rounds by
/// turns, so that it does not matter either what else the machine does.
fn counting(pipeline: usize) {
    const ROUNDS: usize = 1_000;
    const BATCHES: usize = 50;
    for (case, keys) in [(2, 1_000), (2, KEYS), (3, KEYS)] {
        let case = CASES[case];
        let made = batches(case, pipeline, keys);
        let mut bench = Bench::new(false);
        bench.run(&made, made.len());
        for period in [1, 64, 512] {
            let mut ns: [Vec<u64>; 2] = Default::default();
            let mut made = made.iter().cycle();
            for _ in 0..ROUNDS {
                for (period, ns) in [period, 4_096].into_iter().zip(&mut ns) {
                    bench.count_one_in(period);
                    let batches = made.by_ref().take(BATCHES);
                    let began = bench.engine.shared.clock.now();
                    batches.for_each(|batch| bench.receive(batch));
                    ns.push(bench.engine.shared.clock.now().since(began));
                }
            }
            let [some, hardly_any] = ns.map(|mut ns| {
                ns.sort_unstable();
                ns[ROUNDS / 2] as f64 / (BATCHES * pipeline) as f64
            });
            println!(
                "{:<10} {keys} keys: {some:.1} ns a call if one in {period} is counted, {hardly_any:.1} if hardly any is",
                case.0
            );
        }
    }
}

fn main() {
    let words: Vec<String> = env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let number = |at: usize, otherwise| {
        words
            .get(at)
            .map_or(Some(otherwise), |word| word.parse().ok())
    };
    let (Some(pipeline), Some(count), Some(keys)) =
        (number(1, 64), number(2, 10_000), number(3, KEYS))
    else {
        eprintln!("hotpath [case [pipeline [batches [keys [still]]]]]");
        return;
    };
    let is_still = words.get(4).is_some_and(|word| word == "still");
    let wanted = words.first().map_or("all", String::as_str);
    if wanted == "counting" {
        return counting(pipeline);
    }
    for case in CASES
        .into_iter()
        .filter(|case| wanted == "all" || case.0 == wanted)
    {
        let made = batches(case, pipeline, keys);
        let mut bench = Bench::new(is_still);
        if is_still {
            bench.count_one_in(COUNTED_PERIOD);
        }
        bench.run(&made, made.len());
        let ns = bench.run(&made, count) as f64 / (count * pipeline) as f64;
        println!(
            "{:<10} {ns:7.1} ns a call in pipelines of {pipeline}",
            case.0
        );
    }
}
