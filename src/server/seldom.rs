//! Lines of the log that others could cause as often as they like.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::core::units::{SECOND, Timestamp};

/// Least time between two lines of a kind.
const APART_NS: u64 = 10 * SECOND;

/// One kind of line: says when the next one is due, and counts those that are left out.
#[derive(Default)]
pub(super) struct Seldom {
    next_ns: AtomicU64,
    left_out: AtomicU64,
}

impl Seldom {
    /// How many were left out since the last one, if one may be written now.
    pub(super) fn due(&self, now: Timestamp) -> Option<u64> {
        let (now, next) = (now.as_ns(), self.next_ns.load(Relaxed));
        let after = now.saturating_add(APART_NS);
        // Of two that come at once one is written.
        let is_due = now >= next
            && self
                .next_ns
                .compare_exchange(next, after, Relaxed, Relaxed)
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
        let line = Seldom::default();
        let at = |ns| line.due(Timestamp::ZERO.after_ns(ns));
        assert_eq!(at(5), Some(0));
        assert_eq!((at(6), at(7)), (None, None));
        assert_eq!(at(5 + APART_NS), Some(2));
        assert_eq!(at(5 + 2 * APART_NS - 1), None);
        assert_eq!(at(5 + 2 * APART_NS), Some(1));
    }
}
