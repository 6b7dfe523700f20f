//! When to tell of something that may happen very often.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Least nanoseconds from one time that it is told to the next.
const REST_NS: u64 = 1_000_000_000;

/// Counts, and rings once a second at most.
#[derive(Default)]
pub struct Alarm {
    rings_from_ns: AtomicU64,
    left_out: AtomicU64,
}

impl Alarm {
    /// It has happened at `now_ns`. If it is to be told: how often it was not, since the last time.
    pub fn ring(&self, now_ns: u64) -> Option<u64> {
        let from_ns = self.rings_from_ns.load(Relaxed);
        let rings = now_ns >= from_ns
            && self
                .rings_from_ns
                .compare_exchange(from_ns, now_ns.saturating_add(REST_NS), Relaxed, Relaxed)
                .is_ok();
        if !rings {
            self.left_out.fetch_add(1, Relaxed);
            return None;
        }
        Some(self.left_out.swap(0, Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rings_once_a_second() {
        let alarm = Alarm::default();
        let rings = [5, 6, REST_NS + 4, REST_NS + 5, 3 * REST_NS].map(|ns| alarm.ring(ns));
        assert_eq!(rings, [Some(0), None, None, Some(2), Some(0)]);
    }
}
