//! Parameters as a few words, for whoever holds them once for many keys.

use super::{BucketLimit, Keeps, PeriodLimit, Rate};
use crate::core::units::Span;
use crate::core::window::WindowLimit;

/// Above any amount: set beside one, it says what else there is to say of a limit.
const FLAG: u64 = 1 << 63;

/// Parameters that can be written as four words and read back as they were.
pub trait Words: Copy {
    /// The words. Equal parameters have the same, others of their type have others.
    fn to_words(self) -> [u64; 4];

    /// The parameters of words that [`Self::to_words`] gave; of others it may be some that cannot be.
    fn from_words(words: [u64; 4]) -> Self;
}

impl Words for BucketLimit {
    fn to_words(self) -> [u64; 4] {
        let keeps = match self.keeps {
            Keeps::Permits => 0,
            Keeps::Time => FLAG,
        };
        let per_ns = self.rate.per_ns;
        [
            self.capacity | keeps,
            self.rate.permits,
            per_ns as u64,
            (per_ns >> 64) as u64,
        ]
    }

    fn from_words([capacity, permits, low, high]: [u64; 4]) -> Self {
        Self {
            capacity: capacity & !FLAG,
            rate: Rate {
                permits,
                per_ns: u128::from(high) << 64 | u128::from(low),
            },
            keeps: if capacity & FLAG == 0 {
                Keeps::Permits
            } else {
                Keeps::Time
            },
        }
    }
}

impl Words for PeriodLimit {
    fn to_words(self) -> [u64; 4] {
        [self.count, self.period.as_ns(), 0, 0]
    }

    fn from_words([count, period, ..]: [u64; 4]) -> Self {
        let period = Span::from_ns(period).unwrap_or(Span::MAX);
        Self { count, period }
    }
}

impl Words for WindowLimit {
    fn to_words(self) -> [u64; 4] {
        let [count, period, ..] = self.per.to_words();
        let align = if self.align { FLAG } else { 0 };
        [count | align, period, 0, 0]
    }

    fn from_words([count, period, ..]: [u64; 4]) -> Self {
        Self {
            per: PeriodLimit::from_words([count & !FLAG, period, 0, 0]),
            align: count & FLAG != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::number::AMOUNT_MAX;

    #[test]
    fn parameters_come_back_as_they_were() {
        for capacity in [1, 80, AMOUNT_MAX] {
            for rate in ["1000000000", "80", "0.33333333333333331", "1/3650d"] {
                let rate = Rate::parse(rate.as_bytes()).unwrap();
                for keeps in [Keeps::Permits, Keeps::Time] {
                    let limit = BucketLimit {
                        capacity,
                        rate,
                        keeps,
                    };
                    assert_eq!(BucketLimit::from_words(limit.to_words()), limit);
                }
            }
            for period in [Span::from_ns(1).unwrap(), Span::MAX] {
                let per = PeriodLimit::new(capacity, period).unwrap();
                assert_eq!(PeriodLimit::from_words(per.to_words()), per);
                for align in [false, true] {
                    let limit = WindowLimit { per, align };
                    assert_eq!(WindowLimit::from_words(limit.to_words()), limit);
                }
            }
        }
    }
}
