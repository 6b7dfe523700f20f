//! Lines of the log that others could cause as often as they like.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One kind of line: says whether the next one may be written, and counts those that are left out.
pub struct Seldom {
    /// Lines that may come one right behind the other.
    at_once: u64,
    /// Nanoseconds in which one of these is regained.
    apart_ns: u64,
    /// When all of them are.
    full_ns: AtomicU64,
    left_out: AtomicU64,
}

impl Seldom {
    /// One line every so many nanoseconds.
    pub const fn one_each(apart_ns: u64) -> Self {
        Self::some_each(1, apart_ns)
    }

    /// `at_once` lines, and another one every so many nanoseconds.
    pub const fn some_each(at_once: u64, apart_ns: u64) -> Self {
        Self {
            at_once,
            apart_ns,
            full_ns: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
        }
    }

    /// There is something to tell. If it may be told: how much was not, since the last time.
    pub fn due(&self, now_ns: u64) -> Option<u64> {
        let full_ns = self.full_ns.load(Relaxed);
        let from_ns = full_ns.max(now_ns);
        let owed_ns = from_ns - now_ns;
        let after = from_ns.saturating_add(self.apart_ns);
        // Of two that come at once one is written.
        let is_due = owed_ns <= (self.at_once - 1).saturating_mul(self.apart_ns)
            && self
                .full_ns
                .compare_exchange(full_ns, after, Relaxed, Relaxed)
                .is_ok();
        if is_due {
            Some(self.left_out.swap(0, Relaxed))
        } else {
            self.left_out.fetch_add(1, Relaxed);
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_a_line_and_a_count() {
        let line = Seldom::one_each(10);
        let due = [5, 6, 7, 15, 24, 25, 100].map(|ns| line.due(ns));
        assert_eq!(due, [Some(0), None, None, Some(2), None, Some(1), Some(0)]);
    }

    #[test]
    fn some_may_come_at_once() {
        let lines = Seldom::some_each(3, 10);
        let due = [0, 0, 0, 9, 10, 11, 30, 30, 30].map(|ns| lines.due(ns));
        let all = Some(0);
        assert_eq!(
            due,
            [all, all, all, None, Some(1), None, Some(1), all, None]
        );
    }
}
