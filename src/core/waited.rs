//! What a key knows of the callers who wait at it.

use super::state::State;
use super::units::Timestamp;
use smallvec::SmallVec;

/// Kept by a key as long as anybody waits at it; the key does not disappear meanwhile.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Waited {
    /// One a limit: where a row of windows begins if none of them holds anything. A row runs on while
    /// somebody waits, so that the windows of a plan are those of the key when the slots come.
    pub(super) rows: SmallVec<[Timestamp; 1]>,
    /// What limits that cannot be booked ahead have promised, by limit and slot. Only a plan has them.
    pub(super) promises: Vec<Promise>,
}

/// A cost that a sliding counter will count at a later instant, or a lease that will be taken then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Promise {
    /// Which of the key's limits.
    pub index: usize,
    /// When.
    pub slot: Timestamp,
    /// How much.
    pub cost: u64,
}

impl Waited {
    /// Adds a promise, behind others of its slot.
    pub(super) fn promise(&mut self, promise: Promise) {
        let behind = |other: &Promise| (other.index, other.slot) <= (promise.index, promise.slot);
        let at = self.promises.partition_point(behind);
        self.promises.insert(at, promise);
    }

    /// Counts what has come due.
    pub(super) fn settle(&mut self, states: &mut [State], now: Timestamp) {
        self.promises.retain(|promise| {
            let due = promise.slot <= now;
            match states.get_mut(promise.index) {
                Some(State::Sliding(sliding)) if due => sliding.book(promise.cost, promise.slot),
                Some(State::Leases(leases)) if due => leases.hold_promised(promise),
                _ => {}
            }
            !due
        });
    }

    /// True if anything is promised.
    pub(super) const fn promises(&self) -> bool {
        !self.promises.is_empty()
    }

    /// What limit `index` has promised, by slot.
    pub(super) fn promises_of(&self, index: usize) -> &[Promise] {
        let before = self
            .promises
            .partition_point(|promise| promise.index < index);
        let with = self
            .promises
            .partition_point(|promise| promise.index <= index);
        &self.promises[before..with]
    }
}
