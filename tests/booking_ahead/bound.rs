//! The bound every bucket keeps: the permits granted whose slots fall in any interval of length t are at most
//! `C + r·t`, with the larger C and the larger r where they changed.

use crate::exact::{Q, whole};
use crate::history::{Ask, History, KEYS, Step, config, histories};
use crate::server::{Reply, Server};
use crate::slots::granted;
use num_rational::Ratio;
use proptest::prelude::*;

/// What was granted on a key: slots and permits.
type Grants = Vec<(Q, i128)>;

/// Plays a history; what was granted, a list a key and life. A key that is full is forgotten, and one that
/// begins anew under a larger capacity knows nothing of the one before.
fn grants(history: &History) -> Vec<(usize, Grants)> {
    let mut server = Server::new();
    let mut lives = Vec::new();
    let mut grants = vec![Grants::new(); KEYS.len()];
    let changes = history.limits[0].len() > 1;
    for step in &history.steps {
        let request = history.request(step);
        let asks: &[Ask] = match step {
            Step::Reserve { asks, .. } | Step::Take(asks) => asks,
            _ => &[],
        };
        let before: Vec<_> = KEYS.iter().map(|key| server.entry(key)).collect();
        for (key, _) in before
            .iter()
            .enumerate()
            .filter(|(_, entry)| changes && entry.is_absent())
        {
            lives.push((key, std::mem::take(&mut grants[key])));
        }
        let is_granted = match server.call(&request) {
            Reply::Integer(wait) => wait >= 0,
            Reply::Integers(five) => five[0] == 0,
            Reply::Text(_) => false,
            Reply::Error(error) => panic!("{request}: {error}"),
        };
        for ask in asks.iter().filter(|_| is_granted) {
            let slot = granted(&before[ask.key], &server.entry(KEYS[ask.key]));
            grants[ask.key].push((slot, ask.cost));
        }
    }
    lives.extend(grants.into_iter().enumerate());
    lives
}

fn assert_bound(history: &History) {
    for (key, mut grants) in grants(history) {
        let limits = &history.limits[key];
        let unit = i128::from(history.unit.1);
        let rates = limits
            .iter()
            .map(|limit| Ratio::new(limit.permits, limit.per * unit));
        let rate = rates.max().unwrap();
        let capacity = limits.iter().map(|limit| limit.capacity).max().unwrap();
        // A slot that is booked moves to the next whole nanosecond when the rate changes.
        let moved = whole(i128::from(limits.len() > 1));
        grants.sort();
        for (first, (from, _)) in grants.iter().enumerate() {
            let mut permits = 0;
            for (to, cost) in &grants[first..] {
                permits += cost;
                let bound = whole(capacity) + rate * (to - from + moved);
                assert!(
                    whole(permits) <= bound,
                    "{permits} permits of {} from {from} to {to}, at most {bound}: {grants:?}",
                    KEYS[key]
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(config(1_000))]

    #[test]
    fn no_interval_has_more_than_the_capacity_and_its_refill(history in histories(60, 1)) {
        assert_bound(&history);
    }

    #[test]
    fn nor_more_than_the_larger_ones_where_they_change(history in histories(60, 3)) {
        assert_bound(&history);
    }
}
