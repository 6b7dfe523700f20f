//! What may be forgotten early, and what it costs.

use super::Loss;
use crate::core::limit::{Limit, PeriodLimit};
use crate::core::test_booking::log;
use crate::core::test_key::*;
use crate::core::units::{SECOND, Span};
use crate::core::window::WindowLimit;

fn per(count: u64) -> PeriodLimit {
    PeriodLimit::new(count, Span::from_ns(10 * SECOND).unwrap()).unwrap()
}

fn loss(key: &TestKey) -> Option<Loss> {
    key.entry.loss(key.now)
}

#[test]
fn a_quarter_of_any_limit_may_be_lost_and_no_permit_more() {
    let limits = [
        bucket(40, "1"),
        gcra(40, "1"),
        Limit::Window(WindowLimit {
            per: per(40),
            align: false,
        }),
        Limit::Sliding(per(40)),
        log(40, Span::from_ns(10 * SECOND).unwrap()),
    ];
    for limit in limits {
        let mut key = TestKey::new();
        assert_eq!(loss(&key), Some(Loss::NONE), "{limit}");
        let mut before = Loss::NONE;
        for taken in 1..=10 {
            assert!(key.take(&limit, 1));
            let now = loss(&key).unwrap_or_else(|| panic!("{limit} after {taken}"));
            assert!(now > before && now <= Loss::MAX, "{limit} after {taken}");
            before = now;
        }
        assert_eq!(before, Loss::MAX, "{limit}");
        while key.take(&limit, 1) {
            assert_eq!(loss(&key), None, "{limit}");
        }
    }
}

#[test]
fn of_a_small_limit_nothing_is_lost() {
    for capacity in 1..4 {
        let (mut key, limit) = (TestKey::new(), bucket(capacity, "1"));
        assert!(key.take(&limit, 1));
        assert_eq!(loss(&key), None, "capacity {capacity}");
        key.advance_ms(999);
        assert_eq!(loss(&key), None, "capacity {capacity}");
        key.advance_ms(1);
        assert_eq!(loss(&key), Some(Loss::NONE), "capacity {capacity}");
    }
}

#[test]
fn a_begun_permit_counts_whole() {
    let (mut key, limit) = (TestKey::new(), bucket(4, "1"));
    assert!(key.take(&limit, 2));
    assert_eq!(loss(&key), None);
    key.advance_ns(SECOND - 1);
    assert_eq!(loss(&key), None);
    key.advance_ns(1);
    assert_eq!(loss(&key), Some(Loss::MAX));
}

#[test]
fn the_fuller_lose_less_whatever_they_count() {
    let (mut small, mut large) = (TestKey::new(), TestKey::new());
    assert!(small.take(&bucket(8, "1"), 1));
    assert!(large.take(&bucket(1_000_000, "1"), 1_000));
    assert!(loss(&large) < loss(&small));
    assert!(large.take(&bucket(1_000_000, "1"), 200_000));
    assert!(loss(&large) > loss(&small));
}

#[test]
fn what_was_promised_stays() {
    let limit = bucket(100, "1");
    let taken = || {
        let mut key = TestKey::new();
        assert!(key.take(&limit, 1));
        key
    };
    let mut paused = taken();
    paused.pause(5_000);
    assert_eq!(loss(&paused), None);
    paused.advance_ms(4_999);
    assert_eq!(loss(&paused), None);

    let mut kept = taken();
    kept.pause_keep(500);
    assert_eq!(loss(&kept), None);
    kept.advance_ms(500);
    assert!(loss(&kept).is_some());

    let mut waited = taken();
    waited.entry.mark_waited(waited.now);
    assert_eq!(loss(&waited), None);

    let mut ahead = taken();
    assert!(ahead.take(&limit, 99));
    assert_eq!(ahead.reserve(&limit, 1, 60_000), 1_000);
    assert_eq!(loss(&ahead), None);
}

#[test]
fn a_pause_of_a_key_without_a_limit_stays() {
    let mut key = TestKey::new();
    key.pause(1_000);
    assert_eq!(loss(&key), None);
    // Its mark, for as long again.
    key.advance_ms(1_999);
    assert_eq!(loss(&key), None);
    key.advance_ms(1);
    assert_eq!(loss(&key), Some(Loss::NONE));
}

#[test]
fn a_policy_loses_as_much_as_its_worst_limit() {
    let (calls, tokens) = (bucket(100, "1"), bucket(8, "1"));
    let mut key = TestKey::new();
    let mut take = |costs: [u64; 2]| {
        let mut draft = key
            .entry
            .draft_under_policy(&[calls, tokens], key.now)
            .unwrap();
        for (index, cost) in costs.into_iter().enumerate() {
            draft.charge(index, cost).unwrap();
        }
        draft.commit();
        key.entry.loss(key.now)
    };
    assert_eq!(take([1, 1]), Some(Loss(128)));
    assert_eq!(take([1, 1]), Some(Loss::MAX));
    assert_eq!(take([1, 1]), None);
}
