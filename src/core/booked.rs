//! A bucket with its bookings ahead, as one call sees it.

use super::bucket::Bucket;
use super::decision::{Earliest, Refusal, Standing};
use super::limit::BucketLimit;
use super::timeline::{self, Booking, Slot, Timeline, Trajectory};
use super::units::{Timestamp, Wait};

/// A copy of a bucket under a call's parameters, beside the key's own bookings, which stay where they are
/// until the call is committed.
pub struct Booked {
    bucket: Bucket,
    /// Bookings at the front that are worked into `bucket` already.
    due: usize,
    /// The rate has changed: fractions of slots are of the old one and count as a whole nanosecond.
    rate_changed: bool,
    /// What the call adds to the bookings.
    pending: Option<Booking>,
}

impl Booked {
    /// The bucket under `limit`, settled to `now` with its bookings.
    ///
    /// # Errors
    /// [`Refusal::CarryTooLarge`] if bucket or bookings cannot be held under `limit`.
    pub fn new(
        bucket: &Bucket,
        timeline: Option<&Timeline>,
        limit: BucketLimit,
        now: Timestamp,
    ) -> Result<Self, Refusal> {
        let rate_changed = bucket.limit.rate() != limit.rate();
        let bucket = bucket.adopt(limit, now)?;
        let booked = Self {
            bucket,
            due: 0,
            rate_changed,
            pending: None,
        };
        if let Some(timeline) = timeline
            && rate_changed
            && !booked.trajectory(&timeline.ahead).holds()
        {
            return Err(Refusal::CarryTooLarge);
        }
        Ok(booked)
    }

    /// A bucket without bookings.
    pub const fn fresh(bucket: Bucket) -> Self {
        Self {
            bucket,
            due: 0,
            rate_changed: false,
            pending: None,
        }
    }

    /// When `cost` could go, `from` nanoseconds from now at the earliest.
    pub fn earliest(
        &self,
        ahead: &[Booking],
        cost: u64,
        now: Timestamp,
        pause_until: Timestamp,
        from: u64,
    ) -> Earliest {
        let start = self.bucket.start(now, pause_until).max(now.after_ns(from));
        if ahead.len() == self.due && self.pending.is_none() {
            return self.bucket.earliest_from(cost, now, start);
        }
        if cost > self.bucket.limit.capacity() {
            return Earliest::Never;
        }
        let permits = self.bucket.limit.rate().permits();
        let slot = self.trajectory(ahead).earliest(cost, start);
        let wait = slot.saturating_sub(u128::from(now.as_ns()) * u128::from(permits));
        Earliest::After(Wait::quotient(wait, permits))
    }

    /// The bucket, if it says all there is to say.
    pub fn alone(&self, ahead: &[Booking]) -> Option<&Bucket> {
        (ahead.len() == self.due && self.pending.is_none()).then_some(&self.bucket)
    }

    /// How the bucket stands.
    pub fn standing(&self, ahead: &[Booking], now: Timestamp, pause_until: Timestamp) -> Standing {
        let standing = self.bucket.standing(now, pause_until);
        if ahead.len() == self.due && self.pending.is_none() {
            return standing;
        }
        let line = self.trajectory(ahead);
        let remaining = if self.bucket.start(now, pause_until) > now {
            0
        } else {
            line.remaining(now)
        };
        Standing {
            remaining,
            reset_after: line.reset_after(now).max(standing.reset_after),
        }
    }

    /// Charges `cost`, which could go after `wait`.
    ///
    /// It is charged at once where one number says it all: with no ticket to find it again by, no room
    /// left in front of it, and no booking before it.
    ///
    /// # Errors
    /// [`Refusal::TooManyBookings`] if `most` are held already; [`Refusal::DebtTooLarge`].
    pub fn book(
        &mut self,
        timeline: Option<&Timeline>,
        charge: Charge,
        now: Timestamp,
        pause_until: Timestamp,
        most: usize,
    ) -> Result<(), Refusal> {
        let ahead = timeline.map_or(&[][..], |timeline| &timeline.ahead);
        let slot = self.slot_after(charge.wait, now);
        let tight =
            self.bucket.earliest(charge.cost, now, pause_until) == Earliest::After(charge.wait);
        let first = ahead
            .get(self.due)
            .is_none_or(|booking| self.slot_of(booking) > slot);
        if tight && first && (charge.ticket == 0 || charge.wait.is_zero()) {
            self.bucket.book(charge.cost, now, pause_until)?;
            self.bucket.promised_ahead |= !charge.wait.is_zero();
            return Ok(());
        }
        if ahead.len() >= most {
            return Err(Refusal::TooManyBookings);
        }
        self.work_in(ahead, now, pause_until);
        self.bucket.promise(now, pause_until);
        self.pending = Some(Booking {
            slot,
            cost: charge.cost,
            ticket: charge.ticket,
        });
        Ok(())
    }

    /// Charges `cost` without asking, into debt if need be.
    ///
    /// # Errors
    /// As [`Bucket::book`].
    pub fn charge(
        &mut self,
        timeline: Option<&Timeline>,
        cost: u64,
        now: Timestamp,
        pause_until: Timestamp,
    ) -> Result<(), Refusal> {
        let ahead = timeline.map_or(&[][..], |timeline| &timeline.ahead);
        self.work_in(ahead, now, pause_until);
        self.bucket.book(cost, now, pause_until)
    }

    /// What is charged during a pause is charged at its end: what was booked before that comes first. What is
    /// booked at that very instant stays listed, so that its ticket finds it.
    fn work_in(&mut self, ahead: &[Booking], now: Timestamp, pause_until: Timestamp) {
        let start = self.bucket.start(now, pause_until);
        let due = timeline::before(ahead, start);
        if due > self.due {
            self.bucket.level = self.trajectory(&ahead[..due]).level_at(start);
            self.due = due;
        }
    }

    /// The bucket to keep; the bookings are brought up to it.
    pub fn commit(self, timeline: &mut Option<Box<Timeline>>) -> Bucket {
        if let Some(kept) = timeline {
            if self.rate_changed {
                kept.round_up();
            }
            kept.ahead.drain(..self.due);
            if self.bucket.undrained.is_none() {
                kept.shelved.clear();
            }
        }
        if let Some(pending) = self.pending {
            timeline.get_or_insert_default().insert(pending);
        }
        self.bucket
    }

    fn trajectory(&self, ahead: &[Booking]) -> Trajectory {
        if !self.rate_changed {
            return Trajectory::new(&self.bucket, &ahead[self.due..], self.pending);
        }
        let rounded: Vec<Booking> = ahead[self.due..]
            .iter()
            .map(|booking| Booking {
                slot: self.slot_of(booking),
                ..*booking
            })
            .collect();
        Trajectory::new(&self.bucket, &rounded, self.pending)
    }

    fn slot_of(&self, booking: &Booking) -> Slot {
        if self.rate_changed {
            Slot {
                at: booking.slot.rounded_up(),
                fraction: 0,
            }
        } else {
            booking.slot
        }
    }

    /// The slot that lies `wait` from now.
    pub fn slot_after(&self, wait: Wait, now: Timestamp) -> Slot {
        let permits = self.bucket.limit.rate().permits();
        let (whole, numerator, denominator) = wait.parts();
        let at = now.after_ns(u64::try_from(whole).unwrap_or(u64::MAX));
        if denominator == permits || numerator == 0 {
            return Slot {
                at,
                fraction: numerator,
            };
        }
        Slot {
            at: at.after_ns(1),
            fraction: 0,
        }
    }

    /// The wait from now until a slot; zero if it has passed.
    pub fn wait_until(&self, slot: Slot, now: Timestamp) -> Wait {
        let permits = self.bucket.limit.rate().permits();
        if slot.at < now || slot.fraction >= permits {
            return Wait::from_ns(u128::from(slot.rounded_up().since(now)));
        }
        Wait::quotient(u128::from(slot.fraction), permits).plus_ns(slot.at.since(now))
    }
}

/// A cost to be booked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Charge {
    /// Permits.
    pub cost: u64,
    /// When it goes, from now: at an instant at which it may.
    pub wait: Wait,
    /// The ticket it is booked under; 0 for none.
    pub ticket: u64,
}
