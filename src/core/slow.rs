//! Slowing down after a pause: the rate is multiplied by a factor and climbs back in eight equal steps.
//!
//! The shared form of "halve, then climb" after a 429. What was promised stands: a change of rate is
//! carried over like a change of parameters (see [`Bucket::adopt`]), at the exact instant of each step.
//! So the rate in force when a slot is booked decides about that slot.

use super::bucket::Bucket;
use super::limit::{BucketLimit, LimitError, Rate};
use super::state::State;
use super::units::{Span, Timestamp, Wait};
use smallvec::SmallVec;
use std::fmt;

/// Steps back to the full rate.
const STEPS: u64 = 8;

/// A factor from 1/64 to 1, in 64,000,000ths: three decimals of three decimals, and eighths of the rest,
/// come out whole.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Factor(u32);

impl Factor {
    const UNITS: u32 = 64_000_000;
    /// The full rate.
    pub const ONE: Self = Self(Self::UNITS);
    /// The slowest in effect.
    pub const MIN: Self = Self(Self::UNITS / 64);

    /// `thousandths / 1000`, at least 1/64; `None` unless that is above 0 and below 1.
    pub fn from_thousandths(thousandths: u64) -> Option<Self> {
        let in_range = (1..1000).contains(&thousandths);
        in_range.then(|| Self((Self::UNITS / 1000) * thousandths as u32).max(Self::MIN))
    }

    /// From its units, as a snapshot holds it: a multiple of 8 in range.
    pub fn from_units(units: u32) -> Option<Self> {
        let factor = Self(units);
        ((Self::MIN..=Self::ONE).contains(&factor) && units.is_multiple_of(STEPS as u32))
            .then_some(factor)
    }

    /// In 64,000,000ths.
    pub const fn units(self) -> u32 {
        self.0
    }

    /// This factor times another, rounded down to an 8,000,000th, at least 1/64.
    pub fn times(self, other: Self) -> Self {
        let product = u64::from(self.0) * u64::from(other.0) / u64::from(Self::UNITS);
        // Both are at most one, and so is their product.
        Self((product - product % STEPS) as u32).max(Self::MIN)
    }

    /// After `steps` of eight equal ones from here to one.
    fn climbed(self, steps: u64) -> Self {
        // A multiple of eight, since both ends are.
        let step = (Self::UNITS - self.0) / STEPS as u32;
        Self(self.0 + step * steps.min(STEPS) as u32)
    }

    /// A limit at this factor of its rate.
    ///
    /// # Errors
    /// It cannot be held exactly.
    pub fn of(self, limit: &BucketLimit) -> Result<BucketLimit, LimitError> {
        if self == Self::ONE {
            return Ok(*limit);
        }
        let rate = Rate::scaled(limit.rate(), self.0, Self::UNITS).ok_or(LimitError::TooFine)?;
        BucketLimit::slowed(limit.capacity(), rate, limit.keeps())
    }
}

/// As a decimal: `0.5`, `1`.
impl fmt::Display for Factor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ONE {
            return f.write_str("1");
        }
        // A 64,000,000th has twelve decimals.
        let digits = format!(
            "{:012}",
            u64::from(self.0) * (1_000_000_000_000 / u64::from(Self::UNITS))
        );
        write!(f, "0.{}", digits.trim_end_matches('0'))
    }
}

/// A slow-down: it begins when a pause ends and climbs back.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slow {
    /// The factor until it begins: that of a recovery which the pause broke off, or one.
    pub before: Factor,
    /// The factor it begins with.
    pub factor: Factor,
    /// When it begins.
    pub begins: Timestamp,
    /// How long it takes to climb back.
    pub recover: Span,
    /// Changes of rate that the states have seen: none, the beginning, and each step.
    pub seen: u8,
    /// The full limits of the buckets, by place; `None` for other kinds and where nothing has counted.
    pub full: SmallVec<[Option<BucketLimit>; 1]>,
}

impl Slow {
    /// Bytes that it takes, its limits included.
    pub fn bytes(&self) -> usize {
        let full = if self.full.spilled() {
            self.full.capacity() * size_of::<Option<BucketLimit>>()
        } else {
            0
        };
        size_of::<Self>() + full
    }

    /// When the full rate is back.
    pub fn ends(&self) -> Timestamp {
        self.begins.after(self.recover)
    }

    /// The instant of a change: 0 is the beginning, 1 to 8 are the steps. Rounded up to a nanosecond.
    fn change(&self, index: u64) -> Timestamp {
        let part = u128::from(self.recover.as_ns()) * u128::from(index.min(STEPS));
        // At most the whole span.
        self.begins
            .after_ns(part.div_ceil(u128::from(STEPS)) as u64)
    }

    /// The factor in force at an instant.
    pub fn factor_at(&self, at: Timestamp) -> Factor {
        if at < self.begins {
            return self.before;
        }
        let steps = (1..=STEPS)
            .take_while(|&step| self.change(step) <= at)
            .count();
        self.factor.climbed(steps as u64)
    }

    /// Carries the states over every change of rate up to `now`.
    pub fn settle(&mut self, states: &mut [State], now: Timestamp) {
        while self.changes_by(now) {
            let at = self.change(u64::from(self.seen));
            let factor = self.factor.climbed(u64::from(self.seen));
            for (state, full) in states.iter_mut().zip(&self.full) {
                if let Some(full) = full {
                    carry(state, factor, full, at);
                }
            }
            self.seen += 1;
        }
    }

    /// Ends the slow-down at `now`: the states are carried over to their full rate.
    pub fn end(mut self, states: &mut [State], now: Timestamp) {
        self.settle(states, now);
        for (state, full) in states.iter_mut().zip(&self.full) {
            if let Some(full) = full {
                carry(state, Factor::ONE, full, now);
            }
        }
    }

    /// True if a change of rate up to `now` has not been worked in.
    pub fn changes_by(&self, now: Timestamp) -> bool {
        u64::from(self.seen) <= STEPS && self.change(u64::from(self.seen)) <= now
    }

    /// The first change of rate after `at`, and the factor from there on.
    pub(super) fn next_change(&self, at: Timestamp) -> Option<(Timestamp, Factor)> {
        let index = (0..=STEPS).find(|&index| self.change(index) > at)?;
        Some((self.change(index), self.factor.climbed(index)))
    }

    /// A time that refill decides about, with the rate climbing meanwhile. `wait` says how long it is from an
    /// instant on at a bucket's own rate; the result is counted from `from`.
    pub fn climbing(
        &self,
        bucket: &Bucket,
        full: &BucketLimit,
        from: Timestamp,
        wait: impl Fn(&Bucket, Timestamp) -> Wait,
    ) -> Wait {
        let (mut bucket, mut at) = (*bucket, from);
        loop {
            let left = wait(&bucket, at);
            let total = left.plus_ns(at.since(from));
            let Some((next, factor)) = self.next_change(at) else {
                return total;
            };
            let carried = match factor.of(full) {
                Ok(limit) if left.ceil_ns() > u128::from(next.since(at)) => {
                    bucket.adopt(limit, next)
                }
                _ => return total,
            };
            match carried {
                Ok(carried) => (bucket, at) = (carried, next),
                Err(_) => return total,
            }
        }
    }

    /// The full limit of the bucket at `index`, for one that is slowed.
    pub fn full_limit(&self, index: usize) -> Option<BucketLimit> {
        self.full.get(index).copied().flatten()
    }
}

/// Carries a bucket over to a factor of its full limit. Where that cannot be held it keeps its rate, which
/// is the slower one.
fn carry(state: &mut State, factor: Factor, full: &BucketLimit, at: Timestamp) {
    let (State::Bucket(bucket, timeline), Ok(limit)) = (state, factor.of(full)) else {
        return;
    };
    if bucket.limit.same_numbers(&limit) {
        return;
    }
    if let Some(timeline) = timeline {
        timeline.settle(bucket, at);
    }
    let ahead = match timeline {
        Some(timeline) => match timeline.ahead_at(limit.rate()) {
            Some(ahead) => Some((timeline, ahead)),
            None => return,
        },
        None => None,
    };
    let Ok(carried) = bucket.adopt(limit, at) else {
        return;
    };
    *bucket = carried;
    if let Some((timeline, ahead)) = ahead {
        timeline.replace(ahead);
    }
}

#[cfg(test)]
#[path = "slow_tests.rs"]
mod tests;
