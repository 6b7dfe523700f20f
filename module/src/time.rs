//! The time at which commands run: the system's, or that of the primary which this server follows.
//!
//! A replica that was promoted goes on from the primary's last instant, whatever its own clock says: if it went by its own
//! and that were ahead, every bucket would be handed the difference as a burst.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use tollgate::clock::Clock;
use tollgate::core::units::{SECOND, Timestamp};

/// A clock that can be put right.
pub struct Time {
    system: Clock,
    /// Nanoseconds that it is ahead of the system's.
    ahead_ns: AtomicI64,
}

impl Time {
    /// The system's time, or that of a system whose clock is so many seconds ahead of it.
    pub fn ahead_by(seconds: i32) -> Self {
        Self {
            system: Clock::system(Timestamp::ZERO),
            ahead_ns: AtomicI64::new(i64::from(seconds) * SECOND as i64),
        }
    }

    /// The instant it is.
    pub fn now(&self) -> Timestamp {
        let ns = self
            .system
            .now()
            .as_ns()
            .saturating_add_signed(self.ahead_ns.load(Relaxed));
        Timestamp::from_ns(ns).unwrap_or(Timestamp::MAX)
    }

    /// It is `at` now: the primary says so.
    pub fn follow(&self, at: Timestamp) {
        let system = self.system.now().as_ns();
        let ahead = i128::from(at.as_ns()) - i128::from(system);
        let ahead = ahead.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        self.ahead_ns.store(ahead, Relaxed);
    }

    /// It is no earlier than `at`: that is on disk.
    pub fn not_before(&self, at: Timestamp) {
        if self.now() < at {
            self.follow(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_ns(seconds * SECOND).unwrap()
    }

    #[test]
    fn a_primary_is_followed_both_ways_and_goes_on_from_there() {
        let time = Time::ahead_by(-7);
        for told in [at(1), at(4_000_000_000), at(2_000)] {
            time.follow(told);
            let now = time.now();
            assert!(
                now >= told && now.since(told) < 3_600 * SECOND,
                "{told:?} {now:?}"
            );
        }
        time.not_before(at(1_000));
        assert!(time.now() < at(1_000_000));
        time.not_before(at(5_000_000));
        assert!(time.now() >= at(5_000_000));
    }
}
