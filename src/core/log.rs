//! The sliding log: never more than `count` permits in any period, exactly.
//!
//! Every booking is kept with its slot until it is a period old. Each keeps the running total of permits
//! up to it, so that the n-th oldest permit is found by bisection: a call costs the logarithm of the
//! bookings held, and dropping the old ones is paid by their arrival.

use super::decision::{Earliest, Refusal, Standing};
use super::limit::PeriodLimit;
use super::units::{Timestamp, Wait};
use std::collections::VecDeque;

/// The largest count of a log: 16 bytes for each of them, if they come one by one.
pub const LOG_COUNT_MAX: u64 = 100_000;

/// One booking.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Booking {
    /// Its slot.
    pub slot: Timestamp,
    /// Permits booked up to and with it since the log began.
    pub total: u64,
}

/// A booking that is placed but not yet added.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pending {
    /// Its slot.
    pub slot: Timestamp,
    /// Its permits.
    pub cost: u64,
}

/// The state of a sliding log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Log {
    /// The limit of the last call that changed the key.
    pub limit: PeriodLimit,
    /// Permits that were dropped from the front.
    pub dropped: u64,
    /// What is held, slots and totals ascending.
    pub bookings: VecDeque<Booking>,
}

impl Log {
    /// An empty log.
    pub const fn new(limit: PeriodLimit) -> Self {
        Self {
            limit,
            dropped: 0,
            bookings: VecDeque::new(),
        }
    }

    /// Uses up all but one now, of an empty log.
    pub fn drain(&mut self, now: Timestamp) {
        let cost = self.limit.count() - 1;
        if cost > 0 {
            self.insert(self.limit, Pending { slot: now, cost }, now);
        }
    }

    /// When `cost` could go under `limit`: never before the last slot booked.
    pub fn earliest(
        &self,
        limit: PeriodLimit,
        cost: u64,
        now: Timestamp,
        pause_until: Timestamp,
    ) -> Earliest {
        if cost > limit.count() {
            return Earliest::Never;
        }
        Earliest::After(Wait::from_ns(u128::from(
            self.slot(limit, cost, now, pause_until).since(now),
        )))
    }

    /// The last slot booked, or `now` if that is later: where a cost is charged without asking.
    pub fn last_slot(&self, now: Timestamp) -> Timestamp {
        self.bookings.back().map_or(now, |last| last.slot.max(now))
    }

    /// A booking of `cost` at `slot`, not yet added.
    ///
    /// # Errors
    /// [`Refusal::TooManyBookings`] if `most` slots are held beyond the largest count.
    pub fn place(
        &self,
        limit: PeriodLimit,
        cost: u64,
        slot: Timestamp,
        now: Timestamp,
        most: usize,
    ) -> Result<Pending, Refusal> {
        let held = self.bookings.len() - self.over(limit, now);
        let full = held >= most.saturating_add(LOG_COUNT_MAX as usize);
        let fits = !full && self.total().checked_add(cost).is_some();
        fits.then_some(Pending { slot, cost })
            .ok_or(Refusal::TooManyBookings)
    }

    /// Counts under another limit from now on; drops what is over.
    pub fn adopt(&mut self, limit: PeriodLimit, now: Timestamp) {
        let over = self.over(limit, now);
        if let Some(last) = self.bookings.drain(..over).next_back() {
            self.dropped = last.total;
        }
        self.limit = limit;
    }

    /// Adds a booking that was placed, under the limit of its call; drops what is over. Costs as many steps as
    /// there are later bookings, of which there are none but where what was planned comes late.
    pub fn insert(&mut self, limit: PeriodLimit, pending: Pending, now: Timestamp) {
        self.adopt(limit, now);
        let later = self.bookings.iter().rev();
        let later = later.take_while(|booking| booking.slot > pending.slot);
        let index = self.bookings.len() - later.count();
        let total = self.total_before(index).saturating_add(pending.cost);
        for booking in self.bookings.range_mut(index..) {
            booking.total = booking.total.saturating_add(pending.cost);
        }
        let before = index
            .checked_sub(1)
            .and_then(|before| self.bookings.get_mut(before));
        match before {
            Some(booking) if booking.slot == pending.slot => booking.total = total,
            _ => self.bookings.insert(
                index,
                Booking {
                    slot: pending.slot,
                    total,
                },
            ),
        }
        if self.bookings.capacity() > 64 && self.bookings.len() < self.bookings.capacity() / 4 {
            self.bookings.shrink_to(self.bookings.len() * 2);
        }
    }

    /// Takes `amount` back off the booking at `slot`, if that is not a period old; how much it was. Costs as
    /// many steps as there are bookings behind it.
    pub fn give_back(&mut self, amount: u64, slot: Timestamp, now: Timestamp) -> u64 {
        if slot.after(self.limit.period()) <= now {
            return 0;
        }
        let index = self.bookings.partition_point(|booking| booking.slot < slot);
        if self
            .bookings
            .get(index)
            .is_none_or(|booking| booking.slot != slot)
        {
            return 0;
        }
        let held = self.bookings[index].total - self.total_before(index);
        let back = amount.min(held);
        self.bookings
            .iter_mut()
            .skip(index)
            .for_each(|booking| booking.total -= back);
        if back == held {
            self.bookings.remove(index);
        }
        back
    }

    /// How the log stands under `limit`.
    pub fn standing(&self, limit: PeriodLimit, now: Timestamp, pause_until: Timestamp) -> Standing {
        self.standing_with(limit, None, now, pause_until)
    }

    /// As [`Self::standing`], with a booking that is placed but not yet added.
    pub fn standing_with(
        &self,
        limit: PeriodLimit,
        pending: Option<Pending>,
        now: Timestamp,
        pause_until: Timestamp,
    ) -> Standing {
        let any = self.over(limit, now) < self.bookings.len();
        let last = self.bookings.back().filter(|_| any).map(|last| last.slot);
        let last = last.max(pending.map(|pending| pending.slot));
        let ahead = pause_until > now || last.is_some_and(|last| last > now);
        let held = self
            .held(limit, now)
            .saturating_add(pending.map_or(0, |pending| pending.cost));
        let remaining = if ahead {
            0
        } else {
            limit.count().saturating_sub(held)
        };
        let end = last.map_or(now, |last| last.after(limit.period()));
        let reset = end.max(pause_until).since(now);
        Standing {
            remaining,
            reset_after: Wait::from_ns(u128::from(reset)),
        }
    }

    /// Permits of the period that ends now, and permits at later slots.
    pub fn used_and_booked(&self, now: Timestamp) -> (u64, u64) {
        let gone = self.bookings.partition_point(|booking| booking.slot <= now);
        let used =
            self.total_before(gone) - self.total_before(self.over(self.limit, now).min(gone));
        (used, self.total() - self.total_before(gone))
    }

    /// True once nothing is counted any more.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.over(self.limit, now) == self.bookings.len()
    }

    fn slot(
        &self,
        limit: PeriodLimit,
        cost: u64,
        now: Timestamp,
        pause_until: Timestamp,
    ) -> Timestamp {
        let over = self.over(limit, now);
        let mut slot = now.max(pause_until);
        if let Some(last) = self.bookings.back().filter(|_| over < self.bookings.len()) {
            slot = slot.max(last.slot);
        }
        // `excess` permits must have left before there is room for the cost.
        let held = self.total() - self.total_before(over);
        let excess = held.saturating_sub(limit.count() - cost.min(limit.count()));
        if excess > 0 {
            let leaves = self.total_before(over) + excess;
            let index = self
                .bookings
                .partition_point(|booking| booking.total < leaves);
            slot = slot.max(self.bookings[index].slot.after(limit.period()));
        }
        slot
    }

    /// How many bookings at the front are a period old, under the limit in force or under that of the call:
    /// what has left under the one does not come back under a longer other.
    fn over(&self, limit: PeriodLimit, now: Timestamp) -> usize {
        let period = limit.period().min(self.limit.period());
        let old = |booking: &Booking| booking.slot.after(period) <= now;
        // Nearly always the front is all there is to look at.
        if !self.bookings.front().is_some_and(old) {
            0
        } else {
            self.bookings.partition_point(old)
        }
    }

    fn held(&self, limit: PeriodLimit, now: Timestamp) -> u64 {
        self.total() - self.total_before(self.over(limit, now))
    }

    fn total(&self) -> u64 {
        self.total_before(self.bookings.len())
    }

    fn total_before(&self, index: usize) -> u64 {
        index
            .checked_sub(1)
            .map_or(self.dropped, |before| self.bookings[before].total)
    }
}

#[cfg(test)]
#[path = "log_tests.rs"]
mod tests;
