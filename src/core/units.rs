//! Instants, spans and waits. Checked or saturating arithmetic only; all of it exact.

use std::cmp::Ordering;
use std::fmt;

/// Nanoseconds in a microsecond.
pub const MICROSECOND: u64 = 1_000;
/// Nanoseconds in a millisecond.
pub const MILLISECOND: u64 = 1_000_000;
/// Nanoseconds in a second.
pub const SECOND: u64 = 1_000_000_000;
/// Nanoseconds in a day.
pub const DAY: u64 = 86_400 * SECOND;

/// An instant: nanoseconds since the Unix epoch, up to [`Timestamp::MAX`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The epoch.
    pub const ZERO: Self = Self(0);
    /// The last instant a clock may show: 2^63 ns, in the year 2262. The upper half of the 64 bits
    /// is left to what lies ahead of the clock, so that adding a [`Span`] cannot overflow.
    pub const MAX: Self = Self(1 << 63);

    /// From nanoseconds since the epoch; `None` beyond what 64 bits can promise ([`Self::MAX`] plus
    /// the longest span).
    pub fn from_ns(ns: u64) -> Option<Self> {
        (ns <= Self::MAX.0 + 2 * Span::MAX.0).then_some(Self(ns))
    }

    /// Nanoseconds since the epoch.
    pub const fn as_ns(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to `self`, zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The instant `count` periods later; the last there is if that lies beyond.
    pub const fn after_periods(self, count: u64, period: Span) -> Self {
        Self(self.0.saturating_add(count.saturating_mul(period.0)))
    }

    /// The instant `ns` nanoseconds later.
    pub const fn after_ns(self, ns: u64) -> Self {
        Self(self.0.saturating_add(ns))
    }

    /// The instant `ns` nanoseconds earlier, the epoch at the earliest.
    pub const fn before_ns(self, ns: u64) -> Self {
        Self(self.0.saturating_sub(ns))
    }

    /// The instant `span` later.
    pub const fn after(self, span: Span) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

/// A length of time that a command may name: 0 to 3650 days, in whole nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Hash)]
pub struct Span(u64);

impl Span {
    /// No time.
    pub const ZERO: Self = Self(0);
    /// 3650 days, the longest span a command takes.
    pub const MAX: Self = Self(3650 * DAY);

    /// From nanoseconds; `None` above [`Self::MAX`].
    pub const fn from_ns(ns: u64) -> Option<Self> {
        if ns <= Self::MAX.0 {
            Some(Self(ns))
        } else {
            None
        }
    }

    /// Nanoseconds.
    pub const fn as_ns(self) -> u64 {
        self.0
    }
}

/// As a command takes it, in the largest unit of which it is a whole number: `90m`, `1500ms`.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [
            (DAY, "d"),
            (3600 * SECOND, "h"),
            (60 * SECOND, "m"),
            (SECOND, "s"),
            (MILLISECOND, "ms"),
            (1_000, "us"),
        ];
        let whole = |&(unit, _): &(u64, &str)| self.0 >= unit && self.0.is_multiple_of(unit);
        let (unit, name) = units.into_iter().find(whole).unwrap_or((1, "ns"));
        write!(f, "{}{name}", self.0 / unit)
    }
}

/// An exact time to wait: whole nanoseconds and a fraction of one.
///
/// Replies round it up, so that whoever waits as told is never early.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    whole_ns: u128,
    /// The fraction, `numerator / denominator`, in `[0, 1)`.
    numerator: u64,
    denominator: u64,
}

impl Wait {
    /// No wait: go now.
    pub const ZERO: Self = Self {
        whole_ns: 0,
        numerator: 0,
        denominator: 1,
    };

    /// A whole number of nanoseconds.
    pub const fn from_ns(ns: u128) -> Self {
        Self {
            whole_ns: ns,
            numerator: 0,
            denominator: 1,
        }
    }

    /// `amount / per_ns` nanoseconds; `per_ns` must not be zero.
    pub fn quotient(amount: u128, per_ns: u64) -> Self {
        let (whole_ns, numerator) = match u64::try_from(amount) {
            // A 64-bit division is several times cheaper, and nearly every amount fits one.
            Ok(amount) => (u128::from(amount / per_ns), amount % per_ns),
            Err(_) => {
                let divisor = u128::from(per_ns);
                // The remainder is below a 64-bit divisor.
                (amount / divisor, (amount % divisor) as u64)
            }
        };
        Self {
            whole_ns,
            numerator,
            denominator: per_ns,
        }
    }

    /// Nanoseconds, and the fraction of one as numerator over denominator.
    pub const fn parts(self) -> (u128, u64, u64) {
        (self.whole_ns, self.numerator, self.denominator)
    }

    /// This wait, begun `ns` later.
    pub fn plus_ns(self, ns: u64) -> Self {
        Self {
            whole_ns: self.whole_ns.saturating_add(u128::from(ns)),
            ..self
        }
    }

    /// True if there is nothing to wait for.
    pub const fn is_zero(self) -> bool {
        self.whole_ns == 0 && self.numerator == 0
    }

    /// True if the wait is not longer than `span`.
    pub fn fits(self, span: Span) -> bool {
        self.ceil_ns() <= u128::from(span.0)
    }

    /// True if its milliseconds fit the 64 bits of a reply. Only debt that changes of parameters blew up
    /// does not: it would take 292 million years.
    pub fn fits_reply(self) -> bool {
        self.ceil_ns() <= i64::MAX as u128 * MILLISECOND as u128
    }

    /// Nanoseconds, rounded up.
    pub fn ceil_ns(self) -> u128 {
        self.whole_ns
            .saturating_add(u128::from(self.numerator != 0))
    }

    /// Milliseconds, rounded up; the largest 64-bit integer if it does not fit.
    pub fn ceil_ms(self) -> i64 {
        self.ceil_to(MILLISECOND)
    }

    /// Seconds, rounded up; the largest 64-bit integer if it does not fit.
    pub fn ceil_seconds(self) -> i64 {
        self.ceil_to(SECOND)
    }

    fn ceil_to(self, unit_ns: u64) -> i64 {
        let ns = self.ceil_ns();
        // As in `quotient`.
        match u64::try_from(ns) {
            Ok(ns) => ns.div_ceil(unit_ns) as i64,
            Err(_) => i64::try_from(ns.div_ceil(u128::from(unit_ns))).unwrap_or(i64::MAX),
        }
    }
}

impl PartialEq for Wait {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Wait {}

impl PartialOrd for Wait {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Wait {
    fn cmp(&self, other: &Self) -> Ordering {
        let fraction = |a: &Self, b: &Self| u128::from(a.numerator) * u128::from(b.denominator);
        self.whole_ns
            .cmp(&other.whole_ns)
            .then_with(|| fraction(self, other).cmp(&fraction(other, self)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_never_rounded_down() {
        let third = Wait::quotient(1, 3);
        assert!(!third.is_zero());
        assert_eq!(
            (third.ceil_ns(), third.ceil_ms(), third.ceil_seconds()),
            (1, 1, 1)
        );
        assert_eq!(Wait::from_ns(1_000_000).ceil_ms(), 1);
        assert_eq!(Wait::from_ns(1_000_001).ceil_ms(), 2);
        assert_eq!(Wait::from_ns(u128::MAX).plus_ns(9).ceil_ms(), i64::MAX);
    }

    #[test]
    fn spans_are_written_with_one_unit() {
        let shown = |ns| Span(ns).to_string();
        assert_eq!(shown(DAY), "1d");
        assert_eq!(shown(90 * SECOND), "90s");
        assert_eq!(shown(1), "1ns");
        assert_eq!(shown(0), "0ns");
    }

    #[test]
    fn waits_compare_by_their_fraction_too() {
        assert!(Wait::quotient(1, 3) < Wait::quotient(1, 2));
        assert_eq!(Wait::quotient(2, 6), Wait::quotient(1, 3));
        assert!(Wait::quotient(7, 3) > Wait::from_ns(2));
        assert!(Wait::quotient(1, 3).fits(Span(1)));
        assert!(!Wait::quotient(4, 3).fits(Span(1)));
    }
}
