//! A key as one call sees it: under the call's own parameters, not yet changed.

use super::bucket::Bucket;
use super::decision::{Earliest, Refusal, Standing};
use super::entry::{Entry, State};
use super::limit::{Limit, PeriodLimit};
use super::log::Log;
use super::sliding::Sliding;
use super::units::Timestamp;
use super::window::Window;

/// Bookings ahead that a key may hold unless told otherwise: some megabytes.
pub const BOOKINGS_MAX: usize = 100_000;

/// A key as one call sees it: ask it, charge it, and [`commit`](Self::commit) it, or drop it.
///
/// Small states are copied. A log is not: it stays where it is and is looked at under the call's
/// parameters, and so booking in it changes the key at once. Book only what will be committed.
pub struct Draft<'a> {
    entry: &'a mut Entry,
    seen: Seen,
    now: Timestamp,
    pause_until: Timestamp,
    bookings_max: usize,
}

enum Seen {
    Bucket(Bucket),
    Window(Window),
    Sliding(Sliding),
    Log(PeriodLimit),
}

impl<'a> Draft<'a> {
    /// The key under `limit` at `now`.
    pub(super) fn new(
        entry: &'a mut Entry,
        limit: &Limit,
        now: Timestamp,
    ) -> Result<Self, Refusal> {
        let pause_until = entry.paused_until();
        let seen = match (limit, &entry.state) {
            (Limit::Bucket(limit), State::Bucket(bucket)) => {
                Seen::Bucket(bucket.adopt(*limit, now)?)
            }
            (Limit::Bucket(limit), State::Empty) => {
                let mut bucket = Bucket::new(*limit, now);
                if let Some(pause) = entry.pause.filter(|pause| pause.drains) {
                    bucket.drain_to(pause.until);
                }
                Seen::Bucket(bucket)
            }
            (Limit::Window(limit), State::Window(window)) => {
                Seen::Window(window.clone().adopt(*limit, now))
            }
            (Limit::Window(limit), State::Empty) => Seen::Window(Window::new(*limit)),
            (Limit::Sliding(limit), State::Sliding(sliding)) => {
                Seen::Sliding(sliding.adopt(*limit, now))
            }
            (Limit::Sliding(limit), State::Empty) => Seen::Sliding(Sliding::new(*limit, now)),
            (Limit::Log(limit), State::Log(_)) => Seen::Log(*limit),
            (Limit::Log(limit), State::Empty) => {
                entry.state = State::Log(Log::new(*limit));
                Seen::Log(*limit)
            }
            _ => return Err(Refusal::WrongKind),
        };
        Ok(Self {
            entry,
            seen,
            now,
            pause_until,
            bookings_max: BOOKINGS_MAX,
        })
    }

    /// With another bound on the bookings that the key may hold ahead.
    pub fn with_bookings_max(self, bookings_max: usize) -> Self {
        Self {
            bookings_max,
            ..self
        }
    }

    /// When `cost` could go.
    pub fn earliest(&self, cost: u64) -> Earliest {
        let (now, pause_until) = (self.now, self.pause_until);
        match &self.seen {
            Seen::Bucket(bucket) => bucket.earliest(cost, now, pause_until),
            Seen::Window(window) => window.earliest(cost, now, pause_until),
            Seen::Sliding(sliding) => sliding.earliest(cost, now, pause_until),
            Seen::Log(limit) => self.log().earliest(*limit, cost, now, pause_until),
        }
    }

    /// How the key stands under the call's limit.
    pub fn standing(&self) -> Standing {
        let (now, pause_until) = (self.now, self.pause_until);
        match &self.seen {
            Seen::Bucket(bucket) => bucket.standing(now, pause_until),
            Seen::Window(window) => window.standing(now, pause_until),
            Seen::Sliding(sliding) => sliding.standing(now, pause_until),
            Seen::Log(limit) => self.log().standing(*limit, now, pause_until),
        }
    }

    /// True if the key is paused.
    pub fn is_paused(&self) -> bool {
        self.pause_until > self.now
    }

    /// Charges `cost` at its earliest slot.
    ///
    /// # Errors
    /// The debt or the bookings would be more than a key may hold.
    pub fn book(&mut self, cost: u64) -> Result<(), Refusal> {
        let (now, pause_until, most) = (self.now, self.pause_until, self.bookings_max);
        match &mut self.seen {
            Seen::Bucket(bucket) => bucket.book(cost, now, pause_until),
            Seen::Window(window) => window.book(cost, now, pause_until, most),
            Seen::Sliding(sliding) => {
                sliding.book(cost, now);
                Ok(())
            }
            Seen::Log(limit) => {
                let limit = *limit;
                self.log_mut().book(limit, cost, now, pause_until, most)
            }
        }
    }

    /// Charges `cost` without asking, into debt if need be.
    ///
    /// # Errors
    /// As [`Self::book`].
    pub fn charge(&mut self, cost: u64) -> Result<(), Refusal> {
        let (now, pause_until, most) = (self.now, self.pause_until, self.bookings_max);
        match &mut self.seen {
            Seen::Bucket(bucket) => bucket.book(cost, now, pause_until),
            Seen::Window(window) => window.charge(cost, now, most),
            Seen::Sliding(sliding) => {
                sliding.book(cost, now);
                Ok(())
            }
            Seen::Log(limit) => {
                let limit = *limit;
                self.log_mut().charge(limit, cost, now, most)
            }
        }
    }

    /// Makes the draft the key's state.
    pub fn commit(self) {
        self.entry.state = match self.seen {
            Seen::Bucket(bucket) => {
                // The drain that a pause left is in the bucket now.
                if let Some(pause) = &mut self.entry.pause {
                    pause.drains = false;
                }
                State::Bucket(bucket)
            }
            Seen::Window(window) => State::Window(window),
            Seen::Sliding(sliding) => State::Sliding(sliding),
            Seen::Log(_) => return,
        };
    }

    fn log(&self) -> &Log {
        match &self.entry.state {
            State::Log(log) => log,
            _ => unreachable!("a draft that sees a log was made of one"),
        }
    }

    fn log_mut(&mut self) -> &mut Log {
        match &mut self.entry.state {
            State::Log(log) => log,
            _ => unreachable!("a draft that sees a log was made of one"),
        }
    }
}
