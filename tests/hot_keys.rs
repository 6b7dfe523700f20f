//! What `RL.TOP`, `RL.HISTORY` and `INFO` say agrees with what was sent, to the count: four workers on three keys, while
//! others ask all the time.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

use bytes::BytesMut;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use tollgate::clock::Clock;
use tollgate::core::units::{MILLISECOND, Timestamp};
use tollgate::engine::Engine;
use tollgate::session::Session;
use tollgate::settings::{Initial, Settings};
use tollgate::store::Sweep;

const KEYS: [&str; 3] = ["rl:meta", "rl:mail", "rl:maps"];
const ROUNDS: usize = 2_000;

/// Calls of a key by what they were told: granted, denied, told to wait.
type Told = BTreeMap<&'static str, [u64; 3]>;

fn engine() -> Arc<Engine> {
    let start = Timestamp::from_ns(1_700_000_000_000 * MILLISECOND).unwrap();
    let settings = Settings::new(Initial::default());
    Arc::new(Engine::new(Clock::manual(start), settings))
}

struct Client {
    session: Session,
    input: BytesMut,
}

impl Client {
    fn new(engine: &Arc<Engine>) -> Self {
        let now = engine.shared.clock.now();
        let clients = &engine.shared.clients;
        let client = clients.register(String::new(), String::new(), now, Box::new(|| {}));
        Self {
            session: Session::new(engine.clone(), client),
            input: BytesMut::new(),
        }
    }

    /// The replies to requests, one a line, as text.
    fn ask(&mut self, requests: &str) -> String {
        let mut output = Vec::new();
        self.input.extend_from_slice(requests.as_bytes());
        self.session.receive(&mut self.input, &mut output);
        String::from_utf8(output).unwrap()
    }
}

/// A worker's calls: it takes, reserves and throttles, each key in its own way.
fn work(mut client: Client, worker: usize) -> Told {
    let mut told = Told::new();
    for round in 0..ROUNDS {
        let key = KEYS[(round + worker) % 3];
        let seen = told.entry(key).or_default();
        let replies = client.ask(&format!(
            "RL.TAKE {key} 5 1/h\r\nRL.RESERVE {key} 5 1/h 1000h\r\nRL.TAKE {key} 5 1/h COST 2\r\n"
        ));
        let numbers: Vec<i64> = replies
            .lines()
            .filter_map(|line| line.strip_prefix(':')?.parse().ok())
            .collect();
        let [take, wait, dear] = [numbers[0], numbers[5], numbers[6]];
        for limited in [take, dear] {
            seen[limited as usize] += 1;
        }
        seen[usize::from(wait < 0)] += 1;
        seen[2] += u64::from(wait > 0);
    }
    told
}

#[test]
fn what_is_told_of_hot_keys_is_what_was_sent() {
    let engine = engine();
    let done = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> = (0..4)
        .map(|worker| {
            let client = Client::new(&engine);
            thread::spawn(move || work(client, worker))
        })
        .collect();
    let asker = {
        let (engine, done) = (engine.clone(), done.clone());
        thread::spawn(move || {
            let (mut client, mut sweep) = (Client::new(&engine), Sweep::default());
            while !done.load(Relaxed) {
                client.ask("RL.TOP\r\nRL.HISTORY rl:meta\r\n");
                sweep = engine.sweep(sweep, 100);
            }
        })
    };
    let mut sent = Told::new();
    for worker in workers {
        for (key, more) in worker.join().unwrap() {
            let sum = sent.entry(key).or_default();
            (0..3).for_each(|at| sum[at] += more[at]);
        }
    }
    done.store(true, Relaxed);
    asker.join().unwrap();
    let mut client = Client::new(&engine);
    for (at, kind) in ["GRANTED", "DENIED", "WAITED"].into_iter().enumerate() {
        for (key, counts) in &sent {
            let reply = client.ask(&format!("RL.TOP {kind} MATCH {key}\r\n"));
            let row = [counts[at], counts[at], 0, 0];
            let numbers: String = row.iter().map(|number| format!(":{number}\r\n")).collect();
            assert!(reply.ends_with(&numbers), "{kind} {key}: {reply:?} {row:?}");
        }
    }
    for (key, [granted, denied, waited]) in &sent {
        let reply = client.ask(&format!("RL.HISTORY {key}\r\n"));
        let second = format!(":1700000000\r\n:{granted}\r\n:{denied}\r\n:{waited}\r\n");
        assert!(reply.contains(&second), "{key}: {reply:?}");
    }
    let info = client.ask("INFO ratelimit\r\n");
    let sum = |at: usize| sent.values().map(|counts| counts[at]).sum::<u64>();
    assert_eq!(sum(0) + sum(1), (4 * 3 * ROUNDS) as u64);
    for line in [
        format!("granted_total:{}\r", sum(0)),
        format!("denied_total:{}\r", sum(1)),
    ] {
        assert!(info.contains(&line), "{line:?} in {info}");
    }
}
