//! Buckets at rest: what goes, when, and what the bounds hold. Pauses are tested with the entry.

use crate::core::decision::{Earliest, Refusal};
use crate::core::limit::{BucketLimit, Keeps, Limit, LimitError, Rate};
use crate::core::number::AMOUNT_MAX;
use crate::core::test_key::*;
use crate::core::units::{DAY, SECOND, Span, Timestamp, Wait};
use proptest::prelude::*;

/// 3650 days in seconds: the most debt of a limit of one a second.
const DEBT_MAX: u64 = 3650 * 86_400;

/// Rates from the slowest to the fastest, some with an interval that is no whole nanosecond.
const RATES: [&str; 12] = [
    "80",
    "1/5m",
    "3",
    "7/3ms",
    "0.0002777777777777778",
    "0.00000001234567890123",
    "123456789012345/1234567891ms",
    "333333333",
    "999999999.99999999",
    "1000000000",
    "1/d",
    "1/3650d",
];

#[test]
fn the_capacity_goes_at_once_and_not_one_more() {
    for capacity in [1, 2, 80, 1_000_000, AMOUNT_MAX - 1, AMOUNT_MAX] {
        let limit = bucket(capacity, "1000");
        let mut key = TestKey::new();
        assert_eq!(key.earliest(&limit, capacity + 1), Earliest::Never);
        assert!(key.take(&limit, capacity));
        assert!(!key.take(&limit, 1));

        let mut key = TestKey::new();
        if capacity > 1 {
            assert!(key.take(&limit, capacity - 1));
            assert!(!key.take(&limit, 2));
        }
        assert!(key.take(&limit, 1));
        assert!(!key.take(&limit, 1));
    }
}

#[test]
fn a_cost_of_nothing_goes_unless_slots_are_booked_ahead() {
    let (mut key, limit) = (TestKey::new(), bucket(2, "1"));
    assert!(key.take(&limit, 2));
    assert!(key.wait(&limit, 0).is_zero());
    assert_eq!(key.reserve(&limit, 1, 5_000), 1_000);
    assert_eq!(key.wait(&limit, 0).ceil_ms(), 1_000);
}

#[test]
fn a_wait_is_denied_a_nanosecond_before_its_end_and_granted_at_it() {
    for rate in RATES {
        for limit in [bucket(1, rate), gcra(1, rate)] {
            let mut key = TestKey::at(0);
            assert!(key.take(&limit, 1));
            for time in 0..100 {
                let wait = key.wait(&limit, 1).ceil_ns() as u64;
                assert!(wait > 0);
                if key.now.as_ns() + wait > Timestamp::MAX.as_ns() {
                    break;
                }
                key.advance_ns(wait - 1);
                assert!(!key.take(&limit, 1), "{rate}, {time} times, early");
                key.advance_ns(1);
                assert!(key.take(&limit, 1), "{rate}, {time} times, at the instant");
            }
        }
    }
}

#[test]
fn slots_booked_ahead_stand_exactly_one_interval_apart() {
    let (mut key, limit) = (TestKey::new(), bucket(4, "3"));
    for slot in 0..400u64 {
        let wait = key.reserve_exactly(&limit, 1, Span::MAX);
        let ahead = u128::from(slot.saturating_sub(3)) * u128::from(SECOND);
        assert_eq!(wait, Earliest::After(Wait::quotient(ahead, 3)), "{slot}");
    }
}

#[test]
fn denied_request_spends_nothing() {
    let (mut key, limit) = (TestKey::new(), bucket(5, "0.1"));
    assert!(key.take(&limit, 3));
    let before = key.entry.clone();
    for _ in 0..100 {
        assert!(!key.take(&limit, 3));
        assert_eq!(key.reserve(&limit, 3, 9_999), -1);
        assert_eq!(key.reserve(&limit, 6, 100_000), NEVER);
    }
    assert_eq!(key.entry, before);
    assert_eq!(key.reserve(&limit, 3, 10_000), 10_000);
}

#[test]
fn denied_request_changes_no_parameters() {
    let (mut key, limit) = (TestKey::new(), bucket(5, "0.1"));
    assert!(key.take(&limit, 5));
    let before = key.entry.clone();
    assert!(!key.take(&bucket(50, "1/h"), 50));
    assert_eq!(key.reserve(&gcra(3, "1/h"), 4, 1), NEVER);
    assert_eq!(key.entry, before);
}

#[test]
fn a_look_creates_nothing() {
    let (mut key, limit) = (TestKey::new(), bucket(5, "1"));
    assert!(key.wait(&limit, 5).is_zero());
    assert_eq!(key.remaining(&limit), 5);
    assert!(!key.take(&limit, 6));
    assert!(!key.exists() && key.entry.is_absent());
}

#[test]
fn idle_time_never_overfills() {
    for rate in RATES {
        let limit = bucket(2, rate);
        let mut key = TestKey::at(0);
        assert!(key.take(&limit, 2));
        key.now = Timestamp::MAX;
        assert_eq!(key.remaining(&limit), 2);
        assert!(key.take(&limit, 2));
        assert!(!key.take(&limit, 1));
        assert_eq!(key.remaining(&limit), 0);
    }
}

#[test]
fn the_finest_and_the_slowest_limits_that_can_be_held_count_exactly() {
    let build = |capacity, rate: &str| {
        BucketLimit::new(capacity, Rate::parse(rate.as_bytes()).unwrap(), Keeps::Time)
    };
    // The largest capacities below 2^120 units and below 2^53 ms; one more is refused.
    let fine = "0.12345678901234567/7m";
    let per_ns = Rate::parse(fine.as_bytes()).unwrap().per_ns();
    let finest = ((1u128 << 120) - 1) / per_ns;
    let cases = [
        (fine, finest as u64, LimitError::TooFine),
        ("1/3650d", 28_561, LimitError::TooSlow),
    ];
    for (rate, capacity, refused) in cases {
        let limit = match build(capacity, rate) {
            Ok(limit) => Limit::Bucket(limit),
            // What is fine enough may be too slow besides.
            Err(error) => {
                assert_eq!(error, LimitError::TooSlow);
                continue;
            }
        };
        assert_eq!(build(capacity + 1, rate), Err(refused), "{rate}");
        let mut key = TestKey::at(0);
        assert!(key.take(&limit, capacity));
        let full = key.standing(&limit).reset_after;
        assert_eq!(key.wait(&limit, capacity), full);
        key.charge(&limit, 1).unwrap();
        assert!(key.standing(&limit).reset_after > full);
        key.now = Timestamp::MAX;
        let refilled = key.remaining(&limit);
        assert!(refilled < capacity);
        assert!(key.take(&limit, refilled) && !key.take(&limit, 1));
    }
}

#[test]
fn a_billion_a_second_refills_one_each_nanosecond() {
    let (mut key, limit) = (TestKey::new(), bucket(AMOUNT_MAX, "1000000000"));
    assert!(key.take(&limit, AMOUNT_MAX));
    for _ in 0..100 {
        key.advance_ns(1);
        assert!(key.take(&limit, 1));
        assert!(!key.take(&limit, 1));
    }
    assert_eq!(
        key.wait(&limit, AMOUNT_MAX).ceil_ns(),
        u128::from(AMOUNT_MAX)
    );
}

#[test]
fn reservations_reach_ten_years_ahead_and_no_further() {
    let (mut key, limit) = (TestKey::at(Timestamp::MAX.as_ns()), bucket(1, "1/3650d"));
    let ten_years = Span::MAX.as_ns() / 1_000_000;
    assert_eq!(key.reserve(&limit, 1, ten_years), 0);
    assert_eq!(key.reserve(&limit, 1, ten_years - 1), -1);
    assert_eq!(key.reserve(&limit, 1, ten_years), ten_years as i64);
    assert_eq!(key.reserve(&limit, 1, ten_years), -1);
    assert_eq!(key.wait(&limit, 1).ceil_ns(), 2 * u128::from(3650 * DAY));
}

#[test]
fn charges_go_into_debt_up_to_ten_years_worth() {
    let (mut key, limit) = (TestKey::new(), bucket(10, "1"));
    key.charge(&limit, 10 + DEBT_MAX).unwrap();
    let before = key.entry.clone();
    for cost in [1, AMOUNT_MAX, u64::MAX] {
        assert_eq!(key.charge(&limit, cost), Err(Refusal::DebtTooLarge));
    }
    assert_eq!(key.entry, before);
    assert_eq!(key.wait(&limit, 1).ceil_ms(), (DEBT_MAX as i64 + 1) * 1_000);
    key.advance_ns(SECOND);
    key.charge(&limit, 1).unwrap();

    let mut fresh = TestKey::new();
    assert_eq!(
        fresh.charge(&limit, 11 + DEBT_MAX),
        Err(Refusal::DebtTooLarge)
    );
    assert!(!fresh.exists());
}

#[test]
fn an_older_now_refills_nothing() {
    let (mut key, limit) = (TestKey::new(), bucket(2, "10"));
    let ms = |ms: u64| Timestamp::from_ns(START + ms * 1_000_000).unwrap();
    assert!(key.take(&limit, 2));
    key.now = ms(100);
    assert!(key.take(&limit, 1));
    // Another thread, which read the clock before, comes later.
    for older in [0, 50, 99] {
        key.now = ms(older);
        assert!(!key.take(&limit, 1));
        assert_eq!(key.refund(1), 1);
        assert!(key.take(&limit, 1));
        assert!(!key.take(&limit, 1));
    }
    key.now = ms(199);
    assert!(!key.take(&limit, 1));
    key.now = ms(200);
    assert!(key.take(&limit, 1));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Of calls whose clock readings overtake one another, none gets what has not refilled by the
    /// latest reading so far, as long as the key lives.
    #[test]
    fn clocks_read_out_of_order_mint_nothing(
        capacity in 1u64..20,
        rates in prop::collection::vec(prop::sample::select(RATES.to_vec()), 1..3),
        calls in prop::collection::vec((0u64..2_000, 0u64..3_000, 1u64..4, 0usize..6), 1..200),
    ) {
        let limits: Vec<_> = rates.iter().map(|rate| bucket(capacity, rate)).collect();
        let parsed: Vec<_> = rates.iter().map(|rate| Rate::parse(rate.as_bytes()).unwrap()).collect();
        let (mut key, mut time) = (TestKey::new(), START);
        let (mut began, mut latest, mut granted) = (START, START, 0u128);
        for (step, skew, cost, limit) in calls {
            time += step;
            key.now = Timestamp::from_ns(time - skew.min(time - START)).unwrap();
            if !key.exists() {
                (began, latest, granted) = (key.now.as_ns(), 0, 0);
            }
            latest = latest.max(key.now.as_ns());
            if !key.take(&limits[limit % limits.len()], cost) {
                continue;
            }
            granted += u128::from(cost);
            let (beyond, passed) = (granted.saturating_sub(u128::from(capacity)), latest - began);
            let refilled = |rate: &Rate| {
                beyond * rate.per_ns() <= u128::from(passed) * u128::from(rate.permits())
            };
            prop_assert!(parsed.iter().any(refilled), "{granted} in {passed} ns");
        }
    }
}
