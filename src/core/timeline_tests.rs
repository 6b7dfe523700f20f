//! Bookings ahead of one bucket, to the nanosecond.

use super::*;
use crate::core::decision::{Earliest, Refusal};
use crate::core::limit::{BucketLimit, Keeps, Rate};
use crate::core::pause::SlowDown;
use crate::core::slow::Factor;
use crate::core::state::State;
use crate::core::test_booking::ns;
use crate::core::test_key::*;
use crate::core::units::{DAY, SECOND, Span, Wait};

#[test]
fn a_booking_ahead_leaves_room_for_what_has_refilled_by_its_slot() {
    let (mut key, limit) = (TestKey::new(), bucket(5, "1"));
    key.book_at(&limit, 5, 10_000);
    assert_eq!(key.remaining(&limit), 5);
    assert!(key.take(&limit, 5));
    assert!(!key.take(&limit, 1));
    key.advance_ms(1_000);
    assert_eq!(key.take_all(&limit), 1);
    // By its slot what goes now must have refilled.
    key.advance_ms(4_000);
    assert_eq!(key.remaining(&limit), 4);
    assert!(key.take(&limit, 4));
    key.assert_goes_after_ns(&limit, 1, 6 * SECOND);
}

#[test]
fn a_cost_that_would_not_have_refilled_by_the_slot_waits_behind_it() {
    let (mut key, limit) = (TestKey::new(), bucket(5, "1"));
    key.book_at(&limit, 5, 10_000);
    key.advance_ms(5_000);
    assert_eq!(key.wait_ns(&limit, 5), 0);
    key.advance_ns(1);
    // It would be one nanosecond's refill short. The booking's own has refilled five seconds behind it.
    assert_eq!(key.wait_ns(&limit, 5), u128::from(10 * SECOND - 1));
    assert_eq!(key.wait_ns(&limit, 4), 0);
    assert_eq!(key.remaining(&limit), 4);
}

#[test]
fn between_two_bookings_there_is_what_both_leave() {
    let (mut key, limit) = (TestKey::new(), bucket(4, "1"));
    key.book_at(&limit, 4, 10_000);
    key.book_at(&limit, 3, 16_000);
    // Behind the first there are two seconds' worth idle and one permit never used.
    key.advance_ms(10_000);
    assert_eq!(key.remaining(&limit), 0);
    key.advance_ms(3_000);
    assert_eq!(key.remaining(&limit), 3);
    assert_eq!(key.take_all(&limit), 3);
    key.assert_goes_after_ns(&limit, 1, 3 * SECOND + SECOND);
}

#[test]
fn costs_up_to_the_capacity_can_be_booked_and_one_more_never() {
    let (mut key, limit) = (TestKey::new(), bucket(5, "1"));
    key.book_at(&limit, 4, 10_000);
    assert_eq!(key.earliest(&limit, 6), Earliest::Never);
    assert_eq!(key.wait_ns(&limit, 5), 0);
    key.advance_ms(10_000);
    assert_eq!(key.wait_ns(&limit, 1), 0);
    assert_eq!(key.wait_ns(&limit, 2), u128::from(SECOND));
}

#[test]
fn bookings_of_one_slot_stand_behind_each_other() {
    let (mut key, limit) = (TestKey::new(), bucket(3, "1"));
    for _ in 0..3 {
        key.book_at(&limit, 1, 10_000);
    }
    assert_eq!(key.ahead().len(), 3);
    key.advance_ms(10_000);
    assert_eq!((key.remaining(&limit), key.ahead().len()), (0, 0));
    assert_eq!(key.reserve(&limit, 1, 60_000), 1_000);
}

#[test]
fn plain_reservations_need_one_number() {
    let (mut key, limit) = (TestKey::new(), bucket(3, "7/3s"));
    for n in 0..1_000 {
        key.reserve(&limit, 1 + n % 3, 10_000_000);
        assert!(key.is_one_number());
    }
    // In front of a booking, too; behind one they are listed.
    let (mut key, limit) = (TestKey::new(), bucket(2, "1"));
    key.book_at(&limit, 1, 10_000);
    assert_eq!(key.reserve(&limit, 2, 60_000), 0);
    assert_eq!(key.reserve(&limit, 2, 60_000), 2_000);
    assert_eq!(key.ahead().len(), 1);
    assert_eq!(key.reserve(&limit, 1, 60_000), 3_000);
    assert_eq!(key.reserve(&limit, 2, 60_000), 5_000);
    assert_eq!(key.reserve(&limit, 2, 60_000), 7_000);
    assert_eq!(key.reserve(&limit, 2, 60_000), 9_000);
    assert_eq!(key.ahead().len(), 1);
    assert_eq!(key.reserve(&limit, 2, 60_000), 12_000);
    assert_eq!(key.ahead().len(), 2);
}

#[test]
fn a_slot_between_nanoseconds_is_kept_to_its_fraction() {
    let (mut key, limit) = (TestKey::new(), bucket(1, "3/7ns"));
    key.book_at_ns(&limit, 1, 5);
    assert!(key.take(&limit, 1));
    // It is full again at 7/3, and has to be at 5: what goes by 8/3 is.
    let wait = key.wait(&limit, 1);
    assert_eq!(wait.parts(), (2, 1, 3));
    for slot in [(2, 1), (7, 1), (9, 2), (12, 0)] {
        let Earliest::After(wait) = key.reserve_exactly(&limit, 1, ms(1)) else {
            panic!("it can go");
        };
        let (at, fraction, _) = wait.parts();
        assert_eq!((at as u64, fraction), slot);
    }
}

#[test]
fn a_key_holds_so_many_bookings_and_no_more() {
    let (mut key, limit) = (TestKey::new(), bucket(5, "1"));
    for n in 1..=3 {
        assert_eq!(key.book_at_most(&limit, 1, n * 10 * SECOND, 3), Ok(()));
    }
    let before = key.entry.clone();
    let refused = key.book_at_most(&limit, 1, 90 * SECOND, 3);
    assert_eq!(refused, Err(Refusal::TooManyBookings));
    assert_eq!(key.entry, before);
    // What needs no list goes on.
    assert_eq!(key.book_at_most(&limit, 5, 0, 3), Ok(()));
    key.advance_ms(10_000);
    assert_eq!(key.book_at_most(&limit, 1, 90 * SECOND, 3), Ok(()));
}

#[test]
fn many_bookings_cost_their_size_and_are_dropped_as_they_pass() {
    let (mut key, limit) = (TestKey::new(), bucket(1, "1000"));
    for n in 0..2_000 {
        key.book_at(&limit, 1, 10_000 + 2 * n);
    }
    assert_eq!((key.ahead().len(), key.remaining(&limit)), (2_000, 1));
    key.advance_ms(11_000);
    assert_eq!(key.remaining(&limit), 0);
    assert_eq!(key.ahead().len(), 1_499);
    // Between two there is just enough refill for one.
    key.advance_ms(1);
    assert_eq!(key.take_all(&limit), 1);
    key.advance_ms(3_000);
    assert!(!key.exists());
}

#[test]
fn the_slowest_and_the_fastest_rates_are_booked_exactly() {
    let (mut key, limit) = (TestKey::new(), bucket(1, "1/3650d"));
    key.book_at_ns(&limit, 1, 3650 * DAY);
    assert_eq!(key.wait_ns(&limit, 1), 0);
    key.advance_ns(1);
    assert_eq!(key.wait_ns(&limit, 1), u128::from(2 * 3650 * DAY - 1));
    let (mut key, limit) = (TestKey::new(), bucket(2, "1000000000"));
    key.book_at_ns(&limit, 2, 3);
    assert!(key.take(&limit, 2));
    key.assert_goes_after_ns(&limit, 1, 1);
    key.assert_goes_after_ns(&limit, 1, 3);
}

#[test]
fn a_pause_drains_behind_the_bookings_before_its_end() {
    let (mut key, limit) = (TestKey::new(), bucket(5, "1"));
    key.book_at(&limit, 5, 10_000);
    key.book_at(&limit, 1, 20_000);
    key.pause(11_000);
    assert_eq!(key.ahead().len(), 1);
    // One permit had refilled by then: it is all there is, and the later booking does not take it.
    key.advance_ms(11_000);
    assert_eq!(key.take_all(&limit), 1);
}

#[test]
fn a_pause_that_ends_early_gives_back_the_bookings_it_had_worked_in() {
    let (mut key, limit) = (TestKey::new(), bucket(5, "1"));
    key.book_at(&limit, 5, 10_000);
    key.book_at(&limit, 1, 20_000);
    key.pause(60_000);
    assert_eq!(key.ahead().len(), 0);
    assert!(key.resume());
    assert_eq!(key.ahead().len(), 2);
    assert_eq!(key.take_all(&limit), 1);
    key.advance_ms(5_000);
    assert_eq!(key.remaining(&limit), 5);
    key.advance_ms(5_000);
    assert_eq!(key.remaining(&limit), 0);
}

#[test]
fn a_longer_pause_drains_at_its_own_end_only() {
    let (mut key, limit) = (TestKey::new(), bucket(5, "1"));
    key.book_at(&limit, 5, 12_000);
    key.pause(10_000);
    key.pause(13_000);
    // Full at 12 s, for the pause did not end at 10; one has refilled since.
    key.advance_ms(13_000);
    assert_eq!(key.wait_ns(&limit, 1), 0);
    assert_eq!(key.take_all(&limit), 1);
}

#[test]
fn a_charge_in_a_pause_comes_behind_the_bookings_before_its_end() {
    let (mut key, limit) = (TestKey::new(), bucket(5, "1"));
    key.book_at(&limit, 5, 2_000);
    key.pause_keep(5_000);
    // Three of five have refilled by the end: the charge makes two missing three.
    assert_eq!(key.charge_unasked(&limit, 1), Ok(()));
    assert_eq!(key.wait_ns(&limit, 2), u128::from(5 * SECOND));
    assert_eq!(key.wait_ns(&limit, 3), u128::from(6 * SECOND));
    // What was booked is not lost as time passes.
    key.advance_ms(2_000);
    assert_eq!(key.wait_ns(&limit, 3), u128::from(4 * SECOND));
}

#[test]
fn a_refund_in_a_pause_loses_no_booking_before_its_end() {
    let (mut key, limit) = (TestKey::new(), bucket(5, "1"));
    assert!(key.take(&limit, 1));
    key.book_at(&limit, 5, 2_000);
    key.pause_keep(5_000);
    assert_eq!(key.refund(1), 0);
    key.advance_ms(2_000);
    assert_eq!(key.wait_ns(&limit, 3), u128::from(3 * SECOND));
    assert_eq!(key.wait_ns(&limit, 4), u128::from(4 * SECOND));
}

#[test]
fn a_level_ahead_of_the_clock_loses_no_booking() {
    // Of two threads that read the clock one after the other, the later may come first.
    let limit = BucketLimit::new(5, Rate::parse(b"1").expect("a rate"), Keeps::Permits);
    let at = |seconds: u64| Timestamp::from_ns(START + seconds * SECOND).expect("a time");
    let mut bucket = Bucket::new(limit.expect("a limit"), at(10));
    let slot = Slot {
        at: at(8),
        fraction: 0,
    };
    let booking = Booking {
        slot,
        cost: 5,
        ticket: 0,
    };
    let mut timeline = Timeline::new(Line::of(bucket.limit.rate(), [booking]));
    timeline.settle(&mut bucket, at(9));
    assert_eq!((timeline.ahead.len(), bucket.level.base), (0, at(10)));
    assert_eq!(
        bucket.earliest(1, at(10), Timestamp::ZERO),
        after_ns(SECOND)
    );
}

fn after_ns(ns: u64) -> Earliest {
    Earliest::After(Wait::from_ns(u128::from(ns)))
}

#[test]
fn bookings_keep_their_slots_when_the_rate_changes() {
    let (mut key, slow, fast) = (TestKey::new(), bucket(1, "3/7ns"), bucket(1, "1/2ns"));
    key.book_at_ns(&slow, 1, 2);
    // Behind it: between nanoseconds, at 13/3 and, moved by the change, at 5.
    assert_eq!(
        key.reserve_exactly(&slow, 1, ms(1)),
        Earliest::After(Wait::quotient(13, 3))
    );
    assert!(key.take(&fast, 1));
    assert_eq!(
        key.reserve_exactly(&fast, 1, ms(1)),
        Earliest::After(Wait::from_ns(7))
    );
    let slots: Vec<_> = key.ahead().iter().map(|booking| booking.slot).collect();
    assert!(slots.iter().all(|slot| slot.fraction == 0));
    let after: Vec<_> = slots.iter().map(|slot| slot.at.since(key.now)).collect();
    assert_eq!(after, [2, 5, 7]);
}

#[test]
fn a_change_of_rate_in_a_pause_reads_fractions_by_the_old_rate() {
    // The old rate counts in far smaller fractions of a nanosecond than the new one.
    let (mut key, old, new) = (
        TestKey::new(),
        bucket(2, "0.99999999999999999"),
        bucket(2, "1"),
    );
    key.book_at(&old, 2, 2_000);
    assert_eq!(key.reserve(&old, 1, 60_000), 0);
    assert_eq!(key.reserve(&old, 1, 60_000), 3_001);
    assert_ne!(key.ahead()[1].slot.fraction, 0);
    key.pause_keep(4_000);
    // At the pause's end one of two permits is there; this booking is behind it.
    key.book_at(&new, 1, 9_000);
    key.advance_ms(4_000);
    assert_eq!(key.wait_ns(&new, 1), 0);
    assert_eq!(key.wait_ns(&new, 2), u128::from(SECOND));
}

#[test]
fn a_smaller_capacity_leaves_the_larger_one_what_it_had_promised() {
    let (mut key, large, small) = (TestKey::new(), bucket(10, "1"), bucket(2, "1"));
    key.book_at(&large, 10, 100_000);
    assert!(key.take(&large, 10));
    let mut taken = 0;
    for _ in 0..100 {
        key.advance_ms(1_000);
        taken += key.take_all(&small);
    }
    // 10 at the start and 10 at the end of 100 s leave 90 of the 110 that there are.
    assert_eq!(taken, 90);
}

#[test]
fn a_booking_behind_a_pause_that_is_over_leaves_nothing_of_it() {
    let (mut key, slow, fast) = (TestKey::new(), bucket(2, "3/7ns"), bucket(2, "1/2ns"));
    key.book_at_ns(&slow, 2, 5);
    assert!(key.take(&slow, 2));
    assert_eq!(
        key.reserve_exactly(&slow, 1, ms(1)),
        Earliest::After(Wait::quotient(22, 3))
    );
    key.pause(1);
    key.advance_ms(1);
    // Fractions of the old rate would be read as such of the new one.
    key.book_at_ns(&fast, 1, 9);
    let [State::Bucket(bucket, Some(timeline))] = key.entry.parts().0 else {
        panic!("a booking is listed");
    };
    assert_eq!((bucket.undrained, timeline.shelved.len()), (None, 0));
}

#[test]
fn a_booking_behind_promises_that_are_over_lets_a_later_pause_end_early() {
    let (mut key, limit) = (TestKey::new(), bucket(2, "1"));
    key.pause(1_000);
    assert_eq!(key.reserve(&limit, 1, 60_000), 1_000);
    key.advance_ms(2_000);
    key.book_at(&limit, 2, 90_000);
    key.pause(60_000);
    assert!(key.resume());
    assert_eq!(key.take_all(&limit), 1);
}

#[test]
fn a_ticket_whose_slot_has_passed_gives_nothing_back_while_slots_are_promised() {
    let (mut key, limit) = (TestKey::new(), bucket(3, "1/3ns"));
    let grant = key.book_ticket(&limit, 1, Wait::ZERO, 1);
    assert_eq!(key.reserve_exactly(&limit, 3, ms(1)), after_ns(3));
    // Its permit will have refilled by then: the promised slot counts on it.
    assert_eq!(key.give_back(grant), 0);
    assert_eq!(key.earliest(&limit, 1), after_ns(6));
}

#[test]
fn a_ticket_whose_slot_has_passed_in_a_pause_gives_back_what_refill_has_not() {
    let (mut key, limit) = (TestKey::new(), bucket(5, "1"));
    assert!(key.take(&limit, 1));
    let grant = key.book_ticket(&limit, 5, Wait::from_ns(u128::from(SECOND)), 1);
    key.pause(3_000);
    key.advance_ms(2_000);
    // Three of five are missing at the end, and no more than one may be there then.
    assert_eq!(key.give_back(grant), 0);
    assert!(key.resume());
    assert_eq!(key.take_all(&limit), 1);
    let (mut key, limit) = (TestKey::new(), bucket(10, "1"));
    let grant = key.book_ticket(&limit, 10, Wait::ZERO, 1);
    key.pause_keep(100_000);
    key.advance_ms(2_000);
    assert_eq!(key.give_back(grant), 8);
    assert!(key.resume());
    assert_eq!(key.take_all(&limit), 1);
}

#[test]
fn a_ticket_in_a_pause_that_drained_gives_nothing_back_once_slots_are_promised_behind_it() {
    let promise_and_give_back = |keep| {
        let (mut key, limit) = (TestKey::new(), bucket(5, "1"));
        let grant = key.book_ticket(&limit, 3, Wait::from_ns(u128::from(SECOND)), 1);
        key.entry.pause(ms(2_500), keep, false, key.now);
        assert_eq!(
            key.reserve_exactly(&limit, 1, ms(5_000)),
            after_ns(2_500_000_000)
        );
        let back = key.give_back(grant);
        (back, key.earliest(&limit, 1))
    };
    // A permit is there at the end, which is promised; without the ticket it would be the same.
    assert_eq!(promise_and_give_back(false), (0, after_ns(3_500_000_000)));
    // One and a half of the ticket's three are missing at the end, and come back.
    assert_eq!(promise_and_give_back(true), (1, after_ns(2_500_000_000)));
}

#[test]
fn a_ticket_inside_the_last_nanosecond_of_a_pause_is_found_again() {
    let (mut key, limit) = (TestKey::new(), bucket(1, "3/7ns"));
    assert!(key.take(&limit, 1));
    let grant = key.book_ticket(&limit, 1, Wait::quotient(7, 3), 1);
    key.entry.pause(ns(3), true, false, key.now);
    let Earliest::After(wait) = key.reserve_exactly(&limit, 1, ms(1)) else {
        panic!("it can go");
    };
    assert_eq!(wait.parts(), (4, 2, 3));
    // All of it: had it been worked in at the pause's end, two thirds of a nanosecond would have refilled since.
    assert_eq!(key.give_back(grant), 1);
}

#[test]
fn what_a_pause_has_worked_in_keeps_its_slots_when_the_rate_climbs() {
    let (mut key, limit) = (TestKey::new(), bucket(1, "3/7ns"));
    assert!(key.take(&limit, 1));
    let factor = Factor::from_thousandths(500).expect("a factor");
    let recover = ns(800);
    let slow = Some(SlowDown { factor, recover });
    key.entry.pause_then_slow(ns(1), true, false, slow, key.now);
    key.advance_ns(50);
    key.book_at_ns(&limit, 1, 150);
    assert_eq!(
        key.reserve_exactly(&limit, 1, Span::ZERO),
        Earliest::After(Wait::ZERO)
    );
    let now = key.now;
    let draft = key.entry.draft(&limit, now).expect("it can be held");
    let Earliest::After(after) = draft.earliest_from(0, 1, 150) else {
        panic!("it can go");
    };
    key.book_ticket(&limit, 1, after, 1);
    assert_ne!(key.ahead()[1].slot.fraction, 0);
    // The pause works both in; a step of the recovery comes before it ends.
    key.entry.pause(ns(500), false, false, key.now);
    key.advance_ns(60);
    key.entry.forget(key.now);
    let [State::Bucket(_, Some(timeline))] = key.entry.parts().0 else {
        panic!("bookings are listed");
    };
    let shelved: Vec<Slot> = timeline.shelved.iter().map(|one| one.slot).collect();
    let after: Vec<u64> = shelved.iter().map(|slot| slot.at.as_ns() - START).collect();
    assert_eq!((after, shelved[1].fraction), (vec![200, 205], 0));
}
