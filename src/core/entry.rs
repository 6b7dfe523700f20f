//! Everything that can happen to one key.
//!
//! A key that does not exist and a default [`Entry`] are the same thing: whoever calls acts on the
//! entry, and whoever keeps it drops it once [`Entry::is_absent`] holds again. A call looks at a key
//! through a [`Draft`]: the state as the call's own parameters see it. A refused call drops its draft,
//! and so changes nothing, parameters included.

use super::bucket::Bucket;
use super::decision::{Earliest, LimitUsage, Refusal, Usage};
use super::draft::Draft;
use super::leases::{Lapsed, Leases};
use super::limit::Limit;
use super::pause::{Pause, SlowDown};
use super::slow::{Factor, Slow};
use super::units::{Span, Timestamp, Wait};
use super::waited::Waited;
use smallvec::SmallVec;

pub use super::state::{Grant, State};
use std::borrow::Cow;

/// Most limits that a policy puts on one key.
pub const LIMITS_MAX: usize = 16;

/// The states of a key's limits: one, but for a key under a policy of several.
pub type States = SmallVec<[State; 1]>;

/// The state of one key.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Entry {
    /// Empty, or one a limit.
    pub(super) states: States,
    pub(super) pause: Option<Pause>,
    pub(super) slow: Option<Box<Slow>>,
    /// Set while somebody waits at the key. Not part of a snapshot: nobody waits over a restart.
    pub(super) waited: Option<Box<Waited>>,
}

impl Entry {
    /// An entry put together from its parts, as a snapshot holds them.
    pub fn from_parts(states: States, pause: Option<Pause>, slow: Option<Slow>) -> Self {
        Self {
            states,
            pause,
            slow: slow.map(Box::new),
            waited: None,
        }
    }

    /// The parts, for a snapshot.
    pub fn parts(&self) -> (&[State], Option<&Pause>, Option<&Slow>) {
        (&self.states, self.pause.as_ref(), self.slow.as_deref())
    }

    /// The state of the one limit, if there is nothing else to the key.
    pub fn only_state(&self) -> Option<&State> {
        let is_alone = self.pause.is_none() && self.slow.is_none() && self.waited.is_none();
        match &self.states[..] {
            [state] if is_alone => Some(state),
            _ => None,
        }
    }

    /// Bytes that it takes outside of itself.
    pub fn heap_bytes(&self) -> usize {
        let states = if self.states.spilled() {
            self.states.capacity() * size_of::<State>()
        } else {
            0
        };
        let slow = self.slow.as_deref().map_or(0, Slow::bytes);
        states + slow + self.states.iter().map(State::heap_bytes).sum::<usize>()
    }

    /// Works in what has come due. Changes nothing that can be told.
    pub fn settle(&mut self, now: Timestamp) {
        // A drain can be undone while its pause runs. Later it would be of rates that no longer hold.
        if self.paused_until() <= now {
            self.states.iter_mut().for_each(State::forget_drain);
        }
        if let Some(slow) = &mut self.slow {
            slow.settle(&mut self.states, now);
            if slow.ends() <= now {
                self.slow = None;
            }
        }
        self.states.iter_mut().for_each(|state| state.settle(now));
        if let Some(waited) = &mut self.waited {
            waited.settle(&mut self.states, now);
        }
    }

    /// The leases of the key; at most one of its limits is of that kind.
    pub fn leases(&self) -> Option<&Leases> {
        self.states.iter().find_map(|state| match state {
            State::Leases(leases) => Some(&**leases),
            _ => None,
        })
    }

    /// As [`Self::leases`], to renew or to release one.
    pub fn leases_mut(&mut self) -> Option<&mut Leases> {
        self.states.iter_mut().find_map(|state| match state {
            State::Leases(leases) => Some(&mut **leases),
            _ => None,
        })
    }

    /// The instant at which the next lease lapses: when whoever wants to know calls [`Self::lapse`].
    pub fn next_lapse(&self) -> Option<Timestamp> {
        self.leases().and_then(Leases::next_lapse)
    }

    /// Takes out the leases that have lapsed at or before `now`. No decision depends on it, and it is the one
    /// place where a lapse is noticed: whoever keeps the entry calls it before [`Self::forget`], which drops what
    /// has lapsed unnoticed.
    pub fn lapse(&mut self, now: Timestamp) -> Lapsed {
        self.leases_mut()
            .map_or_else(Lapsed::new, |leases| leases.lapse(now))
    }

    /// Works in what has come due and drops what can no longer be told from what never existed.
    pub fn forget(&mut self, now: Timestamp) {
        self.settle(now);
        let pause_until = self.paused_until();
        if self.slow.is_none()
            && self.waited.is_none()
            && self
                .states
                .iter()
                .all(|state| state.is_over(now, pause_until))
        {
            self.states.clear();
        }
        if self.pause.is_some_and(|pause| now >= pause.ends()) {
            self.pause = None;
        }
    }

    /// True if the entry holds nothing at all.
    pub fn is_absent(&self) -> bool {
        let holds_nothing = self.pause.is_none() && self.slow.is_none() && self.waited.is_none();
        self.states.is_empty() && holds_nothing
    }

    /// True if [`Self::forget`] would leave nothing.
    pub fn is_forgettable(&self, now: Timestamp) -> bool {
        if self.waited.is_some() {
            return false;
        }
        if self.slow.is_some() {
            // Steps are worked in on a copy: keys that are slowed are few.
            let mut entry = self.clone();
            entry.settle(now);
            return entry.slow.is_none() && entry.is_forgettable(now);
        }
        let pause_until = self.paused_until();
        self.pause.is_none_or(|pause| now >= pause.ends())
            && self
                .states
                .iter()
                .all(|state| state.is_over(now, pause_until))
    }

    /// The time until the key disappears if nobody calls it.
    pub fn forgotten_after(&self, now: Timestamp) -> Wait {
        if self.slow.as_ref().is_some_and(|slow| slow.changes_by(now)) {
            let mut entry = self.clone();
            entry.settle(now);
            return entry.forgotten_after(now);
        }
        let pause_until = self.paused_until();
        let pause = self.pause.map_or(0, |pause| pause.ends().since(now));
        let slow = self.slow.as_ref().map_or(0, |slow| slow.ends().since(now));
        let over_after = |(index, state): (usize, &State)| {
            let climbing = self
                .slow
                .as_ref()
                .and_then(|slow| Some((slow, slow.full_limit(index)?)));
            match (state, climbing) {
                (State::Bucket(bucket, None), Some((slow, full))) => {
                    let wait = |bucket: &Bucket, at| bucket.standing(at, pause_until).reset_after;
                    slow.climbing(bucket, &full, now, wait)
                }
                _ => state.over_after(now, pause_until),
            }
        };
        let states = self.states.iter().enumerate().map(over_after);
        states.fold(Wait::from_ns(u128::from(pause.max(slow))), Wait::max)
    }

    /// The key as a call with one limit sees it at `now`.
    ///
    /// # Errors
    /// [`Refusal::WrongKind`], or as [`super::bucket::Bucket::adopt`].
    pub fn draft(&mut self, limit: &Limit, now: Timestamp) -> Result<Draft<'_>, Refusal> {
        Draft::new(self, std::slice::from_ref(limit), false, now)
    }

    /// The key as a call under a policy sees it: limits carry over by position, and one whose kind has
    /// changed starts drained.
    ///
    /// # Errors
    /// As [`super::bucket::Bucket::adopt`].
    pub fn draft_under_policy(
        &mut self,
        limits: &[Limit],
        now: Timestamp,
    ) -> Result<Draft<'_>, Refusal> {
        Draft::new(self, limits, true, now)
    }

    /// True while somebody waits at the key.
    pub const fn is_waited(&self) -> bool {
        self.waited.is_some()
    }

    /// Somebody waits at the key: it does not disappear, and its rows of windows run on from now on.
    pub fn mark_waited(&mut self, now: Timestamp) {
        if self.waited.is_none() {
            self.settle(now);
            self.states.iter_mut().for_each(|state| {
                if let State::Window(window) = state {
                    window.begin_anew(now);
                }
            });
            self.waited = Some(Box::default());
        }
    }

    /// As [`Self::mark_waited`]; `limits` are the key's own from now on.
    ///
    /// # Errors
    /// As [`Self::draft`].
    pub fn wait_under(
        &mut self,
        limits: &[Limit],
        under_policy: bool,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        self.mark_waited(now);
        let draft = match limits {
            [limit] if !under_policy => self.draft(limit, now)?,
            limits => self.draft_under_policy(limits, now)?,
        };
        draft.commit();
        Ok(())
    }

    /// Nobody waits at the key any more.
    pub fn unmark_waited(&mut self, now: Timestamp) {
        self.settle(now);
        self.waited = None;
    }

    /// Holds everyone back for `span`; the span of the pause then in force.
    ///
    /// Only ever prolongs a running pause, unless `force`. `keep` leaves a bucket the burst it would
    /// have had at the end.
    pub fn pause(&mut self, span: Span, keep: bool, force: bool, now: Timestamp) -> Wait {
        self.pause_then_slow(span, keep, force, None, now)
    }

    /// As [`Self::pause`]; from its end on the key is slowed down.
    pub fn pause_then_slow(
        &mut self,
        span: Span,
        keep: bool,
        force: bool,
        slow: Option<SlowDown>,
        now: Timestamp,
    ) -> Wait {
        self.settle(now);
        // Of a pause that is set again it is the factor before the first; else it would slow down twice.
        let in_force = self
            .slow
            .as_ref()
            .map_or(Factor::ONE, |slow| slow.factor_at(now));
        if force && now.after(span) < self.paused_until() {
            self.resume(now);
            // A bucket that is full now is none that could be drained: the pause keeps a mark instead.
            self.forget(now);
        }
        let running_until = self.paused_until();
        if running_until <= now {
            self.states.iter_mut().for_each(State::forget_drain);
        }
        if now.after(span) > running_until {
            let mut pause = Pause::new(now, span, !keep);
            if !keep {
                for state in &mut self.states {
                    pause.drains &= !state.drain_to(pause.until);
                }
            }
            self.pause = Some(pause);
            self.slow_down(slow, in_force, pause.until, now);
        }
        self.paused(now)
    }

    /// Slows down from `begins` on, or puts a slow-down off that has not begun.
    fn slow_down(
        &mut self,
        slow: Option<SlowDown>,
        in_force: Factor,
        begins: Timestamp,
        now: Timestamp,
    ) {
        let full = match &self.slow {
            Some(slow) => slow.full.clone(),
            None => self.states.iter().map(State::bucket_limit).collect(),
        };
        match (slow, &mut self.slow) {
            (Some(SlowDown { factor, recover }), _) => {
                let factor = in_force.times(factor);
                self.slow = Some(Box::new(Slow {
                    before: in_force,
                    factor,
                    begins,
                    recover,
                    seen: 0,
                    full,
                }));
            }
            (None, Some(pending)) if pending.begins > now => pending.begins = begins,
            (None, _) => {}
        }
    }

    /// Ends a pause and a slow-down now; false if there was neither. See [`super::bucket::Bucket::resume`].
    pub fn resume(&mut self, now: Timestamp) -> bool {
        self.settle(now);
        let pause = self.pause.filter(|pause| pause.until > now);
        let slow = self.slow.take();
        let found = pause.is_some() || slow.is_some();
        if let Some(pause) = pause {
            self.pause = pause.resumed(now);
            self.states.iter_mut().for_each(|state| state.resume(now));
        }
        if let Some(slow) = slow {
            slow.end(&mut self.states, now);
        }
        found
    }

    /// Gives back up to `cost` unused permits, to every limit; the most that came back to one. See
    /// [`super::bucket::Bucket::refund`].
    pub fn refund(&mut self, cost: u64, now: Timestamp) -> u64 {
        let pause_until = self.paused_until();
        self.states
            .iter_mut()
            .map(|state| state.refund(cost, now, pause_until))
            .max()
            .unwrap_or(0)
    }

    /// Gives back `amount` of what limit `index` granted to a ticket. See [`State::give_back`].
    pub fn give_back(&mut self, index: usize, grant: Grant, amount: u64, now: Timestamp) -> u64 {
        let pause_until = self.paused_until();
        self.states
            .get_mut(index)
            .map_or(0, |state| state.give_back(grant, amount, now, pause_until))
    }

    /// The limits the key counts under, however many they are; `otherwise` where it counts nothing.
    pub fn limits_or<'a>(&self, otherwise: &'a [Limit]) -> Cow<'a, [Limit]> {
        let own: Option<Vec<Limit>> = (0..self.states.len())
            .map(|index| self.full_limit(index))
            .collect();
        own.filter(|own| !own.is_empty())
            .map_or(Cow::Borrowed(otherwise), Cow::Owned)
    }

    /// Tickets with slots ahead, and whether those lie inside the pause that is running.
    pub fn tickets_ahead(&self, now: Timestamp) -> Vec<(u64, bool)> {
        let until = self.paused_until();
        let bookings = self.states.iter().flat_map(State::ticket_bookings);
        let ahead = bookings.filter(|booking| booking.slot.rounded_up() > now);
        ahead
            .map(|booking| (booking.ticket, booking.slot.at < until))
            .collect()
    }

    /// The limit that state `index` counts under, at its full rate.
    fn full_limit(&self, index: usize) -> Option<Limit> {
        let slowed = self.slow.as_ref().and_then(|slow| slow.full_limit(index));
        slowed
            .map(Limit::Bucket)
            .or_else(|| self.states.get(index)?.limit())
    }

    /// How the key stands under its own limits; `None` for a key without state.
    pub fn usage(&self, now: Timestamp) -> Option<Usage> {
        if self.slow.as_ref().is_some_and(|slow| slow.changes_by(now)) {
            // Steps that nobody has called for yet are worked in on a copy.
            let mut entry = self.clone();
            entry.settle(now);
            return entry.usage(now);
        }
        if self.is_forgettable(now) {
            return None;
        }
        let pause_until = self.paused_until();
        let usage = |(index, state): (usize, &State)| {
            let usage = state.usage(now, pause_until)?;
            Some(LimitUsage {
                limit: self.full_limit(index)?,
                ..usage
            })
        };
        let mut limits: SmallVec<[LimitUsage; 1]> =
            self.states.iter().enumerate().filter_map(usage).collect();
        if self.waited.as_ref().is_some_and(|waited| waited.promises()) {
            self.tell_promises(&mut limits, now);
        }
        Some(Usage {
            limits,
            reset_after: self.forgotten_after(now),
            paused: self.paused(now),
            slowed: self
                .slow
                .as_ref()
                .map_or(Factor::ONE, |slow| slow.factor_at(now)),
        })
    }

    /// Reckons in what limits that cannot be booked ahead have promised.
    fn tell_promises(&self, limits: &mut [LimitUsage], now: Timestamp) {
        let own: SmallVec<[Limit; 1]> = limits.iter().map(|usage| usage.limit).collect();
        let mut copy = self.clone();
        let Ok(draft) = copy.draft_under_policy(&own, now) else {
            return;
        };
        for (index, usage) in limits.iter_mut().enumerate() {
            let promised = draft.promises(index).iter().map(|promise| promise.cost);
            usage.booked = usage.booked.saturating_add(promised.sum());
            usage.standing = draft.standing_of(index);
            if let Earliest::After(wait) = draft.earliest_from(index, 1, 0) {
                usage.wait = wait;
            }
        }
    }

    /// The next instant after `at` at which the rate of the key changes by itself.
    pub fn next_step(&self, at: Timestamp) -> Option<Timestamp> {
        self.slow.as_ref()?.next_change(at).map(|(step, _)| step)
    }

    /// What is left of the pause; zero if there is none.
    pub fn paused(&self, now: Timestamp) -> Wait {
        Wait::from_ns(u128::from(self.paused_until().since(now)))
    }

    pub(super) fn paused_until(&self) -> Timestamp {
        self.pause.map_or(Timestamp::ZERO, |pause| pause.until)
    }
}

impl From<State> for Entry {
    /// A key with one limit and nothing else.
    fn from(state: State) -> Self {
        Self {
            states: States::from_buf([state]),
            pause: None,
            slow: None,
            waited: None,
        }
    }
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
