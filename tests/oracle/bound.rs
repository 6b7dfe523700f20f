//! The bound every bucket keeps: the permits whose slots fall in any interval of length t are at
//! most C + r·t, with the larger C and the larger r where they changed.

use crate::exact::{Q, whole};
use crate::history::{History, bounded_history, config};
use crate::world::{Grant, World};
use proptest::prelude::*;

const CASES: u32 = 200;

/// Compares all intervals that begin and end with a slot.
fn assert_bound(history: &History, grants: &mut [Grant]) {
    let rules: Vec<_> = history
        .limits
        .iter()
        .map(|parameters| parameters.exact().unwrap())
        .collect();
    let capacity: Q = rules
        .iter()
        .map(|rule| rule.capacity.clone())
        .max()
        .unwrap();
    let rate: Q = rules.iter().map(|rule| rule.rate.clone()).max().unwrap();
    grants.sort_by(|a, b| a.slot.cmp(&b.slot));
    for (first, from) in grants.iter().enumerate() {
        let mut permits = 0;
        for to in &grants[first..] {
            permits += to.permits;
            let bound = &capacity + &rate * (&to.slot - &from.slot);
            assert!(
                whole(permits) <= bound,
                "{permits} from {} to {}, at most {bound}",
                from.slot,
                to.slot
            );
        }
    }
}

/// The history with the first capacity wherever it can be held, and without the other parameters.
fn with_one_capacity(mut history: History) -> History {
    let capacity = history.limits[0].capacity;
    for limit in &mut history.limits {
        limit.capacity = capacity;
    }
    let first = history.limits[0].clone();
    for limit in &mut history.limits {
        if limit.exact().is_none() {
            *limit = first.clone();
        }
    }
    history
}

proptest! {
    #![proptest_config(config(CASES))]

    #[test]
    fn no_interval_has_more_than_the_capacity_and_its_refill(history in bounded_history(60)) {
        let history = with_one_capacity(history);
        assert_bound(&history, &mut World::play(&history).grants);
    }

    /// While the key lives: one that is full under a small capacity is forgotten, and with it that a
    /// larger one was spent.
    #[test]
    fn no_change_of_capacity_admits_more_than_the_larger_one(history in bounded_history(60)) {
        let grants = World::play(&history).grants;
        for life in 0..=grants.last().map_or(0, |grant| grant.life) {
            let in_life = grants.iter().filter(|grant| grant.life == life);
            assert_bound(&history, &mut in_life.cloned().collect::<Vec<_>>());
        }
    }
}
