//! Sliding window counters, to the nanosecond. Their windows lie at multiples of the period.

use crate::core::decision::Earliest;
use crate::core::test_booking::*;
use crate::core::test_key::*;
use crate::core::units::{DAY, SECOND, Span, Wait};

/// A key at the beginning of a window of 100 s.
fn at_a_beginning() -> TestKey {
    TestKey::at(START / (100 * SECOND) * 100 * SECOND)
}

#[test]
fn a_counter_takes_its_count_and_no_more() {
    for count in [1, 2, 7] {
        let (mut key, limit) = (at_a_beginning(), sliding(count, ms(100_000)));
        assert_eq!(key.take_all(&limit), count);
        assert_eq!(key.remaining(&limit), 0);
        // The whole of it still weighs at the next window's beginning; of 1 permit even a part forbids another.
        let first = 100 * SECOND + (100 * SECOND).div_ceil(count);
        key.assert_goes_after_ns(&limit, 1, first);
    }
}

#[test]
fn a_cost_of_the_count_goes_and_one_more_never() {
    let (mut key, limit) = (at_a_beginning(), sliding(5, ms(100_000)));
    assert_eq!(key.earliest(&limit, 6), Earliest::Never);
    assert_eq!(key.reserve(&limit, 6, 0), NEVER);
    assert!(!key.exists());
    assert!(key.take(&limit, 5));
}

#[test]
fn the_last_window_weighs_by_the_part_of_it_still_inside() {
    let (mut key, limit) = (at_a_beginning(), sliding(100, ms(100_000)));
    assert!(key.take(&limit, 100));
    key.advance_ms(110_000);
    assert_eq!(key.remaining(&limit), 10);
    assert_eq!(key.standing(&limit).reset_after.ceil_ms(), 90_000);
    assert_eq!(key.take_all(&limit), 10);
    // One more goes when one more percent has left.
    key.assert_goes_after_ns(&limit, 1, SECOND);
    assert_eq!(key.wait_ns(&limit, 89), u128::from(89 * SECOND));
    // In the next window 11 weigh 10 once an eleventh has left.
    assert_eq!(
        key.wait_ns(&limit, 90),
        u128::from(89 * SECOND + 100 * SECOND / 11 + 1)
    );
}

#[test]
fn a_wait_is_told_to_the_fraction_of_a_nanosecond() {
    let (mut key, limit) = (TestKey::at(7 * START / 7 / 10 * 10), sliding(3, ns(10)));
    assert!(key.take(&limit, 3));
    // 3 × (10 − into) ≤ 2 × 10 from 10/3 ns into the next window on.
    let Earliest::After(wait) = key.earliest(&limit, 1) else {
        panic!("it can go");
    };
    assert_eq!(wait, Wait::quotient(40, 3));
    key.assert_goes_after_ns(&limit, 1, 14);
}

#[test]
fn nothing_is_counted_after_two_windows_and_any_idle_time() {
    let (mut key, limit) = (at_a_beginning(), sliding(5, ms(100_000)));
    key.advance_ms(50_000);
    assert!(key.take(&limit, 5));
    assert_eq!(key.standing(&limit).reset_after.ceil_ms(), 150_000);
    key.advance_ns(150 * SECOND - 1);
    assert!(key.exists());
    assert_eq!(key.remaining(&limit), 4);
    key.advance_ns(1);
    assert!(!key.exists());
    assert!(key.take(&limit, 5));
    key.advance_ns(3650 * DAY);
    assert!(key.take(&limit, 5));
}

#[test]
fn windows_of_a_nanosecond_and_of_ten_years_are_exact() {
    let (mut key, limit) = (TestKey::new(), sliding(2, ns(1)));
    assert!(key.take(&limit, 2));
    // All of the last window is still inside at its end: a window of one instant lasts two.
    key.assert_goes_after_ns(&limit, 1, 2);
    let (mut key, limit) = (TestKey::at(5 * 3650 * DAY), sliding(2, Span::MAX));
    assert!(key.take(&limit, 2));
    key.assert_goes_after_ns(&limit, 1, 3650 * DAY + 3650 * DAY / 2);
}

#[test]
fn a_pause_holds_back_and_nothing_else() {
    let (mut key, limit) = (at_a_beginning(), sliding(2, ms(100_000)));
    assert!(key.take(&limit, 1));
    key.pause(250_000);
    assert_eq!((key.remaining(&limit), key.reserve(&limit, 1, 0)), (0, -1));
    assert_eq!(key.wait_ns(&limit, 2), u128::from(250 * SECOND));
    key.advance_ms(250_000);
    assert_eq!(key.take_all(&limit), 2);
    key.pause(3650 * 86_400_000);
    assert_eq!(key.wait_ns(&limit, 2), u128::from(3650 * DAY));
}

#[test]
fn a_charge_counts_beyond_the_count() {
    let (mut key, limit) = (at_a_beginning(), sliding(2, ms(100_000)));
    assert_eq!(key.charge_unasked(&limit, 8), Ok(()));
    assert_eq!((key.remaining(&limit), key.refund(8)), (0, 0));
    // A quarter of what the counter takes: 8 × 1/8 is one of two.
    assert_eq!(
        key.wait_ns(&limit, 1),
        u128::from(100 * SECOND + 100 * SECOND * 7 / 8)
    );
    assert_eq!(key.wait_ns(&limit, 2), u128::from(200 * SECOND));
}

#[test]
fn other_parameters_count_what_the_weighted_count_was_as_current() {
    let (mut key, limit) = (at_a_beginning(), sliding(10, ms(100_000)));
    assert!(key.take(&limit, 10));
    key.advance_ms(155_000);
    assert!(key.take(&limit, 1));
    // 10 × 45/100 + 1 is 5.5, and counts as 6.
    assert_eq!(key.remaining(&sliding(10, ms(50_000))), 4);
    assert_eq!(key.remaining(&sliding(20, ms(100_000))), 14);
    assert_eq!(key.remaining(&sliding(6, ms(100_000))), 0);
    // A look changes nothing, and the same parameters lose nothing by rounding.
    assert_eq!(key.wait_ns(&limit, 5), u128::from(5 * SECOND));
    assert!(key.take(&sliding(10, ms(50_000)), 1));
    assert_eq!(key.remaining(&sliding(10, ms(50_000))), 3);
}
