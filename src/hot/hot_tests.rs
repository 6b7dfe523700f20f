//! What is told of hot keys, beside a slow model that remembers every call.

use super::board::{HISTORIES_MAX, Ranked};
use super::{History, Hot, Kind, Told};
use crate::core::units::{SECOND, Timestamp};
use ahash::RandomState;
use std::collections::HashMap;

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

/// Counts, and remembers.
struct Play {
    hot: Hot,
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
            hot: Hot::with_hasher(RandomState::with_seed(seed)),
            now_s,
            calls: HashMap::new(),
        }
    }

    fn now(&self) -> Timestamp {
        at(self.now_s)
    }

    fn tell(&mut self, key: u64, told: Told) {
        self.hot.count(0, &name(key), told, 1, self.now());
        let seconds = self.calls.entry(key).or_default();
        match seconds.last_mut().filter(|last| last.0 == self.now_s) {
            Some(last) => last.1 += 1,
            None => seconds.push((self.now_s, 1)),
        }
    }

    fn deny(&mut self, key: u64) {
        self.tell(key, Told::Denied { paused: false });
    }

    fn top(&mut self, kind: Kind) -> Vec<Ranked> {
        self.hot.gather(self.now());
        self.hot.top(kind, 0, ALL, self.now(), |_| true)
    }

    fn history(&self, key: u64) -> Option<History> {
        self.hot.history(0, &name(key), self.now())
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
                play.hot.settle(play.now());
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
            play.hot.settle(play.now());
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
            play.hot.settle(play.now());
        }
    }
    play.hot.gather(play.now());
    let board = play.hot.board.lock();
    let (rows, name_bytes, histories) = board.size();
    // Two slices of each window that go on, and those that are over.
    assert!(rows <= 2 * 2 * 1_024 + 2 * 22 * 256, "{rows}");
    assert!(name_bytes <= 2 * (2 * 2 * 1_024 + 2 * 22 * 256) * 11);
    assert!(histories <= HISTORIES_MAX);
}

#[test]
fn names_take_no_more_than_their_share() {
    let mut play = Play::new(1, 1_700_000_000);
    for key in 0..100_000_u64 {
        let long = format!("{key:0512}").into_bytes();
        for _ in 0..2 {
            play.hot.count(0, &long, Told::AT_ONCE, 1, play.now());
        }
        if key % 1_000 == 0 {
            play.now_s += 1;
        }
    }
    play.hot.gather(play.now());
    let (_, name_bytes, _) = play.hot.board.lock().size();
    assert!(name_bytes <= 2 * 2 * 128 * 1024 + 2 * 22 * 32 * 1024);
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
    let history = play.history(7).unwrap();
    assert_eq!(history.since_s, 1_700_000_000);
    assert_eq!(history.seconds.len(), 1);
    let second = history.seconds[0];
    assert_eq!((second.at_s, second.wait_ms), (1_700_000_000, 1_250));
    assert_eq!(second.counts, [2, 2, 3, 1, 3]);
    assert!(play.hot.history(1, &name(7), play.now()).is_none());
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
            match random.below(2) {
                0 => play.hot.settle(play.now()),
                _ => play.hot.gather(play.now()),
            }
        }
    }
    play.hot.gather(play.now());
    for (key, calls) in &play.calls {
        let exact = calls.iter().filter(|(at_s, _)| at_s + 600 > play.now_s);
        let exact: Vec<(u64, u64)> = exact.copied().collect();
        match play.history(*key) {
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
        play.hot.settle(play.now());
    }
    play.now_s += 5;
    play.hot.settle(play.now());
    for _ in 0..10 {
        play.deny(5_000);
        play.now_s += 1;
        play.hot.settle(play.now());
    }
    let history = play.history(5_000).unwrap();
    assert!(history.since_s > 1_700_000_000);
    assert!(history.seconds.len() >= 10);
    // What is over for ten minutes is forgotten, and the key with it.
    play.now_s += 700;
    play.hot.gather(play.now());
    assert!(play.history(5_000).is_none());
    assert_eq!(play.top(Kind::Denied), []);
    assert_eq!(play.hot.board.lock().size(), (0, 0, 0));
}

#[test]
fn a_key_that_is_to_be_followed_is_though_it_is_silent_at_first() {
    let mut play = Play::new(5, 1_700_000_000);
    (0..1_000).for_each(|key| play.deny(key));
    play.now_s += 1;
    (0..5).for_each(|_| play.deny(5_000));
    // Others are ready to take its place.
    for _ in 0..10 {
        play.now_s += 1;
        (0..1_000).for_each(|key| play.deny(key % 500));
        play.hot.settle(play.now());
    }
    (0..50).for_each(|_| play.deny(5_000));
    for _ in 0..10 {
        play.now_s += 1;
        play.hot.settle(play.now());
        (0..1_000).for_each(|key| play.deny(key));
    }
    play.deny(5_000);
    play.hot.gather(play.now());
    let history = play.history(5_000).unwrap();
    let last = history.seconds.back().unwrap();
    assert_eq!((last.at_s, last.count(Kind::Denied)), (play.now_s, 1));
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
    let calls = 3 * super::INBOX_MAX as u64;
    for call in 0..calls {
        // Nobody looks, and each call ends the second before it.
        play.now_s = 1_700_000_000 + call / 32;
        play.deny(call % 32);
        assert!(play.hot.inbox.lock().len() < super::INBOX_MAX);
    }
    let top = play.top(Kind::Denied);
    let sum: u64 = top.iter().map(|row| row.ten_minutes.count).sum();
    assert_eq!(sum, calls);
}

#[test]
fn a_call_that_stands_for_others_counts_as_them_but_for_chance() {
    let mut random = Random(3);
    let mut play = Play::new(5, 1_700_000_000);
    let mut exact = [0u64; 4];
    for _ in 0..400_000 {
        // One key as often as all that are rarer together.
        let key = (random.below(16) + 1).ilog2() as usize % 4;
        exact[key] += 1;
        if random.below(64) == 0 {
            let now = play.now();
            play.hot.count(0, &name(key as u64), Told::AT_ONCE, 64, now);
        }
        play.now_s += u64::from(random.below(10_000) == 0);
    }
    let top = play.top(Kind::Granted);
    assert_eq!(top.len(), 4);
    for row in top {
        let key = (0..4).find(|key| *name(*key) == *row.name).unwrap();
        let (count, exact) = (row.ten_minutes, exact[key as usize]);
        assert!(
            count.count.abs_diff(exact) <= count.error,
            "{count:?} {exact}"
        );
        // Four times the square root of 64 times what it is.
        let off = 4 * (64 * count.count).isqrt();
        assert!(count.error.abs_diff(off) <= off / 50, "{count:?}");
    }
}
