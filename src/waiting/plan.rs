//! The plan: copies of keys on which everybody who waits is booked, in order.

use super::Waiting;
use super::due::{Due, common};
use super::line::LineId;
use super::order::order;
use super::place::Place;
use crate::core::decision::Earliest;
use crate::core::entry::Entry;
use crate::core::joint::{Ask, Joint};
use crate::core::limit::Limit;
use crate::core::units::{Span, Timestamp};
use crate::store::{Store, Value};
use smallvec::SmallVec;
use std::collections::BTreeSet;

/// What a plan has for one who waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Planned {
    /// A slot by its deadline.
    Slot,
    /// None by its deadline. It holds nobody up, and stays: a pause may end early.
    Late,
    /// None before others have gone, since a key cannot be booked ahead; or before a lease is released.
    Behind,
    /// None ever, as things stand.
    Never,
}

/// Keys that are connected by those who wait at several of them.
struct Component {
    lines: Vec<LineId>,
    members: BTreeSet<u64>,
    /// Since when its plan does not hold.
    since: Timestamp,
    /// They are of several groups or priorities.
    mixed: bool,
}

impl<C> Waiting<C> {
    /// What a key holds has changed at `at`, or who waits there: the plan of it and of all connected keys does not
    /// hold any more.
    pub(super) fn invalidate(&mut self, line: LineId, at: Timestamp) {
        if let Some(since) = &mut self.lines[line].stale {
            *since = at.max(*since);
            return;
        }
        let mut next = vec![line];
        while let Some(line) = next.pop() {
            let Self { lines, places, .. } = self;
            if lines[line].stale.is_some() {
                continue;
            }
            lines[line].stale = Some(at);
            lines[line].planned = Entry::default();
            lines[line].closed = false;
            if let Some(step) = lines[line].step.take() {
                self.steps.remove(&(step, line));
            }
            if let Some(plan) = lines[line].plan.take() {
                self.orders.remove(&plan);
            }
            self.stale.insert(line);
            for id in lines[line].places() {
                let Some(place) = places.get_mut(&id) else {
                    continue;
                };
                if let Some(due) = place.due.take() {
                    self.due.remove(&due);
                    place.slots.clear();
                    next.extend(place.spots.iter().map(|spot| spot.line));
                }
            }
        }
    }

    /// Plans a key and all that are connected with it anew, as of the instant since when their plan does not hold.
    pub(super) fn plan(&mut self, store: &Store, line: LineId) {
        let component = self.component(line);
        let at = component.since;
        for &line in &component.lines {
            let line = &mut self.lines[line];
            let (database, key) = &line.home;
            let copy = |value: Option<&Value>| value.and_then(|value| value.limit().ok().cloned());
            let kept = store.read(*database, key.as_bytes(), at, copy);
            line.planned = kept.unwrap_or_default();
            // Limits that the key does not have yet, and may not get: somebody brings them.
            let (limits, under_policy) = (line.limits.clone(), line.is_under_policy());
            let _ = line.planned.wait_under(&limits, under_policy, at);
            line.stale = None;
        }
        let members: Vec<u64> = component.members.into_iter().collect();
        let ordered = match component.mixed {
            true => order(&self.lines, &self.places, &members),
            false => members,
        };
        for &id in &ordered {
            self.plan_place(id, at);
        }
        if component.mixed {
            self.last_plan += 1;
            self.orders.insert(self.last_plan, ordered.into());
        }
        let plan = component.mixed.then_some(self.last_plan);
        for id in component.lines {
            self.stale.remove(&id);
            let line = &mut self.lines[id];
            line.plan = plan;
            line.step = line.planned.next_step(at);
            self.steps.extend(line.step.map(|step| (step, id)));
        }
    }

    fn component(&self, line: LineId) -> Component {
        let mut component = Component {
            lines: Vec::new(),
            members: BTreeSet::new(),
            since: Timestamp::ZERO,
            mixed: false,
        };
        let (mut next, mut seen) = (vec![line], BTreeSet::from([line]));
        let mut queue = None;
        while let Some(id) = next.pop() {
            let line = &self.lines[id];
            component.lines.push(id);
            component.since = component.since.max(line.stale.unwrap_or_default());
            for (other, members) in &line.queues {
                component.mixed |= *queue.get_or_insert(other) != other;
                for member in members {
                    let spots = self.places.get(member).map(|place| &place.spots);
                    if component.members.insert(*member) {
                        let lines = spots.into_iter().flatten().map(|spot| spot.line);
                        next.extend(lines.filter(|&line| seen.insert(line)));
                    }
                }
            }
        }
        component
    }

    /// Books one who waits on the plan of its keys, behind all that are booked there, and notes when it is due.
    pub(super) fn plan_place(&mut self, id: u64, at: Timestamp) -> Planned {
        let planned = self.turn(id, |place, _, asks, seen| plan_on(place, asks, seen, at));
        let planned = planned.unwrap_or(Planned::Never);
        let Some(place) = self.places.get_mut(&id) else {
            return planned;
        };
        if planned == Planned::Behind {
            for spot in &place.spots {
                self.lines[spot.line].closed = true;
            }
        }
        self.last_rank += 1;
        let due = Due {
            at: match planned {
                Planned::Slot => common(&place.slots),
                Planned::Late | Planned::Behind => place.deadline,
                // Other parameters do not allow its cost any more. It would wait for nothing, so it is told.
                Planned::Never => at,
            },
            rank: self.last_rank,
            place: id,
        };
        place.planned = planned;
        place.due = Some(due);
        self.due.insert(due);
        planned
    }
}

/// Books a place on copies of its keys.
fn plan_on<C>(
    place: &mut Place<C>,
    asks: &[Ask<'_>],
    copies: &mut [Entry],
    at: Timestamp,
) -> Planned {
    place.slots.clear();
    // Parameters of others may be such that what the key owes cannot be held under them.
    let Ok(mut joint) = Joint::new(&mut *copies, asks, at, usize::MAX) else {
        return Planned::Late;
    };
    let left = Span::from_ns(place.deadline.since(at)).unwrap_or(Span::MAX);
    let (earliest, waits) = joint.common_slot(&joint.earliest_from(0), left);
    let wait = match earliest {
        Earliest::Never => return Planned::Never,
        Earliest::After(wait) => wait,
    };
    if place.deadline < at {
        return Planned::Late;
    }
    if !wait.fits(left) {
        drop(joint);
        // When a lease lapses is known, but most are released before.
        return match fits_but_for_leases(asks, copies, at, left) {
            true => Planned::Behind,
            false => Planned::Late,
        };
    }
    let slots = joint.slots_after(&waits);
    if joint.is_behind_promises(&slots) {
        return Planned::Behind;
    }
    if joint.book(&waits, 0, None).is_err() {
        return Planned::Late;
    }
    joint.commit();
    place.slots = slots;
    Planned::Slot
}

/// True if a call that takes a lease could go in time but for that.
fn fits_but_for_leases(asks: &[Ask<'_>], copies: &mut [Entry], at: Timestamp, left: Span) -> bool {
    let cost = |(limit, &cost): (&Limit, &u64)| match limit {
        Limit::Leases(_) => 0,
        _ => cost,
    };
    let costs = asks
        .iter()
        .map(|ask| ask.limits.iter().zip(ask.costs).map(cost).collect());
    let costs: SmallVec<[SmallVec<[u64; 1]>; 1]> = costs.collect();
    let all = asks.iter().zip(&costs);
    let others: SmallVec<[Ask<'_>; 1]> = all.map(|(ask, costs)| Ask { costs, ..*ask }).collect();
    let takes_lease = asks.iter().any(|ask| ask.leases().is_some());
    takes_lease
        && Joint::new(copies, &others, at, usize::MAX).is_ok_and(|joint| {
            let (earliest, _) = joint.common_slot(&joint.earliest_from(0), left);
            matches!(earliest, Earliest::After(wait) if wait.fits(left))
        })
}
