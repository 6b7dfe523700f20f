//! What was counted in each of the last seconds, so that a page that is opened shows at once what led to now.

use crate::metrics::Totals;
use parking_lot::Mutex;
use std::collections::VecDeque;

/// Seconds that are kept.
pub const SECONDS_MAX: usize = 300;

/// What was done in a second.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Second {
    /// Its number, from the first that was looked at.
    pub number: u64,
    /// Commands that ran.
    pub commands: u64,
    /// Calls granted.
    pub granted: u64,
    /// Calls denied.
    pub denied: u64,
}

#[derive(Default)]
struct Seen {
    seconds: VecDeque<Second>,
    /// The totals at the last look.
    before: Option<Second>,
}

/// The last seconds.
#[derive(Default)]
pub struct Past(Mutex<Seen>);

impl Past {
    /// Looks at the totals, once a second; the number of the second that has ended.
    pub fn look(&self, totals: &Totals) -> u64 {
        let mut seen = self.0.lock();
        let now = Second {
            number: seen.before.map_or(0, |before| before.number + 1),
            commands: totals.commands,
            granted: totals.granted,
            denied: totals.denied,
        };
        if let Some(before) = seen.before.replace(now) {
            // Totals that began anew are as many as there were since.
            let since = |now: u64, before: u64| now.checked_sub(before).unwrap_or(now);
            if seen.seconds.len() == SECONDS_MAX {
                seen.seconds.pop_front();
            }
            seen.seconds.push_back(Second {
                number: now.number,
                commands: since(now.commands, before.commands),
                granted: since(now.granted, before.granted),
                denied: since(now.denied, before.denied),
            });
        }
        now.number
    }

    /// The seconds behind that of number `behind`, oldest first.
    pub fn since(&self, behind: u64) -> Vec<Second> {
        let seen = self.0.lock();
        let seconds = seen.seconds.iter();
        let wanted = seconds.filter(|second| second.number > behind);
        wanted.copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Metrics, Tally};

    #[test]
    fn a_second_is_what_was_counted_in_it() {
        let (metrics, past) = (Metrics::default(), Past::default());
        let mut tally = Tally::default();
        (tally.commands, tally.granted, tally.denied) = (3, 2, 1);
        metrics.add(&tally);
        assert_eq!(past.look(&metrics.totals()), 0);
        assert_eq!(past.since(0), []);
        metrics.add(&tally);
        past.look(&metrics.totals());
        metrics.reset();
        metrics.add(&tally);
        past.look(&metrics.totals());
        let seen: Vec<_> = past
            .since(0)
            .iter()
            .map(|s| (s.number, s.commands, s.granted))
            .collect();
        assert_eq!(seen, [(1, 3, 2), (2, 3, 2)]);
        assert_eq!(past.since(1).len(), 1);
        for _ in 0..1_000 {
            past.look(&metrics.totals());
        }
        assert_eq!(past.since(0).len(), SECONDS_MAX);
    }
}
