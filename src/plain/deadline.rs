//! When a plain value goes.
//!
//! Redis counts in milliseconds, and takes any that 63 bits hold; a clock here counts in nanoseconds and ends in the
//! year 2262. A deadline has both: as far off as Redis takes it, and as exact as the clock that it began at. So
//! `SET k v PX 5000` is there for 5000 ms to the nanosecond.

use crate::core::units::{MILLISECOND, Timestamp, Wait};

/// The instant from which on a value is gone. It may lie before the epoch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Deadline {
    /// Milliseconds since the epoch.
    ms: i64,
    /// Nanoseconds above that, below one millisecond.
    ns: u32,
}

impl Deadline {
    /// The millisecond `ms` since the epoch.
    pub const fn at_ms(ms: i64) -> Self {
        Self { ms, ns: 0 }
    }

    /// From what [`Self::parts`] gave; `None` if `ns` is a millisecond or more.
    pub const fn from_parts(ms: i64, ns: u32) -> Option<Self> {
        if (ns as u64) < MILLISECOND {
            Some(Self { ms, ns })
        } else {
            None
        }
    }

    /// `ms` milliseconds from `now` on; `None` beyond 2^63 - 1 milliseconds after the epoch.
    pub fn after_ms(now: Timestamp, ms: i64) -> Option<Self> {
        let now = Self::at(now);
        Some(Self {
            ms: now.ms.checked_add(ms)?,
            ns: now.ns,
        })
    }

    /// The instant itself.
    fn at(instant: Timestamp) -> Self {
        // Both fit: 2^64 ns are fewer than 2^45 ms, and the remainder is below 10^6.
        Self {
            ms: (instant.as_ns() / MILLISECOND) as i64,
            ns: (instant.as_ns() % MILLISECOND) as u32,
        }
    }

    /// Milliseconds since the epoch, and nanoseconds above that, below one millisecond.
    pub const fn parts(self) -> (i64, u32) {
        (self.ms, self.ns)
    }

    /// Milliseconds since the epoch, rounded up; the largest 64-bit integer if it does not fit.
    pub const fn ceil_ms(self) -> i64 {
        self.ms.saturating_add((self.ns > 0) as i64)
    }

    /// True from this instant on.
    pub fn is_past(self, now: Timestamp) -> bool {
        self <= Self::at(now)
    }

    /// The time until then; zero if it is past.
    pub fn left(self, now: Timestamp) -> Wait {
        let ns = i128::from(self.ms) * i128::from(MILLISECOND) + i128::from(self.ns)
            - i128::from(now.as_ns());
        Wait::from_ns(u128::try_from(ns).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Timestamp {
        Timestamp::from_ns(ns).unwrap()
    }

    #[test]
    fn a_span_is_kept_to_the_nanosecond() {
        let deadline = Deadline::after_ms(at(1_999_999), 5).unwrap();
        assert_eq!(deadline.parts(), (6, 999_999));
        assert!(!deadline.is_past(at(6_999_998)));
        assert!(deadline.is_past(at(6_999_999)));
        assert_eq!(deadline.left(at(1_999_999)), Wait::from_ns(5_000_000));
        assert_eq!(deadline.left(at(6_999_998)), Wait::from_ns(1));
        assert_eq!(deadline.left(at(9_000_000)), Wait::ZERO);
        assert_eq!(deadline.ceil_ms(), 7);
        assert_eq!(Deadline::at_ms(7).ceil_ms(), 7);
    }

    #[test]
    fn deadlines_reach_as_far_as_those_of_redis() {
        let last = Deadline::after_ms(at(0), i64::MAX).unwrap();
        assert!(!last.is_past(Timestamp::MAX));
        assert_eq!(last.left(at(0)).ceil_ms(), i64::MAX);
        assert_eq!(Deadline::after_ms(at(1_000_000), i64::MAX), None);
        assert!(Deadline::at_ms(i64::MIN).is_past(at(0)));
        assert_eq!(Deadline::at_ms(i64::MIN).left(at(0)), Wait::ZERO);
        assert!(Deadline::at_ms(0).is_past(at(0)));
    }

    #[test]
    fn only_real_parts_are_taken() {
        assert_eq!(Deadline::from_parts(1, 1_000_000), None);
        let deadline = Deadline::from_parts(-1, 999_999).unwrap();
        assert_eq!(deadline.parts(), (-1, 999_999));
    }
}
