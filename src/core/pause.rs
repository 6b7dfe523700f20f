//! A cool-down on a key, shared by everyone who calls it.

use super::slow::Factor;
use super::units::{Span, Timestamp};

/// How to go on after a pause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlowDown {
    /// What the rate is multiplied by.
    pub factor: Factor,
    /// How long it takes to climb back.
    pub recover: Span,
}

/// A pause, or the mark that one leaves behind.
///
/// When a pause ends, a bucket holds at most one permit, so that waiting workers leave at the rate and
/// not in a herd. A bucket that exists when the pause is set is drained there and then. Where there is
/// none yet, the pause keeps a mark, for as long after its end as it lasted, and the bucket that begins
/// in that time begins drained.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pause {
    /// When it ends.
    pub until: Timestamp,
    /// The bucket that begins next begins drained.
    pub drains: bool,
    /// How long the mark is kept.
    pub kept_until: Timestamp,
}

impl Pause {
    /// A pause of `span` from `now`; `drains` a bucket yet to begin.
    pub fn new(now: Timestamp, span: Span, drains: bool) -> Self {
        let until = now.after(span);
        Self {
            until,
            drains,
            kept_until: until.after(span),
        }
    }

    /// The instant from which it can no longer be told that there was a pause.
    pub fn ends(&self) -> Timestamp {
        if self.drains {
            self.kept_until
        } else {
            self.until
        }
    }

    /// What an early end leaves at `now`: the mark, moved there, if the drain is still to come.
    pub fn resumed(&self, now: Timestamp) -> Option<Self> {
        let kept = Span::from_ns(self.kept_until.since(self.until)).unwrap_or(Span::MAX);
        self.drains.then(|| Self {
            until: now,
            drains: true,
            kept_until: now.after(kept),
        })
    }
}

#[cfg(test)]
#[path = "pause_tests.rs"]
mod tests;
