//! One who waits.

use super::due::Due;
use super::line::LineId;
use super::plan::Planned;
use crate::core::decision::Refusal;
use crate::core::entry::Entry;
use crate::core::joint::{Ask, Each};
use crate::core::limit::Limit;
use crate::core::timeline::Slot;
use crate::core::units::{Span, Timestamp};
use crate::store::{Key, PolicyLimits};
use ahash::RandomState;
use smallvec::SmallVec;
use std::collections::HashMap;

/// What a caller waits for.
pub struct Wish<C> {
    /// What the owner keeps of it.
    pub caller: C,
    /// The database of its keys.
    pub database: u8,
    /// One a key; at least one, on distinct keys.
    pub wants: SmallVec<[Want; 1]>,
    /// 0 goes first.
    pub priority: u8,
    /// Those of a group stand behind one another; groups take turns.
    pub group: Box<[u8]>,
    /// How long it waits at most.
    pub deadline: Timestamp,
    /// Who will hold the lease that it takes, if it takes one.
    pub holder: Holder,
}

/// Who holds a lease.
#[derive(Clone, Default, Debug)]
pub struct Holder {
    /// What it calls itself.
    pub owner: Option<Box<[u8]>>,
    /// The number of the connection with which the lease goes; 0 for none.
    pub bound_to: u64,
}

/// What a caller wants of one key.
#[derive(Clone, Debug)]
pub struct Want {
    /// The key.
    pub key: Key,
    /// The limits it counts under.
    pub limits: PolicyLimits,
    /// The name of the policy that they are of.
    pub policy: Option<Box<[u8]>>,
    /// Permits, one number a limit.
    pub costs: SmallVec<[u64; 1]>,
}

impl Want {
    /// How long a lease is held that it asks for itself; one under a policy is held as long as that says by then.
    pub(super) fn ttl(&self) -> Option<Span> {
        let own = self.limits.iter().filter(|_| self.policy.is_none());
        own.into_iter().find_map(|limit| match limit {
            Limit::Leases(leases) => Some(leases.ttl()),
            _ => None,
        })
    }
}

/// Who stands in one line at a key: a priority, and a group in it.
pub(super) type Queue = (u8, Box<[u8]>);

/// All who wait, by their number, which grows with their arrival.
pub(super) type Places<C> = HashMap<u64, Place<C>, RandomState>;

/// The place of one who waits.
pub(super) struct Place<C> {
    pub(super) caller: C,
    pub(super) database: u8,
    pub(super) spots: SmallVec<[Spot; 1]>,
    pub(super) queue: Queue,
    pub(super) deadline: Timestamp,
    pub(super) holder: Holder,
    /// How long the lease is held that it takes; `None`: as long as the limit says by then.
    pub(super) ttl: Option<Span>,
    /// Since when it is the first of its group at all its keys; see [`super::order`].
    pub(super) turn: Option<u64>,
    /// What the plan has for it.
    pub(super) planned: Planned,
    /// One a limit; empty while it has none.
    pub(super) slots: Each<Slot>,
    /// `None` while the plan does not hold.
    pub(super) due: Option<Due>,
}

/// A place in the line of one key.
pub(super) struct Spot {
    pub(super) line: LineId,
    costs: SmallVec<[u64; 1]>,
}

impl Spot {
    pub(super) const fn new(line: LineId, costs: SmallVec<[u64; 1]>) -> Self {
        Self { line, costs }
    }

    /// The costs under `limits` limits: a policy may have more by now, and those cost as much as the last, or fewer.
    pub(super) fn costs(&self, limits: usize) -> SmallVec<[u64; 1]> {
        let last = self.costs.last().copied().unwrap_or(1);
        let costs = self.costs.iter().copied().chain(std::iter::repeat(last));
        costs.take(limits).collect()
    }
}

/// The moment at which a wait ends.
pub struct Turn<'a> {
    /// When.
    pub at: Timestamp,
    /// How.
    pub ending: Ending<'a>,
    /// The caller's keys.
    pub keys: &'a [&'a [u8]],
    /// What it asks of them.
    pub asks: &'a [Ask<'a>],
    /// The keys with all who wait booked on them, this one too if it goes.
    pub seen: &'a mut [Entry],
}

/// How a wait ends.
#[derive(Clone, Copy, Debug)]
pub enum Ending<'a> {
    /// It goes.
    Goes {
        /// The slots, one a limit.
        slots: &'a [Slot],
        /// Its lease; 0 for none.
        lease: u64,
    },
    /// It has waited for as long as it wanted to, or would have to wait for longer.
    Late {
        /// Its cost is above a capacity.
        never: bool,
    },
    /// It was to go, and the core refuses.
    Refused(Refusal),
}
