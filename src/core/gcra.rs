//! The generic cell rate algorithm, as a bucket that keeps its time.
//!
//! GCRA in its virtual scheduling form (ITU-T I.371, annex on the algorithm's two equivalent
//! versions) holds a theoretical arrival time and a tolerance; the leaky-bucket form holds how full
//! the bucket is. With `deficit = (tat − now) / emission interval` and `capacity = max_burst + 1`
//! they decide alike, so [`super::bucket`] serves both and this file holds what is GCRA's own: how its
//! parameters are written, and that a change of parameters keeps the time until the key is full.

use super::limit::{BucketLimit, Keeps, LimitError, Rate};
use super::number::Decimal;
use super::units::Span;

/// The kind's name in replies. PACE is a GCRA with `max_burst` 0 and goes by the same name.
pub const KIND: &str = "gcra";

/// Why a GCRA's parameters are refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GcraError {
    /// `count / period` is outside 1 per 3650 days to 10^9 per second.
    Rate,
    /// Rate and capacity do not fit together.
    Limit(LimitError),
}

/// `count` (1 to 10^12) per `period`, with `max_burst` (0 to 10^12 − 1) more at once.
pub fn limit(max_burst: u64, count: u64, period: Span) -> Result<BucketLimit, GcraError> {
    let count = Decimal {
        digits: u128::from(count),
        decimals: 0,
    };
    let rate = Rate::new(count, period).ok_or(GcraError::Rate)?;
    BucketLimit::new(max_burst.saturating_add(1), rate, Keeps::Time).map_err(GcraError::Limit)
}

/// One at a time, evenly spaced.
pub fn pace(rate: Rate) -> Result<BucketLimit, LimitError> {
    BucketLimit::new(1, rate, Keeps::Time)
}

/// A deficit of the `old` rate as the deficit that takes the same time to refill at the `new` one:
/// `deficit ÷ old × new`, rounded up. `None` if it does not fit 128 bits.
///
/// Both are in units of one permit over their own rate's denominator, so that `deficit / old.permits`
/// is the time in nanoseconds and the denominators cancel out.
pub fn same_time(deficit: u128, old: Rate, new: Rate) -> Option<u128> {
    let (per, into) = (u128::from(old.permits()), u128::from(new.permits()));
    let whole = (deficit / per).checked_mul(into)?;
    // Both factors are below 2^60.
    whole.checked_add(((deficit % per) * into).div_ceil(per))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_kept_and_rounded_up() {
        let rate = |text: &str| Rate::parse(text.as_bytes()).expect("a rate");
        let (slow, fast) = (rate("3"), rate("7"));
        // One permit of 3/s takes a third of a second: 7/3 permits of 7/s.
        let deficit = same_time(slow.per_ns(), slow, fast).expect("it fits");
        assert_eq!(deficit, (7 * fast.per_ns()).div_ceil(3));
        assert_eq!(same_time(0, slow, fast), Some(0));
        assert_eq!(same_time(u128::MAX, slow, fast), None);
    }

    #[test]
    fn the_rate_of_a_period_is_in_range() {
        let seconds = |n: u64| Span::from_ns(n * 1_000_000_000).expect("a span");
        assert!(limit(15, 30, seconds(60)).is_ok());
        assert_eq!(limit(0, 1, Span::ZERO), Err(GcraError::Rate));
        assert_eq!(limit(0, 2_000_000_000, seconds(1)), Err(GcraError::Rate));
        assert_eq!(
            limit(999_999_999_999, 1, seconds(86_400 * 3650)),
            Err(GcraError::Limit(LimitError::TooSlow))
        );
    }
}
