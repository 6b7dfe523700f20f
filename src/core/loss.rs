//! What would be lost if a key were forgotten before it is full.
//!
//! Under memory pressure a key may be forgotten early if little is lost by it: whoever calls it next finds it full,
//! and can take once more what was taken of it. So only a key of which at most a quarter is taken may go, and nobody
//! gets more than a quarter of a capacity beyond a limit each time. A limit that was reached stays reached, and so
//! does whatever was promised: pauses, slots ahead, debts, leases.

use super::entry::Entry;
use super::state::State;
use super::units::Timestamp;

/// The part of a capacity that is lost, in 1024ths, rounded up: from 0 to [`Loss::MAX`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Loss(u16);

impl Loss {
    /// Nothing: the key cannot be told from one that never existed.
    pub const NONE: Self = Self(0);
    /// A quarter: the most that may be lost.
    pub const MAX: Self = Self(256);

    /// `None` if that is too much.
    fn of(used: u64, capacity: u64) -> Option<Self> {
        let parts = (u128::from(used) * 1024).div_ceil(u128::from(capacity.max(1)));
        let loss = u16::try_from(parts).map(Self).ok()?;
        (loss <= Self::MAX).then_some(loss)
    }
}

impl Entry {
    /// What would be lost with the key at `now`, of that limit of it which loses most; `None` if it must stay.
    pub fn loss(&self, now: Timestamp) -> Option<Loss> {
        if self.is_forgettable(now) {
            return Some(Loss::NONE);
        }
        let promises = self.slow.is_some() || self.waited.is_some();
        if promises || self.pause.is_some_and(|pause| now < pause.ends()) {
            return None;
        }
        let mut losses = self.states.iter().map(|state| state.loss(now));
        losses.try_fold(Loss::NONE, |most, loss| Some(most.max(loss?)))
    }
}

impl State {
    /// As [`Entry::loss`], of a limit of a key that is not paused.
    fn loss(&self, now: Timestamp) -> Option<Loss> {
        let no_pause = Timestamp::ZERO;
        if self.is_over(now, no_pause) {
            return Some(Loss::NONE);
        }
        let (capacity, (used, booked)) = match self {
            Self::Bucket(bucket, None) if bucket.start(now, no_pause) <= now => (
                bucket.limit.capacity(),
                bucket.used_and_booked(now, no_pause),
            ),
            Self::Window(window) if window.begin <= now => {
                (window.limit.per.count(), window.used_and_booked(now))
            }
            Self::Sliding(sliding) => (sliding.limit.count(), (sliding.load_rounded_up(now), 0)),
            Self::Log(log) => (log.limit.count(), log.used_and_booked(now)),
            Self::Empty | Self::Bucket(..) | Self::Window(_) | Self::Leases(_) => return None,
        };
        match booked {
            0 => Loss::of(used, capacity),
            _ => None,
        }
    }
}

#[cfg(test)]
#[path = "loss_tests.rs"]
mod tests;
