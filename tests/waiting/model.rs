//! The model: everything worked out from the definition, each time anew, in plain rational arithmetic.
//!
//! The keys hold what was granted. After every event all who wait are put in order and booked one after another on
//! copies of the keys, each at the earliest instant that is left; that is where and when they will go.

use crate::exact::{Q, Rule, whole};
use crate::world::{Key, Seen, slot};

/// What one caller asks of one key.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    pub key: usize,
    pub cost: i128,
}

#[derive(Clone, Debug)]
pub struct Waiter {
    /// Grows with the arrival.
    pub name: usize,
    pub asks: Vec<Ask>,
    pub priority: u8,
    pub group: u8,
    pub arrived: i128,
    pub deadline: i128,
    /// Since when it is the first of its group at its keys.
    turn: Option<usize>,
}

impl Waiter {
    fn shares_a_key(&self, other: &Self) -> bool {
        let keys = |ask: &Ask| other.asks.iter().any(|of_other| of_other.key == ask.key);
        self.asks.iter().any(keys)
    }

    fn is_behind(&self, other: &Self) -> bool {
        let same = (self.priority, self.group) == (other.priority, other.group);
        same && other.name < self.name && self.shares_a_key(other)
    }
}

/// What a plan has for a waiter: its own instant at each key, the last of them rounded up to when it goes.
#[derive(Clone, PartialEq, Debug)]
pub struct Planned {
    pub name: usize,
    pub slots: Option<(i128, Vec<Q>)>,
    /// Its cost is above a capacity.
    pub never: bool,
}

/// Who was answered what, and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    pub name: usize,
    pub at: i128,
    pub reply: i64,
}

#[derive(Clone, Debug)]
pub struct World {
    pub rules: Vec<Rule>,
    pub keys: Vec<Key>,
    pub waiters: Vec<Waiter>,
    pub now: i128,
    turns: usize,
    names: usize,
}

impl World {
    pub fn new(rules: Vec<Rule>) -> Self {
        Self {
            keys: vec![Key::default(); rules.len()],
            rules,
            waiters: Vec::new(),
            now: 0,
            turns: 0,
            names: 0,
        }
    }

    /// Works in what time has brought. A key at which somebody waits stays.
    pub fn settle(&mut self) {
        for (index, key) in self.keys.iter_mut().enumerate() {
            key.forget(self.now);
            let waits = |waiter: &Waiter| waiter.asks.iter().any(|ask| ask.key == index);
            if self.waiters.iter().any(waits) {
                key.line_mut(self.rules[index], self.now);
            }
        }
    }

    fn see(&self, keys: &[Key], asks: &[Ask]) -> Vec<Seen> {
        let see = |ask: &Ask| keys[ask.key].see(self.rules[ask.key], ask.cost, self.now);
        asks.iter().map(see).collect()
    }

    /// When a call could go, and each key's own instant of it.
    pub fn earliest(&self, keys: &[Key], asks: &[Ask]) -> Option<(i128, Vec<Q>)> {
        let seen = self.see(keys, asks);
        let common = slot(&seen)?;
        if let [_] = asks {
            return Some((common.ceil().to_integer(), vec![common]));
        }
        // Inside the nanosecond that ends there each key has an instant of its own.
        let own = |seen: &Seen| {
            let before = seen.start.max(common - whole(1));
            let own = seen.line.earliest(seen.cost, before).unwrap();
            match own > common - whole(1) {
                true => own,
                false => seen.line.earliest(seen.cost, common).unwrap(),
            }
        };
        let own: Vec<Q> = seen.iter().map(own).collect();
        assert!(
            own.iter().all(|own| own.ceil() == common),
            "{own:?} at {common}"
        );
        Some((common.to_integer(), own))
    }

    pub fn book(&self, keys: &mut [Key], asks: &[Ask], slots: &[Q], now: i128) {
        for (ask, slot) in asks.iter().zip(slots) {
            keys[ask.key].book(self.rules[ask.key], *slot, ask.cost, now);
        }
    }

    /// In which order those who wait are booked: by priority; and those who are first of their group take turns.
    fn order(&self) -> Vec<usize> {
        let mut left: Vec<Waiter> = self.waiters.clone();
        let (mut order, mut turns) = (Vec::new(), self.turns);
        while !left.is_empty() {
            let first = |waiter: &&Waiter| waiter.turn.is_some();
            let next = left.iter().filter(first);
            let next = next.min_by_key(|waiter| (waiter.priority, waiter.turn, waiter.name));
            let name = next.expect("somebody is first").name;
            order.push(name);
            left.retain(|waiter| waiter.name != name);
            turns = give_turns(&mut left, turns, None);
        }
        order
    }

    /// All who wait booked on copies of the keys, and the copies.
    pub fn plan(&self) -> (Vec<Planned>, Vec<Key>) {
        let (mut keys, mut plan) = (self.keys.clone(), Vec::new());
        for name in self.order() {
            let waiter = self
                .waiters
                .iter()
                .find(|waiter| waiter.name == name)
                .unwrap();
            let found = self.earliest(&keys, &waiter.asks);
            let never = found.is_none();
            let slots = found.filter(|(at, _)| *at <= waiter.deadline);
            if let Some((_, slots)) = &slots {
                self.book(&mut keys, &waiter.asks, slots, self.now);
            }
            plan.push(Planned { name, slots, never });
        }
        (plan, keys)
    }

    /// What falls due when: a slot, or a deadline. In the order of the plan.
    fn due(&self) -> Vec<(i128, Planned)> {
        let due = |planned: &Planned| {
            let of = |waiter: &&Waiter| waiter.name == planned.name;
            let deadline = self.waiters.iter().find(of).unwrap().deadline;
            planned.slots.as_ref().map_or(deadline, |(at, _)| *at)
        };
        let plan = self.plan().0.into_iter();
        plan.map(|planned| (due(&planned), planned)).collect()
    }

    pub fn next_due(&self) -> Option<i128> {
        self.due().into_iter().map(|(at, _)| at).min()
    }

    /// Lets everything happen that falls due up to an instant.
    pub fn advance_to(&mut self, to: i128) -> Vec<Answer> {
        let mut answers = Vec::new();
        self.settle();
        while let Some(at) = self.next_due().filter(|at| *at <= to) {
            // One after the other, each from a plan of its own: of the nanosecond before, since a slot may lie inside
            // the one that ends now.
            self.now = self.now.max(at - 1);
            while let Some((_, planned)) = self.due().into_iter().find(|(due, _)| *due == at) {
                answers.push(self.end(&planned, at));
            }
            self.now = at;
            self.settle();
        }
        self.now = to;
        self.settle();
        answers
    }

    /// The wait of one ends.
    fn end(&mut self, planned: &Planned, at: i128) -> Answer {
        let name = planned.name;
        let waiter = self.take_out(name, planned.slots.is_some());
        let reply = match &planned.slots {
            Some((_, slots)) => {
                let from = slots.iter().min().unwrap().floor().to_integer();
                let mut keys = self.keys.clone();
                self.book(&mut keys, &waiter.asks, slots, from);
                self.keys = keys;
                let waited = at - waiter.arrived;
                (waited as u64).div_ceil(1_000_000) as i64
            }
            None => -1,
        };
        Answer { name, at, reply }
    }

    /// Takes one out; whoever stood behind it may be first now.
    pub fn take_out(&mut self, name: usize, served: bool) -> Waiter {
        let index = self
            .waiters
            .iter()
            .position(|waiter| waiter.name == name)
            .unwrap();
        let gone = self.waiters.remove(index);
        let inherited = gone.turn.filter(|_| !served);
        self.turns = give_turns(&mut self.waiters, self.turns, inherited);
        gone
    }

    /// Somebody comes: its answer, if it need not wait; and those of others who go at the same instant.
    pub fn arrive(
        &mut self,
        asks: Vec<Ask>,
        priority: u8,
        group: u8,
        max_wait: i128,
    ) -> (usize, Vec<Answer>) {
        self.names += 1;
        let name = self.names;
        self.waiters.push(Waiter {
            name,
            asks,
            priority,
            group,
            arrived: self.now,
            deadline: self.now + max_wait,
            turn: None,
        });
        self.turns = give_turns(&mut self.waiters, self.turns, None);
        let before = self.keys.clone();
        self.settle();
        let (plan, _) = self.plan();
        let own = plan
            .into_iter()
            .find(|planned| planned.name == name)
            .unwrap();
        if own.slots.is_none() {
            self.take_out(name, false);
            self.keys = before;
            let (at, reply) = (self.now, if own.never { -2 } else { -1 });
            return (name, vec![Answer { name, at, reply }]);
        }
        (name, self.advance_to(self.now))
    }
}

/// Gives turns to those who have become first, in the order of their arrival; the last turn given.
fn give_turns(waiters: &mut [Waiter], last: usize, inherited: Option<usize>) -> usize {
    let mut turns = last;
    for index in 0..waiters.len() {
        let waiter = &waiters[index];
        let behind = waiters.iter().any(|other| waiter.is_behind(other));
        if waiter.turn.is_none() && !behind {
            turns += 1;
            waiters[index].turn = Some(inherited.unwrap_or(turns));
        }
    }
    turns
}
