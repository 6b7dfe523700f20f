//! The numbers of `INCRBYFLOAT` and `INCREX BYFLOAT`.
//!
//! Redis computes them in the `long double` of its machine, which is extended precision on x86-64: 64 bits, each sum
//! rounded to the nearest, halves to even. What comes out shows it: 1000 and 0.1 are 1000.09999999999999998. So these
//! are the same numbers, computed in integers, and read and written as C does, on every machine. Only their range is
//! that of a double: a sum from 2^1024 on is infinite.
//!
//! Nothing but these two commands counts with them.

use super::big::Big;
use std::cmp::Ordering;
use std::fmt;

/// Longest text that is a number, in bytes: what the largest is written with fits, and no number takes long to read.
const TEXT_BYTES_MAX: usize = 384;
/// Digits behind the point that are written.
const DECIMALS: u32 = 17;
/// The exponent of the largest numbers: 64 bits below 2^1024.
const EXPONENT_MAX: i32 = 1024 - 64;
/// A number as small as this or smaller changes no sum but zero, and is written `0`. Smaller ones are read as this.
const EXPONENT_MIN: i32 = -1400;
/// The smallest power of ten and of two that C reads as more than zero.
const TEN_EXPONENT_MIN: i64 = -4950;
const TWO_EXPONENT_MIN: i64 = -16_445;
/// Nineteen digits are what one limb holds.
const TEN_TO_19: u64 = 10_u64.pow(19);

/// `mantissa × 2^exponent`, with a sign. The mantissa's top bit is set; zero has none and is never negative.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extended {
    negative: bool,
    exponent: i32,
    mantissa: u64,
}

impl Extended {
    /// Zero.
    pub const ZERO: Self = Self {
        negative: false,
        exponent: i32::MIN,
        mantissa: 0,
    };
    /// The largest finite number.
    pub const MAX: Self = Self {
        negative: false,
        exponent: EXPONENT_MAX,
        mantissa: u64::MAX,
    };
    /// More than any number.
    pub const INFINITY: Self = Self {
        negative: false,
        exponent: i32::MAX,
        mantissa: 1 << 63,
    };

    /// Reads a number as C's `strtold` does, as long as nothing stands around it: decimal or hexadecimal, with an
    /// exponent or not, and the infinities. Rounded to the nearest. `None` for anything else, for what is out of range
    /// and for what would round to zero.
    pub fn parse(text: &[u8]) -> Option<Self> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let (negative, number) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, text),
        };
        let magnitude = if is_infinity(number) {
            Self::INFINITY
        } else if let [b'0', b'x' | b'X', rest @ ..] = number {
            read_hexadecimal(rest)?
        } else {
            read_decimal(number)?
        };
        Some(if negative { -magnitude } else { magnitude })
    }

    /// False for the infinities.
    pub const fn is_finite(self) -> bool {
        self.exponent != i32::MAX
    }

    /// The sum of two finite numbers, rounded to the nearest; infinite if that is out of range.
    pub fn plus(self, other: Self) -> Self {
        let (large, small) = if self.magnitude() < other.magnitude() {
            (other, self)
        } else {
            (self, other)
        };
        if small.mantissa == 0 {
            return large;
        }
        // 62 bits below the mantissa: the rounding takes place above them, so what falls below them is one bit that
        // says that there was something.
        let distance = large.exponent.abs_diff(small.exponent);
        let wide = |number: Self| u128::from(number.mantissa) << 62;
        let shifted = wide(small).checked_shr(distance).unwrap_or(0);
        let lost = shifted.checked_shl(distance) != Some(wide(small));
        let shifted = shifted | u128::from(lost);
        let sum = if large.negative == small.negative {
            wide(large) + shifted
        } else {
            wide(large) - shifted
        };
        let magnitude = Self::rounded(sum, i64::from(large.exponent) - 62);
        if large.negative {
            -magnitude
        } else {
            magnitude
        }
    }

    /// `value × 2^exponent`, rounded to the nearest, halves to even.
    fn rounded(value: u128, exponent: i64) -> Self {
        if value == 0 {
            return Self::ZERO;
        }
        let bits = 128 - value.leading_zeros();
        let (mantissa, shift) = if bits <= 64 {
            (value << (64 - bits), i64::from(bits) - 64)
        } else {
            (shift_right_to_even(value, bits - 64), i64::from(bits) - 64)
        };
        // Rounding up can make it 2^64.
        let (mantissa, shift) = match u64::try_from(mantissa) {
            Ok(mantissa) => (mantissa, shift),
            Err(_) => (1 << 63, shift + 1),
        };
        match i32::try_from(exponent + shift) {
            Ok(exponent) if exponent < EXPONENT_MIN => Self {
                negative: false,
                exponent: EXPONENT_MIN,
                mantissa: 1 << 63,
            },
            Ok(exponent) if exponent <= EXPONENT_MAX => Self {
                negative: false,
                exponent,
                mantissa,
            },
            _ => Self::INFINITY,
        }
    }

    /// Orders numbers by size, their signs aside.
    const fn magnitude(self) -> (i32, u64) {
        (self.exponent, self.mantissa)
    }
}

impl std::ops::Neg for Extended {
    type Output = Self;

    fn neg(self) -> Self {
        Self {
            negative: !self.negative && self.mantissa != 0,
            ..self
        }
    }
}

impl PartialOrd for Extended {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Extended {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.magnitude().cmp(&other.magnitude()),
            (true, true) => other.magnitude().cmp(&self.magnitude()),
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
        }
    }
}

/// `value / 2^bits` for bits from 1 to 127, to the nearest, halves to even.
const fn shift_right_to_even(value: u128, bits: u32) -> u128 {
    let quotient = value >> bits;
    let rest = value - (quotient << bits);
    let half = 1 << (bits - 1);
    let up = rest > half || rest == half && quotient % 2 == 1;
    quotient + up as u128
}

fn is_infinity(text: &[u8]) -> bool {
    [&b"inf"[..], b"infinity"]
        .iter()
        .any(|word| text.eq_ignore_ascii_case(word))
}

/// The digits of a number, and what is said of where its point is.
struct Digits {
    value: Big,
    /// Digits from the first that is not zero on.
    count: i64,
    /// Digits behind the point.
    fraction: i64,
    /// The exponent behind them.
    exponent: i64,
}

/// Reads digits with or without a point, then an exponent behind a letter or none, and nothing else.
fn read_digits(text: &[u8], radix: u32, letter: u8) -> Option<Digits> {
    let mut digits = Digits {
        value: Big::default(),
        count: 0,
        fraction: 0,
        exponent: 0,
    };
    let (mut any, mut behind_point) = (false, false);
    let mut rest = text;
    while let [byte, next @ ..] = rest {
        match char::from(*byte).to_digit(radix) {
            Some(digit) => {
                digits
                    .value
                    .multiply_add(u64::from(radix), u64::from(digit));
                digits.count += i64::from(!digits.value.is_zero());
                digits.fraction += i64::from(behind_point);
                any = true;
            }
            None if *byte == b'.' && !behind_point => behind_point = true,
            None => break,
        }
        rest = next;
    }
    match rest {
        [] => {}
        [first, exponent @ ..] if first.eq_ignore_ascii_case(&letter) => {
            digits.exponent = read_exponent(exponent)?;
        }
        _ => return None,
    }
    any.then_some(digits)
}

/// Reads an exponent; one that is far out of any range may come out smaller, but as far.
fn read_exponent(text: &[u8]) -> Option<i64> {
    const FAR: i64 = 1_000_000;
    let (sign, digits) = match text {
        [b'-', rest @ ..] => (-1, rest),
        [b'+', rest @ ..] => (1, rest),
        _ => (1, text),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let add = |value: i64, byte: &u8| (value * 10 + i64::from(byte - b'0')).min(FAR);
    Some(sign * digits.iter().fold(0, add))
}

fn read_decimal(text: &[u8]) -> Option<Extended> {
    let mut digits = read_digits(text, 10, b'e')?;
    if digits.value.is_zero() {
        return Some(Extended::ZERO);
    }
    let exponent = digits.exponent - digits.fraction;
    // The number is below 10^end, and at least a tenth of that.
    let end = digits.count + exponent;
    if !(TEN_EXPONENT_MIN..=310).contains(&end) {
        return None;
    }
    if end < i64::from(EXPONENT_MIN) / 3 {
        return Some(Extended::rounded(1, i64::from(EXPONENT_MIN)));
    }
    let mut shift = 0;
    let mut lost = false;
    if exponent >= 0 {
        for_each_power_of_ten(exponent, |power| digits.value.multiply_add(power, 0));
    } else {
        // Four bits a digit are more than enough for the quotient to have 128.
        shift = 128 + 4 * exponent.unsigned_abs() as u32;
        digits.value.shift_left(shift);
        for_each_power_of_ten(-exponent, |power| lost |= digits.value.divide(power) != 0);
    }
    finite(&digits.value, lost, -i64::from(shift))
}

fn read_hexadecimal(text: &[u8]) -> Option<Extended> {
    let digits = read_digits(text, 16, b'p')?;
    if digits.value.is_zero() {
        return Some(Extended::ZERO);
    }
    let exponent = digits.exponent - 4 * digits.fraction;
    if exponent + i64::from(digits.value.bits()) <= TWO_EXPONENT_MIN {
        return None;
    }
    finite(&digits.value, false, exponent)
}

/// Calls `f` with powers of ten whose product is 10^exponent.
fn for_each_power_of_ten(exponent: i64, mut f: impl FnMut(u64)) {
    let mut left = exponent.unsigned_abs();
    while left > 0 {
        let step = left.min(19);
        f(10_u64.pow(step as u32));
        left -= step;
    }
}

/// `value × 2^exponent` and a little more if something was lost; `None` if that is out of range.
fn finite(value: &Big, lost: bool, exponent: i64) -> Option<Extended> {
    let (top, shift, cut) = value.top();
    // Something can be lost only below 128 bits, and so far below the 64 that stay that the lowest bit may say so.
    let top = top | u128::from(lost || cut);
    let number = Extended::rounded(top, exponent + i64::from(shift));
    number.is_finite().then_some(number)
}

/// As C writes `%.17Lf`, and as Redis then cuts it: no zeros at the end, no point without a digit, no sign on a zero.
impl fmt::Display for Extended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const ONE: u128 = 10_u128.pow(DECIMALS);
        let sign = if self.negative { "-" } else { "" };
        if !self.is_finite() {
            return write!(f, "{sign}inf");
        }
        if self.exponent >= 0 {
            return write!(f, "{sign}{}", whole(self.mantissa, self.exponent as u32));
        }
        // 64 bits and 57 of 10^17.
        let scaled = u128::from(self.mantissa) * ONE;
        let scaled = match self.exponent.unsigned_abs() {
            bits @ ..128 => shift_right_to_even(scaled, bits),
            _ => 0,
        };
        let (whole, fraction) = (scaled / ONE, scaled % ONE);
        match (whole, fraction) {
            (0, 0) => write!(f, "0"),
            (_, 0) => write!(f, "{sign}{whole}"),
            _ => {
                let fraction = format!("{fraction:0width$}", width = DECIMALS as usize);
                write!(f, "{sign}{whole}.{}", fraction.trim_end_matches('0'))
            }
        }
    }
}

/// The digits of `mantissa × 2^exponent`.
fn whole(mantissa: u64, exponent: u32) -> String {
    let mut big = Big::default();
    big.multiply_add(1, mantissa);
    big.shift_left(exponent);
    let mut chunks = Vec::new();
    while !big.is_zero() {
        chunks.push(big.divide(TEN_TO_19));
    }
    let mut chunks = chunks.iter().rev();
    let first = chunks.next().map_or_else(String::new, u64::to_string);
    chunks.fold(first, |text, chunk| text + &format!("{chunk:019}"))
}

#[cfg(test)]
#[path = "extended_tests.rs"]
mod tests;
