//! Leases: at most so many held at once, each until it is released or lapses.
//!
//! A lease lapses at an instant and not after it: from then on its place is free. So whoever asks at `now`
//! passes over what has lapsed, whether or not it has been taken out yet ([`Leases::lapse`]), and no timer is
//! needed for a decision. Leases are found by number, and in the order in which they lapse: a call costs the
//! logarithm of those that are held. Only under a `max` that has become smaller does it cost as many steps as
//! there are leases too many.
//!
//! Numbers are the caller's, each larger than all before (a fencing number: whoever guards a resource refuses
//! one that is smaller than the last it saw).

use super::decision::{Earliest, Standing};
use super::units::{Span, Timestamp, Wait};
use super::waited::Promise;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The largest number of leases that a key holds: about 20 MB, with the longest names of their owners.
pub const LEASES_MAX: u64 = 100_000;
/// The longest name of an owner, in bytes: that of a machine or a process fits.
pub const OWNER_BYTES_MAX: usize = 64;

/// The parameters of leases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeasesLimit {
    max: u64,
    ttl: Span,
}

impl LeasesLimit {
    /// At most `max` (1 to [`LEASES_MAX`]) held at once, each for `ttl` (above zero); `None` out of range.
    pub fn new(max: u64, ttl: Span) -> Option<Self> {
        ((1..=LEASES_MAX).contains(&max) && ttl > Span::ZERO).then_some(Self { max, ttl })
    }

    /// How many may be held at once.
    pub const fn max(self) -> u64 {
        self.max
    }

    /// How long each is held unless it is renewed, above zero.
    pub const fn ttl(self) -> Span {
        self.ttl
    }
}

/// As a command takes it.
impl fmt::Display for LeasesLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LEASES {} {}", self.max, self.ttl)
    }
}

/// One lease.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lease {
    /// The instant from which it is held no longer.
    pub lapses: Timestamp,
    /// What its holder calls itself: 1 to [`OWNER_BYTES_MAX`] bytes.
    pub owner: Option<Box<[u8]>>,
    /// The number of the connection with which it goes; 0 for none.
    pub bound_to: u64,
}

impl Lease {
    /// A lease under `limit` from `now` on, of no owner and bound to no connection.
    pub fn new(limit: LeasesLimit, now: Timestamp) -> Self {
        Self {
            lapses: now.after(limit.ttl),
            owner: None,
            bound_to: 0,
        }
    }

    /// How long it is held from `now` on.
    pub fn left(&self, now: Timestamp) -> Wait {
        Wait::from_ns(u128::from(self.lapses.since(now)))
    }
}

/// Numbers of leases that have lapsed, the first to lapse first.
pub type Lapsed = SmallVec<[u64; 4]>;

/// The leases of a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leases {
    /// The limit of the last call that changed the key.
    pub limit: LeasesLimit,
    held: BTreeMap<u64, Lease>,
    /// Each once more, by the instant at which it lapses.
    ends: BTreeSet<(Timestamp, u64)>,
}

impl Leases {
    /// Bytes that they take: the trees' nodes are about two thirds full.
    pub fn bytes(&self) -> usize {
        let place = size_of::<(u64, Lease)>() + size_of::<(Timestamp, u64)>();
        let owners = self
            .held
            .values()
            .filter_map(|lease| lease.owner.as_deref());
        size_of::<Self>() + self.held.len() * place * 3 / 2 + owners.map(<[u8]>::len).sum::<usize>()
    }

    /// None held.
    pub const fn new(limit: LeasesLimit) -> Self {
        Self {
            limit,
            held: BTreeMap::new(),
            ends: BTreeSet::new(),
        }
    }

    /// When `cost` places are free under `limit`, if nobody renews or releases.
    pub fn earliest(
        &self,
        limit: LeasesLimit,
        cost: u64,
        now: Timestamp,
        not_before: Timestamp,
    ) -> Earliest {
        if cost > limit.max {
            return Earliest::Never;
        }
        let too_many = self.count(now).saturating_sub(limit.max - cost);
        let free = match too_many.checked_sub(1) {
            None => now,
            Some(index) => self.ends_after(now).nth(index as usize).unwrap_or(now),
        };
        let at = free.max(now).max(not_before);
        Earliest::After(Wait::from_ns(u128::from(at.since(now))))
    }

    /// As [`Self::earliest`], with places promised from later slots on, in their order: one is free for as long as
    /// it would be held.
    pub fn earliest_among(
        &self,
        limit: LeasesLimit,
        promises: &[Promise],
        cost: u64,
        now: Timestamp,
        not_before: Timestamp,
    ) -> Earliest {
        let earliest = self.earliest(limit, cost, now, not_before);
        let Earliest::After(wait) = earliest else {
            return earliest;
        };
        if promises.is_empty() {
            return earliest;
        }
        let mut at = now.after_ns(u64::try_from(wait.ceil_ns()).unwrap_or(u64::MAX));
        while !self.is_free(limit, promises, cost, at) {
            let slots = promises.iter().map(|promise| promise.slot);
            let turns = slots.flat_map(|slot| [slot, slot.after(limit.ttl)]);
            let later = turns
                .chain(self.ends_after(at).take(1))
                .filter(|turn| *turn > at);
            let Some(next) = later.min() else {
                break;
            };
            at = next;
        }
        Earliest::After(Wait::from_ns(u128::from(at.since(now))))
    }

    /// True if so many places are free from `at` on, for as long as a lease is held: those held become fewer, but
    /// promised ones begin.
    fn is_free(&self, limit: LeasesLimit, promises: &[Promise], cost: u64, at: Timestamp) -> bool {
        let taken = |instant: Timestamp| {
            let begun = promises.iter().filter(|promise| {
                promise.slot <= instant && instant < promise.slot.after(limit.ttl)
            });
            self.count(instant) + begun.map(|promise| promise.cost).sum::<u64>()
        };
        let begin = promises.iter().map(|promise| promise.slot);
        let meanwhile = begin.filter(|slot| at < *slot && *slot < at.after(limit.ttl));
        let mut instants = meanwhile.chain([at]);
        instants.all(|instant| taken(instant) + cost <= limit.max)
    }

    /// Holds a place that was promised, for nobody in particular.
    pub(super) fn hold_promised(&mut self, promise: &Promise) {
        let mut numbers = (0..=u64::MAX).rev();
        let free = numbers.find(|number| !self.held.contains_key(number));
        let lease = Lease::new(self.limit, promise.slot);
        self.hold(free.unwrap_or(u64::MAX), lease);
    }

    /// How they stand under `limit`, and with `pending`, a lease that is not yet held.
    pub fn standing(
        &self,
        limit: LeasesLimit,
        pending: Option<&Lease>,
        now: Timestamp,
        pause_until: Timestamp,
    ) -> Standing {
        let held = self.count(now) + u64::from(pending.is_some());
        let remaining = if pause_until > now {
            0
        } else {
            limit.max.saturating_sub(held)
        };
        let last = self.last_lapse().max(pending.map(|lease| lease.lapses));
        let reset = last.unwrap_or(now).max(pause_until).since(now);
        Standing {
            remaining,
            reset_after: Wait::from_ns(u128::from(reset)),
        }
    }

    /// How many are held.
    pub fn count(&self, now: Timestamp) -> u64 {
        (self.ends.len() - self.ends.range(..=(now, u64::MAX)).count()) as u64
    }

    /// As [`Self::count`], with those that have lapsed and were not taken out yet.
    pub fn len(&self) -> usize {
        self.held.len()
    }

    /// True if [`Self::len`] is zero.
    pub fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// True once none is held.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.last_lapse().is_none_or(|last| last <= now)
    }

    /// The lease of that number, if it is held.
    pub fn get(&self, number: u64, now: Timestamp) -> Option<&Lease> {
        self.held.get(&number).filter(|lease| lease.lapses > now)
    }

    /// All that are held, by number.
    pub fn iter(&self, now: Timestamp) -> impl Iterator<Item = (u64, &Lease)> {
        let held = self.held.iter().map(|(number, lease)| (*number, lease));
        held.filter(move |(_, lease)| lease.lapses > now)
    }

    /// All, by number, with those that have lapsed and were not taken out yet: what a snapshot holds.
    pub fn all(&self) -> impl Iterator<Item = (u64, &Lease)> {
        self.held.iter().map(|(number, lease)| (*number, lease))
    }

    /// Holds one more. One of that number before is no longer held.
    pub fn hold(&mut self, number: u64, lease: Lease) {
        self.remove(number);
        self.ends.insert((lease.lapses, number));
        self.held.insert(number, lease);
    }

    /// Lets a lease lapse `ttl` from now; false if it is not held.
    pub fn renew(&mut self, number: u64, ttl: Span, now: Timestamp) -> bool {
        let Some(lease) = self.held.get_mut(&number) else {
            return false;
        };
        if lease.lapses <= now {
            return false;
        }
        self.ends.remove(&(lease.lapses, number));
        lease.lapses = now.after(ttl);
        self.ends.insert((lease.lapses, number));
        true
    }

    /// Lets a lease that is held go with this connection instead of another, 0 for none; with which it went before.
    pub fn bind(&mut self, number: u64, connection: u64, now: Timestamp) -> Option<u64> {
        let lease = self.held.get_mut(&number);
        let lease = lease.filter(|lease| lease.lapses > now)?;
        Some(std::mem::replace(&mut lease.bound_to, connection))
    }

    /// Gives a lease up; `None` if it is not held.
    pub fn release(&mut self, number: u64, now: Timestamp) -> Option<Lease> {
        self.get(number, now)?;
        self.remove(number)
    }

    /// The instant at which the next lapses, or has lapsed and was not taken out yet.
    pub fn next_lapse(&self) -> Option<Timestamp> {
        self.ends.first().map(|(at, _)| *at)
    }

    /// Takes out all that have lapsed at or before `now`.
    pub fn lapse(&mut self, now: Timestamp) -> Lapsed {
        let mut lapsed = Lapsed::new();
        while let Some(&(at, number)) = self.ends.first()
            && at <= now
        {
            self.remove(number);
            lapsed.push(number);
        }
        lapsed
    }

    fn remove(&mut self, number: u64) -> Option<Lease> {
        let lease = self.held.remove(&number)?;
        self.ends.remove(&(lease.lapses, number));
        Some(lease)
    }

    fn last_lapse(&self) -> Option<Timestamp> {
        self.ends.last().map(|(at, _)| *at)
    }

    /// The instants at which those that are held lapse, in order.
    fn ends_after(&self, now: Timestamp) -> impl Iterator<Item = Timestamp> {
        let later = (
            std::ops::Bound::Excluded((now, u64::MAX)),
            std::ops::Bound::Unbounded,
        );
        self.ends.range(later).map(|(at, _)| *at)
    }
}

#[cfg(test)]
#[path = "leases_tests.rs"]
mod tests;
