//! A key as one call sees it: under the call's own parameters, not yet changed.

use super::booked::Charge;
use super::bucket::Bucket;
use super::decision::{Earliest, Refusal, Standing};
use super::entry::{Entry, States};
use super::leases::Lease;
use super::limit::{BucketLimit, Limit};
use super::pause::Pause;
use super::seen::{Seen, begin, begin_drained, leases_of, log_of, see, slowed, timeline_of};
use super::slow::Slow;
use super::state::State;
use super::timeline::{Slot, Timeline};
use super::units::{Timestamp, Wait};
use super::waited::{Promise, Waited};
use smallvec::SmallVec;

/// Bookings ahead that a key may hold unless told otherwise: some megabytes.
pub const BOOKINGS_MAX: usize = 100_000;

/// A key as one call sees it: ask it, charge it, and [`commit`](Self::commit) it, or drop it.
///
/// Small states are copied. Bookings and logs are not: they stay where they are, and what the call adds
/// to them waits beside them for the commit.
///
/// The methods with an index speak of one limit of a policy; those without, of the only one.
pub struct Draft<'a> {
    states: &'a mut States,
    pause: &'a mut Option<Pause>,
    /// A slow-down, and the call's limits at their full rate.
    slow: Option<(&'a mut Slow, SmallVec<[Limit; 1]>)>,
    waited: Option<&'a mut Waited>,
    /// What the call adds at later slots of limits that cannot be booked ahead.
    promised: SmallVec<[Promise; 1]>,
    seen: SmallVec<[Seen; 1]>,
    converts: bool,
    now: Timestamp,
    pause_until: Timestamp,
    bookings_max: usize,
}

/// Longer than anything that fits a reply.
const BEYOND: Wait = Wait::from_ns(u128::MAX);

impl<'a> Draft<'a> {
    /// The key under `limits` at `now`. Under a policy its states need not be of their number and kinds.
    pub(super) fn new(
        entry: &'a mut Entry,
        limits: &[Limit],
        under_policy: bool,
        now: Timestamp,
    ) -> Result<Self, Refusal> {
        entry.settle(now);
        let pause_until = entry.paused_until();
        let Entry {
            states,
            pause,
            slow,
            waited,
        } = entry;
        let waited = waited.as_deref_mut();
        if !states.is_empty() && states.len() != limits.len() && !under_policy {
            return Err(Refusal::WrongKind);
        }
        let drained = pause.filter(|pause| pause.drains).map(|pause| pause.until);
        // A row of windows that holds nothing begins with the call, or at the end of its pause. It runs on while
        // somebody waits, so that the windows of a plan are those of the key when the slots come.
        let begins = if waited.is_some() {
            now
        } else {
            now.max(pause_until)
        };
        let begins_anew = waited.is_none().then_some(begins);
        let (mut seen, mut converts) = (SmallVec::new(), false);
        for (index, full) in limits.iter().enumerate() {
            let state = states.get(index).unwrap_or(&State::Empty);
            let limit = match slow {
                Some(slow) => slowed(slow, full, state, now.max(pause_until))?,
                None => *full,
            };
            seen.push(match see(state, &limit, now, begins_anew) {
                Some(seen) => seen,
                None if matches!(state, State::Empty) => begin(&limit, now, begins, drained),
                // A policy may put another kind in a place that has counted; it must not mint a burst.
                None if under_policy => {
                    converts = true;
                    begin_drained(&limit, now, begins, drained)
                }
                None => return Err(Refusal::WrongKind),
            });
        }
        let slow = slow.as_deref_mut().map(|slow| (slow, limits.into()));
        Ok(Self {
            states,
            pause,
            slow,
            waited,
            promised: SmallVec::new(),
            seen,
            converts,
            now,
            pause_until,
            bookings_max: BOOKINGS_MAX,
        })
    }

    /// With another bound on the bookings that the key may hold ahead.
    pub fn with_bookings_max(self, bookings_max: usize) -> Self {
        Self {
            bookings_max,
            ..self
        }
    }

    /// True if a policy puts another kind of limit in a place that has counted. It begins drained with this
    /// call, also if that is refused: else it would begin anew with each, and no wait would ever be over.
    pub const fn converts(&self) -> bool {
        self.converts
    }

    /// When `cost` could go.
    pub fn earliest(&self, cost: u64) -> Earliest {
        self.earliest_from(0, cost, 0)
    }

    /// When `cost` could go under limit `index`, `from` nanoseconds from now at the earliest; a wait from now.
    pub fn earliest_from(&self, index: usize, cost: u64, from: u64) -> Earliest {
        let (now, pause_until) = (self.now, self.pause_until);
        // Windows, logs and leases know no other reason to wait than a pause.
        let not_before = pause_until.max(now.after_ns(from));
        match &self.seen[index] {
            Seen::Bucket(booked) => {
                booked.earliest(self.timeline(index), cost, now, pause_until, from)
            }
            Seen::Window(window) => window.earliest(cost, now, not_before),
            Seen::Sliding(sliding) => {
                sliding.earliest_among(self.promises(index), cost, now, not_before)
            }
            Seen::Log(begun, _) => {
                log_of(self.states, index, begun).earliest(begun.limit, cost, now, not_before)
            }
            Seen::Leases(begun, _) => {
                let leases = leases_of(self.states, index, begun);
                leases.earliest_among(begun.limit, self.promises(index), cost, now, not_before)
            }
            Seen::Beyond(capacity) if cost > *capacity => Earliest::Never,
            Seen::Beyond(_) => Earliest::After(BEYOND),
        }
    }

    /// The slot that lies `wait` from now, as exact as limit `index` knows it.
    pub fn slot_after(&self, index: usize, wait: Wait) -> Slot {
        match &self.seen[index] {
            Seen::Bucket(booked) => booked.slot_after(wait, self.now),
            Seen::Window(_)
            | Seen::Sliding(_)
            | Seen::Log(..)
            | Seen::Leases(..)
            | Seen::Beyond(_) => Slot {
                at: after(self.now, wait),
                fraction: 0,
            },
        }
    }

    /// The wait from now until a slot that [`Self::slot_after`] told of limit `index`, under the rate in force;
    /// zero if it has passed.
    pub fn wait_until(&self, index: usize, slot: Slot) -> Wait {
        match &self.seen[index] {
            Seen::Bucket(booked) => booked.wait_until(slot, self.now),
            Seen::Window(_)
            | Seen::Sliding(_)
            | Seen::Log(..)
            | Seen::Leases(..)
            | Seen::Beyond(_) => Wait::from_ns(u128::from(slot.rounded_up().since(self.now))),
        }
    }

    /// What limit `index` has promised though it cannot be booked ahead, by slot. Only a plan has such.
    pub fn promises(&self, index: usize) -> &[Promise] {
        self.waited
            .as_deref()
            .map_or(&[], |waited| waited.promises_of(index))
    }

    /// How many limits there are.
    pub fn len(&self) -> usize {
        self.seen.len()
    }

    /// A draft has at least one limit.
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// How the key stands under the call's limit.
    pub fn standing(&self) -> Standing {
        self.standing_of(0)
    }

    /// When `cost` could go under limit `index` if it is asked for again, and nothing is booked now: a rate that
    /// is slowed down climbs meanwhile.
    pub fn retry_after(&self, index: usize, cost: u64) -> Earliest {
        let (now, pause_until) = (self.now, self.pause_until);
        let wait = |bucket: &Bucket, at: Timestamp| match bucket.earliest(cost, at, pause_until) {
            Earliest::After(wait) => wait,
            Earliest::Never => Wait::ZERO,
        };
        match (self.earliest_from(index, cost, 0), self.climbing(index)) {
            (Earliest::After(_), Some((slow, bucket, full))) => {
                Earliest::After(slow.climbing(bucket, full, now, wait))
            }
            (earliest, _) => earliest,
        }
    }

    /// How the key stands under limit `index`.
    pub fn standing_of(&self, index: usize) -> Standing {
        let mut standing = self.standing_but_for_promises(index);
        if !self.promises(index).is_empty() {
            standing.remaining = self.largest_now(index, standing.remaining);
        }
        standing
    }

    /// The largest cost up to `most` that could go now.
    fn largest_now(&self, index: usize, most: u64) -> u64 {
        let (mut can, mut cannot) = (0, most + 1);
        while can + 1 < cannot {
            let cost = can + (cannot - can) / 2;
            match self.earliest_from(index, cost, 0).is_now() {
                true => can = cost,
                false => cannot = cost,
            }
        }
        can
    }

    fn standing_but_for_promises(&self, index: usize) -> Standing {
        let (now, pause_until) = (self.now, self.pause_until);
        match &self.seen[index] {
            Seen::Bucket(booked) => {
                let mut standing = booked.standing(self.timeline(index), now, pause_until);
                if let Some((slow, bucket, full)) = self.climbing(index) {
                    let wait = |bucket: &Bucket, at| bucket.standing(at, pause_until).reset_after;
                    standing.reset_after = slow.climbing(bucket, full, now, wait);
                }
                standing
            }
            Seen::Window(window) => window.standing(now, pause_until),
            Seen::Sliding(sliding) => sliding.standing(now, pause_until),
            Seen::Log(begun, pending) => log_of(self.states, index, begun).standing_with(
                begun.limit,
                *pending,
                now,
                pause_until,
            ),
            Seen::Leases(begun, pending) => leases_of(self.states, index, begun).standing(
                begun.limit,
                pending.as_ref().map(|(_, lease)| lease),
                now,
                pause_until,
            ),
            Seen::Beyond(_) => Standing {
                remaining: 0,
                reset_after: BEYOND,
            },
        }
    }

    /// A bucket whose rate is slowed down and that has nothing listed ahead, with its full limit.
    fn climbing(&self, index: usize) -> Option<(&Slow, &Bucket, &BucketLimit)> {
        let (slow, limits) = self.slow.as_ref()?;
        match (&self.seen[index], &limits[index]) {
            (Seen::Bucket(booked), Limit::Bucket(full)) => {
                Some((slow, booked.alone(self.timeline(index))?, full))
            }
            _ => None,
        }
    }

    /// True if the commit would make a key, or one that takes more memory.
    pub fn grows(&self) -> bool {
        let is_new = self.states.is_empty()
            && self.pause.is_none()
            && self.slow.is_none()
            && self.waited.is_none();
        let grows = |(index, seen): (usize, &Seen)| {
            let state = self.states.get(index).unwrap_or(&State::Empty);
            match (state, seen) {
                (_, Seen::Bucket(booked)) => booked.is_listed(),
                (State::Window(before), Seen::Window(window)) => {
                    window.used.len() > before.used.len()
                }
                (State::Log(log), Seen::Log(_, pending)) => {
                    pending.is_some() && log.bookings.len() == log.bookings.capacity()
                }
                (State::Leases(_), Seen::Leases(_, pending)) => pending.is_some(),
                (_, Seen::Window(_) | Seen::Log(..) | Seen::Leases(..)) => true,
                (_, Seen::Sliding(_) | Seen::Beyond(_)) => false,
            }
        };
        is_new || !self.promised.is_empty() || self.seen.iter().enumerate().any(grows)
    }

    /// True if the key is paused.
    pub fn is_paused(&self) -> bool {
        self.pause_until > self.now
    }

    /// Charges `cost` at its earliest slot; one above the capacity without asking.
    ///
    /// # Errors
    /// The debt or the bookings would be more than a key may hold.
    pub fn book(&mut self, cost: u64) -> Result<(), Refusal> {
        match self.earliest(cost) {
            Earliest::After(wait) => self.book_at(
                0,
                Charge {
                    cost,
                    wait,
                    ticket: 0,
                },
            ),
            Earliest::Never => self.charge(0, cost),
        }
    }

    /// Charges a cost under limit `index` at a slot at which it may go, as [`Self::earliest_from`] told, of this
    /// key or of a copy of it. Nothing is asked again.
    ///
    /// What is booked on a copy one after the other may be booked on the key itself in any order, each at a `now`
    /// that is not after its slot: the key is then as the copy is. A booking may so come before others that are
    /// there already, and only the whole of them be within the limit. See [`Self::wait_until`]. A row of windows
    /// has to run on for that: [`super::entry::Entry::wait_under`].
    ///
    /// Sliding counters and leases know slots ahead only on a copy for those who wait. A lease is taken with
    /// [`Self::hold`], and only promised here.
    ///
    /// # Errors
    /// As [`Self::book`].
    pub fn book_at(&mut self, index: usize, charge: Charge) -> Result<(), Refusal> {
        let (now, pause_until, most) = (self.now, self.pause_until, self.bookings_max);
        let slot = after(now, charge.wait);
        match &mut self.seen[index] {
            Seen::Bucket(booked) => {
                let timeline = self.states.get(index).and_then(timeline_of);
                booked.book(timeline, charge, now, pause_until, most)
            }
            Seen::Window(window) => window.add(slot, charge.cost, most),
            Seen::Sliding(sliding) if slot == now || self.waited.is_none() => {
                sliding.book(charge.cost, now);
                Ok(())
            }
            Seen::Sliding(_) | Seen::Leases(..) => {
                let cost = charge.cost;
                self.promised.push(Promise { index, slot, cost });
                Ok(())
            }
            Seen::Log(begun, pending) => {
                let log = log_of(self.states, index, begun);
                *pending = Some(log.place(begun.limit, charge.cost, slot, now, most)?);
                Ok(())
            }
            Seen::Beyond(_) => Err(Refusal::CarryTooLarge),
        }
    }

    /// Takes a lease under limit `index`, which must be one of leases with a place free.
    pub fn hold(&mut self, index: usize, number: u64, lease: Lease) {
        if let Seen::Leases(_, pending) = &mut self.seen[index] {
            *pending = Some((number, lease));
        }
    }

    /// Charges `cost` under limit `index` without asking, into debt if need be. Leases are not charged.
    ///
    /// # Errors
    /// As [`Self::book`].
    pub fn charge(&mut self, index: usize, cost: u64) -> Result<(), Refusal> {
        let (now, pause_until, most) = (self.now, self.pause_until, self.bookings_max);
        match &mut self.seen[index] {
            Seen::Bucket(booked) => {
                let timeline = self.states.get(index).and_then(timeline_of);
                booked.charge(timeline, cost, now, pause_until)
            }
            Seen::Window(window) => {
                if self.waited.is_none() {
                    window.begin_anew(now);
                }
                window.add(now, cost, most)
            }
            Seen::Sliding(sliding) => {
                sliding.book(cost, now);
                Ok(())
            }
            Seen::Log(begun, pending) => {
                let log = log_of(self.states, index, begun);
                let slot = log.last_slot(now);
                *pending = Some(log.place(begun.limit, cost, slot, now, most)?);
                Ok(())
            }
            Seen::Leases(..) => Ok(()),
            Seen::Beyond(_) => Err(Refusal::CarryTooLarge),
        }
    }

    /// Makes the draft the key's state.
    pub fn commit(self) {
        if let Some(waited) = self.waited {
            self.promised
                .into_iter()
                .for_each(|promise| waited.promise(promise));
        }
        if let Some((slow, limits)) = self.slow {
            let bucket = |limit: &Limit| match limit {
                Limit::Bucket(limit) => Some(*limit),
                _ => None,
            };
            slow.full = limits.iter().map(bucket).collect();
        }
        self.states.truncate(self.seen.len());
        self.states.resize_with(self.seen.len(), State::default);
        for (state, seen) in self.states.iter_mut().zip(self.seen) {
            *state = match seen {
                Seen::Bucket(booked) => {
                    // The drain that a pause left is in the bucket now.
                    if let Some(pause) = self.pause {
                        pause.drains = false;
                    }
                    let mut timeline = match state {
                        State::Bucket(_, timeline) => timeline.take(),
                        _ => None,
                    };
                    let bucket = booked.commit(&mut timeline);
                    State::Bucket(bucket, timeline)
                }
                Seen::Window(window) => State::Window(window),
                Seen::Sliding(sliding) => State::Sliding(sliding),
                Seen::Beyond(_) => continue,
                Seen::Log(begun, pending) => {
                    let limit = begun.limit;
                    let mut log = match std::mem::take(state) {
                        State::Log(log) => log,
                        _ => begun,
                    };
                    match pending {
                        Some(pending) => log.insert(limit, pending, self.now),
                        None => log.adopt(limit, self.now),
                    }
                    State::Log(log)
                }
                Seen::Leases(begun, pending) => {
                    let limit = begun.limit;
                    let mut leases = match std::mem::take(state) {
                        State::Leases(leases) => leases,
                        _ => Box::new(begun),
                    };
                    leases.limit = limit;
                    if let Some((number, lease)) = pending {
                        leases.hold(number, lease);
                    }
                    State::Leases(leases)
                }
            };
        }
    }

    fn timeline(&self, index: usize) -> Option<&Timeline> {
        self.states.get(index).and_then(timeline_of)
    }
}

/// The instant at which a wait from `now` ends.
fn after(now: Timestamp, wait: Wait) -> Timestamp {
    now.after_ns(u64::try_from(wait.ceil_ns()).unwrap_or(u64::MAX))
}
