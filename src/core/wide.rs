//! 256-bit products of 128-bit numbers, for the rare steps whose intermediate does not fit 128 bits.

use std::cmp::Ordering;

const LOW: u128 = u64::MAX as u128;

/// `a × b` as `(high, low)` halves of a 256-bit number.
pub fn multiply(a: u128, b: u128) -> (u128, u128) {
    let (a_high, a_low) = (a >> 64, a & LOW);
    let (b_high, b_low) = (b >> 64, b & LOW);
    let low = a_low * b_low;
    let middle = a_high * b_low + (low >> 64);
    let other = a_low * b_high + (middle & LOW);
    let high = a_high * b_high + (middle >> 64) + (other >> 64);
    (high, (other << 64) | (low & LOW))
}

/// Compares `a × b` with `c × d` without overflow.
pub fn compare_products(a: u128, b: u128, c: u128, d: u128) -> Ordering {
    multiply(a, b).cmp(&multiply(c, d))
}

/// `a × b ÷ divisor` as quotient and remainder; `None` if the quotient does not fit 128 bits or
/// the divisor is zero. Binary long division: 128 steps, which only changes of parameters pay.
pub fn multiply_divide(a: u128, b: u128, divisor: u128) -> Option<(u128, u128)> {
    let (high, low) = multiply(a, b);
    if high >= divisor {
        return None;
    }
    if high == 0 {
        return Some((low / divisor, low % divisor));
    }
    let (mut remainder, mut quotient) = (high, 0u128);
    for bit in (0..128).rev() {
        let carry = remainder >> 127;
        remainder = (remainder << 1) | ((low >> bit) & 1);
        quotient <<= 1;
        if carry == 1 || remainder >= divisor {
            remainder = remainder.wrapping_sub(divisor);
            quotient |= 1;
        }
    }
    Some((quotient, remainder))
}

/// `a × b ÷ divisor`, rounded down; `None` where [`multiply_divide`] has none.
pub fn multiply_divide_floor(a: u128, b: u128, divisor: u128) -> Option<u128> {
    Some(multiply_divide(a, b, divisor)?.0)
}

/// `a × b ÷ divisor`, rounded up; `None` where [`multiply_divide`] has none.
pub fn multiply_divide_ceil(a: u128, b: u128, divisor: u128) -> Option<u128> {
    let (quotient, remainder) = multiply_divide(a, b, divisor)?;
    quotient.checked_add(u128::from(remainder != 0))
}

/// The greatest common divisor (Euclid).
pub fn greatest_common_divisor(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_largest_product_is_exact() {
        assert_eq!(multiply(u128::MAX, u128::MAX), (u128::MAX - 1, 1));
        assert_eq!(
            multiply_divide(u128::MAX, u128::MAX, u128::MAX),
            Some((u128::MAX, 0))
        );
        assert_eq!(multiply_divide(u128::MAX, 2, 1), None);
        assert_eq!(multiply_divide(1, 1, 0), None);
    }

    proptest! {
        #[test]
        fn division_undoes_multiplication(a in any::<u128>(), b in 1u128.., shift in 0u32..128, r in any::<u128>()) {
            let b = (b >> shift).max(1);
            let remainder = r % b;
            // a × b + remainder, as 256 bits, divided by b.
            let (high, low) = multiply(a, b);
            prop_assert_eq!(multiply_divide(a, b, b), Some((a, 0)));
            prop_assert_eq!(compare_products(a, b, b, a), Ordering::Equal);
            if let (0, Some(sum)) = (high, low.checked_add(remainder)) {
                prop_assert_eq!(multiply_divide(sum, 1, b), Some((a, remainder)));
            }
        }

        #[test]
        fn quotient_and_remainder_rebuild_the_product(a in any::<u128>(), b in any::<u128>(), divisor in 1u128.., shift in 0u32..128) {
            let divisor = (divisor >> shift).max(1);
            if let Some((quotient, remainder)) = multiply_divide(a, b, divisor) {
                prop_assert!(remainder < divisor);
                let (high, low) = multiply(quotient, divisor);
                let (sum, carry) = low.overflowing_add(remainder);
                prop_assert_eq!((high + u128::from(carry), sum), multiply(a, b));
            } else {
                prop_assert!(multiply(a, b).0 >= divisor);
            }
        }
    }
}
