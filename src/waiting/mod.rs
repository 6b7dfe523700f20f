//! Callers who wait on the server: in which order they go, when, and what a key looks like with all of them booked.
//!
//! **The plan.** A key at which somebody waits is there twice: as it is in the store, which knows nothing of those who
//! wait, and as a copy on which all of them are booked in order, each at the earliest slot that is left. A decision
//! of others looks at the copy, so that nobody overtakes, and what it books is booked on both. When the slot of one
//! who waits has come, it is booked on the key in the store, exactly there. So what the store holds was granted.
//!
//! **When it no longer holds.** Whatever else changes a key, or takes one who waits away, makes the copies stale: of
//! that key, and of all that are connected with it by somebody who waits at both. They are made anew from the keys in
//! the store, all of them at once, when they are next needed: before the next decision about one of them, or the next
//! time that something falls due ([`Waiting::fire`]).
//!
//! **The order.** See [`order`].
//!
//! All of it is told the time, and none of it waits for anything.

mod arrive;
mod due;
mod keys;
mod line;
mod order;
mod place;
mod plan;

pub use keys::Keys;
pub use place::{Ending, Holder, Turn, Want, Wish};

use crate::core::decision::Refusal;
use crate::core::entry::Entry;
use crate::core::units::Timestamp;
use crate::store::Home;
use ahash::RandomState;
use due::Due;
use line::{LineId, Lines};
use place::Places;
use std::collections::{BTreeSet, HashMap, VecDeque};

/// Most callers who wait at one key: as many as it may hold bookings.
pub const AT_A_KEY_MAX: usize = 100_000;
/// Most callers who wait in all: some hundred megabytes.
pub const IN_ALL_MAX: usize = 1_000_000;

/// Most keys that [`Waiting::busiest`] looks at, so that it takes a millisecond or two at most.
const LOOKED_AT_MAX: usize = 10_000;

/// Tells a caller that its wait ends, under the locks of its keys; see [`Turn`]. False if it must not be booked.
pub type Go<'g, C> = dyn FnMut(&mut C, Turn<'_>) -> bool + 'g;

/// Why a caller may not wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoWait {
    /// The core refuses.
    Refused(Refusal),
    /// So many wait at one of the keys already.
    KeyCrowded,
    /// So many wait in all.
    Crowded,
}

impl From<Refusal> for NoWait {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// All who wait. `C` is what the owner keeps of each.
pub struct Waiting<C> {
    places: Places<C>,
    lines: Lines,
    /// What falls due at keys whose plan holds: a slot, or the end of a wait.
    due: BTreeSet<Due>,
    /// When the rate of a key changes by itself, with which its plan no longer holds.
    steps: BTreeSet<(Timestamp, LineId)>,
    /// Lines whose plan no longer holds.
    stale: BTreeSet<LineId>,
    /// Those whose wait has ended, told so, and not yet taken out.
    ended: Vec<C>,
    /// The order of plans in which groups or priorities take turns, by their number; the front may be gone.
    orders: HashMap<u64, VecDeque<u64>, RandomState>,
    last_place: u64,
    last_turn: u64,
    last_rank: u64,
    last_plan: u64,
}

impl<C> Default for Waiting<C> {
    fn default() -> Self {
        Self {
            places: HashMap::default(),
            lines: Lines::default(),
            due: BTreeSet::new(),
            steps: BTreeSet::new(),
            stale: BTreeSet::new(),
            ended: Vec::new(),
            orders: HashMap::default(),
            last_place: 0,
            last_turn: 0,
            last_rank: 0,
            last_plan: 0,
        }
    }
}

impl<C> Waiting<C> {
    /// How many wait.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// True if nobody waits.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// How many keys somebody waits at.
    pub fn keys(&self) -> usize {
        self.lines.len()
    }

    /// How many wait at a key.
    pub fn at_key(&self, home: &Home) -> usize {
        let line = self.lines.find(home);
        line.map_or(0, |line| self.lines[line].count)
    }

    /// The keys at which most wait, and how many those are; at most `count` keys, of some thousand that are looked at.
    pub fn busiest(&self, count: usize) -> Vec<(Home, usize)> {
        let looked = self.lines.homes().take(LOOKED_AT_MAX);
        let mut busiest: Vec<(&Home, usize)> = looked.collect();
        busiest.sort_unstable_by(|(a, m), (b, n)| n.cmp(m).then_with(|| a.cmp(b)));
        busiest.truncate(count);
        let owned = busiest.into_iter();
        owned.map(|(home, count)| (home.clone(), count)).collect()
    }

    /// What is kept of the one with that place.
    pub fn caller(&self, place: u64) -> Option<&C> {
        self.places.get(&place).map(|place| &place.caller)
    }

    /// When something falls due next: the epoch if a plan is to be made anew.
    pub fn next(&self) -> Option<Timestamp> {
        if !self.stale.is_empty() {
            return Some(Timestamp::ZERO);
        }
        let step = self.steps.first().map(|(at, _)| *at);
        let due = self.due.first().map(|due| due.at);
        step.into_iter().chain(due).min()
    }

    /// Takes one of those out whose wait has ended.
    pub fn take_ended_if(&mut self, wanted: impl Fn(&C) -> bool) -> Option<C> {
        let index = self.ended.iter().position(wanted)?;
        Some(self.ended.remove(index))
    }

    /// The plan of a key at which somebody waits; see [`Self::settle`].
    pub fn planned(&self, home: &Home) -> Option<&Entry> {
        let line = self.lines.find(home)?;
        Some(&self.lines[line].planned)
    }

    /// Takes out those whose wait has ended, in that order.
    pub fn take_ended(&mut self) -> Vec<C> {
        std::mem::take(&mut self.ended)
    }
}
