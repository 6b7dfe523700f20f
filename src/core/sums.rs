//! What runs of bookings come to, put together from what their parts come to.
//!
//! Were nothing ever idle, the deficit of a bucket would rise by what is charged and fall by one unit in each
//! `1 / permits` nanoseconds, below zero if need be: call that its **height**, `h(t) = charged by t − t`. Of a run of
//! bookings one needs to know what they charge, the lowest height right before one of them and the highest right
//! behind one. [`super::course`] says what for.
//!
//! Amounts are in units of `1 / per_ns` permits and times in `1 / permits` nanoseconds of a rate.

use super::limit::Rate;
use super::timeline::Booking;

/// What a run of bookings comes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sum {
    /// What they charge. Zero for no bookings.
    pub cost: i128,
    /// The lowest height right before one of them.
    pub floor: i128,
    /// The highest height right behind one of them.
    pub peak: i128,
}

impl Sum {
    /// No bookings.
    pub const NONE: Self = Self {
        cost: 0,
        floor: i128::MAX,
        peak: i128::MIN,
    };

    /// One booking. What no bucket can hold is as much as there can be.
    pub fn of(booking: &Booking, rate: Rate) -> Self {
        let cost = u128::from(booking.cost).saturating_mul(rate.per_ns());
        let cost = i128::try_from(cost).unwrap_or(i128::MAX);
        let floor = Self::NONE.height_at(booking.slot.scaled(rate.permits()));
        Self {
            cost,
            floor,
            peak: cost.saturating_add(floor),
        }
    }

    /// True for no bookings.
    pub const fn is_none(&self) -> bool {
        self.cost == 0
    }

    /// These bookings and then those.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        if next.is_none() {
            return self;
        }
        Self {
            cost: self.cost.saturating_add(next.cost),
            floor: self.floor.min(self.cost.saturating_add(next.floor)),
            peak: self.peak.max(self.peak_of(&next)),
        }
    }

    /// The height at an instant with these bookings before it. Time is below 2^124.
    pub const fn height_at(&self, at: u128) -> i128 {
        self.cost.saturating_sub(at as i128)
    }

    /// The highest height of bookings that come behind these.
    pub const fn peak_of(&self, next: &Self) -> i128 {
        if next.is_none() {
            i128::MIN
        } else {
            self.cost.saturating_add(next.peak)
        }
    }
}

/// What a run of bookings comes to, and a bound on what is between any two neighbours of it: the lowest height up to
/// there, less the highest from there on.
///
/// What is lowest may come before the run. That decides for its first bookings, up to one before which the height is
/// lower than before the very first. From there on the run's own heights are a bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// What they come to.
    pub sum: Sum,
    /// The height before the very first.
    first: i128,
    /// What is highest behind one of the first bookings, but the last of the run, is not lower than this.
    head: i128,
    /// No two of the others have more between them.
    tail: i128,
}

impl Run {
    /// No bookings.
    pub const NONE: Self = Self {
        sum: Sum::NONE,
        first: 0,
        head: i128::MAX,
        tail: i128::MIN,
    };

    /// One booking.
    pub fn of(booking: &Booking, rate: Rate) -> Self {
        let sum = Sum::of(booking, rate);
        Self {
            sum,
            first: sum.floor,
            ..Self::NONE
        }
    }

    /// No two neighbours have more between them. `before` are the bookings before these, `floor` is the lowest height
    /// before all.
    pub fn most_between(&self, before: &Sum, floor: i128) -> i128 {
        let lowest = floor.min(before.floor).saturating_sub(before.cost);
        let of_first = lowest.min(self.first).saturating_sub(self.head);
        of_first.max(self.tail)
    }

    /// These bookings and then those.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        if self.sum.is_none() {
            return next;
        }
        if next.sum.is_none() {
            return self;
        }
        let moved = |height: i128| self.sum.cost.saturating_add(height);
        let peak = moved(next.sum.peak);
        let of_next = next.most_between(&self.sum, i128::MAX);
        let (head, tail) = if self.sum.floor < self.first {
            // The first bookings end in this run. What is highest from there on may come in the next.
            let own = self.tail.min(self.first.saturating_sub(peak));
            let between = self.sum.floor.saturating_sub(peak);
            (self.head.max(peak), own.max(between).max(of_next))
        } else if moved(next.first) < self.first {
            // They are this run.
            (peak, of_next)
        } else {
            // They go on in the next run.
            (peak.min(moved(next.head)), next.tail)
        };
        Self {
            sum: self.sum.then(next.sum),
            first: self.first,
            head,
            tail,
        }
    }
}
