//! How long something took, by size: counts in buckets, of which quantiles can be asked.
//!
//! The unit is a 64th of a microsecond, and each power of two of it is split in four. So a bucket is a quarter
//! of its lower bound wide, and powers of two of microseconds are bounds of buckets.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Buckets; the last one ends at 2^37 units, half an hour, and takes what is longer as well.
const BUCKETS: usize = 144;

/// The bucket of a duration.
pub fn bucket_of(ns: u64) -> u8 {
    // 1000 ns are 64 units. No duration is too long to be multiplied.
    let units = (ns.min(1 << 60) * 8 / 125).min((1 << 37) - 1);
    if units < 4 {
        return units as u8;
    }
    let power = units.ilog2();
    let quarter = (units >> (power - 2)) & 3;
    (u64::from(power - 1) * 4 + quarter) as u8
}

/// Where a bucket ends, in units: durations in it are shorter.
fn end_of(bucket: usize) -> u64 {
    let next = bucket as u64 + 1;
    if next <= 4 {
        return next;
    }
    // The next one's beginning: its quarter behind the leading one.
    let (power, quarter) = (next / 4 + 1, next % 4);
    (4 + quarter) << (power - 2)
}

/// Counts of durations.
pub struct Durations {
    counts: [AtomicU64; BUCKETS],
}

impl Default for Durations {
    fn default() -> Self {
        Self {
            counts: [const { AtomicU64::new(0) }; BUCKETS],
        }
    }
}

impl Durations {
    /// Counts `calls` durations of one bucket.
    pub fn add(&self, bucket: u8, calls: u64) {
        self.counts[usize::from(bucket)].fetch_add(calls, Relaxed);
    }

    /// Forgets all.
    pub fn reset(&self) {
        self.counts.iter().for_each(|count| count.store(0, Relaxed));
    }

    /// The counts as they stand.
    pub fn spread(&self) -> Spread {
        Spread(
            self.counts
                .iter()
                .map(|count| count.load(Relaxed))
                .collect(),
        )
    }
}

/// Counts of durations at an instant.
pub struct Spread(Vec<u64>);

impl Spread {
    /// How many there are.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// What `thousandths` of a thousand did not reach, in nanoseconds rounded up: the end of the bucket in which
    /// the last of them lies. Zero if there are none.
    pub fn quantile_ns(&self, thousandths: u64) -> u64 {
        let wanted = (u128::from(self.total()) * u128::from(thousandths)).div_ceil(1000);
        let mut reached = 0;
        for (bucket, count) in self.0.iter().enumerate() {
            reached += u128::from(*count);
            if reached >= wanted && reached > 0 {
                return (end_of(bucket) * 125).div_ceil(8);
            }
        }
        0
    }

    /// How many durations did not reach `us` microseconds, a power of two.
    pub fn below_us(&self, us: u64) -> u64 {
        let counts = self.0.iter().enumerate();
        let below = counts.take_while(|(bucket, _)| end_of(*bucket) <= 64 * us);
        below.map(|(_, count)| count).sum()
    }

    /// Powers of two of microseconds, and how many durations did not reach them; those at which the number grows.
    pub fn by_power_of_two_us(&self) -> Vec<(u64, u64)> {
        let mut points = Vec::new();
        let (mut below, mut at) = (0, 0);
        for power in 0..=31 {
            let before = below;
            while at < BUCKETS && end_of(at) <= 64 << power {
                below += self.0[at];
                at += 1;
            }
            if below > before {
                points.push((1 << power, below));
            }
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_ends_where_the_next_begins() {
        let mut last = 0;
        for units in 0..200_000u64 {
            // The shortest duration of so many units.
            let ns = (units * 125).div_ceil(8);
            let bucket = usize::from(bucket_of(ns));
            assert!(bucket == last || bucket == last + 1, "{units}");
            assert!(units < end_of(bucket), "{units}");
            assert!(bucket == 0 || end_of(bucket - 1) <= units, "{units}");
            last = bucket;
        }
        assert_eq!(usize::from(bucket_of(u64::MAX)), BUCKETS - 1);
        assert_eq!(end_of(BUCKETS - 1), 1 << 37);
    }

    #[test]
    fn quantiles_are_ends_of_buckets() {
        let durations = Durations::default();
        assert_eq!(durations.spread().quantile_ns(500), 0);
        durations.add(bucket_of(900), 989);
        durations.add(bucket_of(1_000), 10);
        durations.add(bucket_of(5_000_000), 1);
        let spread = durations.spread();
        assert_eq!(spread.total(), 1000);
        assert_eq!(spread.quantile_ns(500), 1_000);
        assert_eq!(spread.quantile_ns(990), 1_250);
        assert_eq!(spread.quantile_ns(999), 1_250);
        assert_eq!(spread.quantile_ns(1000), 5_120_000);
        assert_eq!(
            spread.by_power_of_two_us(),
            [(1, 989), (2, 999), (8192, 1000)]
        );
        assert_eq!([1, 2, 4].map(|us| spread.below_us(us)), [989, 999, 999]);
        durations.reset();
        assert_eq!(durations.spread().total(), 0);
    }
}
