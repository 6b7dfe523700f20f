//! Against rational arithmetic, and against what Redis 7 on x86-64 answered.

use super::*;
use num_bigint::{BigInt, BigUint, Sign};
use num_rational::BigRational;
use num_traits::{Signed, Zero};
use proptest::prelude::*;

fn parse(text: &str) -> Option<Extended> {
    Extended::parse(text.as_bytes())
}

/// `base^exponent`.
fn power(base: u32, exponent: i32) -> BigRational {
    let power = BigRational::from(BigInt::from(base).pow(exponent.unsigned_abs()));
    if exponent < 0 { power.recip() } else { power }
}

/// The exact value.
fn exact(number: Extended) -> BigRational {
    if number.mantissa == 0 {
        return BigRational::zero();
    }
    let magnitude = power(2, number.exponent) * BigInt::from(number.mantissa);
    if number.negative {
        -magnitude
    } else {
        magnitude
    }
}

/// The nearest integer, halves to even.
fn to_even(value: &BigRational) -> BigInt {
    let down = value.floor().to_integer();
    let twice = (value - &down) * BigInt::from(2);
    let odd = down.bit(0);
    let one = BigRational::from(BigInt::from(1));
    down + i32::from(twice > one || twice == one && odd)
}

/// The nearest number of 64 bits, halves to even, found by trying exponents.
fn nearest(value: &BigRational) -> BigRational {
    if value.is_zero() {
        return value.clone();
    }
    let bits = |part: &BigInt| part.bits() as i32;
    let mut exponent = bits(value.numer()) - bits(value.denom()) - 66;
    while value.abs() / power(2, exponent) >= power(2, 64) {
        exponent += 1;
    }
    BigRational::from(to_even(&(value / power(2, exponent)))) * power(2, exponent)
}

/// As `%.17Lf` with the zeros at its end cut.
fn written(value: &BigRational) -> String {
    let scaled = to_even(&(value * power(10, 17)));
    let digits = format!("{:0>18}", scaled.magnitude().to_string());
    let (whole, fraction) = digits.split_at(digits.len() - 17);
    let text = format!("{whole}.{fraction}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let sign = if scaled.sign() == Sign::Minus {
        "-"
    } else {
        ""
    };
    format!("{sign}{text}")
}

prop_compose! {
    /// A decimal, and its exact value.
    fn decimals()(
        negative: bool,
        whole in "[0-9]{1,25}",
        fraction in "[0-9]{0,25}",
        exponent in prop_oneof![8 => Just(0), 1 => -30..30i32, 1 => -300..280i32],
    ) -> (String, BigRational) {
        let digits: BigUint = format!("{whole}{fraction}").parse().unwrap();
        let sign = if negative { Sign::Minus } else { Sign::Plus };
        let value = BigRational::from(BigInt::from_biguint(sign, digits))
            * power(10, exponent - fraction.len() as i32);
        let sign = if negative { "-" } else { "" };
        let point = if fraction.is_empty() { "" } else { "." };
        let exponent = if exponent == 0 { String::new() } else { format!("e{exponent}") };
        (format!("{sign}{whole}{point}{fraction}{exponent}"), value)
    }
}

/// Finite numbers, most of them near one another.
fn numbers() -> impl Strategy<Value = Extended> {
    let mantissas = prop_oneof![
        any::<u64>(),
        (0u64..5).prop_map(|low| 1 << 63 | low),
        (0u64..5).prop_map(|low| u64::MAX - low),
    ];
    let exponents = prop_oneof![8 => -140..10i32, 1 => -1100..=EXPONENT_MAX];
    (any::<bool>(), mantissas, exponents).prop_map(|(negative, mantissa, exponent)| {
        let number = Extended {
            negative: false,
            exponent,
            mantissa: mantissa | 1 << 63,
        };
        if negative { -number } else { number }
    })
}

proptest! {
    #[test]
    fn a_decimal_is_read_as_the_nearest_number((text, value) in decimals()) {
        let number = parse(&text).unwrap();
        prop_assert_eq!(exact(number), nearest(&value));
    }

    #[test]
    fn a_sum_is_the_nearest_number(a in numbers(), b in numbers()) {
        let sum = a.plus(b);
        prop_assert_eq!(sum, b.plus(a));
        let expected = nearest(&(exact(a) + exact(b)));
        if sum.is_finite() {
            prop_assert_eq!(exact(sum), expected);
        } else {
            prop_assert!(expected.abs() >= power(2, 1024));
        }
    }

    #[test]
    fn a_number_is_written_to_seventeen_decimals(number in numbers()) {
        prop_assert_eq!(number.to_string(), written(&exact(number)));
    }

    #[test]
    fn numbers_are_ordered_as_their_values_are(a in numbers(), b in numbers()) {
        prop_assert_eq!(a.cmp(&b), exact(a).cmp(&exact(b)));
        prop_assert_eq!(a.cmp(&Extended::ZERO), exact(a).cmp(&BigRational::zero()));
        prop_assert!(a < Extended::INFINITY && a > -Extended::INFINITY);
    }

    #[test]
    fn no_text_is_too_much(text in prop_oneof![
        prop::collection::vec(any::<u8>(), 0..40),
        "[-+]?(0x)?[0-9.]{0,400}([ep][-+]?[0-9]{0,30})?".prop_map(String::into_bytes),
        "[-+]?0x[0-9a-f.]{0,400}(p[-+]?[0-9]{0,30})?".prop_map(String::into_bytes),
    ]) {
        if let Some(number) = Extended::parse(&text) {
            prop_assert!(number.to_string().len() < TEXT_BYTES_MAX);
        }
    }
}

#[test]
fn sums_are_those_of_redis() {
    for (value, by, expected) in [
        ("1000", "0.1", "1000.09999999999999998"),
        ("0.1", "0.2", "0.3"),
        ("1e18", "0.1", "1000000000000000000.125"),
        ("0", "-0", "0"),
        ("0x10", "1", "17"),
        ("17", "0x1p-3", "17.125"),
        ("17.125", "1e-20", "17.125"),
        ("1", "1.", "2"),
        ("2", ".5", "2.5"),
        ("2.5", "+5", "7.5"),
        ("5.0e3", "200", "5200"),
        ("10.50", "-5", "5.5"),
        ("-1e-20", "0", "0"),
        ("1", "-1", "0"),
        ("0", "1e-300", "0"),
    ] {
        let sum = parse(value).unwrap().plus(parse(by).unwrap());
        assert_eq!(sum.to_string(), expected, "{value} + {by}");
    }
}

#[test]
fn what_is_no_number_is_not_read() {
    for text in [
        "",
        " ",
        "-",
        ".",
        "e5",
        "1e",
        "1e+",
        "1e1.5",
        " 1",
        "1 ",
        "1\0",
        "1,5",
        "--1",
        "+-1",
        "1.2.3",
        "nan",
        "-nan",
        "infinit",
        "0x",
        "0x.",
        "0x1p",
        "0xg",
        "1p5",
        "1e-5000",
        "1e309",
        "-1e309",
        "0x1p1024",
        "0x1p-20000",
        "1e999999999999999999999",
        "1e-999999999999999999999",
        &"0".repeat(TEXT_BYTES_MAX + 1),
    ] {
        assert_eq!(parse(text), None, "{text:?}");
    }
}

#[test]
fn the_ends_of_the_range() {
    assert_eq!(parse("0x1.fffffffffffffffep1023"), Some(Extended::MAX));
    assert_eq!(parse("0x1.ffffffffffffffffp1023"), None);
    assert_eq!(Extended::MAX.plus(Extended::MAX), Extended::INFINITY);
    assert_eq!((-Extended::MAX).plus(-Extended::MAX), -Extended::INFINITY);
    assert_eq!(Extended::MAX.plus(-Extended::MAX), Extended::ZERO);
    assert_eq!(Extended::MAX.plus(parse("1").unwrap()), Extended::MAX);
    assert_eq!(parse("inf"), Some(Extended::INFINITY));
    assert_eq!(parse("-Infinity"), Some(-Extended::INFINITY));
    assert_eq!((-Extended::INFINITY).to_string(), "-inf");
    assert_eq!(parse("-0"), Some(Extended::ZERO));
    assert_eq!(parse("0e99999"), Some(Extended::ZERO));
    assert_eq!(parse(&"0".repeat(TEXT_BYTES_MAX)), Some(Extended::ZERO));
    let tiny = parse("1e-4900").unwrap();
    assert!(tiny > Extended::ZERO && tiny < parse("1e-390").unwrap());
    assert_eq!(tiny.to_string(), "0");
    let text = Extended::MAX.to_string();
    assert_eq!(text.len(), 309);
    assert_eq!(parse(&text), Some(Extended::MAX));
}
