//! What is packed comes out as it was, and what is usual is packed.

use super::super::test_entries::at;
use super::*;
use crate::core::booked::Charge;
use crate::core::bucket::DEFICIT_MAX;
use crate::core::decision::Earliest;
use crate::core::draft::Draft;
use crate::core::limit::{Keeps, Limit, Rate};
use crate::core::pause::SlowDown;
use crate::core::slow::Factor;
use crate::core::units::{DAY, SECOND, Span};
use proptest::prelude::*;

fn bucket_limit(capacity: u64, rate: &str, keeps: Keeps) -> BucketLimit {
    BucketLimit::new(capacity, Rate::parse(rate.as_bytes()).unwrap(), keeps).unwrap()
}

fn per(count: u64, seconds: u64) -> PeriodLimit {
    PeriodLimit::new(count, Span::from_ns(seconds * SECOND).unwrap()).unwrap()
}

/// Limits of every kind, some with parts of a permit that are as fine as can be.
fn limits() -> Vec<Limit> {
    let window = |align| {
        Limit::Window(WindowLimit {
            per: per(10, 60),
            align,
        })
    };
    vec![
        Limit::Bucket(bucket_limit(80, "80", Keeps::Permits)),
        Limit::Bucket(bucket_limit(80, "0.33333333333333331", Keeps::Permits)),
        Limit::Bucket(bucket_limit(1000, "0.00027777777777777781", Keeps::Permits)),
        Limit::Bucket(bucket_limit(16, "150/60s", Keeps::Time)),
        window(false),
        window(true),
        Limit::Sliding(per(10, 60)),
        Limit::Log(per(10, 60)),
    ]
}

fn one(state: State) -> Value {
    Value::Limit(Entry::from(state))
}

fn bucket(limit: BucketLimit, deficit: u128) -> Bucket {
    let level = Level {
        deficit,
        base: at(7),
    };
    Bucket {
        level,
        ..Bucket::new(limit, at(0))
    }
}

fn assert_comes_back(value: &Value) -> Packed {
    let mut packed = Packed::new(value.clone());
    packed.read(|read| assert_eq!(read, value));
    let taken = packed.take();
    assert_eq!(&taken, value);
    packed.put(taken);
    packed.read(|read| assert_eq!(read, value));
    packed
}

/// What happens to the key of a history.
#[derive(Clone, Copy, Debug)]
enum Step {
    Take {
        limit: usize,
        cost: u64,
        ticket: u64,
    },
    Pause {
        seconds: u64,
        slow: bool,
    },
    Resume,
    Refund(u64),
    Await,
    Leave,
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let take = (
        0..limits().len(),
        1..12u64,
        prop_oneof![4 => Just(0), 1 => 1..100u64],
    );
    let step = prop_oneof![
        8 => take.prop_map(|(limit, cost, ticket)| Step::Take { limit, cost, ticket }),
        1 => (1..20u64, any::<bool>()).prop_map(|(seconds, slow)| Step::Pause { seconds, slow }),
        1 => Just(Step::Resume),
        1 => (1..9u64).prop_map(Step::Refund),
        1 => Just(Step::Await),
        1 => Just(Step::Leave),
        3 => (1..30 * SECOND).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 1..60)
}

fn book(draft: &mut Draft<'_>, cost: u64, ticket: u64) -> bool {
    let Earliest::After(wait) = draft.earliest(cost) else {
        return false;
    };
    draft.book_at(0, Charge { cost, wait, ticket }).is_ok()
}

fn play(entry: &mut Entry, step: Step, now: Timestamp) {
    match step {
        Step::Take {
            limit,
            cost,
            ticket,
        } => {
            let limit = limits()[limit];
            if let Ok(mut draft) = entry.draft_under_policy(&[limit], now)
                && book(&mut draft, cost, ticket)
            {
                draft.commit();
            }
        }
        Step::Pause { seconds, slow } => {
            let span = |seconds| Span::from_ns(seconds * SECOND).unwrap();
            let slow = slow.then(|| SlowDown {
                factor: Factor::from_thousandths(500).unwrap(),
                recover: span(60),
            });
            entry.pause_then_slow(span(seconds), false, false, slow, now);
        }
        Step::Resume => drop(entry.resume(now)),
        Step::Refund(cost) => drop(entry.refund(cost, now)),
        Step::Await => entry.mark_waited(now),
        Step::Leave => entry.unmark_waited(now),
        Step::Wait(_) => {}
    }
    entry.forget(now);
}

proptest! {
    #[test]
    fn a_history_leaves_the_same_whether_or_not_it_is_packed_after_each_step(steps in steps()) {
        let (mut plain, mut now) = (Entry::default(), at(0));
        let mut packed = Packed::new(Value::default());
        for step in steps {
            if let Step::Wait(ns) = step {
                now = now.after_ns(ns);
            }
            play(&mut plain, step, now);
            let mut value = packed.take();
            play(value.limit_mut().unwrap(), step, now);
            packed.put(value);
            let expected = Value::Limit(plain.clone());
            packed.read(|value| assert_eq!(value, &expected));
        }
    }

    #[test]
    fn any_bucket_comes_back_as_it_was(
        deficit in any::<u128>(),
        shift in 0..128u32,
        base in 0..Timestamp::MAX.as_ns(),
        (promised_after_pause, promised_ahead, drained) in any::<(bool, bool, bool)>(),
        limit in 0..4usize,
    ) {
        let Limit::Bucket(limit) = limits()[limit] else { unreachable!() };
        let deficit = (deficit >> shift).min(DEFICIT_MAX);
        let level = Level { deficit, base: Timestamp::from_ns(base).unwrap() };
        let state = Bucket {
            limit,
            level,
            promised_after_pause,
            promised_ahead,
            undrained: drained.then_some(level),
        };
        let packed = assert_comes_back(&one(State::Bucket(state, None)));
        prop_assert_eq!(packed.heap_bytes() == 0, !drained && deficit >> 96 == 0);
    }

    #[test]
    fn any_counts_come_back_as_they_were(
        windows in prop::collection::btree_map(any::<u64>(), any::<u64>(), 0..3),
        (index, current, previous) in any::<(u64, u64, u64)>(),
        (small, align) in any::<(u32, bool)>(),
    ) {
        let limit = WindowLimit { per: per(10, 60), align };
        let used: Used = windows.into_iter().collect();
        assert_comes_back(&one(State::Window(Window { limit, begin: at(5), used })));
        let used = Used::from_buf([(u64::from(small), current | 1)]);
        let window = one(State::Window(Window { limit, begin: at(5), used }));
        prop_assert_eq!(assert_comes_back(&window).heap_bytes(), 0);
        let mut sliding = Sliding { limit: limit.per, index, current, previous };
        assert_comes_back(&one(State::Sliding(sliding)));
        sliding.previous = u64::from(small);
        prop_assert_eq!(assert_comes_back(&one(State::Sliding(sliding))).heap_bytes(), 0);
    }

    #[test]
    fn any_counter_comes_back_as_it_was(
        integer in any::<i64>(),
        deadline in prop::option::of((any::<i64>(), 0..1_000_000u32)),
    ) {
        let expires = deadline.map(|(ms, ns)| Deadline::from_parts(ms, ns).unwrap());
        let packed = assert_comes_back(&plain(integer, expires));
        prop_assert_eq!(packed.heap_bytes(), 0);
    }
}

#[test]
fn what_is_usual_takes_no_memory_of_its_own() {
    for limit in [
        bucket_limit(80, "80", Keeps::Permits),
        bucket_limit(7, "7/2s", Keeps::Time),
        bucket_limit(80, "0.33333333333333331", Keeps::Permits),
    ] {
        let deficit = limit.scaled_capacity();
        let packed = assert_comes_back(&one(State::Bucket(bucket(limit, deficit), None)));
        assert_eq!(packed.heap_bytes(), 0, "{limit}");
    }
}

#[test]
fn what_is_unusual_takes_what_it_needs() {
    let text = Text::new(b"0123456789").unwrap();
    let text = Value::Plain(Plain::new(Data::Text(text)));
    let mut paused = Entry::default();
    paused.pause(Span::from_ns(DAY).unwrap(), false, false, at(0));
    let two = std::iter::repeat_with(|| State::Sliding(Sliding::new(per(1, 1), at(0)))).take(2);
    let two = Entry::from_parts(two.collect(), None, None);
    for (value, more) in [
        (text, 10),
        (Value::Limit(paused), 0),
        (Value::Limit(two.clone()), two.heap_bytes()),
    ] {
        let packed = assert_comes_back(&value);
        assert_eq!(packed.heap_bytes(), size_of::<Value>() + more);
    }
}

#[test]
fn a_value_that_grows_and_shrinks_leaves_nothing_behind() {
    let limit = bucket_limit(80, "80", Keeps::Permits);
    let small = one(State::Bucket(bucket(limit, 3), None));
    let large = one(State::Bucket(bucket(limit, DEFICIT_MAX), None));
    let mut packed = Packed::new(small.clone());
    for value in [&large, &large, &small, &plain(3, None), &small] {
        packed.take();
        packed.put(value.clone());
        packed.read(|read| assert_eq!(read, value));
        assert_eq!(packed.heap_bytes() == 0, value != &large);
    }
}
