//! What happens when an instant has come: who waited goes, or has waited for long enough.

use super::place::{Ending, Place, Turn};
use super::plan::Planned;
use super::{Go, Waiting};
use crate::core::entry::Entry;
use crate::core::joint::{Ask, Joint};
use crate::core::leases::Lease;
use crate::core::timeline::Slot;
use crate::core::units::Timestamp;
use crate::store::{Home, Store};
use smallvec::SmallVec;

/// Something that falls due. In the order of time, and at one instant in that of the plan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Due {
    pub(super) at: Timestamp,
    pub(super) rank: u64,
    pub(super) place: u64,
}

/// How one who waited has left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Left {
    /// It went.
    Served,
    /// It did not.
    Unserved,
}

impl<C> Waiting<C> {
    /// Makes all plans anew that do not hold, and does what is due at `now`, at most `most` things; true if
    /// there may be more.
    pub fn fire(&mut self, store: &Store, now: Timestamp, most: usize, go: &mut Go<'_, C>) -> bool {
        for _ in 0..most {
            while let Some(&line) = self.stale.first() {
                self.plan(store, line);
            }
            if !self.end_first(store, now, go) {
                return false;
            }
        }
        true
    }

    /// Does what is due at `now`, and makes the plans of these keys anew if they do not hold.
    pub fn settle(&mut self, store: &Store, homes: &[Home], now: Timestamp, go: &mut Go<'_, C>) {
        loop {
            let mut lines = homes.iter().filter_map(|home| self.lines.find(home));
            if let Some(line) = lines.find(|&line| self.lines[line].stale.is_some()) {
                self.plan(store, line);
            } else if !self.end_first(store, now, go) {
                return;
            }
        }
    }

    /// Does the first thing that is due at `now`; false if there is none.
    pub(super) fn end_first(&mut self, store: &Store, now: Timestamp, go: &mut Go<'_, C>) -> bool {
        let due = self.due.first().copied().filter(|due| due.at <= now);
        let step = self.steps.first().copied().filter(|(at, _)| *at <= now);
        if let Some((at, line)) = step.filter(|(at, _)| due.is_none_or(|due| *at < due.at)) {
            self.invalidate(line, at);
            return true;
        }
        let Some(due) = due else {
            return false;
        };
        self.due.remove(&due);
        let place = self.places.get(&due.place);
        if let Some(place) = place.filter(|place| place.slots.is_empty()) {
            let never = place.planned == Planned::Never;
            self.turn_away(store, due.place, due.at, never, go);
        } else {
            self.let_go(store, due.place, due.at, go);
        }
        true
    }

    /// Books one whose slot has come on its keys, exactly there, and ends its wait.
    fn let_go(&mut self, store: &Store, id: u64, at: Timestamp, go: &mut Go<'_, C>) {
        let turned = self.turn(id, |place, keys, asks, seen| {
            let slots = place.slots.as_slice();
            let from = slots.iter().map(|slot| slot.at).min().unwrap_or(at);
            let booked = store.with_limits(place.database, keys, from, |kept| {
                let kept = kept.iter_mut().map(|entry| &mut **entry);
                let mut joint = Joint::new(kept, asks, from, usize::MAX)?;
                let waits = joint.waits_until(slots);
                let leases = asks.iter().find_map(Ask::leases);
                let lease = leases.map(|limit| {
                    let lapses = at.after(place.ttl.unwrap_or(limit.ttl()));
                    let lease = Lease {
                        owner: place.holder.owner.clone(),
                        bound_to: place.holder.bound_to,
                        lapses,
                    };
                    (store.records.next_number(), lease)
                });
                let number = lease.as_ref().map_or(0, |(number, _)| *number);
                joint.book(&waits, 0, lease)?;
                let ending = Ending::Goes {
                    slots,
                    lease: number,
                };
                let turn = Turn {
                    at,
                    ending,
                    keys,
                    asks,
                    seen: &mut *seen,
                };
                let goes = go(&mut place.caller, turn);
                if goes {
                    joint.commit();
                }
                Ok(goes)
            });
            booked.and_then(|booked| booked).unwrap_or_else(|refusal| {
                let ending = Ending::Refused(refusal);
                let turn = Turn {
                    at,
                    ending,
                    keys,
                    asks,
                    seen,
                };
                go(&mut place.caller, turn);
                false
            })
        });
        let left = match turned {
            Some(true) => Left::Served,
            _ => Left::Unserved,
        };
        if let Some(place) = self.places.get(&id).filter(|_| left == Left::Served) {
            for spot in &place.spots {
                self.lines[spot.line].before = None;
            }
        }
        self.end(store, id, left, at);
    }

    /// Ends the wait of one that does not go.
    pub(super) fn turn_away(
        &mut self,
        store: &Store,
        id: u64,
        at: Timestamp,
        never: bool,
        go: &mut Go<'_, C>,
    ) {
        self.turn(id, |place, keys, asks, seen| {
            let ending = Ending::Late { never };
            let turn = Turn {
                at,
                ending,
                keys,
                asks,
                seen,
            };
            go(&mut place.caller, turn);
        });
        self.end(store, id, Left::Unserved, at);
    }

    fn end(&mut self, store: &Store, id: u64, left: Left, at: Timestamp) {
        let place = self.leave(store, id, left, at);
        self.ended.extend(place.map(|place| place.caller));
    }

    /// Calls `f` with a place, its keys, what it asks of them, and their plans.
    pub(super) fn turn<R>(
        &mut self,
        id: u64,
        f: impl FnOnce(&mut Place<C>, &[&[u8]], &[Ask<'_>], &mut [Entry]) -> R,
    ) -> Option<R> {
        let place = self.places.get_mut(&id)?;
        let lines: SmallVec<[usize; 4]> = place.spots.iter().map(|spot| spot.line).collect();
        let mut seen: SmallVec<[Entry; 1]> = SmallVec::new();
        for &line in &lines {
            seen.push(std::mem::take(&mut self.lines[line].planned));
        }
        let result = {
            let all = &self.lines;
            let spots = place.spots.iter();
            let costs: SmallVec<[SmallVec<[u64; 1]>; 1]> = spots
                .map(|spot| spot.costs(all[spot.line].limits.len()))
                .collect();
            let asks = lines.iter().zip(&costs);
            let asks: SmallVec<[Ask<'_>; 1]> =
                asks.map(|(&line, costs)| all[line].ask(costs)).collect();
            let keys = lines.iter().map(|&line| all[line].home.1.as_bytes());
            let keys: SmallVec<[&[u8]; 4]> = keys.collect();
            f(place, &keys, &asks, &mut seen)
        };
        for (&line, entry) in lines.iter().zip(seen) {
            self.lines[line].planned = entry;
        }
        Some(result)
    }

    /// Takes one out of its lines; whoever stood behind it may have become first.
    pub(super) fn leave(
        &mut self,
        store: &Store,
        id: u64,
        left: Left,
        at: Timestamp,
    ) -> Option<Place<C>> {
        let in_order = left == Left::Served && self.is_first_in_order(id);
        let place = self.places.remove(&id)?;
        if let Some(due) = place.due {
            self.due.remove(&due);
        }
        let mut freed: SmallVec<[u64; 1]> = SmallVec::new();
        for spot in &place.spots {
            let line = &mut self.lines[spot.line];
            if line.leave(&place.queue, id) {
                freed.extend(line.first_of(&place.queue));
            }
        }
        freed.sort_unstable();
        freed.dedup();
        let promoted = self.promote(&freed, place.turn.filter(|_| left == Left::Unserved));
        let gave_up_slot = left == Left::Unserved && !place.slots.is_empty();
        for spot in &place.spots {
            let line = &self.lines[spot.line];
            if line.count == 0 {
                self.end_line(store, spot.line, at);
                continue;
            }
            let reordered = promoted && line.plan.is_some() && !in_order;
            if gave_up_slot || line.closed || reordered {
                self.invalidate(spot.line, at);
            }
        }
        Some(place)
    }

    /// Gives a turn to those who have become first: that of whom they stood behind if it did not go, else one behind
    /// all others. True if there are any.
    fn promote(&mut self, freed: &[u64], inherited: Option<u64>) -> bool {
        let mut promoted = false;
        for &next in freed {
            let first = self
                .places
                .get(&next)
                .is_some_and(|place| place.turn.is_none() && self.lines.is_first(next, place));
            if let Some(place) = self.places.get_mut(&next).filter(|_| first) {
                self.last_turn += 1;
                place.turn = inherited.or(Some(self.last_turn));
                promoted = true;
            }
        }
        promoted
    }

    /// True if the order of those behind does not change when this one goes: it is the first of its plan, or all in
    /// it go in the order of their arrival.
    fn is_first_in_order(&mut self, id: u64) -> bool {
        let plans = self
            .places
            .get(&id)
            .into_iter()
            .flat_map(|place| &place.spots);
        let plan = plans.filter_map(|spot| self.lines[spot.line].plan).next();
        plan.is_none_or(|plan| self.skip_gone(plan) == Some(id))
    }

    /// The first of a plan's order who is still there. The order goes with the last of them.
    fn skip_gone(&mut self, plan: u64) -> Option<u64> {
        let order = self.orders.get_mut(&plan)?;
        while order
            .front()
            .is_some_and(|first| !self.places.contains_key(first))
        {
            order.pop_front();
        }
        let first = order.front().copied();
        if first.is_none() {
            self.orders.remove(&plan);
        }
        first
    }

    /// Nobody waits at a key any more.
    pub(super) fn end_line(&mut self, store: &Store, line: usize, at: Timestamp) {
        self.stale.remove(&line);
        let Some(ended) = self.lines.remove(line) else {
            return;
        };
        if let Some(step) = ended.step {
            self.steps.remove(&(step, line));
        }
        let line = ended;
        if let Some(plan) = line.plan {
            self.skip_gone(plan);
        }
        let (database, key) = &line.home;
        store.with_value(*database, key.as_bytes(), at, |value| {
            if let Ok(entry) = value.limit_mut() {
                if let Some(before) = &line.before {
                    // A key that owes more than can be held under them keeps those that it has.
                    let _ = entry.wait_under(before, before.len() > 1, at);
                }
                entry.unmark_waited(at);
            }
        });
    }
}

/// When a caller with these slots goes: at the last of them.
pub(super) fn common(slots: &[Slot]) -> Timestamp {
    let rounded = slots.iter().map(|slot| slot.rounded_up());
    rounded.max().unwrap_or_default()
}
