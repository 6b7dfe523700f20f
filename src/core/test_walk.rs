//! The slow definition of a bucket with bookings ahead: every one of them is walked for every question.

use super::bucket::{Bucket, Level};
use super::decision::{Earliest, Standing};
use super::timeline::Booking;
use super::units::{Timestamp, Wait};

/// One point of a walk: the start, or a slot.
#[derive(Clone, Copy, Debug)]
struct Point {
    /// In units of `1 / permits` nanoseconds.
    at: i128,
    /// The deficit right behind it, in units of `1 / per_ns` permits.
    deficit: i128,
    /// Extra deficit that every later slot still bears; below zero what they lack.
    room: i128,
}

/// The deficit of a bucket at its base and right behind every slot.
pub struct Walk {
    bucket: Bucket,
    points: Vec<Point>,
}

impl Walk {
    /// Numbers must be small: nothing is checked for overflow but by the debug build.
    pub fn new(bucket: &Bucket, bookings: &[Booking]) -> Self {
        let rate = bucket.limit.rate();
        let capacity = bucket.limit.scaled_capacity() as i128;
        let mut points = vec![Point {
            at: i128::from(bucket.level.base.as_ns()) * i128::from(rate.permits()),
            deficit: bucket.level.deficit as i128,
            room: i128::MAX,
        }];
        for booking in bookings {
            let last = points[points.len() - 1];
            let at = (booking.slot.scaled(rate.permits()) as i128).max(last.at);
            let left = (last.deficit - (at - last.at)).max(0);
            points.push(Point {
                at,
                deficit: left + i128::from(booking.cost) * rate.per_ns() as i128,
                room: i128::MAX,
            });
        }
        for index in (0..points.len() - 1).rev() {
            let (point, next) = (points[index], points[index + 1]);
            // What a full bucket wastes before the next slot does not come out of its room.
            let idle = (next.at - point.at - point.deficit).max(0);
            points[index].room = next.room.min(capacity - next.deficit).saturating_add(idle);
        }
        Self {
            bucket: *bucket,
            points,
        }
    }

    fn capacity(&self) -> i128 {
        self.bucket.limit.scaled_capacity() as i128
    }

    fn permits(&self) -> u64 {
        self.bucket.limit.rate().permits()
    }

    fn scaled(&self, at: Timestamp) -> i128 {
        i128::from(at.as_ns()) * i128::from(self.permits())
    }

    /// The last point that is not after an instant.
    fn stretch(&self, at: i128) -> usize {
        let up_to = self.points.iter().take_while(|point| point.at <= at);
        up_to.count().saturating_sub(1)
    }

    fn deficit(&self, index: usize, at: i128) -> i128 {
        let point = self.points[index];
        (point.deficit - (at - point.at)).max(0)
    }

    /// The extra that could go at an instant of a stretch.
    fn room(&self, index: usize, at: i128) -> i128 {
        let deficit = self.deficit(index, at);
        let now = self.capacity() - deficit;
        let Some(next) = self.points.get(index + 1) else {
            return now;
        };
        let idle = (next.at - at - deficit).max(0);
        let later = next.room.min(self.capacity() - next.deficit);
        now.min(later.saturating_add(idle))
    }

    /// The wait from `now` until `cost` can go, from `from` on.
    pub fn earliest(&self, cost: u64, now: Timestamp, from: Timestamp) -> Earliest {
        if cost > self.bucket.limit.capacity() {
            return Earliest::Never;
        }
        let cost = i128::from(cost) * self.bucket.limit.rate().per_ns() as i128;
        let from = self.scaled(from.max(self.bucket.level.base));
        let mut slots = (self.stretch(from)..self.points.len()).filter_map(|index| {
            let point = self.points[index];
            let enough = point.at + (point.deficit - (self.capacity() - cost)).max(0);
            let at = from.max(point.at).max(enough);
            let ends = self.points.get(index + 1).map(|next| next.at);
            let fits = ends.is_none_or(|end| at < end && self.room(index, at) >= cost);
            fits.then_some(at)
        });
        let slot = slots.next().expect("behind the last slot there is room");
        let wait = (slot - self.scaled(now)).max(0);
        Earliest::After(Wait::quotient(wait as u128, self.permits()))
    }

    /// The level at an instant that is not before the base.
    pub fn level(&self, at: Timestamp) -> Level {
        let scaled = self.scaled(at);
        Level {
            deficit: self.deficit(self.stretch(scaled), scaled) as u128,
            base: at,
        }
    }

    /// How the bucket stands; nothing can go before `start`.
    pub fn standing(&self, now: Timestamp, start: Timestamp) -> Standing {
        let at = self.scaled(now.max(self.bucket.level.base));
        let room = self.room(self.stretch(at), at).max(0);
        let permits = room / self.bucket.limit.rate().per_ns() as i128;
        let last = self.points[self.points.len() - 1];
        let at_start = self.scaled(start) + self.deficit(0, self.scaled(start));
        let end = (last.at + last.deficit).max(at_start) - self.scaled(now);
        Standing {
            remaining: if start > now { 0 } else { permits as u64 },
            reset_after: Wait::quotient(end.max(0) as u128, self.permits()),
        }
    }
}
