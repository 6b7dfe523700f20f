//! The fixed window: at most `count` permits in each of a row of periods.
//!
//! The row begins at the first request, or at a multiple of the period since the epoch. A booking goes
//! into the first window with room; only windows that hold something are kept, so that neither a long
//! pause nor a short period costs memory.

use super::decision::{Earliest, Refusal, Standing};
use super::limit::PeriodLimit;
use super::units::{Timestamp, Wait};
use smallvec::SmallVec;

/// Windows with permits in them: their place in the row and how many. In order; one at most, unless some are booked.
pub type Used = SmallVec<[(u64, u64); 1]>;

/// The parameters of a fixed window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WindowLimit {
    /// How many, and how long.
    pub per: PeriodLimit,
    /// Windows lie at multiples of the period since the epoch.
    pub align: bool,
}

/// The state of a fixed window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Window {
    /// The limit of the last call that changed the key.
    pub limit: WindowLimit,
    /// Where the row begins; it may lie ahead, after a pause.
    pub begin: Timestamp,
    /// Windows with permits in them.
    pub used: Used,
}

impl Window {
    /// A row that has not begun.
    pub fn new(limit: WindowLimit) -> Self {
        Self {
            limit,
            begin: Timestamp::ZERO,
            used: Used::new(),
        }
    }

    /// Uses up all but one of the window that begins now, of a row that has not begun.
    pub fn drain(&mut self, now: Timestamp) {
        let drained = self.limit.per.count() - 1;
        if drained > 0 {
            self.begin = self.begin_at(now);
            self.used.push((0, drained));
        }
    }

    /// Drops windows that are over, and counts places from the one that is running.
    pub fn roll(&mut self, now: Timestamp) {
        let running = self.place_of(now);
        if running > 0 {
            self.used.retain(|(place, _)| *place >= running);
            self.used
                .iter_mut()
                .for_each(|(place, _)| *place -= running);
            self.begin = self.start_of(running);
        }
    }

    /// These counts under other parameters: the row keeps its beginning, and what is booked ahead its instant. A
    /// row without permits may be moved to multiples of the period.
    pub fn adopt(mut self, limit: WindowLimit, now: Timestamp) -> Self {
        self.roll(now);
        if limit.per.period() != self.limit.per.period() {
            let mut moved = Used::with_capacity(self.used.len());
            for &(place, used) in &self.used {
                let into = self.start_of(place).since(self.begin);
                let place = into / limit.per.period().as_ns();
                match moved.last_mut() {
                    Some(last) if last.0 == place => last.1 = last.1.saturating_add(used),
                    _ => moved.push((place, used)),
                }
            }
            self.used = moved;
        }
        let differs = limit != self.limit;
        self.limit = limit;
        if differs {
            self.begin_anew(self.begin);
        }
        // Under a shorter period more of them may be over.
        self.roll(now);
        self
    }

    /// When `cost` could go.
    pub fn earliest(&self, cost: u64, now: Timestamp, pause_until: Timestamp) -> Earliest {
        if cost > self.limit.per.count() {
            return Earliest::Never;
        }
        let slot = self.slot(cost, now, pause_until);
        Earliest::After(Wait::from_ns(u128::from(slot.since(now))))
    }

    /// Lets the row begin at `at` if none of its windows holds anything.
    pub fn begin_anew(&mut self, at: Timestamp) {
        if self.used.is_empty() {
            self.begin = self.begin_at(at);
        }
    }

    /// Counts `cost` in the window of `slot`, beyond its count if need be.
    ///
    /// # Errors
    /// [`Refusal::TooManyBookings`] if `most` windows are booked already.
    pub fn add(&mut self, slot: Timestamp, cost: u64, most: usize) -> Result<(), Refusal> {
        let place = self.place_of(slot);
        match self.used.binary_search_by_key(&place, |(place, _)| *place) {
            Ok(index) => self.used[index].1 = self.used[index].1.saturating_add(cost),
            Err(_) if self.used.len() >= most => return Err(Refusal::TooManyBookings),
            Err(index) => self.used.insert(index, (place, cost)),
        }
        Ok(())
    }

    /// Takes `amount` back out of the window of `slot`, if that is still counted; how much it was.
    pub fn give_back(&mut self, amount: u64, slot: Timestamp, now: Timestamp) -> u64 {
        self.roll(now);
        let place = self.place_of(slot);
        if slot < self.begin {
            return 0;
        }
        let Ok(index) = self.used.binary_search_by_key(&place, |(place, _)| *place) else {
            return 0;
        };
        let back = amount.min(self.used[index].1);
        self.used[index].1 -= back;
        if self.used[index].1 == 0 {
            self.used.remove(index);
            // A row that was to begin at the end of a pause need not wait for that.
            self.begin_anew(self.begin.min(now));
        }
        back
    }

    /// How the running window stands.
    pub fn standing(&self, now: Timestamp, pause_until: Timestamp) -> Standing {
        let ahead = pause_until > now || (self.begin > now && !self.used.is_empty());
        let remaining = if ahead {
            0
        } else {
            self.limit.per.count().saturating_sub(self.running(now))
        };
        let end = self.end().max(pause_until).since(now);
        Standing {
            remaining,
            reset_after: Wait::from_ns(u128::from(end)),
        }
    }

    /// Permits in the running window, and permits in later ones.
    pub fn used_and_booked(&self, now: Timestamp) -> (u64, u64) {
        let running = if self.begin > now {
            None
        } else {
            Some(self.place_of(now))
        };
        let later = self
            .used
            .iter()
            .filter(|(place, _)| running.is_none_or(|running| *place > running));
        (
            self.running(now),
            later.fold(0, |sum, (_, used)| sum.saturating_add(*used)),
        )
    }

    /// True once nothing is counted any more.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.end() <= now
    }

    /// The end of the last window that holds something; the epoch if there is none.
    fn end(&self) -> Timestamp {
        self.used.last().map_or(Timestamp::ZERO, |(place, _)| {
            self.start_of(place.saturating_add(1))
        })
    }

    fn running(&self, now: Timestamp) -> u64 {
        if self.begin > now {
            0
        } else {
            self.used_at(self.place_of(now))
        }
    }

    fn used_at(&self, place: u64) -> u64 {
        self.used
            .binary_search_by_key(&place, |(place, _)| *place)
            .map_or(0, |index| self.used[index].1)
    }

    /// The instant in the first window from now on with room for `cost`.
    fn slot(&self, cost: u64, now: Timestamp, pause_until: Timestamp) -> Timestamp {
        let at = now.max(pause_until);
        if self.is_over(now) {
            return at;
        }
        let room = self.limit.per.count() - cost;
        let mut place = self.place_of(at);
        let mut index = self.used.partition_point(|(at, _)| *at < place);
        while self
            .used
            .get(index)
            .is_some_and(|&(at, used)| at == place && used > room)
        {
            (place, index) = (place + 1, index + 1);
        }
        at.max(self.start_of(place))
    }

    fn begin_at(&self, at: Timestamp) -> Timestamp {
        if self.limit.align {
            self.limit.per.aligned(at)
        } else {
            at
        }
    }

    fn place_of(&self, at: Timestamp) -> u64 {
        at.since(self.begin) / self.limit.per.period().as_ns()
    }

    fn start_of(&self, place: u64) -> Timestamp {
        self.begin.after_periods(place, self.limit.per.period())
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
