//! Counters: strings that are integers.

use super::error::PlainError;
use super::text::{self, Text};
use super::{Data, Plain};

/// The integer of the key, 0 if it does not exist.
///
/// # Errors
/// [`PlainError::WrongType`]; [`PlainError::NotAnInteger`] for a string that is not the shortest form of a 64-bit
/// integer, as in Redis: `010`, `+1`, `1.0` and the empty string are none.
pub fn value(slot: &Option<Plain>) -> Result<i64, PlainError> {
    match text::get(slot)? {
        Some(text) => text.as_integer().ok_or(PlainError::NotAnInteger),
        None => Ok(0),
    }
}

/// Adds to an integer, which begins at 0; the sum. When the key goes stays as it is.
///
/// # Errors
/// As [`value`]; [`PlainError::Overflow`].
pub fn add(slot: &mut Option<Plain>, by: i64) -> Result<i64, PlainError> {
    let sum = value(slot)?.checked_add(by).ok_or(PlainError::Overflow)?;
    match slot {
        Some(plain) => plain.data = Data::Text(Text::from(sum)),
        None => *slot = Some(Plain::new(Data::Text(Text::from(sum)))),
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::super::Deadline;
    use super::*;
    use proptest::prelude::*;

    fn slot(bytes: &[u8]) -> Option<Plain> {
        Some(Plain::new(Data::Text(Text::new(bytes).unwrap())))
    }

    #[test]
    fn a_counter_begins_at_zero_and_keeps_its_end() {
        let mut key = None;
        assert_eq!(add(&mut key, 5), Ok(5));
        key.as_mut().unwrap().expires = Some(Deadline::at_ms(7));
        assert_eq!(add(&mut key, -7), Ok(-2));
        let expected = Plain {
            expires: Some(Deadline::at_ms(7)),
            ..slot(b"-2").unwrap()
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
