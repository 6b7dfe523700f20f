//! The bucket by itself answers as its draft does, and is the same bucket afterwards.

use super::*;
use crate::core::booked::Charge;
use crate::core::decision::Earliest;
use crate::core::entry::{Entry, State};
use crate::core::limit::Limit;
use crate::core::test_key::{START, bucket, gcra};
use proptest::prelude::*;
use proptest::sample::select;
use smallvec::smallvec;

/// The same through a draft: what the store and a call of one rule do.
fn through_draft(
    entry: &mut Entry,
    limit: &Limit,
    cost: u64,
    now: Timestamp,
    max_wait: Span,
) -> Verdict {
    entry.forget(now);
    let mut draft = entry.draft(limit, now).expect("nothing is carried over");
    let Earliest::After(wait) = draft.earliest_from(0, cost, 0) else {
        panic!("the cost is above the capacity");
    };
    assert_eq!(draft.retry_after(0, cost), Earliest::After(wait));
    let granted = wait.fits(max_wait);
    if granted {
        let ticket = 0;
        let charge = Charge { cost, wait, ticket };
        draft.book_at(0, charge).expect("the debt is bounded");
    }
    assert!(wait.fits_reply() && draft.standing().reset_after.fits_reply());
    if granted {
        draft.commit();
    }
    entry.forget(now);
    Verdict { granted, wait }
}

/// Limits at the ends of what there is, and usual ones.
fn limits() -> Vec<Limit> {
    vec![
        bucket(80, "80"),
        gcra(80, "80"),
        bucket(1, "1000000000"),
        bucket(1, "1/3650d"),
        bucket(7, "0.33333333333333333"),
        bucket(1_000_000_000_000, "1000000000"),
        bucket(10_000_000_000, "0.12345678901234567"),
        gcra(3, "7/9d"),
    ]
}

fn bucket_limit(limit: &Limit) -> BucketLimit {
    match limit {
        Limit::Bucket(limit) => *limit,
        _ => unreachable!("all of them are"),
    }
}

/// A number near one of `ends`.
fn near(ends: Vec<u128>) -> impl Strategy<Value = u128> {
    (select(ends), 0u128..3, any::<bool>()).prop_map(|(end, off, below)| match below {
        true => end.saturating_sub(off),
        false => end + off,
    })
}

/// A bucket under a limit, and what is asked of it.
#[derive(Clone, Copy, Debug)]
struct Case {
    limit: Limit,
    bucket: Bucket,
    cost: u64,
    now: Timestamp,
    max_wait: Span,
}

fn cases() -> impl Strategy<Value = Case> {
    let of = |limit: Limit| {
        let parameters = bucket_limit(&limit);
        let (rate, capacity) = (parameters.rate(), parameters.scaled_capacity());
        let most = u128::from(Span::MAX.as_ns()) * u128::from(rate.permits());
        let second = 1_000_000_000 * u128::from(rate.permits());
        let ends = vec![
            0,
            1,
            rate.per_ns(),
            capacity / 2,
            capacity,
            capacity + second,
        ];
        let ends = [ends, vec![capacity + most, capacity + most - rate.per_ns()]].concat();
        let cost = near(vec![1, 2, parameters.capacity().into()]);
        let time = near(vec![
            0,
            1,
            12_500_000,
            1_000_000_000,
            u128::from(Span::MAX.as_ns()),
        ]);
        let flags = (
            any::<bool>(),
            prop::bool::weighted(0.1),
            prop::bool::weighted(0.1),
        );
        let asked = (cost, near(vec![1_000_000_000]), time);
        (near(ends), flags, asked, any::<bool>()).prop_map(
            move |(deficit, (ahead, after_pause, drained), (cost, passed, max_wait), exact)| {
                let now = Timestamp::from_ns(START).expect("a time");
                // Up to the same instant, and of a thread whose clock was ahead.
                let base = Timestamp::from_ns(START + 1_000_000_000 - passed as u64);
                let level = Level {
                    deficit,
                    base: base.expect("a time"),
                };
                let cost = (cost as u64).max(1);
                // As long as it has to wait, to the nanosecond.
                let debt = (deficit + u128::from(cost) * rate.per_ns()).saturating_sub(capacity);
                let needed = debt.div_ceil(u128::from(rate.permits()));
                let max_wait = if exact { needed } else { max_wait } as u64;
                Case {
                    limit,
                    bucket: Bucket {
                        limit: parameters,
                        level,
                        promised_after_pause: after_pause,
                        promised_ahead: ahead,
                        undrained: drained.then_some(level),
                    },
                    cost,
                    now,
                    max_wait: Span::from_ns(max_wait).unwrap_or(Span::MAX),
                }
            },
        )
    };
    select(limits()).prop_flat_map(of)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn it_answers_as_the_draft_does(case in cases()) {
        let Case { limit, mut bucket, cost, now, max_wait } = case;
        let mut entry = Entry::from_parts(smallvec![State::Bucket(bucket, None)], None, None);
        let before = bucket;
        match bucket.decide_alone(&bucket_limit(&limit), cost, now, max_wait) {
            Some(verdict) => {
                prop_assert_eq!(verdict, through_draft(&mut entry, &limit, cost, now, max_wait));
                let expected = [State::Bucket(bucket, None)];
                // A bucket that is full and is not booked is gone.
                prop_assert_eq!(entry.parts().0, &expected[..]);
            }
            None => {
                prop_assert_eq!(bucket, before);
                let debt_max = u128::from(Span::MAX.as_ns()) * u128::from(before.limit.rate().permits());
                let asked = { before.level.deficit } + u128::from(cost) * before.limit.rate().per_ns();
                let indebted = asked > before.limit.scaled_capacity() + debt_max;
                let marked = before.promised_after_pause || before.undrained.is_some();
                prop_assert!(indebted || marked || cost > before.limit.capacity());
            }
        }
    }
}

#[test]
fn other_parameters_are_not_its_to_judge() {
    let now = Timestamp::from_ns(START).expect("a time");
    let limit = bucket_limit(&bucket(80, "80"));
    let mut one = Bucket::new(limit, now);
    for other in [bucket(81, "80"), bucket(80, "81"), gcra(80, "80")] {
        let verdict = one.decide_alone(&bucket_limit(&other), 1, now, Span::ZERO);
        assert_eq!(verdict, None);
    }
    assert!(one.decide_alone(&limit, 1, now, Span::ZERO).is_some());
}
