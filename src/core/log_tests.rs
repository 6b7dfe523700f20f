//! Sliding logs, to the nanosecond.

use super::LOG_COUNT_MAX;
use crate::core::decision::{Earliest, Refusal};
use crate::core::test_booking::*;
use crate::core::test_key::*;
use crate::core::units::{DAY, SECOND, Span};

#[test]
fn a_log_takes_its_count_and_no_more_in_any_period() {
    for count in [1, 2, 7] {
        let (mut key, limit) = (TestKey::new(), log(count, ms(1_000)));
        for _ in 0..count {
            assert!(key.take(&limit, 1));
            key.advance_ms(100);
        }
        assert_eq!(key.remaining(&limit), 0);
        key.assert_goes_after_ns(&limit, 1, SECOND - count * SECOND / 10);
        if count > 1 {
            key.assert_goes_after_ns(&limit, 1, SECOND / 10);
        }
    }
}

#[test]
fn a_cost_of_the_count_goes_and_one_more_never() {
    let (mut key, limit) = (TestKey::new(), log(5, ms(1_000)));
    assert_eq!(key.earliest(&limit, 6), Earliest::Never);
    assert_eq!(key.reserve(&limit, 6, 60_000), NEVER);
    assert!(!key.exists());
    assert!(key.take(&limit, 4));
    assert!(!key.take(&limit, 2));
    assert!(key.take(&limit, 1));
    key.assert_goes_after_ns(&limit, 5, SECOND);
}

#[test]
fn a_reservation_waits_for_as_many_as_it_needs_to_leave() {
    let (mut key, limit) = (TestKey::new(), log(4, ms(1_000)));
    for cost in [1, 2, 1] {
        assert!(key.take(&limit, cost));
        key.advance_ms(100);
    }
    let waits = [1, 2, 3, 4].map(|cost| key.wait(&limit, cost).ceil_ms());
    assert_eq!(waits, [700, 800, 800, 900]);
    assert_eq!(key.reserve(&limit, 2, 799), -1);
    assert_eq!(key.reserve(&limit, 2, 800), 800);
    // In order, never before the last slot booked.
    assert_eq!(key.reserve(&limit, 1, 60_000), 800);
    assert_eq!(key.reserve(&limit, 1, 60_000), 900);
    assert_eq!(key.reserve(&limit, 1, 60_000), 1_800);
    assert_eq!(key.remaining(&limit), 0);
}

#[test]
fn a_booking_ahead_is_the_earliest_that_others_can_go() {
    let (mut key, limit) = (TestKey::new(), log(3, ms(1_000)));
    key.book_at(&limit, 1, 10_000);
    assert_eq!(
        (key.remaining(&limit), key.reserve(&limit, 2, 60_000)),
        (0, 10_000)
    );
    assert_eq!(key.standing(&limit).reset_after.ceil_ms(), 11_000);
    key.advance_ms(10_000);
    key.assert_goes_after_ns(&limit, 1, SECOND);
}

#[test]
fn logs_of_a_nanosecond_and_of_ten_years_are_exact() {
    let (mut key, limit) = (TestKey::new(), log(1, ns(1)));
    assert!(key.take(&limit, 1));
    key.assert_goes_after_ns(&limit, 1, 1);
    let (mut key, limit) = (TestKey::new(), log(1, Span::MAX));
    assert!(key.take(&limit, 1));
    key.assert_goes_after_ns(&limit, 1, 3650 * DAY);
    // And it goes by itself in the end.
    key.advance_ns(3650 * DAY - 1);
    assert!(key.exists());
    key.advance_ns(1);
    assert!(!key.exists());
}

#[test]
fn a_pause_holds_back_and_nothing_else() {
    let (mut key, limit) = (TestKey::new(), log(2, ms(1_000)));
    assert!(key.take(&limit, 2));
    key.pause(1_000);
    assert_eq!(
        (key.remaining(&limit), key.reserve(&limit, 1, 60_000)),
        (0, 1_000)
    );
    assert!(key.resume());
    // What was promised stands.
    assert_eq!(key.reserve(&limit, 2, 60_000), 2_000);
    let (mut key, limit) = (TestKey::new(), log(2, ms(1_000)));
    key.pause(3650 * 86_400_000);
    assert_eq!(key.wait_ns(&limit, 1), u128::from(3650 * DAY));
}

#[test]
fn a_charge_counts_beyond_the_count() {
    let (mut key, limit) = (TestKey::new(), log(2, ms(1_000)));
    assert_eq!(key.charge_unasked(&limit, 3), Ok(()));
    key.advance_ms(500);
    assert_eq!(key.charge_unasked(&limit, 1), Ok(()));
    assert_eq!((key.remaining(&limit), key.refund(9)), (0, 0));
    assert_eq!(
        [1, 2].map(|cost| key.wait(&limit, cost).ceil_ms()),
        [500, 1_000]
    );
}

#[test]
fn other_parameters_keep_what_the_log_still_holds() {
    let mut key = TestKey::new();
    for _ in 0..4 {
        assert!(key.take(&log(5, ms(1_000)), 1));
        key.advance_ms(200);
    }
    assert_eq!(key.remaining(&log(10, ms(1_000))), 6);
    assert_eq!(key.remaining(&log(10, ms(500))), 8);
    assert_eq!(key.wait(&log(4, ms(2_000)), 1).ceil_ms(), 1_200);
    assert_eq!(key.wait(&log(2, ms(1_000)), 1).ceil_ms(), 600);
    // A look changes nothing.
    assert_eq!(key.remaining(&log(5, ms(1_000))), 1);
    // What has left under a shorter period does not come back under a longer one.
    assert!(key.take(&log(5, ms(500)), 1));
    assert_eq!(key.remaining(&log(5, ms(60_000))), 2);
}

#[test]
fn what_is_a_period_old_is_gone_whether_or_not_anybody_called_since() {
    let (short, long) = (log(5, ms(1_000)), log(5, ms(60_000)));
    let mut key = TestKey::new();
    assert!(key.take(&short, 4));
    key.advance_ms(500);
    assert!(key.take(&short, 1));
    key.advance_ms(700);
    assert_eq!(key.remaining(&long), 4);
    assert!(key.take(&short, 1));
    assert_eq!(key.remaining(&long), 3);
}

#[test]
fn a_call_holds_one_place_whatever_its_cost_and_no_more_than_a_period() {
    let (mut key, limit) = (TestKey::new(), log(LOG_COUNT_MAX, ms(1_000)));
    assert!(key.take(&limit, LOG_COUNT_MAX - 3));
    assert_eq!(key.take_all(&limit), 3);
    assert_eq!(key.log_state().bookings.len(), 1);
    for _ in 0..10_000 {
        key.advance_ms(1);
        key.take(&limit, 7);
    }
    let bookings = &key.log_state().bookings;
    assert_eq!(bookings.len(), 1_000);
    assert!(bookings.capacity() <= 4_000, "{}", bookings.capacity());
    // Memory goes back when the load does.
    for _ in 0..20 {
        key.advance_ms(900);
        assert!(key.take(&limit, 1));
    }
    let bookings = &key.log_state().bookings;
    assert_eq!(bookings.len(), 2);
    assert!(bookings.capacity() <= 64, "{}", bookings.capacity());
}

#[test]
fn a_log_holds_so_many_bookings_and_no_more() {
    let most = LOG_COUNT_MAX as usize + 3;
    let (mut key, limit) = (TestKey::new(), log(1, ns(1)));
    for n in 0..most as u64 {
        assert_eq!(key.book_at_most(&limit, 1, n, 3), Ok(()));
    }
    let last = most as u64;
    let refused = key.book_at_most(&limit, 1, last, 3);
    assert_eq!(
        (refused, key.log_state().bookings.len()),
        (Err(Refusal::TooManyBookings), most)
    );
    // Those that are over are none.
    key.advance_ns(last / 2);
    assert_eq!(key.book_at_most(&limit, 1, last - last / 2, 3), Ok(()));
    assert_eq!(
        key.log_state().bookings.len(),
        most - (last / 2) as usize + 1
    );
}
