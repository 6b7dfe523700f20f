//! A call that asks one bucket for permits and for nothing else: what nearly all calls do.
//!
//! Any call is decided on a [draft](super::draft) of its keys. Where one bucket is all that a key holds, and the call
//! brings the parameters that it has already, the draft comes down to one sum. [`Bucket::decide_alone`] does that sum
//! on the bucket itself and says nothing of all other cases; it answers as the draft does and leaves the same bucket.

use super::bucket::{Bucket, Level};
use super::limit::BucketLimit;
use super::units::{Span, Timestamp, Wait};

/// What a bucket has decided by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// The cost is booked.
    pub granted: bool,
    /// When it could go, or will.
    pub wait: Wait,
}

impl Bucket {
    /// Books `cost` (1 or more) under `limit`, if its slot is no more than `max_wait` away. `None` if it takes more than
    /// the bucket to say: other parameters than it has, a pause that has left its mark, a cost that can never go,
    /// debt beyond what a call may run up. Nothing has changed then.
    ///
    /// The key must not be paused or slowed down, nor hold bookings beside its bucket. A bucket that is full counts
    /// as one that was never used.
    pub fn decide_alone(
        &mut self,
        limit: &BucketLimit,
        cost: u64,
        now: Timestamp,
        max_wait: Span,
    ) -> Option<Verdict> {
        if self.limit != *limit
            || self.promised_after_pause
            || self.undrained.is_some()
            || cost > limit.capacity()
        {
            return None;
        }
        let (rate, capacity) = (limit.rate(), limit.scaled_capacity());
        let refilled = u128::from(now.since(self.level.base)) * u128::from(rate.permits());
        let before = { self.level.deficit }.saturating_sub(refilled);
        // At most 2^127 and 2^120.
        let deficit = before + u128::from(cost) * rate.per_ns();
        let debt = deficit.saturating_sub(capacity);
        if debt > 0 && debt > u128::from(Span::MAX.as_ns()) * u128::from(rate.permits()) {
            return None;
        }
        let wait = match debt {
            0 => Wait::ZERO,
            debt => Wait::quotient(debt, rate.permits()),
        };
        let granted = debt == 0 || wait.fits(max_wait);
        if granted {
            // The base of one that was never used is now, also if a thread with a later clock came first.
            let base = match before {
                0 => now,
                _ => now.max(self.level.base),
            };
            self.level = Level { deficit, base };
            self.promised_ahead = debt > 0 || self.promised_ahead && before > capacity;
        }
        Some(Verdict { granted, wait })
    }
}

#[cfg(test)]
#[path = "lone_tests.rs"]
mod tests;
