//! Numbers and texts as Lua 5.1 reads and writes them: all its numbers are 64-bit floats. The scripts that are known
//! here decided in them, so their equivalents must, or they would reply otherwise than the script did.

/// Digits that Redis gives a number that Lua hands to a command.
const ARGUMENT_DIGITS: usize = 17;
/// Digits that `tostring` and `..` give a number.
const TEXT_DIGITS: usize = 14;

/// `tonumber`: what C's `strtod` reads, with white space around it.
pub fn number(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let text = text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\u{b}');
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1.0, digits),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    if let Some(hexadecimal) = digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        return u64::from_str_radix(hexadecimal, 16)
            .ok()
            .filter(|_| !hexadecimal.starts_with('+'))
            .map(|number| sign * number as f64);
    }
    if digits.starts_with(['+', '-']) {
        return None;
    }
    digits.parse::<f64>().ok().map(|number| sign * number)
}

/// A number as an argument of a command.
pub fn argument(number: f64) -> Vec<u8> {
    general(number, ARGUMENT_DIGITS).into_bytes()
}

/// `tostring`.
pub fn text(number: f64) -> Vec<u8> {
    general(number, TEXT_DIGITS).into_bytes()
}

/// A number as a reply: cut to an integer, as C casts on the machines that Redis runs on.
pub fn integer(number: f64) -> i64 {
    // Rust ends at the last integer where the processor gives the first one.
    if number.is_nan() || number >= i64::MAX as f64 || number < i64::MIN as f64 {
        i64::MIN
    } else {
        number as i64
    }
}

/// `math.max`: the first number unless the second is greater, so that a first NaN stays.
pub fn max(first: f64, second: f64) -> f64 {
    if second > first { second } else { first }
}

/// `math.min`: the first number unless the second is less, so that a first NaN stays.
pub fn min(first: f64, second: f64) -> f64 {
    if second < first { second } else { first }
}

/// C's `%.*g`: `digits` significant ones without trailing zeros, with an exponent below 10^-4 and where they end
/// before the point.
fn general(number: f64, digits: usize) -> String {
    if number.is_nan() {
        return if number.is_sign_negative() {
            "-nan"
        } else {
            "nan"
        }
        .to_owned();
    }
    if number.is_infinite() {
        return if number < 0.0 { "-inf" } else { "inf" }.to_owned();
    }
    if number == 0.0 {
        return if number.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    let scientific = format!("{number:.*e}", digits - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs());
    }
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    without_zeros(&format!("{number:.decimals$}")).to_owned()
}

fn without_zeros(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_strtod_reads_them() {
        for (text, expected) in [
            ("0", Some(0.0)),
            (" 12 ", Some(12.0)),
            ("-1.5e3", Some(-1500.0)),
            ("+.5", Some(0.5)),
            ("5.", Some(5.0)),
            ("0x10", Some(16.0)),
            ("-0x10", Some(-16.0)),
            ("inf", Some(f64::INFINITY)),
            ("", None),
            (" ", None),
            ("1 2", None),
            ("--1", None),
            ("+-1", None),
            ("0x", None),
            ("0x+1", None),
            ("1x", None),
            ("true", None),
        ] {
            assert_eq!(number(text.as_bytes()), expected, "{text:?}");
        }
        assert!(number(b"nan").unwrap().is_nan());
    }

    #[test]
    fn numbers_are_written_as_c_writes_them() {
        for (number, text, argument) in [
            (0.0, "0", "0"),
            (3.0, "3", "3"),
            (-2.5, "-2.5", "-2.5"),
            (0.1, "0.1", "0.10000000000000001"),
            (1e15, "1e+15", "1000000000000000"),
            (
                123_456_789_012_345.0,
                "1.2345678901234e+14",
                "123456789012345",
            ),
            (0.0001, "0.0001", "0.0001"),
            (0.00001, "1e-05", "1.0000000000000001e-05"),
            (1e100, "1e+100", "1e+100"),
            (99_999_999_999_999.9, "1e+14", "99999999999999.906"),
            (f64::INFINITY, "inf", "inf"),
        ] {
            assert_eq!(super::text(number), text.as_bytes());
            assert_eq!(super::argument(number), argument.as_bytes());
        }
    }

    #[test]
    fn the_first_of_two_stays_unless_the_second_is_beyond_it() {
        assert_eq!((max(1.0, 2.0), min(1.0, 2.0)), (2.0, 1.0));
        assert!(max(f64::NAN, 1.0).is_nan() && min(f64::NAN, 1.0).is_nan());
        assert_eq!((max(1.0, f64::NAN), min(1.0, f64::NAN)), (1.0, 1.0));
    }

    #[test]
    fn replies_are_cut_to_integers() {
        for (number, expected) in [
            (1.9, 1),
            (-1.9, -1),
            (9.3e18, i64::MIN),
            (-9.3e18, i64::MIN),
            (f64::NAN, i64::MIN),
            (f64::INFINITY, i64::MIN),
        ] {
            assert_eq!(integer(number), expected, "{number}");
        }
    }
}
