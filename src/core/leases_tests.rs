//! Leases: held to the nanosecond, found by number, and nobody else's.

use super::*;
use crate::core::entry::State;
use crate::core::limit::Limit;
use crate::core::test_booking::{log, ns};
use crate::core::test_key::*;
use crate::core::units::{DAY, SECOND};

fn leases(max: u64, ttl_ms: u64) -> LeasesLimit {
    LeasesLimit::new(max, ms(ttl_ms)).expect("a limit that there is")
}

/// What the tests ask of a key.
trait Holder {
    fn lease(&mut self, limit: LeasesLimit, number: u64) -> bool;
    fn renew(&mut self, number: u64, ttl_ms: u64) -> bool;
    fn release(&mut self, number: u64) -> bool;
    fn held(&self) -> Vec<u64>;
    fn lapse(&mut self) -> Vec<u64>;
}

impl Holder for TestKey {
    /// Takes a lease, if there is a place.
    fn lease(&mut self, limit: LeasesLimit, number: u64) -> bool {
        let now = self.now;
        let limit_of_call = Limit::Leases(limit);
        let mut draft = self.entry.draft(&limit_of_call, now).expect("leases");
        if !draft.earliest(1).is_now() {
            return false;
        }
        draft.hold(0, number, Lease::new(limit, now));
        draft.commit();
        true
    }

    fn renew(&mut self, number: u64, ttl_ms: u64) -> bool {
        let leases = self.entry.leases_mut();
        leases.is_some_and(|leases| leases.renew(number, ms(ttl_ms), self.now))
    }

    fn release(&mut self, number: u64) -> bool {
        let leases = self.entry.leases_mut();
        leases.is_some_and(|leases| leases.release(number, self.now).is_some())
    }

    fn held(&self) -> Vec<u64> {
        let leases = self.entry.leases().into_iter();
        leases
            .flat_map(|leases| leases.iter(self.now).map(|(number, _)| number))
            .collect()
    }

    fn lapse(&mut self) -> Vec<u64> {
        self.entry.lapse(self.now).to_vec()
    }
}

fn limit_of(limit: LeasesLimit) -> Limit {
    Limit::Leases(limit)
}

#[test]
fn limits_out_of_range_do_not_exist() {
    assert!(LeasesLimit::new(0, ms(1)).is_none());
    assert!(LeasesLimit::new(1, Span::ZERO).is_none());
    assert!(LeasesLimit::new(LEASES_MAX + 1, ms(1)).is_none());
    let largest = LeasesLimit::new(LEASES_MAX, Span::MAX).expect("the largest");
    assert_eq!(largest.to_string(), "LEASES 100000 3650d");
    assert_eq!(limit_of(leases(3, 1_500)).to_string(), "LEASES 3 1500ms");
}

#[test]
fn as_many_as_max_are_held_and_no_more() {
    let (mut key, limit) = (TestKey::new(), leases(3, 1_000));
    assert!((1..=3).all(|number| key.lease(limit, number)));
    assert!(!key.lease(limit, 4));
    assert_eq!(key.held(), [1, 2, 3]);
    let standing = key.standing(&limit_of(limit));
    assert_eq!(
        (standing.remaining, standing.reset_after.ceil_ms()),
        (0, 1_000)
    );
}

#[test]
fn a_lease_lapses_at_its_instant_and_not_before() {
    let (mut key, limit) = (TestKey::new(), leases(1, 1_000));
    assert!(key.lease(limit, 1));
    key.advance_ns(SECOND - 1);
    assert_eq!(key.wait_ns(&limit_of(limit), 1), 1);
    assert!(!key.lease(limit, 2));
    assert_eq!((key.held(), key.exists()), (vec![1], true));
    key.advance_ns(1);
    assert!(!key.exists());
    assert_eq!(key.held(), [0; 0]);
    // Nobody has taken it out yet, and its place is free all the same.
    assert!(key.lease(limit, 2));
    assert_eq!(key.lapse(), [1]);
    assert_eq!(key.held(), [2]);
}

#[test]
fn a_lapsed_lease_is_neither_renewed_nor_released() {
    let (mut key, limit) = (TestKey::new(), leases(2, 1_000));
    assert!(key.lease(limit, 1));
    key.advance_ms(1_000);
    assert!(!key.renew(1, 1_000));
    assert!(!key.release(1));
    assert_eq!(key.lapse(), [1]);
    assert_eq!(key.lapse(), [0; 0], "it is taken out once");
}

#[test]
fn a_renewal_counts_from_now_whether_longer_or_shorter() {
    let (mut key, limit) = (TestKey::new(), leases(1, 1_000));
    assert!(key.lease(limit, 1));
    key.advance_ms(600);
    assert!(key.renew(1, 1_000));
    key.advance_ms(999);
    assert!(!key.lease(limit, 2));
    assert!(key.renew(1, 10));
    key.advance_ms(10);
    assert!(!key.renew(1, 1_000));
    assert!(key.lease(limit, 2));
}

#[test]
fn a_release_frees_one_place_once() {
    let (mut key, limit) = (TestKey::new(), leases(2, 1_000));
    assert!(key.lease(limit, 1) && key.lease(limit, 2));
    assert!(key.release(1));
    assert!(!key.release(1));
    assert!(key.lease(limit, 3));
    // Whoever held 1 frees nobody else's place.
    assert!(!key.release(1) && !key.renew(1, 1_000));
    assert_eq!(key.held(), [2, 3]);
    assert!(key.release(2) && key.release(3));
    assert!(!key.exists());
}

#[test]
fn those_who_wait_wait_for_the_first_to_lapse() {
    let (mut key, limit) = (TestKey::new(), leases(3, 1_000));
    for number in 1..=3 {
        assert!(key.lease(limit, number));
        key.advance_ms(100);
    }
    assert_eq!(key.wait_ns(&limit_of(limit), 1), 700_000_000);
    assert!(key.renew(1, 5_000));
    assert_eq!(key.wait_ns(&limit_of(limit), 1), 800_000_000);
    assert_eq!(key.entry.next_lapse(), Some(key.now.after(ms(800))));
    // Under a smaller number more of them have to go, and nobody has to at once.
    assert_eq!(key.wait_ns(&limit_of(leases(2, 1_000)), 1), 900_000_000);
    assert_eq!(key.wait_ns(&limit_of(leases(1, 1_000)), 1), 5_000_000_000);
    assert_eq!(key.wait_ns(&limit_of(leases(4, 1_000)), 1), 0);
    assert_eq!(key.standing(&limit_of(leases(2, 1))).remaining, 0);
}

#[test]
fn what_has_lapsed_unnoticed_is_nobodys_wait() {
    let mut key = TestKey::new();
    for (number, ttl_ms) in [(1, 1_000), (2, 2_000), (3, 3_000)] {
        assert!(key.lease(leases(3, ttl_ms), number));
    }
    key.advance_ms(1_000);
    assert_eq!(key.wait_ns(&limit_of(leases(2, 1)), 1), 1_000_000_000);
    assert_eq!(key.standing(&limit_of(leases(3, 1))).remaining, 1);
    assert_eq!(key.lapse(), [1]);
    assert_eq!(key.wait_ns(&limit_of(leases(2, 1)), 1), 1_000_000_000);
}

#[test]
fn other_parameters_apply_from_the_next_grant_on() {
    let mut key = TestKey::new();
    assert!(key.lease(leases(3, 1_000), 1) && key.lease(leases(3, 1_000), 2));
    assert!(!key.lease(leases(2, 9_000), 3));
    let in_force = |key: &TestKey| key.entry.leases().map(|leases| leases.limit);
    assert_eq!(
        in_force(&key),
        Some(leases(3, 1_000)),
        "a refusal changes none"
    );
    assert!(key.lease(leases(9, 9_000), 3));
    assert_eq!(in_force(&key), Some(leases(9, 9_000)));
    key.advance_ms(1_000);
    assert_eq!(key.held(), [3], "those held before keep their time");
}

#[test]
fn a_pause_holds_new_ones_back_and_no_others() {
    let (mut key, limit) = (TestKey::new(), leases(2, 1_000));
    assert!(key.lease(limit, 1));
    assert_eq!(key.pause(600), 600);
    assert!(!key.lease(limit, 2));
    assert_eq!(key.wait_ns(&limit_of(limit), 1), 600_000_000);
    assert_eq!(key.standing(&limit_of(limit)).remaining, 0);
    assert!(key.renew(1, 2_000) && key.release(1));
    assert!(!key.lease(limit, 2));
    assert!(key.resume());
    assert!(key.lease(limit, 2));
    // When the pause ends later than all of them, that is when a place is free.
    assert!(key.lease(limit, 3));
    key.pause(5_000);
    assert_eq!(key.wait_ns(&limit_of(limit), 1), 5_000_000_000);
    assert_eq!(key.standing(&limit_of(limit)).reset_after.ceil_ms(), 5_000);
}

#[test]
fn leases_and_other_limits_do_not_convert() {
    let mut key = TestKey::new();
    assert!(key.lease(leases(1, 1_000), 1));
    let now = key.now;
    assert!(key.entry.draft(&bucket(1, "1"), now).is_err());
    assert!(key.entry.draft(&log(1, ms(1)), now).is_err());
    let mut key = TestKey::new();
    assert!(key.take(&bucket(2, "1"), 1));
    assert!(key.entry.draft(&limit_of(leases(1, 1)), now).is_err());
}

#[test]
fn a_policy_that_puts_leases_in_anothers_place_begins_with_none_held() {
    let mut key = TestKey::new();
    assert!(key.take(&bucket(2, "0.01"), 2));
    let (now, limit) = (key.now, leases(2, 1_000));
    let draft = key.entry.draft_under_policy(&[limit_of(limit)], now);
    let draft = draft.expect("a draft");
    assert!(draft.converts() && draft.earliest(1).is_now());
    draft.commit();
    assert!(matches!(key.entry.parts().0, [State::Leases(_)]));
    assert!(!key.exists(), "and holds nothing worth keeping");
    // And the other way round: what was held is forgotten, and the bucket begins drained.
    assert!(key.lease(limit, 1));
    let draft = key.entry.draft_under_policy(&[bucket(5, "1")], now);
    let draft = draft.expect("a draft");
    assert_eq!(draft.standing().remaining, 1);
    draft.commit();
    assert!(!key.renew(1, 1_000));
}

#[test]
fn the_longest_and_the_shortest_are_exact() {
    let mut key = TestKey::new();
    let longest = LeasesLimit::new(1, Span::MAX).expect("the longest");
    assert!(key.lease(longest, 1));
    key.advance_ns(3650 * DAY - 1);
    assert!(!key.lease(longest, 2));
    key.advance_ns(1);
    let shortest = LeasesLimit::new(1, ns(1)).expect("the shortest");
    assert!(key.lease(shortest, 2));
    assert!(!key.lease(shortest, 3));
    key.advance_ns(1);
    assert!(key.lease(shortest, 3));
    let mut key = TestKey::at(Timestamp::MAX.as_ns());
    assert!(key.lease(longest, 1));
    assert!(key.exists() && !key.lease(longest, 2));
}

#[test]
fn a_cost_of_several_waits_for_as_many_places() {
    let (mut key, limit) = (TestKey::new(), leases(3, 1_000));
    for number in 1..=2 {
        assert!(key.lease(limit, number));
        key.advance_ms(100);
    }
    let wait = |key: &mut TestKey, cost| key.wait(&limit_of(limit), cost).ceil_ms();
    let waits = [1, 2, 3].map(|cost| wait(&mut key, cost));
    assert_eq!(waits, [0, 800, 900]);
    assert_eq!(key.earliest(&limit_of(limit), 4), Earliest::Never);
}

#[test]
fn a_number_that_is_there_already_is_one_lease() {
    let (mut key, limit) = (TestKey::new(), leases(2, 1_000));
    assert!(key.lease(limit, 7));
    key.advance_ms(500);
    assert!(key.lease(limit, 7));
    assert_eq!(key.held(), [7]);
    key.advance_ms(500);
    assert_eq!(key.lapse(), [0; 0]);
    key.advance_ms(500);
    assert_eq!(key.lapse(), [7]);
}

#[test]
fn a_hundred_thousand_are_held_and_lapse_in_order() {
    let (mut key, limit) = (TestKey::new(), leases(LEASES_MAX, 200_000));
    for number in 1..=LEASES_MAX {
        assert!(key.lease(limit, number));
        key.advance_ms(1);
    }
    assert!(!key.lease(limit, 0));
    assert_eq!(key.wait_ns(&limit_of(limit), 1), 100_000_000_000);
    key.advance_ms(100_000 + 49_999);
    assert_eq!(key.lapse(), (1..=50_000).collect::<Vec<_>>());
    assert_eq!(key.standing(&limit_of(limit)).remaining, 50_000);
}
