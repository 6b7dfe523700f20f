//! Counters: strings that are numbers.

use super::Plain;
use super::error::PlainError;
use super::extended::Extended;
use super::text::{self, Text};

/// What a counter counts in.
pub trait Number: Copy + Ord {
    /// Where a counter begins.
    const ZERO: Self;

    /// Reads the number that a string is.
    ///
    /// # Errors
    /// Says what the string is not.
    fn read(text: &Text) -> Result<Self, PlainError>;

    /// The number as a string.
    fn into_text(self) -> Text;

    /// False for the infinities.
    fn is_finite(self) -> bool;

    /// The sum of two finite numbers. False: it is out of range, and the end of the range stands for it.
    fn added(self, by: Self) -> (Self, bool);

    /// What has to be added to `from`, which is finite, to get here.
    ///
    /// # Errors
    /// It is out of range.
    fn difference(self, from: Self) -> Result<Self, PlainError>;
}

impl Number for i64 {
    const ZERO: Self = 0;

    /// As in Redis, only the shortest form of a 64-bit integer: `010`, `+1`, `1.0` and the empty string are none.
    fn read(text: &Text) -> Result<Self, PlainError> {
        text.as_integer().ok_or(PlainError::NotAnInteger)
    }

    fn into_text(self) -> Text {
        self.into()
    }

    fn is_finite(self) -> bool {
        true
    }

    fn added(self, by: Self) -> (Self, bool) {
        (self.saturating_add(by), self.checked_add(by).is_some())
    }

    fn difference(self, from: Self) -> Result<Self, PlainError> {
        self.checked_sub(from).ok_or(PlainError::AppliedOverflow)
    }
}

impl Number for Extended {
    const ZERO: Self = Self::ZERO;

    fn read(text: &Text) -> Result<Self, PlainError> {
        text.with_bytes(Self::parse).ok_or(PlainError::NotAFloat)
    }

    fn into_text(self) -> Text {
        self.into()
    }

    fn is_finite(self) -> bool {
        self.is_finite()
    }

    fn added(self, by: Self) -> (Self, bool) {
        let sum = self.plus(by);
        (sum.min(Self::MAX).max(-Self::MAX), sum.is_finite())
    }

    fn difference(self, from: Self) -> Result<Self, PlainError> {
        let difference = if self.is_finite() {
            self.plus(-from)
        } else {
            self
        };
        if difference.is_finite() {
            Ok(difference)
        } else {
            Err(PlainError::AppliedInfinite)
        }
    }
}

/// The number of the key, 0 if it does not exist.
///
/// # Errors
/// [`PlainError::WrongType`]; as [`Number::read`].
pub fn value<N: Number>(slot: &Option<Plain>) -> Result<N, PlainError> {
    text::get(slot)?.map_or(Ok(N::ZERO), N::read)
}

/// Adds to an integer, which begins at 0; the sum. When the key goes stays as it is.
///
/// # Errors
/// As [`value`]; [`PlainError::Overflow`].
pub fn add(slot: &mut Option<Plain>, by: i64) -> Result<i64, PlainError> {
    let sum = value::<i64>(slot)?.checked_add(by);
    let sum = sum.ok_or(PlainError::Overflow)?;
    text::replace(slot, sum.into());
    Ok(sum)
}

/// As [`add`], in floating point.
///
/// # Errors
/// As [`value`]; [`PlainError::NotFinite`] for infinities, and for a sum that is out of range.
pub fn add_float(slot: &mut Option<Plain>, by: Extended) -> Result<Extended, PlainError> {
    let current = value::<Extended>(slot)?;
    let (sum, within) = if current.is_finite() && by.is_finite() {
        current.added(by)
    } else {
        (current, false)
    };
    if !within {
        return Err(PlainError::NotFinite);
    }
    text::replace(slot, sum.into());
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::super::{Data, Deadline};
    use super::*;
    use proptest::prelude::*;

    fn slot(bytes: &[u8]) -> Option<Plain> {
        Some(Plain::new(Data::Text(Text::new(bytes).unwrap())))
    }

    fn float(text: &str) -> Extended {
        Extended::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_counter_begins_at_zero_and_keeps_its_end() {
        let mut key = None;
        assert_eq!(add(&mut key, 5), Ok(5));
        key.as_mut().unwrap().expires = Some(Deadline::at_ms(7));
        assert_eq!(add(&mut key, -7), Ok(-2));
        assert_eq!(add_float(&mut key, float("0.5")), Ok(float("-1.5")));
        let expected = Plain {
            expires: Some(Deadline::at_ms(7)),
            ..slot(b"-1.5").unwrap()
        };
        assert_eq!(key, Some(expected));
    }

    #[test]
    fn what_is_no_integer_is_left_alone() {
        for bytes in [
            &b""[..],
            b"abc",
            b"010",
            b" 1",
            b"1 ",
            b"+1",
            b"-0",
            b"1.0",
            b"9223372036854775808",
        ] {
            let mut key = slot(bytes);
            assert_eq!(add(&mut key, 1), Err(PlainError::NotAnInteger));
            assert_eq!(key, slot(bytes));
        }
    }

    #[test]
    fn a_float_that_is_an_integer_can_be_counted_on_as_one() {
        let mut key = slot(b"010.50");
        assert_eq!(add_float(&mut key, float("0.5")), Ok(float("11")));
        assert_eq!(add(&mut key, 1), Ok(12));
        assert_eq!(key, slot(b"12"));
    }

    #[test]
    fn what_is_no_finite_float_is_left_alone() {
        let largest = Extended::MAX.to_string();
        for (value, by, error) in [
            ("abc", "1", PlainError::NotAFloat),
            ("", "1", PlainError::NotAFloat),
            (" 1", "1", PlainError::NotAFloat),
            ("inf", "1", PlainError::NotFinite),
            ("inf", "-inf", PlainError::NotFinite),
            ("1", "inf", PlainError::NotFinite),
            (&largest, "1e308", PlainError::NotFinite),
        ] {
            let mut key = slot(value.as_bytes());
            assert_eq!(add_float(&mut key, float(by)), Err(error), "{value} {by}");
            assert_eq!(key, slot(value.as_bytes()));
        }
    }

    proptest! {
        #[test]
        fn sums_are_exact_or_refused(start: i64, steps in prop::collection::vec(any::<i64>(), 1..20)) {
            let mut key = Some(Plain::new(Data::Text(Text::from(start))));
            let mut model = i128::from(start);
            for by in steps {
                let sum = model + i128::from(by);
                let expected = i64::try_from(sum).map_err(|_| PlainError::Overflow);
                if expected.is_ok() {
                    model = sum;
                }
                prop_assert_eq!(add(&mut key, by), expected);
                prop_assert_eq!(&key, &slot(model.to_string().as_bytes()));
            }
        }
    }
}
