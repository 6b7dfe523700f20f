//! How long callers whose call was granted waited for their slot: counts by milliseconds.
//!
//! That of a call that went at once is not noted: it is what is left of all grants. So the usual call costs nothing.

use smallvec::SmallVec;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bounds of the counts: a wait of so many milliseconds, rounded up, or fewer. From what a paced worker waits to the
/// longest periods that providers count in.
pub const WAIT_BOUNDS_MS: [u64; 18] = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000,
    900_000, 3_600_000,
];

/// What one batch counted.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Waited {
    sum_ms: u64,
    /// Places among the bounds, one behind them for what is longer, and how many.
    counts: SmallVec<[(u8, u32); 2]>,
}

impl Waited {
    /// A caller waits, or has waited.
    pub(super) fn add(&mut self, ms: u64) {
        let place = WAIT_BOUNDS_MS.partition_point(|&bound| bound < ms) as u8;
        self.sum_ms = self.sum_ms.saturating_add(ms);
        match self.counts.iter_mut().find(|(other, _)| *other == place) {
            Some((_, count)) => *count += 1,
            None => self.counts.push((place, 1)),
        }
    }
}

/// The totals.
#[derive(Default)]
pub(super) struct Waits {
    sum_ms: AtomicU64,
    counts: [AtomicU64; WAIT_BOUNDS_MS.len() + 1],
}

/// The totals at an instant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitTotals {
    /// All waits together, in milliseconds.
    pub sum_ms: u64,
    /// Calls that went at once.
    pub at_once: u64,
    /// Those that waited, by the bound that they stayed within; the last waited for longer than the last bound.
    pub counts: [u64; WAIT_BOUNDS_MS.len() + 1],
}

impl Waits {
    pub(super) fn add(&self, waited: &Waited) {
        if waited.counts.is_empty() {
            return;
        }
        self.sum_ms.fetch_add(waited.sum_ms, Relaxed);
        for &(place, count) in &waited.counts {
            self.counts[usize::from(place)].fetch_add(count.into(), Relaxed);
        }
    }

    /// The totals, of so many grants in all.
    pub(super) fn totals(&self, granted: impl FnOnce() -> u64) -> WaitTotals {
        let counts = std::array::from_fn(|place| self.counts[place].load(Relaxed));
        // Read last, so that it is not behind.
        let at_once = granted().saturating_sub(counts.iter().sum());
        WaitTotals {
            sum_ms: self.sum_ms.load(Relaxed),
            at_once,
            counts,
        }
    }

    pub(super) fn reset(&self) {
        self.sum_ms.store(0, Relaxed);
        self.counts.iter().for_each(|count| count.store(0, Relaxed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_stays_within_its_bound() {
        let (waits, mut waited) = (Waits::default(), Waited::default());
        [1, 2, 2, 3, 3_600_000, 3_600_001]
            .iter()
            .for_each(|&ms| waited.add(ms));
        waits.add(&waited);
        waits.add(&waited);
        let totals = waits.totals(|| 20);
        assert_eq!((totals.sum_ms, totals.at_once), (14_400_018, 8));
        assert_eq!(totals.counts[..4], [2, 4, 2, 0]);
        assert_eq!(totals.counts[WAIT_BOUNDS_MS.len() - 1..], [2, 2]);
        waits.reset();
        assert_eq!(waits.totals(|| 0).counts, [0; WAIT_BOUNDS_MS.len() + 1]);
    }
}
