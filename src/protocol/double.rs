//! Floating-point numbers as Redis prints them since 7.2: fewest digits that read back as the same number.
use std::io::Write as _;

/// Longest text: sign, 17 digits, point, `e-308`.
const TEXT_BYTES_MAX: usize = 32;

/// Integers up to here are printed as such.
const PLAIN_INTEGER_MAX: f64 = 4_611_686_018_427_387_904.0;

/// The text of one number, on the stack.
pub(super) struct DoubleText {
    bytes: [u8; TEXT_BYTES_MAX],
    length: usize,
}

impl DoubleText {
    /// `value` as text: `inf`, `-inf`, `nan`, `0`, `-0`, `3`, `0.25`, `1.5e-10`, `1e+21`.
    pub(super) fn new(value: f64) -> Self {
        let mut text = Self {
            bytes: [0; TEXT_BYTES_MAX],
            length: 0,
        };
        if value.is_nan() {
            text.push(b"nan");
            return text;
        }
        if value.is_sign_negative() {
            text.push(b"-");
        }
        if value.is_infinite() {
            text.push(b"inf");
        } else {
            text.push_finite(value.abs());
        }
        text
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// `value` is finite and not negative.
    fn push_finite(&mut self, value: f64) {
        if value <= PLAIN_INTEGER_MAX && value.fract() == 0.0 {
            self.push(itoa::Buffer::new().format(value as u64).as_bytes());
            return;
        }
        // Rust prints the shortest digits too, only laid out differently: `d.ddde-X`.
        let mut scientific = [0; TEXT_BYTES_MAX];
        let mut unwritten = &mut scientific[..];
        let written = write!(unwritten, "{value:e}");
        debug_assert!(written.is_ok(), "17 digits and an exponent fit");
        let mut length = TEXT_BYTES_MAX - unwritten.len();
        // Of 17 digits several texts read back as the number: the nearest, and of two the even one.
        if scientific[..length]
            .split(|&byte| byte == b'e')
            .next()
            .map_or(0, <[u8]>::len)
            == 18
        {
            let mut unwritten = &mut scientific[..];
            let written = write!(unwritten, "{value:.16e}");
            debug_assert!(written.is_ok(), "17 digits and an exponent fit");
            length = TEXT_BYTES_MAX - unwritten.len();
        }
        let scientific = &scientific[..length];

        let mut digits = [0; TEXT_BYTES_MAX];
        let (mut count, mut exponent, mut exponent_negative, mut in_exponent) =
            (0, 0_i32, false, false);
        for &byte in scientific {
            match byte {
                b'e' => in_exponent = true,
                b'-' => exponent_negative = true,
                b'0'..=b'9' if in_exponent => exponent = exponent * 10 + i32::from(byte - b'0'),
                b'0'..=b'9' => {
                    digits[count] = byte;
                    count += 1;
                }
                _ => {}
            }
        }
        self.lay_out(
            &digits[..count],
            if exponent_negative {
                -exponent
            } else {
                exponent
            },
        );
    }

    /// `digits` with the point behind the first, times ten to the power of `exponent`.
    ///
    /// The places at which Redis turns to an exponent: an integer with seven zeros or more behind its digits, and a
    /// fraction of seven decimals or more unless its magnitude is near one.
    fn lay_out(&mut self, digits: &[u8], exponent: i32) {
        let count = digits.len() as i32;
        let scale = exponent - (count - 1);
        if scale >= 0 && exponent.abs() < count + 7 {
            self.push(digits);
            self.push_zeros(scale);
        } else if scale < 0 && (scale > -7 || exponent.abs() < 4) {
            if exponent < 0 {
                self.push(b"0.");
                self.push_zeros(-exponent - 1);
                self.push(digits);
            } else {
                let (whole, fraction) = digits.split_at(exponent as usize + 1);
                self.push(whole);
                self.push(b".");
                self.push(fraction);
            }
        } else {
            self.push(&digits[..1]);
            if count > 1 {
                self.push(b".");
                self.push(&digits[1..]);
            }
            self.push(if exponent < 0 { b"e-" } else { b"e+" });
            self.push(
                itoa::Buffer::new()
                    .format(exponent.unsigned_abs())
                    .as_bytes(),
            );
        }
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    fn push_zeros(&mut self, count: i32) {
        for _ in 0..count {
            self.push(b"0");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(value: f64) -> String {
        String::from_utf8(DoubleText::new(value).as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn doubles_print_as_redis_prints_them() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-3.0, "-3"),
            (0.25, "0.25"),
            (10.5, "10.5"),
            (3.1, "3.1"),
            (100.0, "100"),
            (1e7, "10000000"),
            (1e8, "100000000"),
            (1.7e12, "1700000000000"),
            (-4503599627370495.0, "-4503599627370495"),
            (1e16, "10000000000000000"),
            (1e18, "1000000000000000000"),
            (1_700_002_372_347_469.0 + 0.25, "1700002372347469.2"),
            (123e7, "1230000000"),
            (1e21, "1e+21"),
            (0.001, "0.001"),
            (0.000001, "0.000001"),
            (0.0000001, "1e-7"),
            (1.5e-10, "1.5e-10"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1700000000.123456, "1700000000.123456"),
            (f64::MAX, "1.7976931348623157e+308"),
            (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
            (5e-324, "5e-324"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
            (-f64::NAN, "nan"),
        ] {
            assert_eq!(text(value), expected);
        }
    }

    proptest! {
        #[test]
        fn every_double_reads_back_as_itself(bits: u64) {
            let value = f64::from_bits(bits);
            prop_assume!(!value.is_nan());
            prop_assert_eq!(text(value).parse::<f64>().unwrap().to_bits(), bits);
        }
    }
}
