//! A bucket with its bookings ahead, as one call sees it.

use super::bucket::Bucket;
use super::course::Course;
use super::decision::{Earliest, Refusal, Standing};
use super::limit::BucketLimit;
use super::line::Line;
use super::timeline::{Booking, Slot, Timeline};
use super::units::{Timestamp, Wait};

/// A copy of a bucket under a call's parameters, beside the key's own bookings, which stay where they are
/// until the call is committed.
pub struct Booked {
    bucket: Bucket,
    /// The bookings where they are not the key's: at another rate, or without those that are worked into `bucket`.
    own: Option<Box<Line>>,
    /// What the call adds to the bookings.
    pending: Option<Booking>,
}

impl Booked {
    /// The bucket under `limit` with its bookings; those that are due are settled.
    ///
    /// # Errors
    /// [`Refusal::CarryTooLarge`] if bucket or bookings cannot be held under `limit`.
    pub fn new(
        bucket: &Bucket,
        timeline: Option<&Timeline>,
        limit: BucketLimit,
        now: Timestamp,
    ) -> Result<Self, Refusal> {
        let own = match timeline {
            Some(timeline) if timeline.ahead.rate() != limit.rate() => {
                let ahead = timeline.ahead_at(limit.rate());
                Some(Box::new(ahead.ok_or(Refusal::CarryTooLarge)?))
            }
            _ => None,
        };
        Ok(Self {
            bucket: bucket.adopt(limit, now)?,
            own,
            pending: None,
        })
    }

    /// A bucket without bookings.
    pub const fn fresh(bucket: Bucket) -> Self {
        Self {
            bucket,
            own: None,
            pending: None,
        }
    }

    /// When `cost` could go, `from` nanoseconds from now at the earliest.
    pub fn earliest(
        &self,
        timeline: Option<&Timeline>,
        cost: u64,
        now: Timestamp,
        pause_until: Timestamp,
        from: u64,
    ) -> Earliest {
        let start = self.bucket.start(now, pause_until).max(now.after_ns(from));
        let Some(course) = self.course(timeline) else {
            return self.bucket.earliest_from(cost, now, start);
        };
        if cost > self.bucket.limit.capacity() {
            return Earliest::Never;
        }
        Earliest::After(course.wait(course.earliest(cost, start), now))
    }

    /// The bucket, if it says all there is to say.
    pub fn alone(&self, timeline: Option<&Timeline>) -> Option<&Bucket> {
        self.course(timeline).is_none().then_some(&self.bucket)
    }

    /// True if the call adds to the bookings that are listed.
    pub const fn is_listed(&self) -> bool {
        self.pending.is_some()
    }

    /// How the bucket stands.
    pub fn standing(
        &self,
        timeline: Option<&Timeline>,
        now: Timestamp,
        pause_until: Timestamp,
    ) -> Standing {
        match self.course(timeline) {
            Some(course) => course.standing(now, pause_until),
            None => self.bucket.standing(now, pause_until),
        }
    }

    /// Charges `cost` after `wait`, when it may go.
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
        let line = self.line(timeline);
        let slot = self.slot_after(charge.wait, now);
        let tight =
            self.bucket.earliest(charge.cost, now, pause_until) == Earliest::After(charge.wait);
        let first = line.and_then(Line::first).is_none_or(|first| first > slot);
        if tight && first && (charge.ticket == 0 || charge.wait.is_zero()) {
            self.bucket.book(charge.cost, now, pause_until)?;
            self.bucket.promised_ahead |= !charge.wait.is_zero();
            return Ok(());
        }
        if line.map_or(0, Line::len) >= most {
            return Err(Refusal::TooManyBookings);
        }
        if line.is_none() {
            self.own = Some(Box::new(Line::new(self.bucket.limit.rate())));
        }
        self.work_in(timeline, now, pause_until);
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
        self.work_in(timeline, now, pause_until);
        self.bucket.book(cost, now, pause_until)
    }

    /// What is charged during a pause is charged at its end: what was booked before that comes first. What is
    /// booked at that very instant stays listed, so that its ticket finds it; a slot inside the nanosecond that ends there
    /// counts as that instant.
    fn work_in(&mut self, timeline: Option<&Timeline>, now: Timestamp, pause_until: Timestamp) {
        let start = self.bucket.start(now, pause_until);
        let before = start.before_ns(1);
        let Some(line) = self.line(timeline).filter(|line| line.is_due(before)) else {
            return;
        };
        let level = Course::new(&self.bucket, line).level(before, start);
        let mut rest = line.clone();
        rest.take_until(Slot::whole(before), drop);
        (self.bucket.level, self.own) = (level, Some(Box::new(rest)));
    }

    /// The bucket to keep; the bookings are brought up to it.
    pub fn commit(self, timeline: &mut Option<Box<Timeline>>) -> Bucket {
        if let Some(own) = self.own {
            match timeline {
                Some(kept) => kept.replace(*own),
                None => *timeline = Some(Box::new(Timeline::new(*own))),
            }
        }
        if let Some(kept) = timeline {
            if self.bucket.undrained.is_none() {
                kept.shelved.clear();
            }
            if let Some(pending) = self.pending {
                kept.ahead.insert(pending);
            }
        }
        self.bucket
    }

    fn line<'a>(&'a self, timeline: Option<&'a Timeline>) -> Option<&'a Line> {
        self.own
            .as_deref()
            .or(timeline.map(|timeline| &timeline.ahead))
    }

    /// How the bucket will run; `None` if it says that by itself.
    fn course<'a>(&'a self, timeline: Option<&'a Timeline>) -> Option<Course<'a>> {
        let line = self.line(timeline)?;
        let alone = line.is_empty() && self.pending.is_none();
        (!alone).then(|| Course::new(&self.bucket, line).with(self.pending))
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
