//! Lines of many blocks: what the tree says is what the bookings one by one come to.

use super::*;
use crate::core::limit::Limit;
use crate::core::test_key::{START, bucket};
use proptest::prelude::*;
use proptest::sample::Index;

fn rate_of(text: &str) -> Rate {
    match bucket(1, text) {
        Limit::Bucket(limit) => limit.rate(),
        _ => unreachable!("a bucket"),
    }
}

fn booking(ns: u64, cost: u64, ticket: u64) -> Booking {
    let at = Timestamp::from_ns(START + ns).expect("a time");
    Booking {
        slot: Slot::whole(at),
        cost,
        ticket,
    }
}

fn grant(booking: Booking) -> Grant {
    Grant {
        ticket: booking.ticket,
        cost: booking.cost,
        slot: booking.slot,
        limit: bucket(1, "1"),
        lease: 0,
    }
}

#[derive(Clone, Debug)]
enum Act {
    Insert(u64, u64),
    /// Behind all others, so far.
    Append(u64, u64),
    TakeUntil(u64),
    TakeOff(Index, u64),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (0..300u64, 1..5u64).prop_map(|(ns, cost)| Act::Insert(ns, cost)),
        6 => (0..4u64, 1..5u64).prop_map(|(ns, cost)| Act::Append(ns, cost)),
        1 => (0..60u64).prop_map(Act::TakeUntil),
        3 => (any::<Index>(), 1..6u64).prop_map(|(index, amount)| Act::TakeOff(index, amount)),
    ]
}

/// A line, and the same as a list.
struct Pair {
    line: Line,
    list: Vec<Booking>,
    tickets: u64,
}

impl Pair {
    fn insert(&mut self, ns: u64, cost: u64) {
        self.tickets += 1;
        let booking = booking(ns, cost, self.tickets);
        let index = self.list.partition_point(|one| one.slot <= booking.slot);
        self.list.insert(index, booking);
        self.line.insert(booking);
    }

    fn act(&mut self, act: &Act) {
        match *act {
            Act::Insert(ns, cost) => self.insert(ns, cost),
            Act::Append(ns, cost) => {
                let last = self.list.last().map_or(START, |one| one.slot.at.as_ns());
                self.insert(last - START + ns, cost);
            }
            Act::TakeUntil(ns) => {
                let first = self.list.first().map_or(START, |one| one.slot.at.as_ns());
                let slot = booking(first - START + ns, 1, 0).slot;
                let due = self.list.partition_point(|one| one.slot <= slot);
                let mut taken = Vec::new();
                self.line.take_until(slot, |one| taken.push(one));
                assert_eq!(taken, self.list.drain(..due).collect::<Vec<_>>());
            }
            Act::TakeOff(index, amount) => {
                let unknown = booking(index.index(300) as u64, 1, u64::MAX);
                assert!(!self.line.take_off(&grant(unknown), 1));
                if !self.list.is_empty() {
                    let index = index.index(self.list.len());
                    assert!(self.line.take_off(&grant(self.list[index]), amount));
                    self.list[index].cost = self.list[index].cost.saturating_sub(amount);
                    self.list.retain(|one| one.cost > 0);
                }
            }
        }
    }

    fn sum_of(&self, bookings: &[Booking]) -> Sum {
        let rate = self.line.rate();
        let sums = bookings.iter().map(|one| Sum::of(one, rate));
        sums.fold(Sum::NONE, Sum::then)
    }

    fn check(&self) {
        assert!(self.line.iter().eq(&self.list));
        assert_eq!(self.line.len(), self.list.len());
        assert_eq!(self.line.first(), self.list.first().map(|one| one.slot));
        assert_eq!(self.line.last(), self.list.last().map(|one| one.slot));
        let again = Line::of(self.line.rate(), self.list.iter().copied());
        assert_eq!(self.line, again);
        let slots = [0, 7, 40, 41, 90, 200, 1_000].map(|ns| booking(ns, 1, 0).slot);
        let slots = slots
            .into_iter()
            .chain(self.line.first())
            .chain(self.line.last());
        let slots: Vec<Slot> = slots.collect();
        for after in &slots {
            let up_to = |slot: &Slot| self.list.partition_point(|one| one.slot <= *slot);
            let rest = &self.list[up_to(after)..];
            assert_eq!(self.line.next(*after), rest.first().map(|one| one.slot));
            assert_eq!(self.line.sum(Some(*after), None), self.sum_of(rest));
            for until in slots.iter().filter(|until| *until >= after) {
                let between = &self.list[up_to(after)..up_to(until)];
                let sum = self.line.sum(Some(*after), Some(*until));
                assert_eq!(sum, self.sum_of(between));
                let before = self.line.sum(None, Some(*until));
                assert_eq!(before, self.sum_of(&self.list[..up_to(until)]));
            }
            self.check_roomy(*after, up_to(after));
        }
    }

    /// The first of those behind `skip` with room behind it is found.
    fn check_roomy(&self, after: Slot, skip: usize) {
        let floors = [-60, -20, -5, 0, 10].map(|up| up - i128::from(START) * 3);
        for (floor, left) in floors
            .into_iter()
            .flat_map(|floor| [0, 7, 30, 90].map(|left| (floor, left)))
        {
            let first = (skip..self.list.len()).find(|&index| {
                let before = self.sum_of(&self.list[..=index]);
                let behind = self.sum_of(&self.list[index + 1..]);
                let between = floor
                    .min(before.floor)
                    .saturating_sub(before.peak_of(&behind));
                between >= -left
            });
            let found = self.line.roomy(after, floor, left as u128);
            let expected = first.map(|index| Found {
                slot: self.list[index].slot,
                sum: self.sum_of(&self.list[..=index]),
            });
            assert_eq!(found, expected, "behind {skip} of {:?}", self.list);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn a_line_is_what_a_list_is(acts in prop::collection::vec(act(), 1..120)) {
        let rate = rate_of("3/7ns");
        let mut pair = Pair { line: Line::new(rate), list: Vec::new(), tickets: 0 };
        for act in &acts {
            pair.act(act);
        }
        pair.check();
    }
}

#[test]
fn the_tree_is_no_part_of_what_a_line_is() {
    let bookings: Vec<Booking> = (0..30).map(|n| booking(n, 1, n)).collect();
    let rate = rate_of("3/7ns");
    let whole = Line::of(rate, bookings.iter().copied());
    let mut mixed = Line::new(rate);
    for index in (0..30).step_by(2).chain((1..30).step_by(2)) {
        mixed.insert(bookings[index]);
    }
    assert_ne!(whole.blocks, mixed.blocks);
    assert_eq!((&whole, &mixed.clone()), (&mixed, &mixed));
    assert_eq!(format!("{whole:?}"), format!("{bookings:?}"));
    assert_ne!(whole, Line::of(rate_of("1/2ns"), bookings));
}

#[test]
fn blocks_that_have_gone_are_let_go() {
    let rate = rate_of("3/7ns");
    let mut line = Line::of(rate, (0..1_000).map(|n| booking(n, 1, n)));
    for n in 0..1_000 {
        line.take_until(booking(n, 1, 0).slot, drop);
        line.insert(booking(n + 1_000, 1, n));
        assert_eq!(line.len(), 1_000);
        assert!(line.blocks.len() <= 2 * (1_000 / BLOCK + 2));
    }
    line.take_until(booking(5_000, 1, 0).slot, drop);
    assert!(line.is_empty() && line.blocks.is_empty() && line.tree.is_empty());
}

#[test]
fn bookings_that_no_bucket_holds_are_told() {
    let rate = rate_of("0.00027777777777777781");
    let fits =
        |cost: u64, count: u64| Line::of(rate, (0..count).map(|n| booking(n, cost, n))).holds();
    assert!(fits(1, 100));
    assert!(!fits(1_000_000_000_000, 1));
    assert!(!fits(u64::MAX, 3));
}
