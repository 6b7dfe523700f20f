//! Fixed windows, to the nanosecond.

use crate::core::decision::{Earliest, Refusal};
use crate::core::test_booking::*;
use crate::core::test_key::*;
use crate::core::units::{DAY, SECOND, Span};

#[test]
fn a_window_takes_its_count_and_no_more() {
    for count in [1, 2, 7] {
        let (mut key, limit) = (TestKey::new(), window(count, ms(2_000)));
        assert_eq!(key.remaining(&limit), count);
        assert_eq!(key.take_all(&limit), count);
        assert_eq!(key.remaining(&limit), 0);
        key.assert_goes_after_ns(&limit, 1, 2 * SECOND);
    }
}

#[test]
fn a_cost_of_the_count_goes_and_one_more_never() {
    let (mut key, limit) = (TestKey::new(), window(5, ms(1_000)));
    assert_eq!(key.earliest(&limit, 6), Earliest::Never);
    assert_eq!(key.reserve(&limit, 6, 60_000), NEVER);
    assert!(!key.exists());
    assert!(key.take(&limit, 5));
    let (mut key, limit) = (TestKey::new(), window(5, ms(1_000)));
    assert!(key.take(&limit, 4));
    assert!(!key.take(&limit, 2));
    assert!(key.take(&limit, 1));
}

#[test]
fn a_window_begins_at_its_first_request() {
    let (mut key, limit) = (TestKey::at(START + 123_456_789), window(2, ms(1_000)));
    assert!(key.take(&limit, 1));
    key.advance_ns(SECOND - 1);
    assert!(key.take(&limit, 1));
    key.assert_goes_after_ns(&limit, 2, 1);
    // Behind a window without requests the next begins at its own.
    key.advance_ms(1_500);
    assert!(!key.exists());
    assert!(key.take(&limit, 2));
    key.assert_goes_after_ns(&limit, 1, SECOND);
}

#[test]
fn aligned_windows_lie_at_multiples_of_the_period() {
    let limit = aligned(2, ms(60_000));
    let last = (START / (60 * SECOND) + 1) * 60 * SECOND - 1;
    let mut key = TestKey::at(last);
    assert!(key.take(&limit, 2));
    key.assert_goes_after_ns(&limit, 2, 1);
    key.assert_goes_after_ns(&limit, 2, 60 * SECOND);
    assert_eq!(
        key.standing(&limit).reset_after.ceil_ns(),
        u128::from(60 * SECOND)
    );
}

#[test]
fn windows_of_a_nanosecond_and_of_ten_years_are_exact() {
    let (mut key, limit) = (TestKey::new(), window(1, ns(1)));
    assert!(key.take(&limit, 1));
    key.assert_goes_after_ns(&limit, 1, 1);
    assert_eq!(
        key.reserve_exactly(&limit, 1, ms(1)),
        Earliest::After(wait_ns(1))
    );
    for limit in [window(1, Span::MAX), aligned(1, Span::MAX)] {
        let mut key = TestKey::at(4 * 3650 * DAY);
        assert!(key.take(&limit, 1));
        key.assert_goes_after_ns(&limit, 1, 3650 * DAY);
    }
}

#[test]
fn a_reservation_goes_into_the_first_window_with_room() {
    let (mut key, limit) = (TestKey::new(), window(3, ms(1_000)));
    assert_eq!(
        [2, 2, 1, 3, 1].map(|cost| key.reserve(&limit, cost, 60_000)),
        [0, 1_000, 0, 2_000, 1_000]
    );
    assert_eq!(key.reserve(&limit, 1, 2_999), -1);
    assert_eq!(key.reserve(&limit, 1, 3_000), 3_000);
    key.advance_ms(1_000);
    assert_eq!(
        (key.remaining(&limit), key.wait_ns(&limit, 2)),
        (0, u128::from(2 * SECOND))
    );
    key.advance_ms(2_000);
    assert_eq!(key.remaining(&limit), 2);
}

#[test]
fn a_pause_holds_back_and_nothing_else() {
    let (mut key, limit) = (TestKey::new(), window(2, ms(1_000)));
    assert!(key.take(&limit, 1));
    key.pause(400);
    assert_eq!(
        (key.remaining(&limit), key.reserve(&limit, 1, 60_000)),
        (0, 400)
    );
    assert_eq!(key.reserve(&limit, 1, 60_000), 1_000);
    key.advance_ms(400);
    assert_eq!(key.remaining(&limit), 0);
    key.advance_ms(600);
    assert_eq!(key.remaining(&limit), 1);
}

#[test]
fn a_row_that_begins_in_a_pause_begins_at_its_end() {
    let (mut key, limit) = (TestKey::new(), window(2, ms(1_000)));
    key.pause(86_400_000);
    assert_eq!(
        [1, 2, 1].map(|cost| key.reserve(&limit, cost, 86_500_000)),
        [86_400_000, 86_401_000, 86_400_000]
    );
    assert_eq!(key.window_state().used.len(), 2);
    // What was promised stands if it ends early, and others come behind it.
    assert!(key.resume());
    assert_eq!(key.reserve(&limit, 1, 86_500_000), 86_402_000);
}

#[test]
fn a_far_pause_over_short_windows_costs_nothing() {
    let (mut key, limit) = (TestKey::new(), window(1, ns(1)));
    assert!(key.take(&limit, 1));
    key.pause(3650 * 86_400_000);
    assert_eq!(key.reserve(&limit, 1, 3650 * 86_400_000), 3650 * 86_400_000);
    assert_eq!(key.window_state().used.len(), 2);
}

#[test]
fn a_booking_ahead_leaves_the_windows_before_it_alone() {
    for limit in [window(3, ms(1_000)), aligned(3, ms(1_000))] {
        let mut key = TestKey::new();
        key.book_at(&limit, 3, 10_000);
        assert_eq!((key.remaining(&limit), key.wait_ns(&limit, 3)), (3, 0));
        key.advance_ms(500);
        assert_eq!(key.take_all(&limit), 3);
        key.assert_goes_after_ns(&limit, 3, SECOND / 2);
        key.advance_ms(9_000);
        assert_eq!(key.remaining(&limit), 0);
        key.assert_goes_after_ns(&limit, 1, SECOND);
    }
}

#[test]
fn a_key_holds_so_many_booked_windows_and_no_more() {
    let (mut key, limit) = (TestKey::new(), window(1, ms(1)));
    for n in 0..3 {
        assert_eq!(key.book_at_most(&limit, 1, n * 1_000_000, 3), Ok(()));
    }
    let before = key.entry.clone();
    let refused = key.book_at_most(&limit, 1, 3_000_000, 3);
    assert_eq!(
        (refused, &key.entry),
        (Err(Refusal::TooManyBookings), &before)
    );
    key.advance_ms(1);
    assert_eq!(key.book_at_most(&limit, 1, 3_000_000, 3), Ok(()));
}

#[test]
fn windows_that_are_over_are_dropped() {
    let (mut key, limit) = (TestKey::new(), window(1, ms(1)));
    for n in 0..2_000 {
        assert_eq!(key.reserve(&limit, 1, 60_000), n);
    }
    key.advance_ms(1_900);
    assert_eq!(key.reserve(&limit, 1, 60_000), 100);
    assert_eq!(key.window_state().used.len(), 101);
    key.advance_ms(101);
    assert!(!key.exists());
}

#[test]
fn a_charge_counts_beyond_the_count_in_the_running_window() {
    let (mut key, limit) = (TestKey::new(), window(2, ms(1_000)));
    assert_eq!(key.charge_unasked(&limit, 5), Ok(()));
    assert_eq!((key.remaining(&limit), key.refund(5)), (0, 0));
    assert_eq!(key.reserve(&limit, 1, 60_000), 1_000);
    key.advance_ms(1_000);
    assert_eq!(key.remaining(&limit), 1);
}

#[test]
fn other_parameters_keep_beginning_and_counts() {
    let mut key = TestKey::new();
    assert!(key.take(&window(5, ms(1_000)), 3));
    key.advance_ms(600);
    assert_eq!(key.remaining(&window(10, ms(1_000))), 7);
    assert_eq!(key.remaining(&window(2, ms(1_000))), 0);
    // From its beginning on, not from now; nor from a multiple of the period.
    assert_eq!(
        key.wait_ns(&window(3, ms(2_000)), 1),
        u128::from(1_400_000_000u64)
    );
    assert_eq!(
        key.wait_ns(&aligned(3, ms(2_000)), 1),
        u128::from(1_400_000_000u64)
    );
    assert_eq!(key.remaining(&window(3, ms(600))), 3);
    assert_eq!(key.remaining(&window(3, ms(601))), 0);
    // A look changes nothing.
    assert_eq!(key.remaining(&window(5, ms(1_000))), 2);
}

#[test]
fn slots_that_are_booked_stay_where_they_are_when_the_period_changes() {
    let (long, short) = (window(3, ms(60_000)), window(3, ms(2_000)));
    let mut key = TestKey::new();
    assert_eq!(
        [3, 3].map(|cost| key.reserve(&long, cost, 60_000)),
        [0, 60_000]
    );
    key.advance_ms(2_000);
    assert_eq!(key.take_all(&short), 3);
    key.advance_ms(58_000);
    assert_eq!(key.take_all(&short), 0);
    key.assert_goes_after_ns(&short, 3, 2 * SECOND);

    let mut key = TestKey::new();
    assert_eq!(
        [3, 3, 3].map(|cost| key.reserve(&short, cost, 60_000)),
        [0, 2_000, 4_000]
    );
    assert_eq!(key.reserve(&long, 1, 60_000), 60_000);
}
