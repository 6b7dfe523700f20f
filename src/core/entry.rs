//! Everything that can happen to one key.
//!
//! A key that does not exist and a default [`Entry`] are the same thing: whoever calls acts on the
//! entry, and whoever keeps it drops it once [`Entry::is_absent`] holds again. A call looks at a key
//! through a [`Draft`]: the state as the call's own parameters see it. A refused call drops its draft,
//! and so changes nothing, parameters included.

use super::bucket::Bucket;
use super::decision::{Earliest, Refusal, Standing, Usage};
use super::limit::{BucketLimit, Limit};
use super::pause::Pause;
use super::units::{Span, Timestamp, Wait};

/// The state of one key.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Entry {
    state: State,
    pause: Option<Pause>,
}

/// What a key counts. One variant an algorithm.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum State {
    /// Nothing yet.
    #[default]
    Empty,
    /// A token bucket or GCRA.
    Bucket(Bucket),
}

impl Entry {
    /// An entry put together from its parts, as a snapshot holds them.
    pub fn from_parts(state: State, pause: Option<Pause>) -> Self {
        Self { state, pause }
    }

    /// The parts, for a snapshot.
    pub fn parts(&self) -> (&State, Option<&Pause>) {
        (&self.state, self.pause.as_ref())
    }

    /// Drops what can no longer be told from what never existed.
    pub fn forget(&mut self, now: Timestamp) {
        if let State::Bucket(bucket) = &self.state
            && bucket.is_full(now, self.paused_until())
        {
            self.state = State::Empty;
        }
        if self.pause.is_some_and(|pause| now >= pause.ends()) {
            self.pause = None;
        }
    }

    /// True if the entry holds nothing at all.
    pub fn is_absent(&self) -> bool {
        matches!(self.state, State::Empty) && self.pause.is_none()
    }

    /// True if [`Self::forget`] would leave nothing.
    pub fn is_forgettable(&self, now: Timestamp) -> bool {
        let state_gone = match &self.state {
            State::Empty => true,
            State::Bucket(bucket) => bucket.is_full(now, self.paused_until()),
        };
        state_gone && self.pause.is_none_or(|pause| now >= pause.ends())
    }

    /// The time until the key disappears if nobody calls it.
    pub fn forgotten_after(&self, now: Timestamp) -> Wait {
        let state = match &self.state {
            State::Empty => Wait::ZERO,
            State::Bucket(bucket) => bucket.standing(now, self.paused_until()).reset_after,
        };
        let pause = self.pause.map_or(0, |pause| pause.ends().since(now));
        state.max(Wait::from_ns(u128::from(pause)))
    }

    /// The key as a call with `limit` sees it at `now`.
    ///
    /// # Errors
    /// As [`Bucket::adopt`].
    pub fn draft(&mut self, limit: &Limit, now: Timestamp) -> Result<Draft<'_>, Refusal> {
        let pause_until = self.paused_until();
        match limit {
            Limit::Bucket(limit) => {
                let bucket = self.bucket_under(*limit, now)?;
                Ok(Draft {
                    entry: self,
                    bucket,
                    now,
                    pause_until,
                })
            }
        }
    }

    fn bucket_under(&self, limit: BucketLimit, now: Timestamp) -> Result<Bucket, Refusal> {
        match &self.state {
            State::Bucket(bucket) => bucket.adopt(limit, now),
            State::Empty => {
                let mut bucket = Bucket::new(limit, now);
                if let Some(pause) = self.pause.filter(|pause| pause.drains) {
                    bucket.drain_to(pause.until);
                }
                Ok(bucket)
            }
        }
    }

    /// Holds everyone back for `span`; the span of the pause then in force.
    ///
    /// Only ever prolongs a running pause, unless `force`. `keep` leaves a bucket the burst it would
    /// have had at the end.
    pub fn pause(&mut self, span: Span, keep: bool, force: bool, now: Timestamp) -> Wait {
        if force && now.after(span) < self.paused_until() {
            self.resume(now);
            // A bucket that is full now is none that could be drained: the pause keeps a mark instead.
            self.forget(now);
        }
        let running_until = self.paused_until();
        if running_until <= now
            && let State::Bucket(bucket) = &mut self.state
        {
            bucket.undrained = None;
        }
        if now.after(span) > running_until {
            let mut pause = Pause::new(now, span, !keep);
            if !keep && let State::Bucket(bucket) = &mut self.state {
                bucket.drain_to(pause.until);
                pause.drains = false;
            }
            self.pause = Some(pause);
        }
        self.paused(now)
    }

    /// Ends a pause now; false if there was none. See [`Bucket::resume`].
    pub fn resume(&mut self, now: Timestamp) -> bool {
        let Some(pause) = self.pause.filter(|pause| pause.until > now) else {
            return false;
        };
        self.pause = pause.resumed(now);
        if let State::Bucket(bucket) = &mut self.state {
            bucket.resume(now);
        }
        true
    }

    /// Gives back up to `cost` unused permits; how many came back. See [`Bucket::refund`].
    pub fn refund(&mut self, cost: u64, now: Timestamp) -> u64 {
        let pause_until = self.paused_until();
        match &mut self.state {
            State::Empty => 0,
            State::Bucket(bucket) => bucket.refund(cost, now, pause_until),
        }
    }

    /// How the key stands under its own limit; `None` for a key without state.
    pub fn usage(&self, now: Timestamp) -> Option<Usage> {
        if self.is_forgettable(now) {
            return None;
        }
        let pause_until = self.paused_until();
        let paused = self.paused(now);
        let State::Bucket(bucket) = &self.state else {
            let standing = Standing {
                remaining: 0,
                reset_after: self.forgotten_after(now),
            };
            return Some(Usage {
                limit: None,
                used: 0,
                booked: 0,
                wait: paused,
                standing,
                paused,
            });
        };
        let (used, booked) = bucket.used_and_booked(now, pause_until);
        let wait = match bucket.earliest(1, now, pause_until) {
            Earliest::After(wait) => wait,
            // A capacity is at least 1.
            Earliest::Never => Wait::ZERO,
        };
        let limit = Some(Limit::Bucket(bucket.limit));
        Some(Usage {
            limit,
            used,
            booked,
            wait,
            standing: bucket.standing(now, pause_until),
            paused,
        })
    }

    /// What is left of the pause; zero if there is none.
    pub fn paused(&self, now: Timestamp) -> Wait {
        Wait::from_ns(u128::from(self.paused_until().since(now)))
    }

    fn paused_until(&self) -> Timestamp {
        self.pause.map_or(Timestamp::ZERO, |pause| pause.until)
    }
}

/// A key as one call sees it: ask it, charge it, and [`commit`](Self::commit) it, or drop it.
pub struct Draft<'a> {
    entry: &'a mut Entry,
    bucket: Bucket,
    now: Timestamp,
    pause_until: Timestamp,
}

impl Draft<'_> {
    /// When `cost` could go.
    pub fn earliest(&self, cost: u64) -> Earliest {
        self.bucket.earliest(cost, self.now, self.pause_until)
    }

    /// How the key stands under the call's limit.
    pub fn standing(&self) -> Standing {
        self.bucket.standing(self.now, self.pause_until)
    }

    /// True if the key is paused.
    pub fn is_paused(&self) -> bool {
        self.pause_until > self.now
    }

    /// Charges `cost` at its earliest slot.
    ///
    /// # Errors
    /// As [`Bucket::book`].
    pub fn book(&mut self, cost: u64) -> Result<(), Refusal> {
        self.bucket.book(cost, self.now, self.pause_until)
    }

    /// Makes the draft the key's state.
    pub fn commit(self) {
        // The drain that a pause left is in the bucket now.
        if let Some(pause) = &mut self.entry.pause {
            pause.drains = false;
        }
        self.entry.state = State::Bucket(self.bucket);
    }
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
