use super::*;
use crate::core::decision::Earliest;
use crate::core::entry::Entry;
use crate::core::limit::{Keeps, Limit};
use crate::core::pause::SlowDown;
use crate::core::units::{MILLISECOND, SECOND};

fn at(ms: u64) -> Timestamp {
    Timestamp::from_ns(1_700_000_000 * SECOND + ms * MILLISECOND).expect("in range")
}

fn span(ms: u64) -> Span {
    Span::from_ns(ms * MILLISECOND).expect("a span")
}

fn bucket(capacity: u64, rate: &str) -> Limit {
    let rate = Rate::parse(rate.as_bytes()).expect("a rate");
    Limit::Bucket(BucketLimit::new(capacity, rate, Keeps::Permits).expect("a limit"))
}

fn half(recover_ms: u64) -> Option<SlowDown> {
    let factor = Factor::from_thousandths(500).expect("a factor");
    Some(SlowDown {
        factor,
        recover: span(recover_ms),
    })
}

/// Milliseconds until a cost of 1 can go, which is booked.
fn reserve(entry: &mut Entry, limit: &Limit, now: Timestamp) -> i64 {
    entry.forget(now);
    let mut draft = entry.draft(limit, now).expect("it can be held");
    let Earliest::After(wait) = draft.earliest(1) else {
        panic!("never")
    };
    draft.book(1).expect("there is room");
    draft.commit();
    wait.ceil_ms()
}

fn slowed(entry: &Entry, now: Timestamp) -> String {
    entry
        .usage(now)
        .map_or_else(String::new, |usage| usage.slowed.to_string())
}

#[test]
fn factors_are_exact_and_stay_in_range() {
    let factor = |thousandths| Factor::from_thousandths(thousandths).expect("a factor");
    assert_eq!(Factor::from_thousandths(0), None);
    for beyond in [1000, 67_109, u64::from(u32::MAX), u64::MAX] {
        assert_eq!(Factor::from_thousandths(beyond), None, "{beyond}");
    }
    assert_eq!(factor(1), Factor::MIN);
    assert_eq!(factor(500).to_string(), "0.5");
    assert_eq!(factor(125).times(factor(125)).to_string(), "0.015625");
    assert_eq!(factor(100).times(factor(100)), Factor::MIN);
    assert_eq!(Factor::ONE.to_string(), "1");
    for thousandths in 1..1000 {
        let from = factor(thousandths);
        assert_eq!(Factor::from_units(from.units()), Some(from));
        assert_eq!(from.climbed(STEPS), Factor::ONE);
        assert!(from.climbed(3).of(&full()).is_ok());
    }
}

fn full() -> BucketLimit {
    match bucket(10, "80") {
        Limit::Bucket(limit) => limit,
        _ => unreachable!("a bucket"),
    }
}

#[test]
fn they_come_back_at_half_the_rate_and_climb_in_eight_steps() {
    let (mut entry, limit) = (Entry::default(), bucket(10, "10"));
    entry.pause_then_slow(span(1_000), false, false, half(8_000), at(0));
    assert_eq!(slowed(&entry, at(0)), "1");
    // Inside the pause: the first at its end, the others at half the rate.
    assert_eq!(
        [(); 3].map(|()| reserve(&mut entry, &limit, at(0))),
        [1_000, 1_200, 1_400]
    );
    assert_eq!(slowed(&entry, at(1_000)), "0.5");
    assert_eq!(slowed(&entry, at(1_999)), "0.5");
    assert_eq!(slowed(&entry, at(2_000)), "0.5625");
    assert_eq!(slowed(&entry, at(8_999)), "0.9375");
    // At 0.75 of the rate a permit takes 133.3 ms.
    reserve(&mut entry, &limit, at(5_000));
    let mut late = entry.clone();
    let mut at_once = 0;
    while reserve(&mut late, &limit, at(5_000)) == 0 {
        at_once += 1;
    }
    assert!(at_once < 10);
    assert!(entry.usage(at(9_000)).is_none() || slowed(&entry, at(9_000)) == "1");
}

#[test]
fn promised_slots_stand_when_the_rate_climbs() {
    let (mut entry, limit) = (Entry::default(), bucket(1, "10"));
    entry.pause_then_slow(span(1_000), false, false, half(800), at(0));
    let waits: Vec<i64> = (0..10)
        .map(|_| reserve(&mut entry, &limit, at(0)))
        .collect();
    assert_eq!(waits, (0..10).map(|n| 1_000 + 200 * n).collect::<Vec<_>>());
    // At full rate from 1.8 s on: behind the last promise, not before it.
    assert_eq!(reserve(&mut entry, &limit, at(1_800)), 1_100);
}

#[test]
fn the_same_429_told_four_times_slows_down_once() {
    let mut entry = Entry::default();
    for ms in 0..4 {
        entry.pause_then_slow(span(1_000), false, false, half(8_000), at(ms));
    }
    assert_eq!(slowed(&entry, at(1_003)), "0.5");
}

#[test]
fn a_pause_during_recovery_starts_from_the_factor_in_force() {
    let mut entry = Entry::default();
    entry.pause_then_slow(span(1_000), false, false, half(8_000), at(0));
    assert_eq!(slowed(&entry, at(5_000)), "0.75");
    entry.pause_then_slow(span(1_000), false, false, half(8_000), at(5_000));
    assert_eq!(slowed(&entry, at(6_000)), "0.375");
    for second in 0..20 {
        let now = 6_000 + second * 1_000;
        entry.pause_then_slow(span(1_000), false, false, half(8_000), at(now));
    }
    assert_eq!(slowed(&entry, at(26_000)), "0.015625");
}

#[test]
fn a_slowed_key_does_not_disappear_and_a_recovered_one_does() {
    let (mut entry, limit) = (Entry::default(), bucket(1, "10"));
    reserve(&mut entry, &limit, at(0));
    entry.pause_then_slow(span(1_000), false, false, half(8_000), at(0));
    entry.forget(at(8_999));
    assert!(!entry.is_absent());
    assert_eq!(entry.forgotten_after(at(8_999)).ceil_ms(), 1);
    assert!(entry.is_forgettable(at(9_000)));
    entry.forget(at(9_000));
    assert!(entry.is_absent());
}

#[test]
fn resume_ends_a_slow_down_too() {
    let (mut entry, limit) = (Entry::default(), bucket(1, "10"));
    reserve(&mut entry, &limit, at(0));
    entry.pause_then_slow(span(1_000), false, false, half(8_000), at(0));
    assert!(entry.resume(at(3_000)));
    assert!(!entry.resume(at(3_000)));
    reserve(&mut entry, &limit, at(4_000));
    assert_eq!(reserve(&mut entry, &limit, at(4_000)), 100);
    assert_eq!(slowed(&entry, at(4_000)), "1");
}

#[test]
fn usage_shows_the_full_limit() {
    let (mut entry, limit) = (Entry::default(), bucket(10, "80"));
    entry.pause_then_slow(span(1_000), false, false, half(8_000), at(0));
    reserve(&mut entry, &limit, at(1_500));
    let usage = entry.usage(at(3_500)).expect("it is slowed");
    assert_eq!(usage.limits[0].limit, limit);
    assert_eq!(usage.slowed.to_string(), "0.625");
}

#[test]
fn never_more_than_the_rate_in_force_allows() {
    // 1 ms steps of taking as much as there is, against the sum of the rates.
    let (mut entry, limit) = (Entry::default(), bucket(5, "100"));
    entry.pause_then_slow(span(1_000), false, false, half(8_000), at(0));
    let mut granted = 0u64;
    for ms in 1_000..11_000 {
        entry.forget(at(ms));
        let mut draft = entry.draft(&limit, at(ms)).expect("it can be held");
        if matches!(draft.earliest(1), Earliest::After(wait) if wait.is_zero()) {
            draft.book(1).expect("there is room");
            draft.commit();
            granted += 1;
        }
    }
    // One permit at the end of the pause, eight seconds at 50, 56.25 ... 93.75, two at 100.
    let allowed: f64 = (0..8)
        .map(|step| 50.0 + 6.25 * f64::from(step))
        .sum::<f64>()
        + 200.0;
    assert!(
        granted as f64 <= allowed + 1.0 && granted as f64 >= allowed - 10.0,
        "{granted} of {allowed}"
    );
}

#[test]
fn times_that_only_refill_decides_about_count_the_steps_to_come() {
    let (mut entry, limit) = (Entry::default(), bucket(10, "1"));
    reserve(&mut entry, &limit, at(0));
    entry.pause_then_slow(span(10_000), false, false, half(8_000), at(0));
    entry.forget(at(10_000));
    // Nine permits are missing: 0.5, 0.5625 ... 0.9375 in the eight seconds of the climb are 5.75, then 1 a second.
    assert_eq!(entry.forgotten_after(at(10_000)).ceil_ms(), 11_250);
    assert!(!entry.is_forgettable(at(21_249)) && entry.is_forgettable(at(21_250)));
    // Four of them: 0.5 to 0.8125 are 3.9375 in six seconds, the rest at 0.875.
    let draft = entry.draft(&limit, at(10_000)).expect("it can be held");
    let retry = draft.retry_after(0, 5);
    let Earliest::After(wait) = retry else {
        panic!("never")
    };
    assert_eq!(draft.standing().reset_after.ceil_ms(), 11_250);
    let ns = u64::try_from(wait.ceil_ns()).expect("soon");
    for (early, granted) in [(1, false), (0, true)] {
        let now = at(10_000).after_ns(ns - early);
        let mut later = entry.clone();
        assert_eq!(
            later
                .draft(&limit, now)
                .expect("it can be held")
                .earliest(5)
                .is_now(),
            granted
        );
    }
}
