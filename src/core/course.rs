//! How the deficit of a bucket runs with what is booked ahead, and what may go beside that.
//!
//! A booking is charged at its slot. A cost `n` may go at instant `t` iff `D(t) + n ≤ C`, and `D` stays at or below
//! `C` at every later slot already booked.
//!
//! **How it is decided.** Time is counted in `1 / permits` nanoseconds, in which the deficit falls by exactly one unit
//! each, so that time and deficit share a scale and every slot is a whole number. Were nothing ever idle, the deficit
//! would be as much above or below where it began as its height is, `h(t) = charged by t − t`. But below zero it does
//! not fall. So it is what it has risen since its lowest point (Lindley's recursion for the wait in a queue is solved
//! like that: "The theory of queues with a single server", 1952):
//!
//! ```text
//! D(t)    = h(t) − min(floor(t), h(t))             floor: the lowest height so far, that of the bucket's beginning
//!                                                  less its deficit there, or that right before a booking
//! room(t) = C − D(t) − max(0, peak(t) − h(t))      peak: the highest height right behind a later booking
//! ```
//!
//! `room` is the extra deficit that `t` and every later slot bear. An extra lives on until the bucket would have been
//! full, and so may use what would else be idle. `room` is below zero where parameters have changed under a promise: a
//! slot that was given under a larger capacity or rate needs that much of the refill that would else be idle. So a
//! change of parameters gives no more away than the larger of them would have.
//!
//! Between two bookings `floor` and `peak` do not change, and whoever may go at any time between them finds room there
//! if and only if `floor − peak ≥ n − C`: [`Line`] finds the first two of which that is true. The earliest instant at
//! which enough has refilled is the slot. It takes as many steps as the logarithm of the bookings.

use super::bucket::{Bucket, Level};
use super::decision::Standing;
use super::line::Line;
use super::sums::Sum;
use super::timeline::{Booking, Slot};
use super::units::{Timestamp, Wait};

/// How the deficit of a bucket will run with its bookings, nothing more arriving.
pub struct Course<'a> {
    bucket: &'a Bucket,
    line: &'a Line,
    pending: Option<Booking>,
}

impl<'a> Course<'a> {
    /// That of `bucket` with the bookings of `line`, whose rate is the same.
    pub const fn new(bucket: &'a Bucket, line: &'a Line) -> Self {
        Self {
            bucket,
            line,
            pending: None,
        }
    }

    /// With one booking more.
    #[must_use]
    pub const fn with(self, pending: Option<Booking>) -> Self {
        Self { pending, ..self }
    }

    /// The level at `at` with the bookings up to `until` and none that comes later; as of the bucket's own base where
    /// that is later, for what is charged stays charged.
    pub fn level(&self, until: Timestamp, at: Timestamp) -> Level {
        let base = at.max(self.bucket.level.base);
        let before = self.before(Slot::whole(until));
        Level {
            deficit: self.deficit(&before, self.scaled(Slot::whole(base))),
            base,
        }
    }

    /// The earliest instant from `from` on, in `1 / permits` nanoseconds, at which `cost` (at most the capacity) could
    /// go.
    pub fn earliest(&self, cost: u64, from: Timestamp) -> u128 {
        if let Some(pending) = self.pending {
            // Hardly ever: a call asks before it books.
            let mut line = self.line.clone();
            line.insert(pending);
            return Course::new(self.bucket, &line).earliest(cost, from);
        }
        let cost = u128::from(cost) * self.bucket.limit.rate().per_ns();
        let left = self.bucket.limit.scaled_capacity().saturating_sub(cost);
        let refilled = |slot: Slot, before: &Sum| {
            let at = self.scaled(slot);
            at.saturating_add(self.deficit(before, at).saturating_sub(left))
        };
        let from = Slot::whole(from.max(self.bucket.level.base));
        let before = self.before(from);
        let at = refilled(from, &before);
        let next = self.line.next(from).map(|slot| self.scaled(slot));
        let comes_first = next.is_none_or(|next| at < next);
        if comes_first && self.room(&before, &self.behind(from), at) >= signed(cost) {
            return at;
        }
        let found = self.line.roomy(from, self.floor(), left);
        found.map_or(at, |found| refilled(found.slot, &found.sum))
    }

    /// The wait from `now` until an instant that [`Self::earliest`] told.
    pub fn wait(&self, at: u128, now: Timestamp) -> Wait {
        let now = self.scaled(Slot::whole(now));
        Wait::quotient(at.saturating_sub(now), self.bucket.limit.rate().permits())
    }

    /// How the bucket stands with its bookings, the key paused until `pause_until`.
    pub fn standing(&self, now: Timestamp, pause_until: Timestamp) -> Standing {
        let level = self.level(now, now);
        let settled = Bucket {
            level,
            ..*self.bucket
        };
        let paused = settled.start(now, pause_until) > now;
        let reset_after = settled.standing(now, pause_until).reset_after;
        Standing {
            remaining: if paused { 0 } else { self.remaining(now) },
            reset_after: self.reset_after(now).max(reset_after),
        }
    }

    /// The largest whole number of permits that could go at `now`.
    fn remaining(&self, now: Timestamp) -> u64 {
        let slot = Slot::whole(now.max(self.bucket.level.base));
        let room = self.room(&self.before(slot), &self.behind(slot), self.scaled(slot));
        // At most the capacity, which is below 2^40.
        (u128::try_from(room).unwrap_or(0) / self.bucket.limit.rate().per_ns()) as u64
    }

    /// The time from `now` until the bucket is full behind its last slot.
    fn reset_after(&self, now: Timestamp) -> Wait {
        let last = self
            .line
            .last()
            .max(self.pending.map(|pending| pending.slot));
        let base = Slot::whole(self.bucket.level.base);
        let last = last.map_or(base, |last| last.max(base));
        let at = self.scaled(last);
        let end = at.saturating_add(self.deficit(&self.before(last), at));
        self.wait(end, now)
    }

    /// The permits of bookings after `now`.
    pub fn booked(&self, now: Timestamp) -> u64 {
        let cost = u128::try_from(self.behind(Slot::whole(now)).cost).unwrap_or(0);
        u64::try_from(cost / self.bucket.limit.rate().per_ns()).unwrap_or(u64::MAX)
    }

    /// What is booked up to a slot.
    fn before(&self, slot: Slot) -> Sum {
        match &self.pending {
            Some(pending) if pending.slot <= slot => {
                let up_to = self.line.sum(None, Some(pending.slot));
                let rest = self.line.sum(Some(pending.slot), Some(slot));
                up_to.then(self.sum_of(pending)).then(rest)
            }
            _ => self.line.sum(None, Some(slot)),
        }
    }

    /// What is booked after a slot.
    fn behind(&self, slot: Slot) -> Sum {
        match &self.pending {
            Some(pending) if pending.slot > slot => {
                let up_to = self.line.sum(Some(slot), Some(pending.slot));
                let rest = self.line.sum(Some(pending.slot), None);
                up_to.then(self.sum_of(pending)).then(rest)
            }
            _ => self.line.sum(Some(slot), None),
        }
    }

    fn sum_of(&self, booking: &Booking) -> Sum {
        Sum::of(booking, self.line.rate())
    }

    fn scaled(&self, slot: Slot) -> u128 {
        slot.scaled(self.bucket.limit.rate().permits())
    }

    /// The height at the bucket's base.
    fn begins(&self) -> i128 {
        Sum::NONE.height_at(self.scaled(Slot::whole(self.bucket.level.base)))
    }

    /// The lowest height that the bucket has had before its first booking.
    fn floor(&self) -> i128 {
        // A deficit that does not fit refills in thousands of years, and no floor of a booking is that low.
        self.begins()
            .saturating_sub_unsigned(self.bucket.level.deficit)
    }

    /// The deficit at an instant that is not before the base, with these bookings before it.
    fn deficit(&self, before: &Sum, at: u128) -> u128 {
        let height = before.height_at(at);
        // Nothing was idle; or it was, last where the floor is.
        let own = self.bucket.level.deficit;
        let busy = own.saturating_add_signed(height.saturating_sub(self.begins()));
        busy.max(u128::try_from(height.saturating_sub(before.floor)).unwrap_or(0))
    }

    /// The extra deficit that an instant and every later slot bear, with these bookings before and behind it.
    fn room(&self, before: &Sum, behind: &Sum, at: u128) -> i128 {
        let capacity = signed(self.bucket.limit.scaled_capacity());
        let now = capacity.saturating_sub_unsigned(self.deficit(before, at));
        let rise = before.peak_of(behind).saturating_sub(before.height_at(at));
        now.saturating_sub(rise.max(0))
    }
}

/// Capacities and costs up to them are below 2^120.
fn signed(amount: u128) -> i128 {
    i128::try_from(amount).unwrap_or(i128::MAX)
}

#[cfg(test)]
#[path = "course_tests.rs"]
mod tests;
