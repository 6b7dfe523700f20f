//! What is carried over when a key is called with other parameters.

use super::decision::{Earliest, Refusal};
use super::limit::{Limit, PeriodLimit};
use super::test_key::*;
use super::units::{SECOND, Wait};
use super::window::WindowLimit;
use proptest::prelude::*;

#[test]
fn a_bucket_keeps_its_permits() {
    let mut key = TestKey::new();
    assert!(key.take(&bucket(100, "1"), 60));
    // 40 are left: all of them, as far as they fit.
    for (capacity, rate, left) in [
        (100, "50", 40),
        (1_000, "1", 40),
        (40, "1", 40),
        (39, "7", 39),
        (1, "1/h", 1),
    ] {
        assert_eq!(key.remaining(&bucket(capacity, rate)), left, "{capacity}");
    }
}

#[test]
fn going_back_to_a_larger_capacity_brings_nothing_back() {
    let (small, large) = (bucket(10, "1"), bucket(100, "1"));
    let mut key = TestKey::new();
    assert!(key.take(&large, 1));
    assert!(key.take(&small, 1));
    assert_eq!(key.remaining(&large), 9);
    assert!(key.take(&large, 1));
    assert_eq!(key.remaining(&large), 8);
}

#[test]
fn the_old_rate_counts_up_to_the_change() {
    let mut key = TestKey::new();
    assert!(key.take(&bucket(10, "1"), 10));
    key.advance_ms(2_500);
    // Two permits and a half, at the instant of the change.
    assert!(key.take(&bucket(10, "2"), 2));
    assert_eq!(key.wait(&bucket(10, "2"), 1).ceil_ms(), 250);
}

#[test]
fn gcra_keeps_its_time() {
    let mut key = TestKey::new();
    assert!(key.take(&gcra(10, "1"), 4));
    for (limit, remaining) in [
        (gcra(10, "2"), 2),
        (bucket(10, "2"), 2),
        // At half the rate the same time is two permits, but no more than six were there.
        (gcra(10, "0.5"), 6),
        (gcra(100, "10"), 6),
        (gcra(8, "2"), 0),
    ] {
        let standing = key.standing(&limit);
        assert_eq!(standing.remaining, remaining, "{limit:?}");
        assert!(standing.reset_after >= Wait::from_ns(4 * u128::from(SECOND)));
    }
}

#[test]
fn a_bucket_that_becomes_gcra_keeps_time_from_then_on() {
    let mut key = TestKey::new();
    assert!(key.take(&bucket(10, "1"), 3));
    // The same numbers: nothing is carried, but the kind changes.
    assert!(key.take(&gcra(10, "1"), 1));
    assert_eq!(key.remaining(&bucket(10, "2")), 2);
    assert!(key.take(&bucket(10, "1"), 1));
    assert_eq!(key.remaining(&bucket(10, "2")), 5);
}

#[test]
fn debt_keeps_its_time_at_a_faster_rate_and_its_permits_at_a_slower_one() {
    let mut key = TestKey::new();
    key.charge(&bucket(10, "1"), 16).unwrap();
    // Six permits, six seconds of debt; then one permit more at the new rate.
    let wait = |key: &mut TestKey, rate| key.wait(&bucket(10, rate), 1).ceil_ms();
    assert_eq!(wait(&mut key, "1"), 7_000);
    assert_eq!(wait(&mut key, "2"), 6_500);
    assert_eq!(wait(&mut key, "1000"), 6_001);
    assert_eq!(wait(&mut key, "0.5"), 14_000);
    assert_eq!(key.wait(&bucket(1_000, "1"), 1).ceil_ms(), 7_000);
    assert_eq!(key.wait(&bucket(1, "1"), 1).ceil_ms(), 7_000);
}

#[test]
fn what_is_carried_rounds_against_the_caller() {
    // A third of a nanosecond's refill is gone; the new rate counts in whole ones.
    let mut key = TestKey::new();
    assert!(key.take(&bucket(2, "1/3ns"), 1));
    key.advance_ns(1);
    let fine = bucket(2, "1/7ns");
    // Two thirds of a permit are missing, 14/3 units of a seventh: rounded up, five.
    assert_eq!(key.earliest(&fine, 2), Earliest::After(Wait::from_ns(5)));
    assert_eq!(key.remaining(&fine), 1);
}

#[test]
fn a_debt_that_cannot_be_carried_changes_nothing() {
    let mut key = TestKey::new();
    let limit = bucket(1, "1000000");
    key.charge(&limit, 1_000_000_000_000).unwrap();
    let before = key.entry.clone();
    let (slow, now) = (bucket(1, "0.00027777777777777781"), key.now);
    let mut refused = key.entry.draft(&slow, now).unwrap();
    // Later than whatever may be waited for, or never; and no number says when.
    assert!(
        refused.earliest(1)
            > Earliest::After(Wait::from_ns(u128::from(
                crate::core::units::Span::MAX.as_ns()
            )))
    );
    assert_eq!(refused.earliest(2), Earliest::Never);
    assert!(!refused.standing().reset_after.fits_reply());
    assert_eq!(refused.book(1), Err(Refusal::CarryTooLarge));
    assert_eq!(key.charge(&slow, 1), Err(Refusal::CarryTooLarge));
    assert_eq!(key.entry, before);
    assert_eq!(key.wait(&limit, 1).ceil_ms(), 1_000_000_000);
}

#[test]
fn slots_booked_ahead_stay_booked() {
    let mut key = TestKey::new();
    for slot in 0..5 {
        assert_eq!(key.reserve(&bucket(1, "1"), 1, 10_000), slot * 1_000);
    }
    // The last slot is four seconds ahead: nothing new goes before it, at any rate or capacity.
    for (capacity, rate) in [
        (1, "1"),
        (1, "100"),
        (5, "1"),
        (5, "1000000000"),
        (1, "0.5"),
    ] {
        for limit in [bucket(capacity, rate), gcra(capacity, rate)] {
            assert!(key.wait(&limit, 1).ceil_ms() > 4_000, "{limit:?}");
        }
    }
}

fn any_limit() -> impl Strategy<Value = (u64, &'static str, bool)> {
    let rates = vec![
        "1",
        "3",
        "80",
        "0.1",
        "1/7ms",
        "7/2s",
        "1000000000",
        "0.0002777777777777778",
    ];
    (1u64..1_000, prop::sample::select(rates), any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn there_and_back_at_one_instant_gains_nothing(
        (here, there) in (any_limit(), any_limit()),
        spent in 1u64..1_000,
        idle_ns in 0..2 * SECOND,
    ) {
        let limit = |(capacity, rate, keeps_time)| {
            if keeps_time { gcra(capacity, rate) } else { bucket(capacity, rate) }
        };
        let (here, there) = (limit(here), limit(there));
        let mut key = TestKey::new();
        key.charge(&here, spent).unwrap();
        key.advance_ns(idle_ns);
        if !key.exists() {
            return Ok(());
        }
        let (left, wait) = (key.remaining(&here), key.wait(&here, 1));
        if key.charge(&there, 1).is_err() || !key.exists() {
            return Ok(());
        }
        let now = key.now;
        // A debt that took its time to the faster rate and its permits back may be too large to hold.
        if let Ok(draft) = key.entry.draft(&here, now) {
            prop_assert!(draft.standing().remaining <= left.saturating_sub(1));
            prop_assert!(draft.earliest(1) >= Earliest::After(wait));
        }
    }
}

/// A policy's call that is refused commits a conversion, and with it the other limits under its parameters, while a
/// pause runs that has drained them.
#[test]
fn what_a_pause_took_comes_back_in_the_parameters_of_now() {
    for (capacity, rate) in [(100, "1"), (100, "7"), (100, "1/h"), (10, "3")] {
        let mut key = TestKey::new();
        let now = key.now;
        let before = [gcra(5, "1"), bucket(100, "1")];
        let mut draft = key.entry.draft_under_policy(&before, now).unwrap();
        draft.charge(0, 5).unwrap();
        draft.charge(1, 60).unwrap();
        draft.commit();
        key.pause(10_000);
        let window = Limit::Window(WindowLimit {
            per: PeriodLimit::new(5, ms(60_000)).unwrap(),
            align: false,
        });
        let after = [window, bucket(capacity, rate)];
        let draft = key.entry.draft_under_policy(&after, now).unwrap();
        assert!(draft.converts());
        draft.commit();
        key.resume();
        // A resumed bucket holds at most one permit, and its deficit is that of the 40 that were left.
        let draft = key.entry.draft_under_policy(&after, now).unwrap();
        assert_eq!(draft.standing_of(1).remaining, 1, "{capacity} {rate}");
        let mut usual = TestKey::new();
        usual.charge(&bucket(100, "1"), 60).unwrap();
        usual.charge(&bucket(capacity, rate), 0).unwrap();
        usual.pause(10_000);
        usual.resume();
        assert_eq!(
            draft.standing_of(1),
            usual.standing(&bucket(capacity, rate)),
            "{capacity} {rate}"
        );
    }
}
