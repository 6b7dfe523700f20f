//! The oracle: buckets with bookings ahead, in plain rational arithmetic.
//!
//! Instants are nanoseconds since the history began, amounts permits. "A booking is charged at its slot. A
//! cost n may go at instant t iff D(t) + n ≤ C and D stays at or below C at every later slot already
//! booked", and every instant is found by trying all that come into question.

use num_rational::Ratio;
use num_traits::Zero;

pub type Q = Ratio<i128>;

pub fn whole(n: i128) -> Q {
    Q::from_integer(n)
}

/// Capacity, and permits a nanosecond.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rule {
    pub capacity: i128,
    pub rate: Q,
}

/// How the deficit of a key runs: what it is at `base`, and what is charged later.
#[derive(Clone, Debug)]
pub struct Line {
    pub rule: Rule,
    pub deficit: Q,
    pub base: Q,
    /// Slots and costs, by slot.
    pub booked: Vec<(Q, i128)>,
}

impl Line {
    pub fn new(rule: Rule, now: Q) -> Self {
        Self {
            rule,
            deficit: Q::zero(),
            base: now,
            booked: Vec::new(),
        }
    }

    /// The base and every slot from it on: the instant, and the deficit right behind it.
    fn points(&self) -> Vec<(Q, Q)> {
        let mut points = vec![(self.base, self.deficit)];
        for &(slot, cost) in &self.booked {
            let (at, deficit) = points[points.len() - 1];
            let slot = slot.max(at);
            let left = (deficit - self.rule.rate * (slot - at)).max(Q::zero());
            points.push((slot, left + whole(cost)));
        }
        points
    }

    /// The deficit at an instant, with what is charged at it.
    pub fn deficit_at(&self, t: Q) -> Q {
        let points = self.points();
        let before = points.iter().rev().find(|(at, _)| *at <= t);
        let (at, deficit) = *before.unwrap_or(&points[0]);
        (deficit - self.rule.rate * (t - at).max(Q::zero())).max(Q::zero())
    }

    /// The same with one booking more, behind others of its slot.
    fn with(&self, slot: Q, cost: i128) -> Self {
        let mut line = self.clone();
        line.book(slot, cost);
        line
    }

    pub fn book(&mut self, slot: Q, cost: i128) {
        let index = self
            .booked
            .iter()
            .take_while(|(other, _)| *other <= slot)
            .count();
        self.booked.insert(index, (slot, cost));
    }

    /// True if a cost may go at an instant.
    pub fn can(&self, cost: i128, t: Q) -> bool {
        let capacity = whole(self.rule.capacity);
        let line = self.with(t, cost);
        line.deficit_at(t) <= capacity
            && line
                .points()
                .iter()
                .all(|&(at, deficit)| at <= t || deficit <= capacity)
    }

    /// Every instant from `from` on at which it may begin to be true that a cost can go.
    pub fn candidates(&self, cost: i128, from: Q) -> Vec<Q> {
        let left = whole(self.rule.capacity - cost);
        let mut candidates = vec![from];
        for (at, deficit) in self.points() {
            candidates.push(at);
            candidates.push(at + (deficit - left) / self.rule.rate);
        }
        candidates.retain(|t| *t >= from);
        candidates.sort();
        candidates
    }

    /// The earliest instant from `from` on at which a cost may go; `None` if there is none.
    pub fn earliest(&self, cost: i128, from: Q) -> Option<Q> {
        let possible = cost <= self.rule.capacity;
        let mut candidates = self.candidates(cost, from).into_iter();
        let found = candidates.find(|t| possible && self.can(cost, *t));
        assert_eq!(
            found.is_some(),
            possible,
            "behind the last slot there is room"
        );
        found
    }

    /// What is booked up to `at` is part of the deficit from now on.
    pub fn settle(&mut self, at: Q) {
        let at = at.max(self.base);
        self.deficit = self.deficit_at(at);
        self.booked.retain(|(slot, _)| *slot > at);
        self.base = at;
    }

    /// The same for the end of a pause behind which somebody was promised a slot: what is booked inside the nanosecond
    /// that ends there counts as booked at its end.
    pub fn settle_before(&mut self, at: Q) {
        let inside = |slot: &Q| *slot > at - whole(1) && *slot < at;
        self.booked
            .iter_mut()
            .filter(|(slot, _)| inside(slot))
            .for_each(|(slot, _)| *slot = at);
        self.settle(at);
    }

    /// The instant from which nothing more is missing, not before `from`.
    pub fn full_at(&self, from: Q) -> Q {
        let last = self.booked.last().map_or(from, |(slot, _)| from.max(*slot));
        last.max(self.base) + self.deficit_at(last.max(self.base)) / self.rule.rate
    }
}

/// The earliest whole nanosecond at which all of them can go, each then or at an instant of its own in the
/// nanosecond that ends there.
pub fn common(rules: &[(&Line, i128, Q)]) -> Option<Q> {
    let from = rules.iter().map(|(_, _, from)| *from).max()?;
    if rules
        .iter()
        .any(|(line, cost, _)| *cost > line.rule.capacity)
    {
        return None;
    }
    let can = |line: &Line, cost: i128, start: Q, t: Q| {
        let own = line.earliest(cost, start.max(t - whole(1)));
        line.can(cost, t) || own.is_some_and(|own| own.ceil() == t)
    };
    let all_can = |t: &Q| {
        let mut rules = rules.iter();
        rules.all(|(line, cost, start)| can(line, *cost, *start, *t))
    };
    let mut candidates: Vec<Q> = rules
        .iter()
        .flat_map(|(line, cost, start)| line.candidates(*cost, *start))
        .map(|t| t.ceil())
        .filter(|t| *t >= from)
        .chain([from.ceil()])
        .collect();
    candidates.sort();
    let found = candidates
        .into_iter()
        .find(all_can)
        .expect("behind the last slot there is room");
    // By brute force, where there are few.
    let earlier = (from.ceil().to_integer()..found.to_integer())
        .rev()
        .take(200)
        .map(whole);
    for t in earlier {
        assert!(!all_can(&t), "the oracle has overlooked {t}");
    }
    Some(found)
}
