//! What is planned on a copy of a key may be booked on the key itself later and in another order.

use super::booked::Charge;
use super::decision::{Earliest, Standing};
use super::draft::Draft;
use super::entry::Entry;
use super::limit::Limit;
use super::test_booking::*;
use super::test_key::*;
use super::timeline::Slot;
use super::units::{MILLISECOND, Timestamp, Wait};
use proptest::prelude::*;
use proptest::sample::select;

/// A place that a copy gave to a cost.
#[derive(Clone, Copy, Debug)]
struct Planned {
    cost: u64,
    ticket: u64,
    slot: Slot,
    windows: Option<Timestamp>,
}

fn draft<'a>(entry: &'a mut Entry, limit: &Limit, now: Timestamp) -> Draft<'a> {
    entry.draft(limit, now).expect("the carry can be held")
}

/// Books on a copy, `from` nanoseconds from now at the earliest, as one rule of several would.
fn plan(copy: &mut Entry, limit: &Limit, now: Timestamp, want: &Want) -> Option<Planned> {
    let mut draft = draft(copy, limit, now);
    let Earliest::After(wait) = draft.earliest_from(0, want.cost, want.from) else {
        return None;
    };
    let planned = Planned {
        cost: want.cost,
        ticket: want.ticket,
        slot: draft.slot_after(0, wait),
        windows: draft.windows_begin(0),
    };
    assert_eq!(draft.wait_until(0, planned.slot), wait);
    book(&mut draft, &planned, wait);
    draft.commit();
    Some(planned)
}

fn book(draft: &mut Draft<'_>, planned: &Planned, wait: Wait) {
    let charge = Charge {
        cost: planned.cost,
        wait,
        ticket: planned.ticket,
    };
    draft.book_at(0, charge).expect("no bound is near");
}

/// Books on the key what a copy has planned.
fn commit(entry: &mut Entry, limit: &Limit, now: Timestamp, planned: &Planned) {
    let mut draft = draft(entry, limit, now);
    if let Some(begin) = planned.windows {
        draft.begin_windows(0, begin);
    }
    let wait = draft.wait_until(0, planned.slot);
    book(&mut draft, planned, wait);
    draft.commit();
}

/// All that callers can tell of a key: when each cost could go, at once and later, and how it stands.
fn told(entry: &Entry, limit: &Limit, now: Timestamp) -> (Vec<Earliest>, Standing) {
    let mut entry = entry.clone();
    entry.forget(now);
    let draft = draft(&mut entry, limit, now);
    let costs = 1..=limit.capacity() + 1;
    let asked = costs.flat_map(|cost| [0, 1, 7, 40, 3 * MILLISECOND].map(|from| (cost, from)));
    let earliest = asked.map(|(cost, from)| draft.earliest_from(0, cost, from));
    (earliest.collect(), draft.standing())
}

/// What is asked for.
#[derive(Clone, Debug)]
struct Want {
    cost: u64,
    from: u64,
    ticket: u64,
    /// How much of the time until its slot passes before it is booked, in tenths.
    booked_after: u64,
}

#[derive(Clone, Debug)]
struct Case {
    limit: Limit,
    /// Reservations and time that come before: costs and nanoseconds.
    before: Vec<(u64, u64)>,
    /// A pause that runs: nanoseconds, and whether the burst is kept.
    pause: Option<(u64, bool)>,
    wants: Vec<Want>,
}

/// Limits, and the time in which about one permit comes back.
fn limits() -> impl Strategy<Value = (Limit, u64)> {
    let rates = vec!["3/7ns", "1/2ns", "2/61ns", "1/1ms", "7/2ms", "0.7"];
    let bucket = (1..=5u64, select(rates), any::<bool>()).prop_map(|(capacity, rate, time)| {
        let limit = if time { gcra } else { bucket }(capacity, rate);
        let Limit::Bucket(numbers) = limit else {
            unreachable!("a bucket");
        };
        let rate = numbers.rate();
        (limit, rate.per_ns() as u64 / rate.permits() + 1)
    });
    let period = (1..=5u64, select(vec![1, 5, 30, MILLISECOND]), 0..3usize);
    let period = period.prop_map(|(count, period, kind)| {
        (
            [window, aligned, log][kind](count, ns(period)),
            period / count + 1,
        )
    });
    prop_oneof![3 => bucket, 2 => period]
}

fn cases() -> impl Strategy<Value = Case> {
    limits().prop_flat_map(|(limit, unit)| {
        let cost = 1..=limit.capacity();
        let span = move |units: u64| prop_oneof![1 => Just(0), 3 => 0..=units * unit];
        let before = prop::collection::vec((cost.clone(), span(3)), 0..6);
        let pause = prop::option::weighted(0.3, (1..=8 * unit, any::<bool>()));
        let ticket = prop_oneof![Just(false), Just(true)];
        let want =
            (cost, span(12), ticket, 0..=10u64).prop_map(|(cost, from, ticket, booked_after)| {
                Want {
                    cost,
                    from,
                    ticket: u64::from(ticket),
                    booked_after,
                }
            });
        let wants = prop::collection::vec(want, 1..12);
        (before, pause, wants).prop_map(move |(before, pause, mut wants)| {
            for (number, want) in (1..).zip(&mut wants) {
                want.ticket *= number;
            }
            Case {
                limit,
                before,
                pause,
                wants,
            }
        })
    })
}

fn check(case: &Case) {
    let (mut key, limit) = (TestKey::new(), &case.limit);
    for &(cost, ns) in &case.before {
        key.charge(limit, cost).expect("no bound is near");
        key.advance_ns(ns);
    }
    // A pause on a key that is new leaves a mark, and the bucket that begins under it is not yet on the key.
    if let Some((span, keep)) = case.pause.filter(|_| key.exists()) {
        key.entry.pause(ns(span), keep, false, key.now);
    }
    key.entry.forget(key.now);
    let start = key.now;
    let mut copy = key.entry.clone();
    let planned: Vec<(Planned, u64)> = case
        .wants
        .iter()
        .filter_map(|want| Some((plan(&mut copy, limit, start, want)?, want.booked_after)))
        .collect();
    let mut commits: Vec<(Timestamp, Planned)> = planned
        .iter()
        .map(|(planned, tenths)| {
            let ahead = u128::from(planned.slot.at.since(start)) * u128::from(*tenths) / 10;
            (start.after_ns(ahead as u64), *planned)
        })
        .collect();
    commits.sort_by_key(|(at, _)| *at);
    for (at, planned) in &commits {
        key.entry.forget(*at);
        commit(&mut key.entry, limit, *at, planned);
        key.entry.forget(*at);
    }
    // From the last of them on nobody can tell the key from the copy.
    let last = commits.last().map_or(start, |(at, _)| *at);
    let slots = planned.iter().map(|(planned, _)| planned.slot.at);
    let beside = |at: Timestamp| [at.as_ns() - 1, at.as_ns(), at.as_ns() + 1, at.as_ns() + 9];
    let mut instants: Vec<u64> = slots.chain([last]).flat_map(beside).collect();
    instants.retain(|at| *at >= last.as_ns());
    instants.sort_unstable();
    for at in instants {
        let now = Timestamp::from_ns(at).expect("a time");
        assert_eq!(
            told(&key.entry, limit, now),
            told(&copy, limit, now),
            "at {} of {commits:?} from {start:?}",
            at - start.as_ns()
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_500) })]

    #[test]
    fn a_plan_may_be_booked_in_any_order(case in cases()) {
        check(&case);
    }
}

#[test]
fn a_log_takes_a_planned_booking_before_later_ones() {
    let (mut key, limit) = (TestKey::new(), log(2, ms(1_000)));
    assert!(key.take(&limit, 1));
    key.book_at(&limit, 1, 1_000);
    key.book_at(&limit, 1, 1_000);
    key.book_at(&limit, 1, 400);
    let bookings = &key.log_state().bookings;
    let totals: Vec<u64> = bookings.iter().map(|booking| booking.total).collect();
    assert_eq!(totals, [1, 2, 4]);
    key.advance_ms(400);
    assert_eq!(key.wait(&limit, 1).ceil_ms(), 1_600);
    // One that shares its slot shares its place.
    let (mut key, limit) = (TestKey::new(), log(3, ms(1_000)));
    key.book_at(&limit, 1, 500);
    key.book_at(&limit, 1, 700);
    key.book_at(&limit, 2, 500);
    let bookings = &key.log_state().bookings;
    let totals: Vec<u64> = bookings.iter().map(|booking| booking.total).collect();
    assert_eq!(totals, [3, 4]);
}

#[test]
fn a_row_of_windows_begins_where_the_plan_began_it() {
    let (mut key, limit) = (TestKey::new(), window(1, ms(10_000)));
    let wants = [3_000, 0].map(|ms| Want {
        cost: 1,
        from: ms * MILLISECOND,
        ticket: 0,
        booked_after: 0,
    });
    let mut copy = key.entry.clone();
    let planned = wants.map(|want| plan(&mut copy, &limit, key.now, &want).expect("it can go"));
    assert_eq!(
        planned.map(|planned| planned.slot.at.since(key.now) / MILLISECOND),
        [3_000, 10_000]
    );
    key.advance_ms(3_000);
    commit(&mut key.entry, &limit, key.now, &planned[0]);
    // Had it begun with the booking, the second window would begin at 13 seconds.
    assert_eq!(key.wait(&limit, 1).ceil_ms(), 7_000);
}
