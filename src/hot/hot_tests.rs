//! What is told of hot keys, beside a slow model that remembers every call.

use super::board::{HISTORIES_MAX, Ranked};
use super::{GROUPS, Hot, Kind, SKETCHES_OF_A_SHARD, Sketches, Spot, Told};
use crate::core::units::{SECOND, Timestamp};
use ahash::RandomState;
use std::collections::HashMap;

const SHARDS: usize = GROUPS / SKETCHES_OF_A_SHARD;
/// So many keys of a kind are told.
const ALL: usize = 256;

fn at(second: u64) -> Timestamp {
    Timestamp::from_ns(second * SECOND).unwrap()
}

/// Numbers that look random, the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// Counts as a store does, and remembers.
struct Play {
    hot: Hot,
    shards: Vec<Sketches>,
    hasher: RandomState,
    now_s: u64,
    /// By key: the second and how often.
    calls: HashMap<u64, Vec<(u64, u64)>>,
}

fn name(key: u64) -> Vec<u8> {
    format!("key:{key}").into_bytes()
}

impl Play {
    fn new(seed: usize, now_s: u64) -> Self {
        Self {
            hot: Hot::default(),
            shards: (0..SHARDS).map(|_| Sketches::default()).collect(),
            hasher: RandomState::with_seed(seed),
            now_s,
            calls: HashMap::new(),
        }
    }

    fn tell(&mut self, key: u64, told: Told) {
        let name = name(key);
        let hash = self.hasher.hash_one(&*name);
        let shard = (hash >> 48) as usize % SHARDS;
        let spot = Spot {
            hot: &self.hot,
            database: 0,
            shard,
            now: at(self.now_s),
        };
        self.shards[shard].count(told, hash, &name, &spot);
        let seconds = self.calls.entry(key).or_default();
        match seconds.last_mut().filter(|last| last.0 == self.now_s) {
            Some(last) => last.1 += 1,
            None => seconds.push((self.now_s, 1)),
        }
    }

    fn deny(&mut self, key: u64) {
        self.tell(key, Told::Denied { paused: false });
    }

    /// As the sweep does, or as whoever asks.
    fn gather(&mut self, all: bool) {
        for (shard, sketches) in self.shards.iter_mut().enumerate() {
            let spot = Spot {
                hot: &self.hot,
                database: 0,
                shard,
                now: at(self.now_s),
            };
            sketches.hand_in(all, &spot);
        }
        self.hot.settle(at(self.now_s));
    }

    fn top(&mut self, kind: Kind) -> Vec<Ranked> {
        self.gather(true);
        self.hot.top(kind, 0, ALL, at(self.now_s), |_| true)
    }

    /// Calls of a key since the beginning of a slice.
    fn since(&self, key: u64, window_s: u64, slice_s: u64) -> u64 {
        let first_s = (self.now_s + 1).saturating_sub(window_s) / slice_s * slice_s;
        let seconds = self.calls[&key].iter();
        let inside = seconds.filter(|(second, _)| *second >= first_s);
        inside.map(|(_, count)| count).sum()
    }

    fn minute(&self, key: u64) -> u64 {
        self.since(key, 60, 5)
    }

    fn ten_minutes(&self, key: u64) -> u64 {
        self.since(key, 600, 60)
    }

    /// Everything that is told is within its bounds.
    fn check(&mut self, kind: Kind) -> Vec<Ranked> {
        let ranked = self.top(kind);
        let keys: Vec<u64> = self.calls.keys().copied().collect();
        let known: HashMap<Vec<u8>, u64> = keys.iter().map(|key| (name(*key), *key)).collect();
        let all: u64 = keys.iter().map(|key| self.ten_minutes(*key)).sum();
        for row in &ranked {
            let key = known[&*row.name];
            for (count, exact) in [
                (row.minute, self.minute(key)),
                (row.ten_minutes, self.ten_minutes(key)),
            ] {
                assert!(
                    count.surely() <= exact && exact <= count.count,
                    "{key} at {}: {count:?}, was {exact}",
                    self.now_s
                );
                assert!(count.error <= all / 8, "{count:?} of {all}");
            }
        }
        ranked
    }
}

/// Keys by how often they are called: the first one as often as the next two together.
fn zipf(random: &mut Random, keys: u64) -> u64 {
    // Of numbers that are equally likely in their logarithm.
    let bits = 64 - keys.leading_zeros();
    let top = 1 << random.below(u64::from(bits));
    (top - 1 + random.below(top)).min(keys - 1)
}

#[test]
fn few_keys_are_counted_to_the_unit() {
    for seed in 1..20 {
        let mut random = Random(seed);
        let mut play = Play::new(seed as usize, 1_700_000_000 + seed);
        for _ in 0..40 {
            for _ in 0..random.below(500) {
                let key = zipf(&mut random, 200);
                play.deny(key);
            }
            play.now_s += [0, 1, 1, 4, 30, 200][random.below(6) as usize];
            if random.below(2) == 0 {
                play.gather(false);
            }
            let ranked = play.check(Kind::Denied);
            assert!(ranked.iter().all(|row| row.minute.error == 0));
            assert!(ranked.iter().all(|row| row.ten_minutes.error == 0));
            let called = play.calls.keys();
            let called = called.filter(|key| play.ten_minutes(**key) > 0).count();
            assert_eq!(ranked.len(), called);
            let order: Vec<_> = ranked
                .iter()
                .map(|row| (row.minute.count, row.ten_minutes.count))
                .collect();
            assert!(order.is_sorted_by(|one, other| one >= other));
        }
    }
}

#[test]
fn of_many_keys_all_that_is_told_is_within_its_bounds() {
    for seed in 1..5 {
        let mut random = Random(seed);
        let mut play = Play::new(seed as usize, 1_700_000_000);
        for _ in 0..15 {
            for _ in 0..10_000 {
                let key = match seed % 2 {
                    0 => zipf(&mut random, 100_000),
                    _ => random.below(15_000),
                };
                play.deny(key);
            }
            play.now_s += [0, 1, 1, 2, 7, 61][random.below(6) as usize];
            play.gather(false);
            play.check(Kind::Denied);
        }
    }
}

#[test]
fn the_hottest_of_many_keys_are_first() {
    let mut random = Random(7);
    let mut play = Play::new(3, 1_700_000_000);
    for _ in 0..60 {
        for _ in 0..10_000 {
            let key = zipf(&mut random, 1 << 20);
            play.deny(key);
        }
        play.now_s += 1;
    }
    let ranked = play.check(Kind::Denied);
    let mut exact: Vec<(u64, u64)> = play
        .calls
        .keys()
        .map(|key| (play.minute(*key), *key))
        .collect();
    exact.sort_unstable_by(|one, other| other.cmp(one));
    let hottest: Vec<_> = exact[..31].iter().map(|(_, key)| name(*key)).collect();
    for row in &ranked[..31] {
        assert!(hottest.iter().any(|name| **name == *row.name));
        // Each of them was called thousands of times.
        assert!(row.minute.error * 20 < row.minute.count, "{row:?}");
    }
}

#[test]
fn a_heavy_key_is_found_behind_any_number_of_others_that_come_once() {
    let mut play = Play::new(1, 1_700_000_000);
    let mut other = 1;
    for second in 0..30 {
        for call in 0..30_000 {
            // The worst there is: nobody comes twice, and it is late.
            let key = if call % 100 == 99 { 0 } else { other };
            other += 1;
            play.deny(key);
        }
        play.now_s += second % 2;
    }
    let ranked = play.check(Kind::Denied);
    assert_eq!(&*ranked[0].name, &*name(0));
}

#[test]
fn nothing_grows_with_the_keys() {
    let mut play = Play::new(1, 1_700_000_000);
    for key in 0..300_000 {
        play.deny(key);
        play.deny(key);
        if key % 10_000 == 0 {
            play.now_s += 13;
            play.gather(false);
        }
    }
    play.gather(true);
    let board = play.hot.board.lock();
    let (rows, name_bytes, histories) = board.size();
    // Two slices of each window that go on, and those that are over.
    assert!(rows <= 2 * 2 * 2_048 + 2 * 22 * 256, "{rows}");
    assert!(name_bytes <= 2 * (2 * 2 * 2_048 + 2 * 22 * 256) * 11);
    assert!(histories <= HISTORIES_MAX);
}

#[test]
fn names_take_no_more_than_their_share() {
    let mut play = Play::new(1, 1_700_000_000);
    let hasher = play.hasher.clone();
    for key in 0..100_000_u64 {
        let long = format!("{key:0512}").into_bytes();
        let hash = hasher.hash_one(&*long);
        let shard = (hash >> 48) as usize % SHARDS;
        let spot = Spot {
            hot: &play.hot,
            database: 0,
            shard,
            now: at(play.now_s),
        };
        for _ in 0..2 {
            play.shards[shard].count(Told::AT_ONCE, hash, &long, &spot);
        }
        if key % 1_000 == 0 {
            play.now_s += 1;
        }
    }
    play.gather(true);
    let (_, name_bytes, _) = play.hot.board.lock().size();
    assert!(name_bytes <= 2 * 2 * 256 * 1024 + 2 * 22 * 32 * 1024);
}

#[test]
fn each_call_counts_as_what_it_was_told() {
    let mut play = Play::new(1, 1_700_000_000);
    let told = [
        Told::AT_ONCE,
        Told::Granted {
            wait_ms: 250,
            paused: false,
        },
        Told::Granted {
            wait_ms: 1_250,
            paused: true,
        },
        Told::Denied { paused: false },
        Told::Denied { paused: true },
        Told::Shadowed { paused: false },
        Told::PutOff,
    ];
    told.into_iter().for_each(|told| play.tell(7, told));
    let counts: Vec<_> = Kind::ALL
        .into_iter()
        .map(|kind| (kind, play.top(kind)[0].minute.count))
        .collect();
    assert_eq!(
        counts,
        [
            (Kind::Denied, 2),
            (Kind::Waited, 2),
            (Kind::Paused, 3),
            (Kind::Shadowed, 1),
            (Kind::Granted, 3),
        ]
    );
    let hash = play.hasher.hash_one(&*name(7));
    let history = play.hot.history(0, hash, at(play.now_s)).unwrap();
    assert_eq!(history.since_s, 1_700_000_000);
    assert_eq!(history.seconds.len(), 1);
    let second = history.seconds[0];
    assert_eq!((second.at_s, second.wait_ms), (1_700_000_000, 1_250));
    assert_eq!(second.counts, [2, 2, 3, 1, 3]);
    assert!(play.hot.history(1, hash, at(play.now_s)).is_none());
}

#[test]
fn the_seconds_of_a_key_are_its_calls() {
    let mut random = Random(11);
    let mut play = Play::new(5, 1_700_000_000);
    for _ in 0..400 {
        for _ in 0..random.below(20) {
            let key = random.below(100);
            play.deny(key);
        }
        play.now_s += random.below(6);
        if random.below(3) == 0 {
            play.gather(random.below(2) == 0);
        }
    }
    play.gather(true);
    for (key, calls) in &play.calls {
        let hash = play.hasher.hash_one(&*name(*key));
        let exact = calls.iter().filter(|(at_s, _)| at_s + 600 > play.now_s);
        let exact: Vec<(u64, u64)> = exact.copied().collect();
        match play.hot.history(0, hash, at(play.now_s)) {
            Some(history) => {
                let seconds = history.seconds.iter();
                let told: Vec<(u64, u64)> = seconds
                    .map(|second| (second.at_s, u64::from(second.count(Kind::Denied))))
                    .collect();
                assert_eq!(told, exact, "{key}");
            }
            None => assert!(exact.is_empty(), "{key}"),
        }
    }
}

#[test]
fn the_hottest_keys_are_followed_though_others_came_first() {
    let mut play = Play::new(5, 1_700_000_000);
    for key in 0..1_000 {
        play.deny(key);
    }
    play.now_s += 5;
    for _ in 0..10 {
        play.deny(5_000);
        play.now_s += 1;
        play.gather(false);
    }
    play.now_s += 5;
    play.gather(false);
    for _ in 0..10 {
        play.deny(5_000);
        play.now_s += 1;
        play.gather(false);
    }
    let hash = play.hasher.hash_one(&*name(5_000));
    let history = play.hot.history(0, hash, at(play.now_s)).unwrap();
    assert!(history.since_s > 1_700_000_000);
    assert!(history.seconds.len() >= 10);
    // What is over for ten minutes is forgotten, and the key with it.
    play.now_s += 700;
    play.gather(true);
    assert!(play.hot.history(0, hash, at(play.now_s)).is_none());
    assert_eq!(play.top(Kind::Denied), []);
    assert_eq!(play.hot.board.lock().size(), (0, 0, 0));
}

#[test]
fn calls_that_come_with_an_earlier_clock_are_counted() {
    let mut play = Play::new(5, 1_700_000_100);
    play.deny(1);
    play.now_s -= 1;
    play.deny(1);
    play.now_s += 10;
    play.deny(1);
    let ranked = play.top(Kind::Denied);
    assert_eq!(ranked[0].minute.count, 3);
}

#[test]
fn who_finds_the_inbox_full_takes_it_to_the_board() {
    let mut play = Play::new(5, 1_700_000_000);
    for second in 0..3 * super::INBOX_MAX as u64 {
        play.now_s = 1_700_000_000 + second / 100;
        play.deny(second % 64);
        play.gather_one();
        assert!(play.hot.inbox.lock().len() < super::INBOX_MAX);
    }
    let sum: u64 = play
        .top(Kind::Denied)
        .iter()
        .map(|row| row.ten_minutes.count)
        .sum();
    assert_eq!(sum, 3 * super::INBOX_MAX as u64);
}

impl Play {
    /// Has the shards hand in, and does not look at it.
    fn gather_one(&mut self) {
        for (shard, sketches) in self.shards.iter_mut().enumerate() {
            let spot = Spot {
                hot: &self.hot,
                database: 0,
                shard,
                now: at(self.now_s),
            };
            sketches.hand_in(true, &spot);
        }
    }
}
