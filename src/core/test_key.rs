//! A key as the tests of the core call it: by text, and as the store does, which forgets before and
//! after each call.

use super::decision::{Earliest, Refusal, Standing};
use super::entry::Entry;
use super::limit::{BucketLimit, Keeps, Limit, Rate};
use super::units::{MILLISECOND, SECOND, Span, Timestamp, Wait};

/// When the tests begin.
pub const START: u64 = 1_700_000_000 * SECOND;
/// A wait that cannot end.
pub const NEVER: i64 = -2;

/// A token bucket.
pub fn bucket(capacity: u64, rate: &str) -> Limit {
    limit(capacity, rate, Keeps::Permits)
}

/// A GCRA of the same numbers.
pub fn gcra(capacity: u64, rate: &str) -> Limit {
    limit(capacity, rate, Keeps::Time)
}

fn limit(capacity: u64, rate: &str, keeps: Keeps) -> Limit {
    let rate = Rate::parse(rate.as_bytes()).expect(rate);
    Limit::Bucket(BucketLimit::new(capacity, rate, keeps).expect("a limit that can be held"))
}

/// Milliseconds as a span.
pub fn ms(ms: u64) -> Span {
    Span::from_ns(ms * MILLISECOND).expect("a span")
}

/// One key and a clock.
pub struct TestKey {
    pub entry: Entry,
    pub now: Timestamp,
}

impl TestKey {
    pub fn new() -> Self {
        Self::at(START)
    }

    pub fn at(ns: u64) -> Self {
        let now = Timestamp::from_ns(ns).expect("a time");
        Self {
            entry: Entry::default(),
            now,
        }
    }

    pub fn advance_ns(&mut self, ns: u64) {
        self.now = Timestamp::from_ns(self.now.as_ns() + ns).expect("a time");
    }

    pub fn advance_ms(&mut self, ms: u64) {
        self.advance_ns(ms * MILLISECOND);
    }

    fn call<R>(&mut self, f: impl FnOnce(&mut Entry, Timestamp) -> R) -> R {
        self.entry.forget(self.now);
        let result = f(&mut self.entry, self.now);
        self.entry.forget(self.now);
        result
    }

    /// When `cost` could go, and the wait's end booked if it is at most `max_wait`.
    pub fn reserve_exactly(&mut self, limit: &Limit, cost: u64, max_wait: Span) -> Earliest {
        self.call(|entry, now| {
            let mut draft = entry.draft(limit, now).expect("the carry can be held");
            let earliest = draft.earliest(cost);
            if let Earliest::After(wait) = earliest
                && wait.fits(max_wait)
            {
                draft.book(cost).expect("a reservation can be held");
                draft.commit();
            }
            earliest
        })
    }

    /// `RL.RESERVE`: milliseconds, -1 or -2.
    pub fn reserve(&mut self, limit: &Limit, cost: u64, max_wait_ms: u64) -> i64 {
        match self.reserve_exactly(limit, cost, ms(max_wait_ms)) {
            Earliest::After(wait) if wait.fits(ms(max_wait_ms)) => wait.ceil_ms(),
            Earliest::After(_) => -1,
            Earliest::Never => NEVER,
        }
    }

    /// `RL.TAKE`: true if the cost went.
    pub fn take(&mut self, limit: &Limit, cost: u64) -> bool {
        self.reserve_exactly(limit, cost, Span::ZERO).is_now()
    }

    /// When `cost` could go, nothing changed.
    pub fn earliest(&mut self, limit: &Limit, cost: u64) -> Earliest {
        self.call(|entry, now| {
            entry
                .draft(limit, now)
                .expect("the carry can be held")
                .earliest(cost)
        })
    }

    /// The wait of a cost that can go at some time.
    pub fn wait(&mut self, limit: &Limit, cost: u64) -> Wait {
        match self.earliest(limit, cost) {
            Earliest::After(wait) => wait,
            Earliest::Never => panic!("{cost} can never go"),
        }
    }

    pub fn standing(&mut self, limit: &Limit) -> Standing {
        self.call(|entry, now| {
            entry
                .draft(limit, now)
                .expect("the carry can be held")
                .standing()
        })
    }

    pub fn remaining(&mut self, limit: &Limit) -> u64 {
        self.standing(limit).remaining
    }

    pub fn charge(&mut self, limit: &Limit, cost: u64) -> Result<(), Refusal> {
        self.call(|entry, now| {
            let mut draft = entry.draft(limit, now)?;
            draft.book(cost)?;
            draft.commit();
            Ok(())
        })
    }

    pub fn refund(&mut self, cost: u64) -> u64 {
        self.call(|entry, now| entry.refund(cost, now))
    }

    /// Milliseconds left of the pause in force.
    pub fn pause(&mut self, span_ms: u64) -> i64 {
        self.call(|entry, now| entry.pause(ms(span_ms), false, false, now).ceil_ms())
    }

    pub fn pause_keep(&mut self, span_ms: u64) -> i64 {
        self.call(|entry, now| entry.pause(ms(span_ms), true, false, now).ceil_ms())
    }

    pub fn pause_force(&mut self, span_ms: u64) -> i64 {
        self.call(|entry, now| entry.pause(ms(span_ms), false, true, now).ceil_ms())
    }

    pub fn resume(&mut self) -> bool {
        self.call(|entry, now| entry.resume(now))
    }

    pub fn exists(&self) -> bool {
        !self.entry.is_forgettable(self.now)
    }
}
