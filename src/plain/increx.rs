//! INCREX: a counter with bounds, and an expiry that one step in a window sets.

use super::counter::{self, Number};
use super::error::PlainError;
use super::expiry::{self, Expiry};
use super::{Plain, text};
use crate::core::units::Timestamp;

/// A step of a counter, by a finite number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step<N> {
    /// What is added.
    pub by: N,
    /// The least that may come out.
    pub lower: N,
    /// The most that may come out; not below `lower`.
    pub upper: N,
    /// What would be out of bounds becomes the bound. Otherwise nothing is done then.
    pub saturate: bool,
    /// When the key goes from then on.
    pub expiry: Expiry,
    /// The expiry is for a key that stays only.
    pub keeps_expiry: bool,
}

/// How a counter stands after a step, and what was added in fact: 0 where nothing was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stepped<N> {
    /// The counter.
    pub value: N,
    /// The difference to what it was.
    pub applied: N,
}

/// Takes a step. One that is out of bounds leaves the key, and when it goes, as they were.
///
/// # Errors
/// As [`counter::value`]; [`PlainError::InfiniteValue`]; [`PlainError::AppliedOverflow`] or
/// [`PlainError::AppliedInfinite`] if the bound is so far from the value that their difference cannot be told.
pub fn step<N: Number>(
    slot: &mut Option<Plain>,
    step: &Step<N>,
    now: Timestamp,
) -> Result<Stepped<N>, PlainError> {
    let current = counter::value::<N>(slot)?;
    if !current.is_finite() {
        return Err(PlainError::InfiniteValue);
    }
    let (sum, in_range) = current.added(step.by);
    let within = in_range && step.lower <= sum && sum <= step.upper;
    if !within && !step.saturate {
        return Ok(Stepped {
            value: current,
            applied: N::ZERO,
        });
    }
    let value = sum.min(step.upper).max(step.lower);
    let applied = value.difference(current)?;
    let goes = slot.as_ref().is_some_and(|plain| plain.expires.is_some());
    text::replace(slot, value.into_text());
    if !(step.keeps_expiry && goes) {
        expiry::apply(slot, step.expiry, now);
    }
    Ok(Stepped { value, applied })
}

#[cfg(test)]
mod tests {
    use super::super::extended::Extended;
    use super::super::{Data, Deadline, Text};
    use super::*;
    use proptest::prelude::*;

    const NOW: Timestamp = Timestamp::ZERO;

    fn slot(bytes: &str, expires_ms: Option<i64>) -> Option<Plain> {
        Some(Plain {
            data: Data::Text(Text::new(bytes.as_bytes()).unwrap()),
            expires: expires_ms.map(Deadline::at_ms),
        })
    }

    fn by(by: i64) -> Step<i64> {
        Step {
            by,
            lower: i64::MIN,
            upper: i64::MAX,
            saturate: false,
            expiry: Expiry::Keep,
            keeps_expiry: false,
        }
    }

    fn float(text: &str) -> Extended {
        Extended::parse(text.as_bytes()).unwrap()
    }

    fn by_float(by: &str) -> Step<Extended> {
        Step {
            by: float(by),
            lower: -Extended::MAX,
            upper: Extended::MAX,
            saturate: false,
            expiry: Expiry::Keep,
            keeps_expiry: false,
        }
    }

    fn stepped<N>(value: N, applied: N) -> Result<Stepped<N>, PlainError> {
        Ok(Stepped { value, applied })
    }

    #[test]
    fn a_step_out_of_bounds_does_nothing() {
        let mut key = None;
        let upwards = Step {
            upper: 2,
            expiry: Expiry::At(Deadline::at_ms(60)),
            ..by(3)
        };
        assert_eq!(step(&mut key, &upwards, NOW), stepped(0, 0));
        assert_eq!(key, None);
        let mut key = slot("1", Some(50));
        assert_eq!(step(&mut key, &upwards, NOW), stepped(1, 0));
        assert_eq!(key, slot("1", Some(50)));
    }

    #[test]
    fn a_saturated_step_ends_at_the_bound_and_sets_the_expiry() {
        let mut key = slot("10", None);
        let upwards = Step {
            upper: 15,
            saturate: true,
            expiry: Expiry::At(Deadline::at_ms(60)),
            ..by(10)
        };
        assert_eq!(step(&mut key, &upwards, NOW), stepped(15, 5));
        assert_eq!(key, slot("15", Some(60)));
        // Even against the way of the step.
        let upwards = Step {
            upper: 5,
            ..upwards
        };
        assert_eq!(step(&mut key, &upwards, NOW), stepped(5, -10));
        let mut none = None;
        let upwards = Step {
            upper: 0,
            expiry: Expiry::Keep,
            ..upwards
        };
        assert_eq!(step(&mut none, &upwards, NOW), stepped(0, 0));
        assert_eq!(none, slot("0", None));
    }

    #[test]
    fn the_expiry_of_a_key_that_goes_can_be_kept() {
        let enx = Step {
            expiry: Expiry::At(Deadline::at_ms(60)),
            keeps_expiry: true,
            ..by(1)
        };
        let mut key = None;
        assert_eq!(step(&mut key, &enx, NOW), stepped(1, 1));
        assert_eq!(key, slot("1", Some(60)));
        let later = Step {
            expiry: Expiry::At(Deadline::at_ms(90)),
            ..enx
        };
        assert_eq!(step(&mut key, &later, NOW), stepped(2, 1));
        assert_eq!(key, slot("2", Some(60)));
        let past = Step {
            expiry: Expiry::At(Deadline::at_ms(0)),
            ..enx
        };
        assert_eq!(step(&mut key, &past, NOW), stepped(3, 1));
        assert_eq!(key, slot("3", Some(60)));
        let past = Step {
            keeps_expiry: false,
            ..past
        };
        assert_eq!(step(&mut key, &past, NOW), stepped(4, 1));
        assert_eq!(key, None);
    }

    #[test]
    fn the_ends_of_64_bits_are_bounds() {
        let mut key = slot("9223372036854775800", None);
        let far = by(9_223_372_036_854_775_800);
        assert_eq!(
            step(&mut key, &far, NOW),
            stepped(9_223_372_036_854_775_800, 0)
        );
        let far = Step {
            saturate: true,
            ..far
        };
        assert_eq!(step(&mut key, &far, NOW), stepped(i64::MAX, 7));
        let before = key.clone();
        let across = Step {
            upper: i64::MIN,
            saturate: true,
            ..by(1)
        };
        assert_eq!(
            step(&mut key, &across, NOW),
            Err(PlainError::AppliedOverflow)
        );
        assert_eq!(key, before);
    }

    #[test]
    fn floats_step_as_integers_do() {
        let mut key = slot("10", None);
        let upwards = Step {
            upper: float("12.5"),
            ..by_float("5.5")
        };
        assert_eq!(
            step(&mut key, &upwards, NOW),
            stepped(float("10"), float("0"))
        );
        let upwards = Step {
            saturate: true,
            ..upwards
        };
        assert_eq!(
            step(&mut key, &upwards, NOW),
            stepped(float("12.5"), float("2.5"))
        );
        assert_eq!(key, slot("12.5", None));
    }

    #[test]
    fn floats_end_at_their_range_and_never_in_infinity() {
        let largest = Extended::MAX.to_string();
        let mut key = slot(&largest, None);
        let upwards = by_float(&largest);
        assert_eq!(
            step(&mut key, &upwards, NOW),
            stepped(Extended::MAX, Extended::ZERO)
        );
        let unbounded = Step {
            upper: Extended::INFINITY,
            ..upwards
        };
        assert_eq!(
            step(&mut key, &unbounded, NOW),
            stepped(Extended::MAX, Extended::ZERO)
        );
        let downwards = Step {
            lower: -Extended::INFINITY,
            upper: -Extended::INFINITY,
            saturate: true,
            ..upwards
        };
        assert_eq!(
            step(&mut key, &downwards, NOW),
            Err(PlainError::AppliedInfinite)
        );
        let downwards = Step {
            upper: -Extended::MAX,
            ..downwards
        };
        assert_eq!(
            step(&mut key, &downwards, NOW),
            Err(PlainError::AppliedInfinite)
        );
        assert_eq!(key, slot(&largest, None));
        let mut key = slot("-inf", None);
        assert_eq!(
            step(&mut key, &by_float("1"), NOW),
            Err(PlainError::InfiniteValue)
        );
    }

    #[test]
    fn a_float_is_no_integer() {
        let mut key = slot("1.5", None);
        assert_eq!(step(&mut key, &by(1), NOW), Err(PlainError::NotAnInteger));
        assert_eq!(
            step(&mut key, &by_float("1"), NOW),
            stepped(float("2.5"), float("1"))
        );
        let mut key = slot("x", None);
        assert_eq!(
            step(&mut key, &by_float("1"), NOW),
            Err(PlainError::NotAFloat)
        );
    }

    /// Integers, most of them near an end or near zero.
    fn integers() -> impl Strategy<Value = i64> {
        let ends = prop::sample::select(vec![i64::MIN, 0, i64::MAX]);
        prop_oneof![
            any::<i64>(),
            (ends, -20..20i64).prop_map(|(end, by)| end.saturating_add(by)),
        ]
    }

    proptest! {
        #[test]
        fn bounds_hold_in_128_bits(
            start in integers(),
            steps in prop::collection::vec((integers(), integers(), integers(), any::<bool>()), 1..20),
        ) {
            let mut key = slot(&start.to_string(), None);
            let mut model = i128::from(start);
            for (amount, one, other, saturate) in steps {
                let (lower, upper) = (one.min(other), one.max(other));
                let sum = model + i128::from(amount);
                let clamped = sum.clamp(lower.into(), upper.into());
                let stepped = if sum == clamped || saturate {
                    i64::try_from(clamped - model).map_err(|_| PlainError::AppliedOverflow)
                } else {
                    Ok(0)
                };
                let expected = stepped.map(|applied| {
                    model += i128::from(applied);
                    Stepped { value: model as i64, applied }
                });
                let taken = Step { lower, upper, saturate, ..by(amount) };
                prop_assert_eq!(step(&mut key, &taken, NOW), expected);
                prop_assert_eq!(&key, &slot(&model.to_string(), None));
            }
        }
    }
}
