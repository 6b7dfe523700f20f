//! So much a second, just now.

use parking_lot::Mutex;

/// Samples that the mean is of, as in Redis.
const SAMPLES: usize = 16;
/// Least time from one sample to the next, in nanoseconds, as in Redis.
const INTERVAL_NS: u64 = 100_000_000;

/// The mean of the last samples of a total that grows.
#[derive(Default)]
pub(super) struct Rate(Mutex<State>);

#[derive(Default)]
struct State {
    at_ns: u64,
    total: u64,
    per_second: [u64; SAMPLES],
    next: usize,
}

impl Rate {
    /// Looks at the total, if it is time to.
    pub(super) fn sample(&self, now_ns: u64, total: u64) {
        let mut state = self.0.lock();
        let span_ns = now_ns.saturating_sub(state.at_ns);
        if span_ns < INTERVAL_NS {
            return;
        }
        // Below the last one: it was reset.
        let more = total.checked_sub(state.total).unwrap_or(total);
        let per_second = u128::from(more) * 1_000_000_000 / u128::from(span_ns);
        let next = state.next;
        state.per_second[next] = u64::try_from(per_second).unwrap_or(u64::MAX);
        state.next = (next + 1) % SAMPLES;
        (state.at_ns, state.total) = (now_ns, total);
    }

    /// The mean.
    pub(super) fn per_second(&self) -> u64 {
        let sum: u128 = self
            .0
            .lock()
            .per_second
            .iter()
            .copied()
            .map(u128::from)
            .sum();
        (sum / SAMPLES as u128) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_mean_of_the_last_samples() {
        let rate = Rate::default();
        let start = 1_700_000_000_000_000_000;
        rate.sample(start, 0);
        for tick in 1..=16 {
            rate.sample(start + tick * INTERVAL_NS, tick * 100);
            // Too early to be looked at.
            rate.sample(start + tick * INTERVAL_NS + 1, tick * 100 + 50);
        }
        assert_eq!(rate.per_second(), 1000);
        // A second of silence is one sample.
        rate.sample(start + 26 * INTERVAL_NS, 1600);
        assert_eq!(rate.per_second(), 937);
        rate.sample(start + 27 * INTERVAL_NS, 100);
        assert_eq!(rate.per_second(), 937, "counted from zero after a reset");
    }
}
