//! What RL.TOP is worth: ten million calls over a million keys, of which the k-th is called 1/k as often as the first,
//! beside an exact count.
//!
//!     cargo bench --bench top                    ten million calls, over one minute and over ten
//!     cargo bench --bench top -- 1000000         so many
//!
//! Exits 1 if anything that is told is not within its bound.

use std::collections::HashMap;
use tollgate::clock::Clock;
use tollgate::core::units::{MILLISECOND, SECOND, Timestamp};
use tollgate::hot::{Hot, Kind, Ranked, Sampler, Told};
use tollgate::memory::{self, Counting};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const KEYS: usize = 1_000_000;
const BEGIN_S: u64 = 1_700_000_040;

/// Draws keys: how likely all up to each of them are.
struct Zipf(Vec<f64>);

impl Zipf {
    fn new(keys: usize) -> Self {
        let mut sum = 0.0;
        let sums = (1..=keys).map(|key| {
            sum += 1.0 / key as f64;
            sum
        });
        Self(sums.collect())
    }

    fn draw(&self, random: &mut u64) -> usize {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        let whole = self.0.last().copied().unwrap_or(1.0);
        let at = (*random >> 11) as f64 / (1u64 << 53) as f64 * whole;
        self.0
            .partition_point(|sum| *sum < at)
            .min(self.0.len() - 1)
    }
}

struct Run {
    calls: u64,
    seconds: u64,
    /// Not all are counted, but as many as a server counts.
    sampled: bool,
}

impl Run {
    /// False if something is not within its bound.
    fn play(&self, zipf: &Zipf, names: &[Vec<u8>]) -> bool {
        let Self {
            calls,
            seconds,
            sampled,
        } = *self;
        let mut exact = vec![0u64; names.len()];
        let before = memory::used_bytes();
        let (hot, mut sampler) = (Hot::default(), Sampler::new(1));
        let mut random = 0x9e37_79b9_7f4a_7c15;
        let mut now = Timestamp::ZERO;
        let clock = Clock::system(Timestamp::ZERO);
        let began = clock.now();
        for call in 0..calls {
            let key = zipf.draw(&mut random);
            let ns = BEGIN_S * SECOND + call * (seconds * SECOND / calls);
            let next = Timestamp::from_ns(ns).expect("before 2262");
            // As the sweep does it.
            if ns / (100 * MILLISECOND) != now.as_ns() / (100 * MILLISECOND) {
                hot.settle(next);
                if sampled {
                    hot.periods.follow(0, call, next);
                }
            }
            now = next;
            exact[key] += 1;
            let told = Told::now(false);
            let weight = sampler.weigh(told, &hot.periods);
            if weight > 0 {
                hot.count(0, &names[key], told, weight, now);
            }
        }
        let took_ns = clock.now().since(began) / calls;
        let began = clock.now();
        hot.gather(now);
        let top = hot.top(Kind::Denied, 0, 256, now, |_| true);
        let asked_us = clock.now().since(began) / 1_000;
        let as_in = match sampled {
            true => "as many counted as in a server",
            false => "all counted",
        };
        println!("{calls} calls in {seconds} s, {as_in}");
        println!(
            "  {took_ns} ns a call, drawing the key and the exact count included; {asked_us} us to ask"
        );
        println!(
            "  {} bytes beside the exact count",
            memory::used_bytes() - before
        );
        judge(&top, &exact, names, calls)
    }
}

/// What was told of ten minutes, which are all of the run.
fn judge(top: &[Ranked], exact: &[u64], names: &[Vec<u8>], calls: u64) -> bool {
    let ranks: HashMap<&[u8], usize> = names
        .iter()
        .enumerate()
        .map(|(rank, name)| (name.as_slice(), rank))
        .collect();
    let of = |row: &Ranked| exact[ranks[&*row.name]];
    let mut order: Vec<usize> = (0..exact.len()).collect();
    order.sort_unstable_by_key(|key| std::cmp::Reverse(exact[*key]));
    for count in [10, 50, 100, 250] {
        let hottest: Vec<&[u8]> = order[..count].iter().map(|key| &*names[*key]).collect();
        let rows = &top[..count.min(top.len())];
        let found = rows.iter().filter(|row| hottest.contains(&&*row.name));
        let worst = |part: fn(u64, &Ranked) -> u64| {
            let parts = rows.iter().map(|row| {
                let exact = of(row);
                part(exact, row) as f64 / exact as f64 * 100.0
            });
            parts.fold(0.0, f64::max)
        };
        let off = worst(|exact, row| row.ten_minutes.count.abs_diff(exact));
        let stated = worst(|_, row| row.ten_minutes.error);
        println!(
            "  top {count}: {} found, off by {off:.2} % at most, stated as at most {stated:.2} %",
            found.count()
        );
    }
    let errors = top.iter().map(|row| row.ten_minutes.error);
    let largest = errors.max().unwrap_or(0);
    println!(
        "  largest error stated: {largest} calls, one in {}",
        calls / largest.max(1)
    );
    let within = |row: &Ranked| {
        let (exact, told) = (of(row), row.ten_minutes);
        // Below the count only by chance, as is above it.
        exact.abs_diff(told.count) <= told.error
    };
    let outside = top.iter().filter(|row| !within(row)).count();
    println!("  {outside} of {} rows not within their bounds", top.len());
    outside == 0
}

fn main() {
    let words = std::env::args().skip(1);
    let calls = words.filter_map(|word| word.parse().ok()).next();
    let calls = calls.unwrap_or(10_000_000);
    let zipf = Zipf::new(KEYS);
    let names: Vec<Vec<u8>> = (0..KEYS)
        .map(|key| format!("rl:customer:{key:07}").into_bytes())
        .collect();
    let runs = [(60, false), (600, false), (60, true)].map(|(seconds, sampled)| Run {
        calls,
        seconds,
        sampled,
    });
    // Each is played, whatever the others gave.
    let outside = runs.iter().filter(|run| !run.play(&zipf, &names)).count();
    if outside > 0 {
        std::process::exit(1);
    }
}
