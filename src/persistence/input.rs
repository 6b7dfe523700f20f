//! Integers as bytes: written, and read back within bounds.
//!
//! A varint holds seven bits a byte, the lowest first, the top bit set on all but the last. Only the
//! shortest form is read, so that a value has one encoding. An instant takes eight bytes, which is
//! one less than the varint of any instant of this century.

use crate::core::units::Timestamp;

/// Why bytes are no record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecodeError {
    /// They end inside a value.
    Short,
    /// A value that no server writes; the text says which.
    Invalid(&'static str),
    /// Something that a later version has added: what kind of thing, and its tag.
    Unknown(&'static str, u8),
}

/// Appends a varint of up to 19 bytes.
pub fn put_varint(out: &mut Vec<u8>, value: impl Into<u128>) {
    let mut value = value.into();
    // A 64-bit loop is faster, and nearly every value fits one.
    while value > u128::from(u64::MAX) {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    let mut value = value as u64;
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends an instant.
pub fn put_instant(out: &mut Vec<u8>, at: Timestamp) {
    out.extend_from_slice(&at.as_ns().to_le_bytes());
}

/// What is left to read.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    /// Reads from the start of `bytes`.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// True at the end.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next `count` bytes, borrowed.
    ///
    /// # Errors
    /// [`DecodeError::Short`] if fewer are left; nothing is allocated for a count.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(DecodeError::Short)?;
        self.0 = rest;
        Ok(taken)
    }

    /// The next byte.
    ///
    /// # Errors
    /// [`DecodeError::Short`] at the end.
    pub fn byte(&mut self) -> Result<u8, DecodeError> {
        let (&byte, rest) = self.0.split_first().ok_or(DecodeError::Short)?;
        self.0 = rest;
        Ok(byte)
    }

    /// A varint.
    ///
    /// # Errors
    /// [`DecodeError::Invalid`] above 128 bits or where a shorter form exists.
    pub fn varint(&mut self) -> Result<u128, DecodeError> {
        let mut value = 0u128;
        let mut shift = 0;
        loop {
            let byte = self.byte()?;
            let bits = u128::from(byte & 0x7f);
            if shift > 126 || (shift == 126 && bits > 3) {
                return Err(DecodeError::Invalid("an integer of more than 128 bits"));
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return if byte == 0 && shift > 0 {
                    Err(DecodeError::Invalid(
                        "an integer that is not in its shortest form",
                    ))
                } else {
                    Ok(value)
                };
            }
            shift += 7;
        }
    }

    /// A varint that fits 64 bits.
    ///
    /// # Errors
    /// As [`Self::varint`], and [`DecodeError::Invalid`] above 64 bits.
    pub fn varint_u64(&mut self) -> Result<u64, DecodeError> {
        u64::try_from(self.varint()?)
            .map_err(|_| DecodeError::Invalid("an integer of more than 64 bits"))
    }

    /// An instant.
    ///
    /// # Errors
    /// [`DecodeError::Invalid`] beyond what [`Timestamp::from_ns`] takes.
    pub fn instant(&mut self) -> Result<Timestamp, DecodeError> {
        Timestamp::from_ns(self.distant_instant()?.as_ns())
            .ok_or(DecodeError::Invalid("an instant beyond the last one"))
    }

    /// An instant that no clock need ever show, such as the end of a debt of centuries.
    ///
    /// # Errors
    /// [`DecodeError::Short`].
    pub fn distant_instant(&mut self) -> Result<Timestamp, DecodeError> {
        let bytes = self.take(8)?.try_into().map_err(|_| DecodeError::Short)?;
        Ok(Timestamp::ZERO.after_ns(u64::from_le_bytes(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(bytes: &[u8]) -> Result<u128, DecodeError> {
        Input::new(bytes).varint()
    }

    #[test]
    fn an_integer_has_one_encoding() {
        assert_eq!(read(&[0]), Ok(0));
        assert_eq!(read(&[0x80, 1]), Ok(128));
        assert!(matches!(read(&[0x80, 0]), Err(DecodeError::Invalid(_))));
        assert!(matches!(
            read(&[0xff, 0x80, 0]),
            Err(DecodeError::Invalid(_))
        ));
    }

    #[test]
    fn an_integer_ends_at_128_bits() {
        let mut largest = [0xff; 19];
        largest[18] = 3;
        assert_eq!(read(&largest), Ok(u128::MAX));
        largest[18] = 4;
        assert!(matches!(read(&largest), Err(DecodeError::Invalid(_))));
        assert!(matches!(read(&[0xff; 64]), Err(DecodeError::Invalid(_))));
        assert_eq!(read(&[0xff; 18]), Err(DecodeError::Short));
        assert_eq!(read(&[]), Err(DecodeError::Short));
    }

    proptest! {
        #[test]
        fn integers_come_back(value in any::<u128>(), shift in 0u32..128) {
            let value = value >> shift;
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            let mut input = Input::new(&bytes);
            prop_assert_eq!(input.varint(), Ok(value));
            prop_assert!(input.is_empty());
        }
    }
}
