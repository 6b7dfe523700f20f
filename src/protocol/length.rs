//! The numbers behind `*` and `$`, byte by byte.
use super::limits::LENGTH_LINE_BYTES_MAX;

/// A whole number as written behind `*` or `$`, saturated at `u64::MAX`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Length {
    pub(super) magnitude: u64,
    pub(super) negative: bool,
}

/// Why a line gives no length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum LineFault {
    /// Not the digits of a whole number.
    NotANumber,
    /// No end within [`LENGTH_LINE_BYTES_MAX`].
    TooLong,
}

/// A length line read so far.
///
/// Strict, as Redis's `string2ll`: digits with at most one `-` in front, no `+`, no blank, no needless zero, so that no
/// two readers of the same bytes can disagree on a length. Stricter in one point: LF must follow CR.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LengthLine {
    magnitude: u64,
    /// Bytes seen, the sign included.
    seen: u8,
    digits: u8,
    negative: bool,
    carriage_return: bool,
}

impl LengthLine {
    /// At the first byte behind `*` or `$`.
    pub(super) const START: Self = Self {
        magnitude: 0,
        seen: 0,
        digits: 0,
        negative: false,
        carriage_return: false,
    };

    /// Whether no byte has been taken.
    #[inline]
    pub(super) fn is_start(self) -> bool {
        self.seen == 0
    }

    /// Takes the next byte; `Some` when it was the line's last.
    pub(super) fn push(&mut self, byte: u8) -> Result<Option<Length>, LineFault> {
        match byte {
            _ if self.carriage_return => match byte {
                b'\n' => {
                    return Ok(Some(Length {
                        magnitude: self.magnitude,
                        negative: self.negative,
                    }));
                }
                _ => return Err(LineFault::NotANumber),
            },
            b'\r' if self.digits > 0 => {
                self.carriage_return = true;
                return Ok(None);
            }
            _ if usize::from(self.seen) == LENGTH_LINE_BYTES_MAX => return Err(LineFault::TooLong),
            b'-' if self.seen == 0 => self.negative = true,
            // `-0`, `00` and `01` are refused.
            b'0' if self.negative && self.digits == 0 => return Err(LineFault::NotANumber),
            b'0'..=b'9' if self.digits == 0 || self.magnitude > 0 => {
                self.magnitude = self
                    .magnitude
                    .saturating_mul(10)
                    .saturating_add(u64::from(byte - b'0'));
                self.digits += 1;
            }
            _ => return Err(LineFault::NotANumber),
        }
        self.seen += 1;
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number, or the fault, and how many bytes it took to know.
    fn read(line: &[u8]) -> (Result<Option<(u64, bool)>, LineFault>, usize) {
        let mut state = LengthLine::START;
        for (index, &byte) in line.iter().enumerate() {
            match state.push(byte) {
                Ok(None) => {}
                result => {
                    return (
                        result.map(|found| found.map(|l| (l.magnitude, l.negative))),
                        index + 1,
                    );
                }
            }
        }
        (Ok(None), line.len())
    }

    #[test]
    fn a_length_is_digits_with_one_minus_at_most_and_no_needless_zero() {
        use LineFault::{NotANumber, TooLong};
        for (line, expected, looked_at) in [
            (&b"0\r\n"[..], Ok(Some((0, false))), 3),
            (b"7\r\n", Ok(Some((7, false))), 3),
            (b"1048576\r\n", Ok(Some((1_048_576, false))), 9),
            (b"-1\r\n", Ok(Some((1, true))), 4),
            (b"-10\r\n", Ok(Some((10, true))), 5),
            (
                b"9223372036854775807\r\n",
                Ok(Some((i64::MAX as u64, false))),
                21,
            ),
            (b"-9223372036854775808\r\n", Ok(Some((1 << 63, true))), 22),
            (b"99999999999999999999\r\n", Ok(Some((u64::MAX, false))), 22),
            (b"12", Ok(None), 2),
            (b"12\r", Ok(None), 3),
            (b"999999999999999999999\r\n", Err(TooLong), 21),
            (b"\r\n", Err(NotANumber), 1),
            (b"\n", Err(NotANumber), 1),
            (b"-\r\n", Err(NotANumber), 2),
            (b"+1\r\n", Err(NotANumber), 1),
            (b"--1\r\n", Err(NotANumber), 2),
            (b"1-\r\n", Err(NotANumber), 2),
            (b"-0\r\n", Err(NotANumber), 2),
            (b"00\r\n", Err(NotANumber), 2),
            (b"01\r\n", Err(NotANumber), 2),
            (b" 1\r\n", Err(NotANumber), 1),
            (b"1 \r\n", Err(NotANumber), 2),
            (b"0x1\r\n", Err(NotANumber), 2),
            (b"1\n", Err(NotANumber), 2),
            (b"1\r\r\n", Err(NotANumber), 3),
            (b"1\rx", Err(NotANumber), 3),
            (b"\xd9\xa1\r\n", Err(NotANumber), 1),
        ] {
            assert_eq!(read(line), (expected, looked_at), "{}", line.escape_ascii());
        }
    }
}
