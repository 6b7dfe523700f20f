//! Booked slots, for the keys where one number no longer says it all.
//!
//! A plain reservation is charged at once: the deficit beyond the capacity is its wait, and nothing can
//! come in between. A booking of several rules, or one with a ticket, is charged at its slot and may
//! leave room before it. Then a cost `n` may go at instant `t` iff `D(t) + n ≤ C` and `D` stays at or
//! below `C` at every later slot already booked.
//!
//! **How it is decided.** Time is counted in `1 / permits` nanoseconds, in which the deficit falls by
//! exactly one unit each, so that time and deficit share a scale and every slot is a whole number. What a
//! booking adds lives on in the deficit until the bucket would have been full; the refill that a full
//! bucket wastes is idle. So right behind slot `i` there is room for an extra of
//!
//! ```text
//! room(i) = min(C − D(i+1), room(i+1)) + idle(i, i+1)      room(last) = unbounded
//! ```
//!
//! It is below zero where parameters have changed under a promise: a slot that was given under a larger
//! capacity or rate needs that much of the refill that would else be idle. So a change of parameters gives
//! no more away than the larger of them would have.
//!
//! Inside a stretch between two slots the room is largest at its start: the earliest instant of a
//! stretch that has enough refilled decides for the whole stretch. One pass back for the rooms, one
//! forward for the slot: a call costs as many steps as the key has bookings.

use super::bucket::{Bucket, DEFICIT_MAX, Level};
use super::units::{Timestamp, Wait};

/// An instant, exact to the key's rate: `at` plus `fraction / permits` nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Slot {
    /// Whole nanoseconds.
    pub at: Timestamp,
    /// Below the permits of the rate.
    pub fraction: u64,
}

impl Slot {
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
    pub fn scaled(self, permits: u64) -> u128 {
        u128::from(self.at.as_ns()) * u128::from(permits) + u128::from(self.fraction)
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

/// The bookings of one key, by slot.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Timeline {
    /// Those ahead.
    pub ahead: Vec<Booking>,
    /// Those that a pause has already worked into the drained bucket; they come back if it ends early.
    pub shelved: Vec<Booking>,
}

impl Timeline {
    /// Bytes that it takes, its bookings included.
    pub const fn bytes(&self) -> usize {
        let bookings = self.ahead.capacity() + self.shelved.capacity();
        size_of::<Self>() + bookings * size_of::<Booking>()
    }

    /// True if it holds nothing.
    pub const fn is_empty(&self) -> bool {
        self.ahead.is_empty() && self.shelved.is_empty()
    }

    /// Puts a booking in its place, behind others of the same slot.
    pub fn insert(&mut self, booking: Booking) {
        let index = self
            .ahead
            .partition_point(|other| other.slot <= booking.slot);
        self.ahead.insert(index, booking);
    }

    /// Moves all slots to whole nanoseconds, up: the rate that their fractions were of has changed.
    pub fn round_up(&mut self) {
        for booking in self.ahead.iter_mut().chain(&mut self.shelved) {
            booking.slot = Slot {
                at: booking.slot.rounded_up(),
                fraction: 0,
            };
        }
    }

    /// Works what is due at `at` into the bucket.
    pub fn settle(&mut self, bucket: &mut Bucket, at: Timestamp) {
        let due = self.due(bucket, at);
        self.ahead.drain(..due);
    }

    /// A pause ends at `until`: what is due by then is worked in, and at most one permit is left.
    pub fn drain_to(&mut self, bucket: &mut Bucket, until: Timestamp) {
        let until = bucket.start(until, until);
        if due(&self.ahead, until) > 0 {
            // A pause that takes the place of a shorter one: that has drained nothing in front of these.
            self.unshelve(bucket);
        }
        let before = bucket.level;
        let due = self.due(bucket, until);
        self.shelved.extend(self.ahead.drain(..due));
        let undrained = bucket.undrained.unwrap_or(before);
        bucket.drain_to(until);
        bucket.undrained = Some(undrained);
    }

    /// Everything as it was before a pause drained the bucket.
    fn unshelve(&mut self, bucket: &mut Bucket) {
        if let Some(undrained) = bucket.undrained.take() {
            bucket.level = undrained;
            self.shelved.append(&mut self.ahead);
            std::mem::swap(&mut self.shelved, &mut self.ahead);
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

    /// Takes `amount` off the booking of a ticket, where it is still ahead; true if it was found.
    ///
    /// Where a pause has worked it into the drained bucket already, the drain is worked out anew.
    pub fn take_off(&mut self, bucket: &mut Bucket, ticket: u64, amount: u64) -> bool {
        if take_off(&mut self.ahead, ticket, amount) {
            return true;
        }
        let Some(undrained) = bucket.undrained else {
            return false;
        };
        if !take_off(&mut self.shelved, ticket, amount) {
            return false;
        }
        let until = bucket.level.base;
        let mut again = Bucket {
            level: undrained,
            undrained: None,
            ..*bucket
        };
        let shelved = Self {
            ahead: self.shelved.clone(),
            shelved: Vec::new(),
        };
        shelved.due(&mut again, until);
        again.drain_to(until);
        bucket.level = again.level;
        true
    }

    /// As [`Self::settle`], but leaves the bookings: how many are due.
    pub fn due(&self, bucket: &mut Bucket, at: Timestamp) -> usize {
        let due = due(&self.ahead, at);
        if due > 0 {
            bucket.level = Trajectory::new(bucket, &self.ahead[..due], None).level_at(at);
        }
        due
    }
}

fn take_off(bookings: &mut Vec<Booking>, ticket: u64, amount: u64) -> bool {
    let Some(index) = bookings.iter().position(|booking| booking.ticket == ticket) else {
        return false;
    };
    bookings[index].cost = bookings[index].cost.saturating_sub(amount);
    if bookings[index].cost == 0 {
        bookings.remove(index);
    }
    true
}

/// How many bookings at the front have come by `at`.
pub fn due(ahead: &[Booking], at: Timestamp) -> usize {
    ahead.partition_point(|booking| booking.slot.rounded_up() <= at)
}

/// How many bookings at the front come before `at`.
pub fn before(ahead: &[Booking], at: Timestamp) -> usize {
    ahead.partition_point(|booking| booking.slot.rounded_up() < at)
}

/// One point of a trajectory: the start, or a slot.
#[derive(Clone, Copy, Debug)]
struct Point {
    /// In units of `1 / permits` nanoseconds.
    at: u128,
    /// The deficit right behind it, in units of `1 / per_ns` permits.
    deficit: u128,
    /// Extra deficit that every later slot still bears; below zero what they lack.
    room: i128,
}

impl Point {
    /// The extra that this point and every later slot bear from an instant of the stretch that it ends, with
    /// the deficit of that instant.
    fn room_before(&self, capacity: u128, at: u128, deficit: u128) -> i128 {
        let left = match capacity.checked_sub(self.deficit) {
            Some(left) => signed(left),
            None => -signed(self.deficit - capacity),
        };
        let idle = (self.at - at).saturating_sub(deficit);
        left.min(self.room).saturating_add(signed(idle))
    }
}

/// Amounts that matter are far below 2^127; more is as much as there can be.
fn signed(amount: u128) -> i128 {
    i128::try_from(amount).unwrap_or(i128::MAX)
}

/// How the deficit of a key will run, nothing more arriving.
pub struct Trajectory {
    permits: u128,
    per_ns: u128,
    capacity: u128,
    base: Timestamp,
    /// The start and then each slot, ascending; never empty.
    points: Vec<Point>,
}

impl Trajectory {
    /// The trajectory of `bucket` with `ahead` booked, and `pending` if there is one.
    pub fn new(bucket: &Bucket, ahead: &[Booking], pending: Option<Booking>) -> Self {
        let rate = bucket.limit.rate();
        let (permits, capacity) = (u128::from(rate.permits()), bucket.limit.scaled_capacity());
        let before = pending.map_or(ahead.len(), |pending| {
            ahead.partition_point(|other| other.slot <= pending.slot)
        });
        let (earlier, later) = ahead.split_at(before);
        let start = u128::from(bucket.level.base.as_ns()) * permits;
        let mut points = Vec::with_capacity(ahead.len() + 2);
        points.push(Point {
            at: start,
            deficit: bucket.level.deficit,
            room: i128::MAX,
        });
        for booking in earlier.iter().chain(&pending).chain(later) {
            let last = points[points.len() - 1];
            let at = booking.slot.scaled(rate.permits()).max(last.at);
            let left = last.deficit.saturating_sub(at - last.at);
            let deficit =
                left.saturating_add(u128::from(booking.cost).saturating_mul(rate.per_ns()));
            points.push(Point {
                at,
                deficit,
                room: i128::MAX,
            });
        }
        for index in (0..points.len() - 1).rev() {
            let (point, next) = (points[index], points[index + 1]);
            points[index].room = next.room_before(capacity, point.at, point.deficit);
        }
        Self {
            permits,
            per_ns: rate.per_ns(),
            capacity,
            base: bucket.level.base,
            points,
        }
    }

    /// True if every deficit on it can be held and reckoned with.
    pub fn holds(&self) -> bool {
        self.points.iter().all(|point| point.deficit <= DEFICIT_MAX)
    }

    /// The level as of an instant, or of the start where that is later, for what is charged stays charged.
    pub fn level_at(&self, at: Timestamp) -> Level {
        let at = at.max(self.base);
        Level {
            deficit: self.deficit_at(u128::from(at.as_ns()) * self.permits),
            base: at,
        }
    }

    /// The deficit at an instant (scaled), slots of that instant included.
    fn deficit_at(&self, at: u128) -> u128 {
        let point = self.points[self.stretch_of(at)];
        point.deficit.saturating_sub(at.saturating_sub(point.at))
    }

    /// The last point that is not after `at`; the start for what lies before it.
    fn stretch_of(&self, at: u128) -> usize {
        self.points
            .partition_point(|point| point.at <= at)
            .saturating_sub(1)
    }

    /// The largest extra, in units of the deficit, that could go at an instant (scaled) in stretch `index`.
    fn room_at(&self, index: usize, at: u128, deficit: u128) -> u128 {
        let now = self.capacity.saturating_sub(deficit);
        let Some(next) = self.points.get(index + 1) else {
            return now;
        };
        let later = next.room_before(self.capacity, at, deficit);
        now.min(u128::try_from(later).unwrap_or(0))
    }

    /// The earliest instant from `from` on at which `cost` (at most the capacity) could go.
    pub fn earliest(&self, cost: u64, from: Timestamp) -> u128 {
        let cost = u128::from(cost) * self.per_ns;
        let from = u128::from(from.as_ns()) * self.permits;
        let mut index = self.stretch_of(from);
        loop {
            let point = self.points[index];
            let enough = point
                .at
                .saturating_add(point.deficit)
                .saturating_sub(self.capacity - cost);
            let at = from.max(point.at).max(enough);
            let deficit = point.deficit.saturating_sub(at - point.at);
            match self.points.get(index + 1) {
                None => return at,
                Some(next) if at < next.at && self.room_at(index, at, deficit) >= cost => {
                    return at;
                }
                Some(_) => index += 1,
            }
        }
    }

    /// The largest whole number of permits that could go at `now`.
    pub fn remaining(&self, now: Timestamp) -> u64 {
        let at = u128::from(now.as_ns()) * self.permits;
        let room = self.room_at(self.stretch_of(at), at, self.deficit_at(at));
        // At most the capacity, which is below 2^40.
        (room / self.per_ns) as u64
    }

    /// The time from `now` until the bucket is full behind its last slot.
    pub fn reset_after(&self, now: Timestamp) -> Wait {
        let last = self.points[self.points.len() - 1];
        let end = last
            .at
            .saturating_add(last.deficit)
            .saturating_sub(u128::from(now.as_ns()) * self.permits);
        // A rate's permits are below 2^60.
        Wait::quotient(end, self.permits as u64)
    }
}

#[cfg(test)]
#[path = "timeline_tests.rs"]
mod tests;
