//! Booked slots, for the keys where one number no longer says it all.
//!
//! A plain reservation is charged at once: the deficit beyond the capacity is its wait, and nothing can
//! come in between. A booking of several rules, or one with a ticket, is charged at its slot and may
//! leave room before it; [`super::course`] says what may go beside it.

use super::bucket::Bucket;
use super::course::Course;
use super::limit::Rate;
use super::line::Line;
use super::state::Grant;
use super::units::Timestamp;

/// An instant, exact to the key's rate: `at` plus `fraction / permits` nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Slot {
    /// Whole nanoseconds.
    pub at: Timestamp,
    /// Below the permits of the rate.
    pub fraction: u64,
}

impl Slot {
    /// A whole nanosecond.
    pub const fn whole(at: Timestamp) -> Self {
        Self { at, fraction: 0 }
    }

    /// From units of `1 / permits` nanoseconds.
    pub fn from_scaled(scaled: u128, permits: u64) -> Self {
        let at = u64::try_from(scaled / u128::from(permits)).unwrap_or(u64::MAX);
        let at = Timestamp::from_ns(at).unwrap_or(Timestamp::MAX);
        Self {
            at,
            fraction: (scaled % u128::from(permits)) as u64,
        }
    }

    /// In units of `1 / permits` nanoseconds.
    pub const fn scaled(self, permits: u64) -> u128 {
        self.at.as_ns() as u128 * permits as u128 + self.fraction as u128
    }

    /// The first whole nanosecond that is not before it.
    pub fn rounded_up(self) -> Timestamp {
        if self.fraction == 0 {
            self.at
        } else {
            self.at.after_ns(1)
        }
    }
}

/// A cost that is charged at its slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Booking {
    /// When.
    pub slot: Slot,
    /// How much.
    pub cost: u64,
    /// The ticket it belongs to; 0 for none.
    pub ticket: u64,
}

impl Booking {
    /// Moved to a whole nanosecond, up: the rate that its fraction was of has changed.
    #[must_use]
    pub fn rounded_up(self) -> Self {
        let slot = Slot::whole(self.slot.rounded_up());
        Self { slot, ..self }
    }
}

/// The bookings of one key, by slot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timeline {
    /// Those ahead.
    pub ahead: Line,
    /// Those that a pause has already worked into the drained bucket; they come back if it ends early.
    pub shelved: Vec<Booking>,
}

impl Timeline {
    /// Bookings ahead and nothing else.
    pub const fn new(ahead: Line) -> Self {
        Self {
            ahead,
            shelved: Vec::new(),
        }
    }

    /// Bytes that it takes, its bookings included.
    pub fn bytes(&self) -> usize {
        let shelved = self.shelved.capacity() * size_of::<Booking>();
        size_of::<Self>() + self.ahead.heap_bytes() + shelved
    }

    /// True if it holds nothing.
    pub const fn is_empty(&self) -> bool {
        self.ahead.is_empty() && self.shelved.is_empty()
    }

    /// The bookings ahead under another rate, with slots in whole nanoseconds; `None` if they, or those shelved,
    /// cannot be held under it.
    pub fn ahead_at(&self, rate: Rate) -> Option<Line> {
        let shelved = self.shelved.iter().copied().map(Booking::rounded_up);
        let ahead = self.ahead.iter().copied().map(Booking::rounded_up);
        let (shelved, ahead) = (Line::of(rate, shelved), Line::of(rate, ahead));
        (shelved.holds() && ahead.holds()).then_some(ahead)
    }

    /// Other bookings in the place of those ahead, or the same under another rate.
    pub fn replace(&mut self, ahead: Line) {
        if ahead.rate() != self.ahead.rate() {
            let moved = |booking: &mut Booking| *booking = booking.rounded_up();
            self.shelved.iter_mut().for_each(moved);
        }
        self.ahead = ahead;
    }

    /// Works what is due at `at` into the bucket.
    pub fn settle(&mut self, bucket: &mut Bucket, at: Timestamp) {
        self.work_in(bucket, at, drop);
    }

    /// A pause ends at `until`: what is due by then is worked in, and at most one permit is left.
    pub fn drain_to(&mut self, bucket: &mut Bucket, until: Timestamp) {
        let until = bucket.start(until, until);
        if self.ahead.is_due(until) {
            // A pause that takes the place of a shorter one: that has drained nothing in front of these.
            self.unshelve(bucket);
        }
        let before = bucket.level;
        let mut shelved = std::mem::take(&mut self.shelved);
        self.work_in(bucket, until, |booking| shelved.push(booking));
        self.shelved = shelved;
        let undrained = bucket.undrained.unwrap_or(before);
        bucket.drain_to(until);
        bucket.undrained = Some(undrained);
    }

    fn work_in(&mut self, bucket: &mut Bucket, at: Timestamp, taken: impl FnMut(Booking)) {
        *bucket = self.settled(bucket, at);
        self.ahead.take_until(Slot::whole(at), taken);
    }

    /// Everything as it was before a pause drained the bucket.
    fn unshelve(&mut self, bucket: &mut Bucket) {
        if let Some(undrained) = bucket.undrained.take() {
            bucket.level = undrained;
            let shelved = std::mem::take(&mut self.shelved).into_iter();
            self.ahead = Line::of(self.ahead.rate(), shelved.chain(self.ahead.iter().copied()));
        }
    }

    /// A pause ended at `now`. What it had worked in comes back, unless slots were promised behind it.
    pub fn resume(&mut self, bucket: &mut Bucket, now: Timestamp) {
        if bucket.promised_after_pause {
            return;
        }
        self.unshelve(bucket);
        self.settle(bucket, now);
        bucket.resume(now);
    }

    /// Takes `amount` off what was granted to a ticket, where it is still ahead; true if it was found.
    ///
    /// Where a pause has worked it into the drained bucket already, the drain is worked out anew.
    pub fn take_off(&mut self, bucket: &mut Bucket, grant: &Grant, amount: u64) -> bool {
        if self.ahead.take_off(grant, amount) {
            return true;
        }
        let Some(undrained) = bucket.undrained else {
            return false;
        };
        let mut shelved = Line::of(self.ahead.rate(), self.shelved.iter().copied());
        if !shelved.take_off(grant, amount) {
            return false;
        }
        let until = bucket.level.base;
        let mut again = Bucket {
            level: undrained,
            undrained: None,
            ..*bucket
        };
        again.level = Course::new(&again, &shelved).level(until, until);
        again.drain_to(until);
        bucket.level = again.level;
        self.shelved = shelved.iter().copied().collect();
        true
    }

    /// The bucket with what is due at `at` worked in.
    pub fn settled(&self, bucket: &Bucket, at: Timestamp) -> Bucket {
        let mut settled = *bucket;
        if self.ahead.is_due(at) {
            settled.level = Course::new(bucket, &self.ahead).level(at, at);
        }
        settled
    }
}

#[cfg(test)]
#[path = "timeline_tests.rs"]
mod tests;
