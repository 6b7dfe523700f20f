//! The sliding window counter: two fixed windows, the previous one weighted by the part of it that the
//! sliding window still covers. Constant memory, approximate.
//!
//! Described by Cloudflare ("How we built rate limiting capable of scaling to millions of domains",
//! 2017). With `into` nanoseconds of the running window gone, the load is
//! `current + previous × (period − into) / period`, and a cost goes if load and cost stay within the count.

use super::decision::{Earliest, Standing};
use super::limit::PeriodLimit;
use super::units::{Timestamp, Wait};
use super::waited::Promise;

/// The state of a sliding window counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sliding {
    /// The limit of the last call that changed the key.
    pub limit: PeriodLimit,
    /// Which multiple of the period since the epoch `current` is for.
    pub index: u64,
    /// Permits in that window.
    pub current: u64,
    /// Permits in the one before.
    pub previous: u64,
}

impl Sliding {
    /// Empty windows.
    pub const fn new(limit: PeriodLimit, now: Timestamp) -> Self {
        Self {
            limit,
            index: now.as_ns() / limit.period().as_ns(),
            current: 0,
            previous: 0,
        }
    }

    /// Moves on to the window of `now`.
    pub fn roll(&mut self, now: Timestamp) {
        let index = now.as_ns() / self.limit.period().as_ns();
        if index > self.index {
            (self.current, self.previous) = self.windows_at(index);
            self.index = index;
        }
    }

    /// These windows under other parameters: what the weighted count was, rounded up, counts as current.
    pub fn adopt(mut self, limit: PeriodLimit, now: Timestamp) -> Self {
        if limit == self.limit {
            return self;
        }
        self.roll(now);
        Self {
            current: self.load_rounded_up(now),
            ..Self::new(limit, now)
        }
    }

    /// When `cost` could go.
    pub fn earliest(&self, cost: u64, now: Timestamp, pause_until: Timestamp) -> Earliest {
        let Some(room) = self.limit.count().checked_sub(cost) else {
            return Earliest::Never;
        };
        let period = self.limit.period().as_ns();
        let mut at = now.max(pause_until);
        // The running window, the next (in which what is current now is weighed), and the one after it.
        for _ in 0..3 {
            let index = at.as_ns() / period;
            let (current, previous) = self.windows_at(index);
            let into = at.as_ns() % period;
            if let Some(spare) = room.checked_sub(current) {
                // previous × (period − into) ≤ spare × period.
                let weighed = u128::from(previous) * u128::from(period - into);
                let allowed = u128::from(spare) * u128::from(period);
                if weighed <= allowed {
                    return Earliest::After(Wait::from_ns(u128::from(at.since(now))));
                }
                if spare > 0 {
                    // It holds once previous × (period − into) has come down to that: after the rest.
                    let left = at.since(now);
                    return Earliest::After(
                        Wait::quotient(weighed - allowed, previous).plus_ns(left),
                    );
                }
            }
            at = self.start_of(index + 1);
        }
        Earliest::After(Wait::from_ns(u128::from(at.since(now))))
    }

    /// As [`Self::earliest`], with costs promised at later slots, in their order: it may go at an instant if all
    /// that is promised for later still can.
    pub fn earliest_among(
        mut self,
        promises: &[Promise],
        cost: u64,
        now: Timestamp,
        pause_until: Timestamp,
    ) -> Earliest {
        let (mut left, mut not_before) = (promises, pause_until);
        loop {
            let Earliest::After(wait) = self.earliest(cost, now, not_before) else {
                return Earliest::Never;
            };
            let at = now.after_ns(u64::try_from(wait.ceil_ns()).unwrap_or(u64::MAX));
            let Some((first, later)) = left.split_first() else {
                return Earliest::After(wait);
            };
            if at <= first.slot && self.with(cost, at).keeps(left) {
                return Earliest::After(wait);
            }
            // What is booked later in the same window weighs the same on what is promised, and in a later window
            // more: if not here, then behind the first promise.
            self.book(first.cost, first.slot);
            (left, not_before) = (later, not_before.max(first.slot));
        }
    }

    fn with(mut self, cost: u64, at: Timestamp) -> Self {
        self.book(cost, at);
        self
    }

    /// True if everything promised can go at its slot.
    fn keeps(mut self, promises: &[Promise]) -> bool {
        promises.iter().all(|promise| {
            let can = self
                .earliest(promise.cost, promise.slot, promise.slot)
                .is_now();
            self.book(promise.cost, promise.slot);
            can
        })
    }

    /// Counts `cost` in the running window.
    pub fn book(&mut self, cost: u64, now: Timestamp) {
        self.roll(now);
        self.current = self.current.saturating_add(cost);
    }

    /// Takes `amount` back out of the window of `slot`, if that is still counted; how much it was.
    pub fn give_back(&mut self, amount: u64, slot: Timestamp, now: Timestamp) -> u64 {
        self.roll(now);
        let index = slot.as_ns() / self.limit.period().as_ns();
        let counted = if index == self.index {
            &mut self.current
        } else if index + 1 == self.index {
            &mut self.previous
        } else {
            return 0;
        };
        let back = amount.min(*counted);
        *counted -= back;
        back
    }

    /// How the counter stands.
    pub fn standing(&self, now: Timestamp, pause_until: Timestamp) -> Standing {
        let left = self.limit.count().saturating_sub(self.load_rounded_up(now));
        let remaining = if pause_until > now { 0 } else { left };
        let reset = self.end(now).max(pause_until).since(now);
        Standing {
            remaining,
            reset_after: Wait::from_ns(u128::from(reset)),
        }
    }

    /// The weighted count, rounded up.
    pub fn load_rounded_up(&self, now: Timestamp) -> u64 {
        let period = self.limit.period().as_ns();
        let (current, previous) = self.windows_at((now.as_ns() / period).max(self.index));
        let left = u128::from(period - now.as_ns() % period);
        // At most `previous`, since `left` is at most the period.
        let weighed = (u128::from(previous) * left).div_ceil(u128::from(period)) as u64;
        current.saturating_add(weighed)
    }

    /// True once nothing is counted any more.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.end(now) <= now
    }

    /// When what is counted has left both windows.
    fn end(&self, now: Timestamp) -> Timestamp {
        let index = (now.as_ns() / self.limit.period().as_ns()).max(self.index);
        match self.windows_at(index) {
            (0, 0) => now,
            (0, _) => self.start_of(index + 1),
            _ => self.start_of(index + 2),
        }
    }

    /// `current` and `previous` as the window `index` sees them, nothing more arriving.
    const fn windows_at(&self, index: u64) -> (u64, u64) {
        match index.saturating_sub(self.index) {
            0 => (self.current, self.previous),
            1 => (0, self.current),
            _ => (0, 0),
        }
    }

    fn start_of(&self, index: u64) -> Timestamp {
        Timestamp::ZERO.after_periods(index, self.limit.period())
    }
}

#[cfg(test)]
#[path = "sliding_tests.rs"]
mod tests;
