//! Which decisions are counted, where there are too many to count them all.
//!
//! To count a call takes some hundred nanoseconds, most of it for memory that nothing else has asked for, which is as
//! much as a call takes where millions are made in a second. So up to [`ALL_COUNTED`] in a second are counted, and beyond that
//! one in so many, as so many. Calls that went at once are
//! told apart from all others, which are rarer as a rule and matter more: a denial is counted however many are granted.
//!
//! Between two that are counted lies a number of others that is drawn anew each time, so that a pattern in the
//! calls does not repeat itself in what is counted.

use super::Told;
use crate::core::units::{SECOND, Timestamp};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Calls in a second that are all counted, of those that went at once and of the others: some thousandths of one
/// processor's time.
pub const ALL_COUNTED: u64 = 16_384;
/// One in so many is counted at least. No server makes more than this times [`ALL_COUNTED`] decisions in a second.
const PERIOD_MAX: u64 = 4_096;
/// How long it is looked how many come, at least, in nanoseconds.
const LOOK_NS: u64 = SECOND / 20;

/// One in how many is counted, for all connections.
pub struct Periods {
    usual: AtomicU32,
    others: AtomicU32,
    /// The totals when it was last looked, and when that was.
    before: Mutex<Option<(Timestamp, [u64; 2])>>,
}

impl Default for Periods {
    fn default() -> Self {
        Self {
            usual: AtomicU32::new(1),
            others: AtomicU32::new(1),
            before: Mutex::new(None),
        }
    }
}

impl Periods {
    /// Looks how many decisions there were: calls that went at once, and all others.
    pub fn follow(&self, at_once: u64, others: u64, now: Timestamp) {
        let totals = [at_once, others];
        let mut before = self.before.lock();
        let Some((at, counted)) = *before else {
            *before = Some((now, totals));
            return;
        };
        let passed_ns = now.since(at);
        if passed_ns < LOOK_NS {
            return;
        }
        *before = Some((now, totals));
        for (index, period) in [&self.usual, &self.others].into_iter().enumerate() {
            // They begin anew when somebody asks for it.
            let more = u128::from(totals[index].saturating_sub(counted[index]));
            let a_second = more * u128::from(SECOND) / u128::from(passed_ns);
            let needed = a_second.div_ceil(u128::from(ALL_COUNTED)).max(1);
            let needed = u64::try_from(needed).unwrap_or(u64::MAX).min(PERIOD_MAX);
            period.store(needed.next_power_of_two() as u32, Relaxed);
        }
    }
}

/// What one connection counts of its decisions.
pub struct Sampler {
    usual: Every,
    others: Every,
}

/// One in so many.
struct Every {
    /// The next one that is counted.
    left: u32,
    period: u32,
    random: u64,
}

impl Sampler {
    /// A seed should be another for each connection.
    pub fn new(seed: u64) -> Self {
        let every = |salt: u64| Every {
            left: 1,
            period: 1,
            // Never zero, which would stay.
            random: seed.wrapping_add(salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
        };
        Self {
            usual: every(1),
            others: every(2),
        }
    }

    /// How many decisions this one stands for; 0 if it is not counted.
    #[inline]
    pub fn weigh(&mut self, told: Told, periods: &Periods) -> u32 {
        match told {
            Told::AT_ONCE => self.usual.weigh(periods.usual.load(Relaxed)),
            _ => self.others.weigh(periods.others.load(Relaxed)),
        }
    }
}

impl Every {
    #[inline]
    fn weigh(&mut self, period: u32) -> u32 {
        if self.left > 1 && self.period == period {
            self.left -= 1;
            return 0;
        }
        self.counted(period)
    }

    fn counted(&mut self, period: u32) -> u32 {
        if self.period != period {
            self.period = period;
            self.left = self.draw();
            if self.left > 1 {
                self.left -= 1;
                return 0;
            }
        }
        self.left = self.draw();
        period
    }

    /// From 1 to twice the period, without that: the period on average.
    fn draw(&mut self) -> u32 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        let range = u64::from(2 * self.period - 1);
        1 + ((self.random >> 32) % range) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Timestamp {
        Timestamp::from_ns(ms * 1_000_000).unwrap()
    }

    fn periods(a_second: u64) -> Periods {
        let periods = Periods::default();
        periods.follow(0, 0, at(0));
        periods.follow(a_second, 0, at(1000));
        periods
    }

    #[test]
    fn few_are_all_counted() {
        let periods = periods(ALL_COUNTED);
        let mut sampler = Sampler::new(7);
        assert!((0..1000).all(|_| sampler.weigh(Told::AT_ONCE, &periods) == 1));
        assert!((0..1000).all(|_| sampler.weigh(Told::PutOff, &periods) == 1));
    }

    #[test]
    fn of_many_some_stand_for_the_others() {
        for (a_second, period) in [(ALL_COUNTED + 1, 2), (3_000_000, 256), (u64::MAX, 4_096)] {
            let periods = periods(a_second);
            let mut sampler = Sampler::new(7);
            let mut sum = 0;
            for _ in 0..1_000_000 {
                let weight = sampler.weigh(Told::AT_ONCE, &periods);
                assert!(weight == 0 || weight == period);
                sum += u64::from(weight);
                // Others are counted as long as they are few.
                assert_eq!(sampler.weigh(Told::now(false), &periods), 1);
            }
            let off = sum.abs_diff(1_000_000);
            let spread = (f64::from(period) * 1e6).sqrt();
            assert!((off as f64) < 4.0 * spread, "{period}: {sum}");
        }
    }

    #[test]
    fn a_pattern_in_the_calls_is_none_in_what_is_counted() {
        let periods = periods(3_000_000);
        let mut sampler = Sampler::new(9);
        let mut counted = [0u64; 64];
        for call in 0..640_000 {
            counted[call % 64] += u64::from(sampler.weigh(Told::AT_ONCE, &periods));
        }
        for count in counted {
            assert!(count.abs_diff(10_000) < 4 * 1_600, "{count}");
        }
    }

    #[test]
    fn when_fewer_come_all_are_counted_at_once() {
        let periods = periods(3_000_000);
        let mut sampler = Sampler::new(9);
        assert!((0..1000).any(|_| sampler.weigh(Told::AT_ONCE, &periods) == 256));
        // Too soon to tell.
        periods.follow(3_000_001, 0, at(1001));
        assert!((0..64).any(|_| sampler.weigh(Told::AT_ONCE, &periods) == 0));
        periods.follow(3_000_100, 0, at(2000));
        assert!((0..100).all(|_| sampler.weigh(Told::AT_ONCE, &periods) == 1));
        // As after CONFIG RESETSTAT.
        periods.follow(0, 0, at(3000));
        assert_eq!(sampler.weigh(Told::AT_ONCE, &periods), 1);
    }
}
