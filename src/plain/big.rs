//! Natural numbers of any size, as far as reading and writing decimals needs them.

/// Limbs of 64 bits, the lowest first; the highest is not zero.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Big(Vec<u64>);

impl Big {
    /// `self × factor + summand`.
    pub fn multiply_add(&mut self, factor: u64, summand: u64) {
        let mut carry = u128::from(summand);
        for limb in &mut self.0 {
            carry += u128::from(*limb) * u128::from(factor);
            *limb = carry as u64;
            carry >>= 64;
        }
        if carry > 0 {
            self.0.push(carry as u64);
        }
    }

    /// `self × 2^bits`.
    pub fn shift_left(&mut self, bits: u32) {
        if self.is_zero() {
            return;
        }
        self.multiply_add(1 << (bits % 64), 0);
        let limbs = (bits / 64) as usize;
        self.0.splice(..0, std::iter::repeat_n(0, limbs));
    }

    /// Divides, rounding down; the remainder.
    pub fn divide(&mut self, divisor: u64) -> u64 {
        let mut remainder = 0u128;
        for limb in self.0.iter_mut().rev() {
            let dividend = remainder << 64 | u128::from(*limb);
            *limb = (dividend / u128::from(divisor)) as u64;
            remainder = dividend % u128::from(divisor);
        }
        if self.0.last() == Some(&0) {
            self.0.pop();
        }
        remainder as u64
    }

    /// True for zero.
    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// How many bits it has.
    pub fn bits(&self) -> u32 {
        let top = self.0.last().map_or(0, |limb| 64 - limb.leading_zeros());
        top + 64 * (self.0.len() as u32).saturating_sub(1)
    }

    /// The highest 128 bits, or all if there are fewer; how many bits are below them; and whether one of those is set.
    pub fn top(&self) -> (u128, u32, bool) {
        let limb = |from_top: usize| {
            let index = self.0.len().checked_sub(from_top);
            index.map_or(0, |index| self.0[index])
        };
        let two = u128::from(limb(1)) << 64 | u128::from(limb(2));
        match self.0.len() {
            0 => (0, 0, false),
            1 => (u128::from(limb(1)), 0, false),
            2 => (two, 0, false),
            limbs => {
                let free = two.leading_zeros();
                let below = u128::from(limb(3)) << free;
                let lost = below as u64 != 0 || self.0[..limbs - 3].iter().any(|&limb| limb != 0);
                (two << free | below >> 64, self.bits() - 128, lost)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_bigint::BigUint;
    use proptest::prelude::*;

    fn value(big: &Big) -> BigUint {
        let limbs = big.0.iter().rev();
        limbs.fold(BigUint::ZERO, |value, limb| (value << 64) + *limb)
    }

    proptest! {
        #[test]
        fn it_computes_as_big_numbers_do(
            steps in prop::collection::vec((0u8..3, any::<u64>(), any::<u64>()), 0..30),
        ) {
            let (mut big, mut model) = (Big::default(), BigUint::ZERO);
            for (step, a, b) in steps {
                match step {
                    0 => {
                        big.multiply_add(a, b);
                        model = model * a + b;
                    }
                    1 => {
                        big.shift_left((a % 200) as u32);
                        model <<= a % 200;
                    }
                    _ => {
                        prop_assert_eq!(BigUint::from(big.divide(a.max(1))), &model % a.max(1));
                        model /= a.max(1);
                    }
                }
                prop_assert_eq!(value(&big), model.clone());
                prop_assert_eq!(u64::from(big.bits()), model.bits());
                prop_assert_eq!(big.is_zero(), model == BigUint::ZERO);
                let (top, shift, lost) = big.top();
                prop_assert_eq!(u64::from(shift), model.bits().saturating_sub(128));
                prop_assert_eq!(BigUint::from(top), &model >> shift);
                prop_assert_eq!(lost, BigUint::from(top) << shift != model);
            }
        }
    }
}
