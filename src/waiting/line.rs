//! Those who wait at one key.

use super::place::{Place, Queue};
use crate::core::entry::Entry;
use crate::core::units::Timestamp;
use crate::store::{Home, PolicyLimits};
use ahash::RandomState;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::{Bound, Index, IndexMut};

/// Which line; the number of one that has ended is given again.
pub(super) type LineId = usize;

/// A key at which somebody waits.
pub(super) struct Line {
    pub(super) home: Home,
    /// The key's limits: those of the last call that it accepted.
    pub(super) limits: PolicyLimits,
    /// The policy that they are of.
    pub(super) policy: Option<Box<[u8]>>,
    /// What the key's limits were before somebody who waits brought others, under which nobody has gone yet. They
    /// are its own again if nobody does: else a key could be made smaller for nothing, be full so, and forgotten.
    pub(super) before: Option<PolicyLimits>,
    /// Who waits, in the order of arrival.
    pub(super) queues: BTreeMap<Queue, BTreeSet<u64>>,
    /// How many those are.
    pub(super) count: usize,
    /// The key with all of them booked on it, where the plan holds.
    pub(super) planned: Entry,
    /// Since when the plan does not hold.
    pub(super) stale: Option<Timestamp>,
    /// When the rate of the key changes by itself next.
    pub(super) step: Option<Timestamp>,
    /// Somebody has no slot, since the key cannot be booked ahead.
    pub(super) closed: bool,
    /// The number of the plan, where groups or priorities take turns in it.
    pub(super) plan: Option<u64>,
}

impl Line {
    pub(super) const fn new(
        home: Home,
        limits: PolicyLimits,
        policy: Option<Box<[u8]>>,
        planned: Entry,
    ) -> Self {
        Self {
            home,
            limits,
            policy,
            before: None,
            queues: BTreeMap::new(),
            count: 0,
            planned,
            stale: None,
            step: None,
            closed: false,
            plan: None,
        }
    }

    pub(super) fn join(&mut self, queue: &Queue, place: u64) {
        self.queues.entry(queue.clone()).or_default().insert(place);
        self.count += 1;
    }

    /// Takes one out; true if it was the first of its queue.
    pub(super) fn leave(&mut self, queue: &Queue, place: u64) -> bool {
        let Some(members) = self.queues.get_mut(queue) else {
            return false;
        };
        let first = members.first() == Some(&place);
        self.count -= usize::from(members.remove(&place));
        if members.is_empty() {
            self.queues.remove(queue);
        }
        first
    }

    pub(super) fn first_of(&self, queue: &Queue) -> Option<u64> {
        self.queues.get(queue)?.first().copied()
    }

    /// Who comes behind `place` in its queue.
    pub(super) fn next_of(&self, queue: &Queue, place: u64) -> Option<u64> {
        let behind = (Bound::Excluded(place), Bound::Unbounded);
        self.queues.get(queue)?.range(behind).next().copied()
    }

    /// True if everybody here goes before whoever joins `queue` now.
    pub(super) fn all_go_before(&self, queue: &Queue) -> bool {
        let after_priority = self.queues.keys().next_back();
        let none_after = after_priority.is_none_or(|(priority, _)| *priority <= queue.0);
        let same = self.queues.keys().rev();
        let mut same = same.take_while(|(priority, _)| *priority == queue.0);
        none_after && same.all(|other| other == queue)
    }

    pub(super) fn places(&self) -> impl Iterator<Item = u64> {
        self.queues.values().flatten().copied()
    }
}

/// All lines.
#[derive(Default)]
pub(super) struct Lines {
    by_home: HashMap<Home, LineId, RandomState>,
    slab: Vec<Option<Line>>,
    free: Vec<LineId>,
}

impl Lines {
    pub(super) fn len(&self) -> usize {
        self.by_home.len()
    }

    /// The keys, and how many wait at each.
    pub(super) fn homes(&self) -> impl Iterator<Item = (&Home, usize)> {
        let lines = self.slab.iter().flatten();
        lines.map(|line| (&line.home, line.count))
    }

    pub(super) fn find(&self, home: &Home) -> Option<LineId> {
        self.by_home.get(home).copied()
    }

    pub(super) fn add(&mut self, line: Line) -> LineId {
        let id = self.free.pop().unwrap_or(self.slab.len());
        if id == self.slab.len() {
            self.slab.push(None);
        }
        self.by_home.insert(line.home.clone(), id);
        self.slab[id] = Some(line);
        id
    }

    pub(super) fn remove(&mut self, id: LineId) -> Option<Line> {
        let line = self.slab.get_mut(id)?.take()?;
        self.by_home.remove(&line.home);
        self.free.push(id);
        Some(line)
    }

    pub(super) fn ids(&self) -> Vec<LineId> {
        self.by_home.values().copied().collect()
    }

    /// True if a place is the first of its group at all its keys.
    pub(super) fn is_first<C>(&self, id: u64, place: &Place<C>) -> bool {
        let first = |line: LineId| self[line].first_of(&place.queue) == Some(id);
        place.spots.iter().all(|spot| first(spot.line))
    }
}

impl Index<LineId> for Lines {
    type Output = Line;

    fn index(&self, id: LineId) -> &Line {
        self.slab[id]
            .as_ref()
            .expect("a line lasts as long as somebody stands in it")
    }
}

impl IndexMut<LineId> for Lines {
    fn index_mut(&mut self, id: LineId) -> &mut Line {
        self.slab[id]
            .as_mut()
            .expect("a line lasts as long as somebody stands in it")
    }
}
