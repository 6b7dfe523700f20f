//! Numbers as they come in: plain decimal digits, bounded, exact.

use super::units::{DAY, MILLISECOND, SECOND, Span};

/// The largest amount (capacity, cost, count): 10^12.
pub const AMOUNT_MAX: u64 = 1_000_000_000_000;
/// Most significant digits of a decimal.
const SIGNIFICANT_MAX: usize = 17;
/// Most digits behind the point.
const DECIMALS_MAX: usize = 20;

/// An integer from 0 to `u64::MAX`: digits only, no sign, no leading zero, no spaces.
pub fn integer(text: &[u8]) -> Option<u64> {
    let canonical = matches!(text, [b'0'] | [b'1'..=b'9', ..]) && text.len() <= 20;
    if !canonical {
        return None;
    }
    text.iter().try_fold(0u64, |value, &byte| {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            None
        } else {
            value.checked_mul(10)?.checked_add(u64::from(digit))
        }
    })
}

/// A signed 64-bit integer in its shortest form, as Redis takes them: decimal, no `+`, no leading zero, no `-0`, no
/// spaces.
pub fn signed_integer(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let negative = digits.len() < text.len();
    let magnitude = integer(digits).filter(|&magnitude| magnitude > 0 || !negative)?;
    if negative {
        0i64.checked_sub_unsigned(magnitude)
    } else {
        i64::try_from(magnitude).ok()
    }
}

/// An amount from 1 to [`AMOUNT_MAX`].
pub fn amount(text: &[u8]) -> Option<u64> {
    integer(text).filter(|value| (1..=AMOUNT_MAX).contains(value))
}

/// A non-negative decimal number, `digits / 10^decimals`, held exactly.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decimal {
    /// All digits, the point left out.
    pub digits: u128,
    /// How many of them stand behind the point; at most 20.
    pub decimals: u32,
}

impl Decimal {
    /// Reads plain digits with at most one point, which has a digit on both sides; up to 17
    /// significant digits and 20 decimals. No sign, exponent or leading zero.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let point = text.iter().position(|&byte| byte == b'.');
        let (whole, fraction) = match point {
            Some(at) => (&text[..at], &text[at + 1..]),
            None => (text, &[][..]),
        };
        let plain = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
        let canonical = matches!(whole, [b'0'] | [b'1'..=b'9', ..]);
        let complete = point.is_none() || !fraction.is_empty();
        // 38 digits are what 128 bits hold; the bound below is tighter but counts no zeros.
        if !canonical
            || !complete
            || !plain(whole)
            || !plain(fraction)
            || fraction.len() > DECIMALS_MAX
            || whole.len() > 18
        {
            return None;
        }
        let digits = || whole.iter().chain(fraction);
        let leading = digits().take_while(|&&byte| byte == b'0').count();
        let trailing = digits().rev().take_while(|&&byte| byte == b'0').count();
        if (whole.len() + fraction.len()).saturating_sub(leading + trailing) > SIGNIFICANT_MAX {
            return None;
        }
        let digits = digits().fold(0u128, |value, &byte| value * 10 + u128::from(byte - b'0'));
        Some(Self {
            digits,
            decimals: fraction.len() as u32,
        })
    }

    /// This many units of `unit` each; `None` unless that is a whole number that fits 64 bits.
    pub fn whole_multiple(self, unit: u64) -> Option<u64> {
        let scaled = self.digits.checked_mul(u128::from(unit))?;
        let divisor = 10u128.pow(self.decimals);
        if scaled % divisor != 0 {
            return None;
        }
        u64::try_from(scaled / divisor).ok()
    }
}

/// Splits the unit off a duration: the number's text and the unit in nanoseconds.
fn split_unit(text: &[u8]) -> Option<(&[u8], u64)> {
    let digits = text.iter().position(u8::is_ascii_alphabetic)?;
    let (number, unit) = text.split_at(digits);
    let ns = match unit {
        b"ns" => 1,
        b"us" => 1_000,
        b"ms" => MILLISECOND,
        b"s" => SECOND,
        b"m" => 60 * SECOND,
        b"h" => 3600 * SECOND,
        b"d" => DAY,
        _ => return None,
    };
    Some((number, ns))
}

/// A duration that names its unit (`250ms`, `1.5s`): whole nanoseconds, 0 to 3650 days.
pub fn duration_with_unit(text: &[u8]) -> Option<Span> {
    let (number, unit) = split_unit(text)?;
    Span::from_ns(Decimal::parse(number)?.whole_multiple(unit)?)
}

/// As [`duration_with_unit`], and a unit alone is one of it (`m` is a minute).
pub fn duration_after_slash(text: &[u8]) -> Option<Span> {
    match split_unit(text)? {
        (b"", unit) => Span::from_ns(unit),
        _ => duration_with_unit(text),
    }
}

/// A duration of an `RL.` command: whole milliseconds, or a decimal with a unit; 0 to 3650 days.
pub fn duration(text: &[u8]) -> Option<Span> {
    if text.last().is_some_and(u8::is_ascii_digit) {
        return Span::from_ns(integer(text)?.checked_mul(MILLISECOND)?);
    }
    duration_with_unit(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_plain_digits() {
        assert_eq!(integer(b"0"), Some(0));
        assert_eq!(integer(b"18446744073709551615"), Some(u64::MAX));
        for bad in [
            "",
            "18446744073709551616",
            "-1",
            "+1",
            " 1",
            "1 ",
            "1_0",
            "0x10",
            "1e3",
            "1.0",
            "007",
            "\u{663}",
        ] {
            assert_eq!(integer(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(amount(b"1000000000000"), Some(AMOUNT_MAX));
        assert_eq!(amount(b"1000000000001"), None);
        assert_eq!(amount(b"0"), None);
    }

    #[test]
    fn only_the_shortest_form_of_a_signed_integer_is_read() {
        assert_eq!(signed_integer(b"0"), Some(0));
        assert_eq!(signed_integer(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(signed_integer(b"9223372036854775807"), Some(i64::MAX));
        for wrong in [
            "",
            "-",
            "--1",
            "-0",
            "+1",
            "01",
            "-01",
            " 1",
            "1 ",
            "1.0",
            "9223372036854775808",
            "-9223372036854775809",
            "18446744073709551616",
            "x",
        ] {
            assert_eq!(signed_integer(wrong.as_bytes()), None, "{wrong:?}");
        }
    }

    #[test]
    fn decimals_are_exact_and_bounded() {
        let parse = |text: &str| Decimal::parse(text.as_bytes()).map(|d| (d.digits, d.decimals));
        assert_eq!(parse("80"), Some((80, 0)));
        assert_eq!(
            parse("0.0002777777777777778"),
            Some((2_777_777_777_777_778, 19))
        );
        assert_eq!(
            parse("12345678901234567"),
            Some((12_345_678_901_234_567, 0))
        );
        assert_eq!(parse("123456789012345678"), None);
        assert_eq!(parse("0.00000000000000000001"), Some((1, 20)));
        assert_eq!(parse("0.000000000000000000001"), None);
        for bad in [
            "", ".", ".5", "5.", "1.2.3", "-1", "+1", "1e3", "inf", "nan", " 1", "1 ", "00.5",
            "0x1", "1,5",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn durations_are_milliseconds_or_carry_a_unit() {
        let ns = |text: &str| duration(text.as_bytes()).map(Span::as_ns);
        assert_eq!(ns("1500"), Some(1_500_000_000));
        assert_eq!(ns("0"), Some(0));
        assert_eq!(ns("1.5s"), Some(1_500_000_000));
        assert_eq!(ns("333333333ns"), Some(333_333_333));
        assert_eq!(ns("3650d"), Some(3650 * DAY));
        assert_eq!(ns("315360000000"), Some(3650 * DAY));
        for bad in [
            "315360000001",
            "3651d",
            "1.5",
            "1S",
            "0.5ns",
            "s",
            "-1s",
            "1 s",
            "1w",
            "9223372036854775808",
            "1sec",
        ] {
            assert_eq!(ns(bad), None, "{bad}");
        }
        assert_eq!(
            duration_after_slash(b"m").map(Span::as_ns),
            Some(60 * SECOND)
        );
        assert_eq!(
            duration_after_slash(b"5m").map(Span::as_ns),
            Some(300 * SECOND)
        );
        assert_eq!(duration_after_slash(b"60"), None);
        assert_eq!(duration_with_unit(b"m"), None);
    }
}
