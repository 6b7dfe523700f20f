//! Everything that can happen to one key.
//!
//! A key that does not exist and a default [`Entry`] are the same thing: whoever calls acts on the
//! entry, and whoever keeps it drops it once [`Entry::is_absent`] holds again. A call looks at a key
//! through a [`Draft`]: the state as the call's own parameters see it. A refused call drops its draft,
//! and so changes nothing, parameters included.

use super::bucket::Bucket;
use super::decision::{Earliest, Refusal, Standing, Usage};
use super::draft::Draft;
use super::limit::Limit;
use super::log::Log;
use super::pause::Pause;
use super::sliding::Sliding;
use super::units::{Span, Timestamp, Wait};
use super::window::Window;

/// The state of one key.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Entry {
    pub(super) state: State,
    pub(super) pause: Option<Pause>,
}

/// What a key counts. One variant an algorithm.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum State {
    /// Nothing yet.
    #[default]
    Empty,
    /// A token bucket or GCRA.
    Bucket(Bucket),
    /// A fixed window.
    Window(Window),
    /// A sliding window counter.
    Sliding(Sliding),
    /// A sliding log.
    Log(Log),
}

impl State {
    /// True if it cannot be told from a state that never was.
    fn is_over(&self, now: Timestamp, pause_until: Timestamp) -> bool {
        match self {
            Self::Empty => true,
            Self::Bucket(bucket) => bucket.is_full(now, pause_until),
            Self::Window(window) => pause_until <= now && window.is_over(now),
            Self::Sliding(sliding) => pause_until <= now && sliding.is_over(now),
            Self::Log(log) => pause_until <= now && log.is_over(now),
        }
    }

    /// How it stands under its own limit.
    fn standing(&self, now: Timestamp, pause_until: Timestamp) -> Option<Standing> {
        match self {
            Self::Empty => None,
            Self::Bucket(bucket) => Some(bucket.standing(now, pause_until)),
            Self::Window(window) => Some(window.standing(now, pause_until)),
            Self::Sliding(sliding) => Some(sliding.standing(now, pause_until)),
            Self::Log(log) => Some(log.standing(log.limit, now, pause_until)),
        }
    }
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
        if self.state.is_over(now, self.paused_until()) {
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
        self.state.is_over(now, self.paused_until())
            && self.pause.is_none_or(|pause| now >= pause.ends())
    }

    /// The time until the key disappears if nobody calls it.
    pub fn forgotten_after(&self, now: Timestamp) -> Wait {
        let state = self
            .state
            .standing(now, self.paused_until())
            .map_or(Wait::ZERO, |standing| standing.reset_after);
        let pause = self.pause.map_or(0, |pause| pause.ends().since(now));
        state.max(Wait::from_ns(u128::from(pause)))
    }

    /// The key as a call with `limit` sees it at `now`.
    ///
    /// # Errors
    /// [`Refusal::WrongKind`], or as [`Bucket::adopt`].
    pub fn draft(&mut self, limit: &Limit, now: Timestamp) -> Result<Draft<'_>, Refusal> {
        Draft::new(self, limit, now)
    }

    /// Holds everyone back for `span`; the span of the pause then in force.
    ///
    /// Only ever prolongs a running pause, unless `force`. `keep` leaves a bucket the burst it would
    /// have had at the end.
    pub fn pause(&mut self, span: Span, keep: bool, force: bool, now: Timestamp) -> Wait {
        if force && now.after(span) < self.paused_until() {
            self.resume(now);
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
    /// Windows and logs give nothing back.
    pub fn refund(&mut self, cost: u64, now: Timestamp) -> u64 {
        let pause_until = self.paused_until();
        match &mut self.state {
            State::Bucket(bucket) => bucket.refund(cost, now, pause_until),
            State::Empty | State::Window(_) | State::Sliding(_) | State::Log(_) => 0,
        }
    }

    /// How the key stands under its own limit; `None` for a key without state.
    pub fn usage(&self, now: Timestamp) -> Option<Usage> {
        if self.is_forgettable(now) {
            return None;
        }
        let pause_until = self.paused_until();
        let paused = self.paused(now);
        let Some(standing) = self.state.standing(now, pause_until) else {
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
        let (limit, (used, booked), next) = match &self.state {
            State::Empty => return None,
            State::Bucket(bucket) => (
                Limit::Bucket(bucket.limit),
                bucket.used_and_booked(now, pause_until),
                bucket.earliest(1, now, pause_until),
            ),
            State::Window(window) => (
                Limit::Window(window.limit),
                window.used_and_booked(now),
                window.earliest(1, now, pause_until),
            ),
            State::Sliding(sliding) => (
                Limit::Sliding(sliding.limit),
                (sliding.load_rounded_up(now), 0),
                sliding.earliest(1, now, pause_until),
            ),
            State::Log(log) => (
                Limit::Log(log.limit),
                log.used_and_booked(now),
                log.earliest(log.limit, 1, now, pause_until),
            ),
        };
        let wait = match next {
            Earliest::After(wait) => wait,
            // A capacity is at least 1.
            Earliest::Never => Wait::ZERO,
        };
        Some(Usage {
            limit: Some(limit),
            used,
            booked,
            wait,
            standing,
            paused,
        })
    }

    /// What is left of the pause; zero if there is none.
    pub fn paused(&self, now: Timestamp) -> Wait {
        Wait::from_ns(u128::from(self.paused_until().since(now)))
    }

    pub(super) fn paused_until(&self) -> Timestamp {
        self.pause.map_or(Timestamp::ZERO, |pause| pause.until)
    }
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
