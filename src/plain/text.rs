//! Strings: any bytes, and integers in the form of a number.

use super::error::PlainError;
use super::expiry::{self, Expiry};
use super::extended::Extended;
use super::{Data, Plain};
use crate::core::number;
use crate::core::units::Timestamp;

/// Longest string, in bytes (64 KiB).
///
/// Counters, tokens and the records of rate-limit libraries are well below a kilobyte. It bounds what one key
/// costs in memory, in the snapshot and in a reply: `MGET` of the most arguments is 4 GiB at worst, not 64.
pub const TEXT_BYTES_MAX: usize = 64 * 1024;

/// A string. An integer in its shortest form is held as a number, which nobody can tell but by its size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Text(Form);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Form {
    Integer(i64),
    /// Anything else; never what [`number::signed_integer`] reads.
    Bytes(Box<[u8]>),
}

impl Text {
    /// A string of these bytes.
    ///
    /// # Errors
    /// [`PlainError::TooLong`].
    pub fn new(bytes: &[u8]) -> Result<Self, PlainError> {
        if bytes.len() > TEXT_BYTES_MAX {
            return Err(PlainError::TooLong);
        }
        Ok(Self(match number::signed_integer(bytes) {
            Some(integer) => Form::Integer(integer),
            None => Form::Bytes(bytes.into()),
        }))
    }

    /// The integer that it is the shortest form of.
    pub const fn as_integer(&self) -> Option<i64> {
        match self.0 {
            Form::Integer(integer) => Some(integer),
            Form::Bytes(_) => None,
        }
    }

    /// Bytes that it takes outside of itself.
    pub const fn heap_bytes(&self) -> usize {
        match &self.0 {
            Form::Integer(_) => 0,
            Form::Bytes(bytes) => bytes.len(),
        }
    }

    /// Calls `f` with the bytes.
    pub fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        match &self.0 {
            Form::Integer(integer) => f(itoa::Buffer::new().format(*integer).as_bytes()),
            Form::Bytes(bytes) => f(bytes),
        }
    }
}

impl From<i64> for Text {
    fn from(integer: i64) -> Self {
        Self(Form::Integer(integer))
    }
}

impl From<Extended> for Text {
    /// The number to 17 decimals, which is never too long.
    fn from(number: Extended) -> Self {
        let text = number.to_string().into_bytes();
        Self(match number::signed_integer(&text) {
            Some(integer) => Form::Integer(integer),
            None => Form::Bytes(text.into()),
        })
    }
}

/// When [`set`] sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Condition {
    /// In any case.
    #[default]
    Always,
    /// If the key does not exist.
    Absent,
    /// If the key exists, whatever it holds.
    Present,
}

/// The string of the key, `None` if it does not exist.
///
/// # Errors
/// [`PlainError::WrongType`].
pub fn get(slot: &Option<Plain>) -> Result<Option<&Text>, PlainError> {
    slot.as_ref().map(Plain::text).transpose()
}

/// Puts a string in the place of whatever plain value there is; false if the condition does not hold.
pub fn set(
    slot: &mut Option<Plain>,
    text: Text,
    condition: Condition,
    expiry: Expiry,
    now: Timestamp,
) -> bool {
    let holds = match condition {
        Condition::Always => true,
        Condition::Absent => slot.is_none(),
        Condition::Present => slot.is_some(),
    };
    if holds {
        replace(slot, text);
        expiry::apply(slot, expiry, now);
    }
    holds
}

/// Puts a string in the place of whatever plain value there is; it goes when that would have gone.
pub(super) fn replace(slot: &mut Option<Plain>, text: Text) {
    let expires = slot.as_ref().and_then(|plain| plain.expires);
    *slot = Some(Plain {
        data: Data::Text(text),
        expires,
    });
}

#[cfg(test)]
mod tests {
    use super::super::Deadline;
    use super::*;

    fn text(bytes: &[u8]) -> Text {
        Text::new(bytes).unwrap()
    }

    fn set_always(slot: &mut Option<Plain>, bytes: &[u8], expiry: Expiry) {
        assert!(set(
            slot,
            text(bytes),
            Condition::Always,
            expiry,
            Timestamp::ZERO
        ));
    }

    #[test]
    fn any_bytes_come_back_as_they_were() {
        for bytes in [
            &b""[..],
            b"a",
            b"\0\r\n\xff",
            b"0",
            b"-0",
            b"+1",
            b"010",
            b" 1",
            b"1 ",
            b"-9223372036854775808",
            b"9223372036854775807",
            b"9223372036854775808",
            b"1.0",
            &[b'x'; TEXT_BYTES_MAX],
        ] {
            assert!(text(bytes).with_bytes(|held| held == bytes));
        }
        assert_eq!(
            Text::new(&[b'x'; TEXT_BYTES_MAX + 1]),
            Err(PlainError::TooLong)
        );
    }

    #[test]
    fn integers_in_their_shortest_form_are_numbers() {
        assert_eq!(text(b"-17").as_integer(), Some(-17));
        assert_eq!(text(b"-17"), Text::from(-17));
        for other in ["", "010", " 1", "-0", "+1", "9223372036854775808", "1e3"] {
            assert_eq!(text(other.as_bytes()).as_integer(), None, "{other:?}");
        }
        assert_eq!(size_of::<Text>(), 16);
    }

    #[test]
    fn a_condition_that_does_not_hold_changes_nothing() {
        let mut slot = None;
        let now = Timestamp::ZERO;
        assert!(!set(
            &mut slot,
            text(b"a"),
            Condition::Present,
            Expiry::Clear,
            now
        ));
        assert_eq!(slot, None);
        assert!(set(
            &mut slot,
            text(b"a"),
            Condition::Absent,
            Expiry::Clear,
            now
        ));
        let before = slot.clone();
        assert!(!set(
            &mut slot,
            text(b"b"),
            Condition::Absent,
            Expiry::Clear,
            now
        ));
        assert_eq!(slot, before);
        assert!(set(
            &mut slot,
            text(b"b"),
            Condition::Present,
            Expiry::Clear,
            now
        ));
        assert_eq!(get(&slot), Ok(Some(&text(b"b"))));
    }

    #[test]
    fn a_new_string_has_the_expiry_it_is_given() {
        let mut slot = None;
        let deadline = Deadline::at_ms(5);
        set_always(&mut slot, b"a", Expiry::At(deadline));
        set_always(&mut slot, b"b", Expiry::Keep);
        assert_eq!(slot.as_ref().unwrap().expires, Some(deadline));
        set_always(&mut slot, b"c", Expiry::Clear);
        assert_eq!(slot.as_ref().unwrap().expires, None);
        set_always(&mut slot, b"d", Expiry::At(Deadline::at_ms(0)));
        assert_eq!(slot, None);
    }
}
