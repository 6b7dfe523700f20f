//! What one limit of a key has counted: one variant an algorithm.

use super::bucket::Bucket;
use super::course::Course;
use super::decision::{Earliest, LimitUsage, Standing};
use super::leases::Leases;
use super::limit::{BucketLimit, Limit};
use super::log::{self, Log};
use super::sliding::Sliding;
use super::timeline::{Booking, Slot, Timeline};
use super::units::{Timestamp, Wait};
use super::window::Window;
use std::mem::discriminant;

/// What one limit of a key has counted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum State {
    /// Nothing yet.
    #[default]
    Empty,
    /// A token bucket or GCRA, and its bookings where one number does not say it all.
    Bucket(Bucket, Option<Box<Timeline>>),
    /// A fixed window.
    Window(Window),
    /// A sliding window counter.
    Sliding(Sliding),
    /// A sliding log.
    Log(Log),
    /// Leases.
    Leases(Box<Leases>),
}

impl State {
    /// Bytes that it takes outside of itself.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::Bucket(_, Some(timeline)) => timeline.bytes(),
            Self::Window(window) if window.used.spilled() => {
                window.used.capacity() * size_of::<(u64, u64)>()
            }
            Self::Empty | Self::Bucket(_, None) | Self::Window(_) | Self::Sliding(_) => 0,
            Self::Log(log) => log.bookings.capacity() * size_of::<log::Booking>(),
            Self::Leases(leases) => leases.bytes(),
        }
    }

    /// Works in what has come due. Changes nothing that can be told.
    pub fn settle(&mut self, now: Timestamp) {
        if let Self::Bucket(bucket, timeline) = self
            && let Some(bookings) = timeline
        {
            bookings.settle(bucket, now);
            if bookings.is_empty() {
                *timeline = None;
            }
        }
    }

    /// True if it cannot be told from a state that never was.
    pub fn is_over(&self, now: Timestamp, pause_until: Timestamp) -> bool {
        match self {
            Self::Empty => true,
            Self::Bucket(bucket, None) => bucket.is_full(now, pause_until),
            Self::Bucket(bucket, Some(timeline)) => {
                let last = timeline.ahead.last();
                last.is_none_or(|last| last <= Slot::whole(now))
                    && timeline.settled(bucket, now).is_full(now, pause_until)
            }
            Self::Window(window) => pause_until <= now && window.is_over(now),
            Self::Sliding(sliding) => pause_until <= now && sliding.is_over(now),
            Self::Log(log) => pause_until <= now && log.is_over(now),
            Self::Leases(leases) => pause_until <= now && leases.is_over(now),
        }
    }

    /// The time until [`Self::is_over`] holds.
    pub fn over_after(&self, now: Timestamp, pause_until: Timestamp) -> Wait {
        self.standing(now, pause_until)
            .map_or(Wait::ZERO, |standing| standing.reset_after)
    }

    /// How it stands under its own limit; `None` if there is nothing.
    fn standing(&self, now: Timestamp, pause_until: Timestamp) -> Option<Standing> {
        Some(match self {
            Self::Empty => return None,
            Self::Bucket(bucket, None) => bucket.standing(now, pause_until),
            Self::Bucket(bucket, Some(timeline)) => {
                Course::new(bucket, &timeline.ahead).standing(now, pause_until)
            }
            Self::Window(window) => window.standing(now, pause_until),
            Self::Sliding(sliding) => sliding.standing(now, pause_until),
            Self::Log(log) => log.standing(log.limit, now, pause_until),
            Self::Leases(leases) => leases.standing(leases.limit, None, now, pause_until),
        })
    }

    /// What `RL.USAGE` tells of it; `None` if there is nothing.
    pub fn usage(&self, now: Timestamp, pause_until: Timestamp) -> Option<LimitUsage> {
        let standing = self.standing(now, pause_until)?;
        let (limit, (used, booked), next) = match self {
            Self::Empty => return None,
            Self::Bucket(bucket, timeline) => {
                let (settled, listed, next) = match timeline {
                    Some(timeline) => {
                        let course = Course::new(bucket, &timeline.ahead);
                        let settled = timeline.settled(bucket, now);
                        let slot = course.earliest(1, settled.start(now, pause_until));
                        let next = Earliest::After(course.wait(slot, now));
                        (settled, course.booked(now), next)
                    }
                    None => (*bucket, 0, bucket.earliest(1, now, pause_until)),
                };
                let (used, booked) = settled.used_and_booked(now, pause_until);
                (
                    Limit::Bucket(bucket.limit),
                    (used, booked.saturating_add(listed)),
                    next,
                )
            }
            Self::Window(window) => (
                Limit::Window(window.limit),
                window.used_and_booked(now),
                window.earliest(1, now, pause_until),
            ),
            Self::Sliding(sliding) => {
                let used = (sliding.load_rounded_up(now), 0);
                (
                    Limit::Sliding(sliding.limit),
                    used,
                    sliding.earliest(1, now, pause_until),
                )
            }
            Self::Log(log) => (
                Limit::Log(log.limit),
                log.used_and_booked(now),
                log.earliest(log.limit, 1, now, pause_until),
            ),
            Self::Leases(leases) => (
                Limit::Leases(leases.limit),
                (leases.count(now), 0),
                leases.earliest(leases.limit, 1, now, pause_until),
            ),
        };
        let wait = match next {
            Earliest::After(wait) => wait,
            // A capacity is at least 1.
            Earliest::Never => Wait::ZERO,
        };
        Some(LimitUsage {
            limit,
            used,
            booked,
            wait,
            standing,
        })
    }

    /// Gives back up to `cost` unused permits; how many came back. Windows, logs and leases give
    /// nothing back.
    pub fn refund(&mut self, cost: u64, now: Timestamp, pause_until: Timestamp) -> u64 {
        match self {
            // What is given back in a pause is given back at its end, and some slots may come before it.
            Self::Bucket(bucket, Some(timeline))
                if timeline.ahead.is_due(bucket.start(now, pause_until)) =>
            {
                0
            }
            Self::Bucket(bucket, _) => bucket.refund(cost, now, pause_until),
            Self::Empty | Self::Window(_) | Self::Sliding(_) | Self::Log(_) | Self::Leases(_) => 0,
        }
    }

    /// Gives back `amount` of what was granted to a ticket: all of it where its slot is still ahead, else
    /// what refill or time has not given back already. How many whole permits that were; none if it was
    /// another kind of limit that granted them. A lease is one permit, given back while it is held.
    pub fn give_back(
        &mut self,
        grant: Grant,
        amount: u64,
        now: Timestamp,
        pause_until: Timestamp,
    ) -> u64 {
        let slot = grant.slot.rounded_up();
        if self.limit().map(|limit| discriminant(&limit)) != Some(discriminant(&grant.limit)) {
            return 0;
        }
        match self {
            Self::Empty => 0,
            Self::Bucket(bucket, timeline) => {
                if slot <= now {
                    return bucket.give_back(&grant, amount, now, pause_until);
                }
                let timeline = timeline.as_deref_mut();
                match timeline.is_some_and(|timeline| timeline.take_off(bucket, &grant, amount)) {
                    true => amount,
                    // It has been worked into what was promised behind a pause: as one that passed then.
                    false if slot <= bucket.level.base && !bucket.may_be_drained() => {
                        bucket.give_back(&grant, amount, now, pause_until)
                    }
                    false => 0,
                }
            }
            Self::Window(window) => window.give_back(amount, slot, now),
            Self::Sliding(sliding) => sliding.give_back(amount, slot, now),
            Self::Log(log) => log.give_back(amount, slot, now),
            Self::Leases(leases) => u64::from(leases.release(grant.lease, now).is_some()),
        }
    }

    /// The limit it counts under; `None` if there is nothing.
    pub fn limit(&self) -> Option<Limit> {
        match self {
            Self::Empty => None,
            Self::Bucket(bucket, _) => Some(Limit::Bucket(bucket.limit)),
            Self::Window(window) => Some(Limit::Window(window.limit)),
            Self::Sliding(sliding) => Some(Limit::Sliding(sliding.limit)),
            Self::Log(log) => Some(Limit::Log(log.limit)),
            Self::Leases(leases) => Some(Limit::Leases(leases.limit)),
        }
    }

    /// The limit of a bucket.
    pub const fn bucket_limit(&self) -> Option<BucketLimit> {
        match self {
            Self::Bucket(bucket, _) => Some(bucket.limit),
            _ => None,
        }
    }

    /// Bookings of tickets: those ahead, and those that a pause has worked in already.
    pub fn ticket_bookings(&self) -> impl Iterator<Item = &Booking> {
        let timeline = match self {
            Self::Bucket(_, Some(timeline)) => Some(timeline),
            _ => None,
        };
        let bookings = timeline.into_iter().flat_map(|timeline| {
            let (ahead, shelved) = (&timeline.ahead, &timeline.shelved);
            shelved.iter().chain(ahead.iter())
        });
        bookings.filter(|booking| booking.ticket != 0)
    }

    /// A pause that ended left a bucket drained; a new one starts from there.
    pub fn forget_drain(&mut self) {
        if let Self::Bucket(bucket, timeline) = self {
            bucket.undrained = None;
            timeline
                .iter_mut()
                .for_each(|timeline| timeline.shelved.clear());
        }
    }

    /// A pause ends at `at`: at most one permit is there then. False if there is no bucket to drain.
    pub fn drain_to(&mut self, at: Timestamp) -> bool {
        let Self::Bucket(bucket, timeline) = self else {
            return false;
        };
        match timeline {
            Some(timeline) => timeline.drain_to(bucket, at),
            None => bucket.drain_to(at),
        }
        true
    }

    /// A pause ended early.
    pub fn resume(&mut self, now: Timestamp) {
        if let Self::Bucket(bucket, timeline) = self {
            match timeline {
                Some(timeline) => timeline.resume(bucket, now),
                None => bucket.resume(now),
            }
        }
    }
}

/// What one limit granted to a ticket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grant {
    /// The ticket.
    pub ticket: u64,
    /// Permits.
    pub cost: u64,
    /// When they may go.
    pub slot: Slot,
    /// The limit that granted them.
    pub limit: Limit,
    /// The lease that went with them; 0 for none.
    pub lease: u64,
}
