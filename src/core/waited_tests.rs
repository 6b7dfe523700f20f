//! A key at which somebody waits, and what a plan promises of one that cannot be booked ahead.

use super::booked::Charge;
use super::decision::Earliest;
use super::entry::Entry;
use super::leases::{Lease, LeasesLimit};
use super::limit::Limit;
use super::test_booking::*;
use super::test_key::*;
use super::units::{SECOND, Span, Timestamp, Wait};
use proptest::prelude::*;
use std::slice;

fn waited_under(limit: &Limit, key: &mut TestKey) {
    let waits = key.entry.wait_under(slice::from_ref(limit), false, key.now);
    waits.expect("the key is of this kind");
}

#[test]
fn a_key_does_not_disappear_while_somebody_waits() {
    let mut key = TestKey::new();
    key.entry.mark_waited();
    key.entry.forget(key.now);
    assert!(key.entry.is_waited() && !key.entry.is_absent());
    assert!(!key.entry.is_forgettable(key.now));
    waited_under(&bucket(3, "1"), &mut key);
    key.advance_ms(1_000_000);
    key.entry.forget(key.now);
    assert!(key.entry.usage(key.now).is_some());
    key.entry.unmark_waited(key.now);
    key.entry.forget(key.now);
    assert!(key.entry.is_absent());
}

#[test]
fn who_waits_brings_the_parameters() {
    let mut key = TestKey::new();
    assert!(key.take(&bucket(10, "1"), 4));
    waited_under(&bucket(8, "2"), &mut key);
    let usage = key.entry.usage(key.now).expect("it has counted");
    assert_eq!(usage.limits[0].limit, bucket(8, "2"));
    assert_eq!(usage.limits[0].standing.remaining, 6);
    let other = key.entry.wait_under(&[window(1, ms(1))], false, key.now);
    assert!(other.is_err());
}

#[test]
fn a_row_of_windows_runs_on_while_somebody_waits() {
    let (mut key, limit) = (TestKey::new(), window(1, ms(10_000)));
    waited_under(&limit, &mut key);
    key.advance_ms(13_000);
    // Whatever is planned or booked meanwhile, and in whatever order: the row began with the first who waited.
    let mut plan = key.entry.clone();
    let mut draft = plan.draft(&limit, key.now).expect("windows");
    let charge = Charge {
        cost: 1,
        wait: Wait::ZERO,
        ticket: 0,
    };
    draft.book_at(0, charge).expect("no bound is near");
    draft.commit();
    let next = |entry: &mut Entry, now| entry.draft(&limit, now).expect("windows").earliest(1);
    assert_eq!(
        next(&mut plan, key.now),
        Earliest::After(Wait::from_ns(u128::from(7 * SECOND)))
    );
    assert!(key.take(&limit, 1));
    assert_eq!(key.wait(&limit, 1).ceil_ms(), 7_000);
    // And a change of parameters keeps it.
    waited_under(&window(2, ms(10_000)), &mut key);
    assert_eq!(key.wait(&window(2, ms(10_000)), 2).ceil_ms(), 7_000);
}

/// A sliding counter by its definition: everything that was counted, and when.
struct Counted {
    count: u64,
    period: u64,
    costs: Vec<(u64, u64)>,
}

impl Counted {
    /// True if everything counted was within the count when it was.
    fn holds(&self) -> bool {
        let permits = |window: u64, until: usize| {
            let costs = self.costs[..until].iter();
            let inside = costs.filter(|(at, _)| at / self.period == window);
            inside.map(|(_, cost)| cost).sum::<u64>()
        };
        (1..=self.costs.len()).all(|index| {
            let at = self.costs[index - 1].0;
            let (window, left) = (at / self.period, self.period - at % self.period);
            let previous = permits(window - 1, index);
            (previous * left) <= self.count.saturating_sub(permits(window, index)) * self.period
                && permits(window, index) <= self.count
        })
    }

    /// The earliest instant at which a cost could go.
    fn earliest(&self, cost: u64, from: u64) -> u64 {
        let can = |at: &u64| self.with(cost, *at).holds();
        (from..).find(can).expect("two windows later all is gone")
    }

    fn with(&self, cost: u64, at: u64) -> Self {
        let mut costs = self.costs.clone();
        let behind = costs.partition_point(|(other, _)| *other <= at);
        costs.insert(behind, (at, cost));
        Self { costs, ..*self }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) })]

    #[test]
    fn a_sliding_counter_keeps_what_it_has_promised(
        count in 1..=6u64,
        period in 1..=24u64,
        start in 0..24u64,
        taken in prop::collection::vec((1..=6u64, 0..9u64), 0..5),
        wants in prop::collection::vec((1..=6u64, 0..40u64), 1..6),
    ) {
        let limit = sliding(count, Span::from_ns(period).unwrap());
        let mut key = TestKey::at(1_000_000 * period + start);
        let mut counted = Counted { count, period, costs: Vec::new() };
        for (cost, ns) in taken {
            if key.take(&limit, cost) {
                counted = counted.with(cost, key.now.as_ns());
            }
            key.advance_ns(ns);
        }
        waited_under(&limit, &mut key);
        let now = key.now.as_ns();
        for (cost, from) in wants {
            let mut draft = key.entry.draft(&limit, key.now).unwrap();
            let Earliest::After(wait) = draft.earliest_from(0, cost, from) else {
                prop_assert!(cost > count);
                continue;
            };
            let at = now + wait.ceil_ns() as u64;
            prop_assert_eq!(at, counted.earliest(cost, now + from));
            draft.book_at(0, Charge { cost, wait, ticket: 0 }).unwrap();
            draft.commit();
            counted = counted.with(cost, at);
        }
        // What has come due is counted like anything else.
        let last = counted.costs.last().map_or(now, |(at, _)| (*at).max(now));
        key.now = Timestamp::from_ns(last).unwrap();
        let mut draft = key.entry.draft(&limit, key.now).unwrap();
        prop_assert!(draft.promises(0).is_empty());
        let Earliest::After(wait) = draft.earliest(1) else { panic!("1 is within any count") };
        prop_assert_eq!(last + wait.ceil_ns() as u64, counted.earliest(1, last));
        draft.book(1).unwrap();
    }

    #[test]
    fn leases_keep_the_places_that_they_have_promised(
        max in 1..=3u64,
        ttl in 1..=12u64,
        taken in prop::collection::vec((1..=20u64, 0..4u64), 0..5),
        wants in prop::collection::vec(0..30u64, 1..6),
    ) {
        let limit = Limit::Leases(LeasesLimit::new(max, ns(ttl)).unwrap());
        let mut key = TestKey::new();
        // From when until when places are taken.
        let mut places: Vec<(u64, u64)> = Vec::new();
        for (number, (held, after)) in (1..).zip(taken) {
            let mut draft = key.entry.draft(&limit, key.now).unwrap();
            if draft.earliest(1).is_now() {
                let lapses = key.now.after_ns(held);
                draft.hold(0, number, Lease { lapses, owner: None, bound_to: 0 });
                draft.commit();
                places.push((key.now.as_ns(), lapses.as_ns()));
            }
            key.advance_ns(after);
        }
        waited_under(&limit, &mut key);
        let now = key.now.as_ns();
        let earliest = |places: &[(u64, u64)], from: u64| {
            let taken = |at: u64| places.iter().filter(|(from, to)| (*from..*to).contains(&at)).count();
            let free = |at: &u64| (*at..*at + ttl).all(|at| taken(at) < max as usize);
            (from..).find(free).unwrap()
        };
        for from in wants {
            let mut draft = key.entry.draft(&limit, key.now).unwrap();
            let Earliest::After(wait) = draft.earliest_from(0, 1, from) else {
                panic!("a place is free some day");
            };
            let at = now + wait.ceil_ns() as u64;
            prop_assert_eq!(at, earliest(&places, now + from));
            draft.book_at(0, Charge { cost: 1, wait, ticket: 0 }).unwrap();
            draft.commit();
            places.push((at, at + ttl));
        }
        // A place that was promised is taken when its time has come.
        let last = places.iter().map(|(from, _)| *from).max().unwrap().max(now);
        key.now = Timestamp::from_ns(last).unwrap();
        let draft = key.entry.draft(&limit, key.now).unwrap();
        prop_assert!(draft.promises(0).is_empty());
        let Earliest::After(wait) = draft.earliest(1) else {
            panic!("a place is free some day");
        };
        prop_assert_eq!(last + wait.ceil_ns() as u64, earliest(&places, last));
    }
}
