//! The last ten minutes of a key, second by second.

use super::{Kind, Report, ReportRow};
use std::collections::VecDeque;

/// How far back it goes, in seconds.
pub(super) const SECONDS: u64 = 600;

/// What was decided on a key in a second: what was surely counted.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Second {
    /// The second, since the Unix epoch.
    pub at_s: u64,
    /// How often each kind was, in the order of [`Kind::ALL`].
    pub counts: [u32; super::KINDS],
    /// The longest wait that somebody was told, in milliseconds.
    pub wait_ms: u32,
}

impl Second {
    /// How often that kind was.
    pub const fn count(&self, kind: Kind) -> u32 {
        self.counts[kind as usize]
    }
}

/// The last ten minutes of a key.
#[derive(Clone, Default, Debug)]
pub struct History {
    /// The second since which it is followed.
    pub since_s: u64,
    /// Seconds in which something was decided, oldest first.
    pub seconds: VecDeque<Second>,
}

impl History {
    pub(super) fn since(since_s: u64) -> Self {
        Self {
            since_s,
            seconds: VecDeque::new(),
        }
    }

    /// Adds what a report says of the key.
    pub(super) fn add(&mut self, report: &Report, row: &ReportRow) {
        let Some(second) = self.at(report.second) else {
            return;
        };
        let count = &mut second.counts[report.kind as usize];
        *count = count.saturating_add(row.count.saturating_sub(row.error));
        if report.kind == Kind::Waited {
            second.wait_ms = second.wait_ms.max(row.most);
        }
    }

    /// A second; `None` if it is too long ago.
    fn at(&mut self, at_s: u64) -> Option<&mut Second> {
        let place = match self
            .seconds
            .binary_search_by_key(&at_s, |second| second.at_s)
        {
            Ok(place) => place,
            Err(place) => {
                let newest = self.seconds.back().map_or(at_s, |second| second.at_s);
                if at_s + SECONDS <= newest {
                    return None;
                }
                let second = Second {
                    at_s,
                    ..Second::default()
                };
                self.seconds.insert(place, second);
                self.since_s = self.since_s.min(at_s);
                let before = self.seconds.len();
                self.forget(newest.max(at_s));
                place - (before - self.seconds.len())
            }
        };
        self.seconds.get_mut(place)
    }

    /// The last second in which something was decided; since when it is followed if nothing was.
    pub(super) fn heard_of_s(&self) -> u64 {
        self.seconds
            .back()
            .map_or(self.since_s, |second| second.at_s)
    }

    /// Forgets seconds that are too long ago; false if nothing was heard of the key since.
    pub(super) fn is_kept(&mut self, now_s: u64) -> bool {
        self.forget(now_s);
        self.heard_of_s() + SECONDS > now_s
    }

    /// Forgets seconds that are too long ago.
    pub(super) fn forget(&mut self, now_s: u64) {
        while let Some(second) = self.seconds.front()
            && second.at_s + SECONDS <= now_s
        {
            self.seconds.pop_front();
        }
    }
}
