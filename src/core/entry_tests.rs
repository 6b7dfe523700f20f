//! Pauses, what they do to a bucket, and what is left of a key.

use crate::core::test_booking::log;
use crate::core::test_key::*;
use crate::core::units::{SECOND, Span, Timestamp};

const MS: u64 = 1_000_000;

#[test]
fn a_pause_holds_back_until_its_end_and_not_longer() {
    let (mut key, limit) = (TestKey::new(), bucket(10, "10"));
    assert!(key.take(&limit, 1));
    assert_eq!(key.pause(5_000), 5_000);
    assert_eq!(key.remaining(&limit), 0);
    assert_eq!(key.wait(&limit, 1).ceil_ms(), 5_000);
    key.advance_ns(5_000 * MS - 1);
    assert!(!key.take(&limit, 1));
    key.advance_ns(1);
    assert!(key.take(&limit, 1));
}

#[test]
fn after_a_pause_callers_leave_at_the_rate() {
    let (mut key, limit) = (TestKey::new(), bucket(10, "10"));
    assert!(key.take(&limit, 1));
    key.pause(5_000);
    for slot in 0..20 {
        assert_eq!(key.reserve(&limit, 1, 60_000), 5_000 + 100 * slot);
    }
}

#[test]
fn a_pause_with_keep_leaves_the_burst() {
    let (mut key, limit) = (TestKey::new(), bucket(10, "1"));
    assert!(key.take(&limit, 10));
    key.pause_keep(4_000);
    key.advance_ms(4_000);
    assert_eq!(key.remaining(&limit), 4);
}

#[test]
fn a_drain_stays_through_a_later_keep() {
    let (mut key, limit) = (TestKey::new(), bucket(10, "1"));
    assert!(key.take(&limit, 1));
    key.pause(5_000);
    assert_eq!(key.pause_keep(5_001), 5_001);
    key.advance_ms(5_001);
    assert_eq!(key.remaining(&limit), 1);
}

#[test]
fn a_shorter_pause_leaves_a_longer_one_alone() {
    let (mut key, limit) = (TestKey::new(), bucket(10, "1"));
    assert!(key.take(&limit, 1));
    key.pause_keep(300_000);
    let before = key.entry.clone();
    assert_eq!(key.pause(300_000), 300_000);
    assert_eq!(key.pause(1_000), 300_000);
    assert_eq!(key.entry, before, "nor does it drain");
    key.advance_ms(1_100);
    assert_eq!(key.pause(1_000), 298_900);
    assert_eq!(key.pause(298_901), 298_901);
}

#[test]
fn force_shortens_a_pause_and_settles_the_bucket() {
    let (mut key, limit) = (TestKey::new(), bucket(10, "1"));
    assert!(key.take(&limit, 10));
    key.pause(300_000);
    key.advance_ms(500);
    assert_eq!(key.pause_force(1_000), 1_000);
    key.advance_ms(1_000);
    // A second and a half have refilled, of which the drain left one.
    assert!(key.take(&limit, 1) && !key.take(&limit, 1));
}

#[test]
fn a_shorter_pause_by_force_drains_the_bucket_that_begins_after_it() {
    let mut key = TestKey::new();
    assert!(key.take(&bucket(1, "1"), 1));
    key.pause(60_000);
    key.advance_ms(2_000);
    // Its one permit is there again: to resume leaves no bucket that this pause could drain.
    assert_eq!(key.pause_force(1_000), 1_000);
    key.advance_ms(1_000);
    assert_eq!(key.remaining(&bucket(10, "1")), 1);
}

#[test]
fn a_pause_drains_the_bucket_that_begins_during_it() {
    let (mut key, limit) = (TestKey::new(), bucket(10, "1"));
    assert_eq!(key.pause(60_000), 60_000);
    assert_eq!(key.reserve(&limit, 1, 60_000), 60_000);
    assert_eq!(key.reserve(&limit, 1, 90_000), 61_000);
}

#[test]
fn a_pause_drains_the_bucket_that_begins_as_long_after_it_as_it_lasted() {
    let limit = bucket(100, "1");
    for (after_ns, left) in [
        (0, 1),
        (SECOND, 2),
        (60 * SECOND - 1, 60),
        (60 * SECOND, 100),
    ] {
        let mut key = TestKey::new();
        key.pause(60_000);
        key.advance_ns(60 * SECOND + after_ns);
        assert_eq!(key.remaining(&limit), left, "{after_ns} ns after");
    }
}

#[test]
fn a_pause_outlives_the_limit_of_its_key() {
    let (mut key, limit) = (TestKey::new(), bucket(10, "10"));
    assert!(key.take(&limit, 1));
    key.pause_keep(60_000);
    key.advance_ns(60 * SECOND - 1);
    assert!(key.exists());
    assert_eq!(key.wait(&limit, 1).ceil_ns(), 1);
    key.advance_ns(1);
    assert!(!key.exists());
}

#[test]
fn a_resumed_key_is_open_and_holds_at_most_one_permit() {
    let (mut key, limit) = (TestKey::new(), bucket(10, "1"));
    assert!(!key.resume());
    assert!(key.take(&limit, 1));
    key.pause(60_000);
    assert!(key.resume());
    assert!(!key.resume());
    assert!(key.take(&limit, 1));
    assert_eq!(key.wait(&limit, 1).ceil_ms(), 1_000);
}

#[test]
fn a_resume_settles_as_if_the_pause_had_never_drained() {
    let (mut key, limit) = (TestKey::new(), bucket(10, "1"));
    key.charge(&limit, 14).unwrap();
    key.pause(60_000);
    key.advance_ms(3_000);
    // A longer one takes nothing more.
    key.pause(120_000);
    assert!(key.resume());
    assert_eq!(key.wait(&limit, 1).ceil_ms(), 2_000);
}

#[test]
fn a_resume_of_a_key_without_a_bucket_moves_the_mark_to_now() {
    let mut key = TestKey::new();
    key.pause(60_000);
    key.advance_ms(10_000);
    assert!(key.resume());
    assert_eq!(key.remaining(&bucket(100, "1")), 1);
    key.advance_ms(59_999);
    assert_eq!(key.remaining(&bucket(100, "1")), 60);
    key.advance_ms(1);
    assert!(!key.exists());
}

#[test]
fn slots_promised_during_a_pause_stand_through_a_resume() {
    let (mut key, limit) = (TestKey::new(), bucket(10, "1"));
    assert!(key.take(&limit, 1));
    key.pause(60_000);
    assert_eq!(key.reserve(&limit, 1, 90_000), 60_000);
    key.advance_ms(10_000);
    assert!(key.resume());
    assert!(!key.take(&limit, 1));
    assert_eq!(key.reserve(&limit, 1, 90_000), 51_000);
}

#[test]
fn a_resumed_bucket_refills_from_the_resume_on() {
    let (mut key, limit) = (TestKey::new(), bucket(10, "1"));
    assert!(key.take(&limit, 10));
    key.pause_keep(60_000);
    // Settles the bucket as of the pause's end, where it would be full.
    assert_eq!(key.refund(1), 0);
    assert!(key.resume());
    assert!(key.take(&limit, 1));
    assert_eq!(key.wait(&limit, 1).ceil_ms(), 1_000);
    key.advance_ms(1_000);
    assert!(key.take(&limit, 1));
}

#[test]
fn a_charge_during_a_pause_is_owed_at_its_end() {
    let (mut key, limit) = (TestKey::new(), bucket(10, "1"));
    key.pause(60_000);
    key.charge(&limit, 5).unwrap();
    assert_eq!(key.wait(&limit, 1).ceil_ms(), 65_000);
}

#[test]
fn a_refund_gives_back_up_to_full() {
    let (mut key, limit) = (TestKey::new(), bucket(10, "1"));
    assert_eq!(key.refund(1), 0, "nobody's");
    assert!(key.take(&limit, 4));
    assert_eq!(key.refund(3), 3);
    key.advance_ms(500);
    // Half of the last permit has refilled: what comes back is no whole one.
    assert_eq!(key.refund(u64::MAX), 0);
    assert!(!key.exists());
}

#[test]
fn a_promised_slot_is_not_promised_twice() {
    let (mut key, limit) = (TestKey::new(), bucket(1, "1"));
    assert!(key.take(&limit, 1));
    assert_eq!(key.reserve(&limit, 1, 5_000), 1_000);
    assert_eq!(key.refund(1), 0);
    assert_eq!(key.reserve(&limit, 1, 5_000), 2_000);
    key.advance_ms(2_000);
    // Exactly full: nothing is booked ahead any more.
    assert_eq!(key.refund(1), 1);
}

#[test]
fn a_drain_stays_through_a_refund() {
    let (mut key, limit) = (TestKey::new(), bucket(10, "1"));
    assert!(key.take(&limit, 5));
    key.pause(60_000);
    assert_eq!(key.refund(5), 0);
    key.advance_ms(60_000);
    assert_eq!(key.remaining(&limit), 1);
}

#[test]
fn a_key_is_forgotten_at_the_instant_at_which_it_is_full() {
    let (mut key, limit) = (TestKey::new(), bucket(10, "3"));
    assert!(key.take(&limit, 1));
    assert_eq!(key.entry.forgotten_after(key.now).ceil_ns(), 333_333_334);
    key.advance_ns(333_333_333);
    assert!(key.exists() && key.entry.usage(key.now).is_some());
    key.advance_ns(1);
    assert!(!key.exists());
    assert_eq!(key.entry.usage(key.now), None);
    assert!(key.entry.forgotten_after(key.now).is_zero());
}

#[test]
fn usage_rounds_what_is_gone_and_what_is_booked_up() {
    let (mut key, limit) = (TestKey::new(), bucket(10, "2"));
    key.charge(&limit, 12).unwrap();
    key.advance_ms(250);
    let usage = key.entry.usage(key.now).unwrap().limits[0];
    assert_eq!(
        (usage.used, usage.booked, usage.standing.remaining),
        (10, 2, 0)
    );
    assert_eq!((usage.wait.ceil_ms(), usage.limit), (1_250, limit));
    key.advance_ms(1_000);
    let usage = key.entry.usage(key.now).unwrap().limits[0];
    assert_eq!(
        (usage.used, usage.booked, usage.standing.remaining),
        (10, 0, 0)
    );
    assert_eq!(usage.wait.ceil_ms(), 250);
}

#[test]
fn usage_of_a_pause_alone_names_no_limit() {
    let mut key = TestKey::new();
    key.pause(60_000);
    let usage = key.entry.usage(key.now).unwrap();
    assert!(usage.limits.is_empty());
    assert_eq!(usage.paused.ceil_ms(), 60_000);
}

#[test]
fn the_longest_pause_at_the_last_instant_overflows_nothing() {
    let mut key = TestKey::at(Timestamp::MAX.as_ns());
    let limit = bucket(2, "1/3650d");
    let ten_years_ms = Span::MAX.as_ns() / MS;
    assert!(key.take(&limit, 2));
    assert_eq!(key.pause(ten_years_ms), ten_years_ms as i64);
    assert_eq!(key.reserve(&limit, 1, ten_years_ms), ten_years_ms as i64);
    assert_eq!(key.wait(&limit, 1).ceil_ms(), 2 * ten_years_ms as i64);
    assert_eq!(
        key.entry.forgotten_after(key.now).ceil_ms(),
        3 * ten_years_ms as i64
    );
    assert!(key.resume());
}

#[test]
fn what_a_key_holds_elsewhere_is_counted() {
    let (mut plain, limit) = (TestKey::new(), bucket(10, "10"));
    assert!(plain.take(&limit, 1));
    assert_eq!(plain.entry.heap_bytes(), 0);
    let (mut logged, limit) = (TestKey::new(), log(100, ms(60_000)));
    for bookings in 1..=100 {
        logged.advance_ms(1);
        assert!(logged.take(&limit, 1));
        // 16 bytes each, and at most room for twice as many.
        let bytes = logged.entry.heap_bytes();
        assert!(
            (16 * bookings..=16 * (2 * bookings + 4)).contains(&bytes),
            "{bookings}: {bytes}"
        );
    }
}
