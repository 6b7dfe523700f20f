//! Adds reports up: the last minute and the last ten of each kind, and the keys whose seconds are kept.

use super::history::{History, SECONDS};
use super::summary::{Room, Summary};
use super::{Id, KINDS, Kind, Report};
use ahash::RandomState;
use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

pub use super::summary::Count;

/// Keys of each kind whose seconds are kept if they are among the most counted of the last minute.
pub const HISTORIES_OF_A_KIND: usize = 25;
/// Keys whose seconds are kept, in all: two and a half megabytes if something was decided on each in every second.
pub const HISTORIES_MAX: usize = 128;
const _: () = assert!(HISTORIES_OF_A_KIND * KINDS < HISTORIES_MAX);

/// How long the slices are of which the last minute is made up, and how many.
const RECENT: Shape = Shape {
    slice_s: 5,
    window_s: 60,
};
/// The same of the last ten minutes.
const LONG: Shape = Shape {
    slice_s: 60,
    window_s: 600,
};

/// What the slice is given that is going on: as many keys as there may be with all of their counts exact.
const OPEN: Room = Room {
    rows: 1_024,
    name_bytes: 128 * 1024,
};
/// What is kept of one that is over, of which there are 22 a kind.
const CLOSED: Room = Room {
    rows: 256,
    name_bytes: 32 * 1024,
};

#[derive(Clone, Copy)]
struct Shape {
    slice_s: u64,
    window_s: u64,
}

impl Shape {
    /// The number of the first slice that is not over for a window's length at a second.
    const fn first(self, now_s: u64) -> u64 {
        (now_s + 1).saturating_sub(self.window_s) / self.slice_s
    }
}

/// A key among those that were counted most.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ranked {
    /// Its name.
    pub name: Arc<[u8]>,
    /// What was counted of it in the last minute.
    pub minute: Count,
    /// In the last ten minutes.
    pub ten_minutes: Count,
}

/// All that was handed in.
#[derive(Default)]
pub(super) struct Board {
    kinds: [Windows; KINDS],
    histories: HashMap<Id, History, RandomState>,
    /// The slice in which it was last looked which keys are to be followed.
    chosen_in: u64,
}

#[derive(Default)]
struct Windows {
    recent: Slices,
    long: Slices,
}

impl Board {
    /// Adds reports, in the order in which they were handed in.
    pub(super) fn add_all(&mut self, reports: Vec<Report>) {
        for report in reports {
            let windows = &mut self.kinds[report.kind as usize];
            windows.recent.add(RECENT, &report);
            windows.long.add(LONG, &report);
            self.note(&report);
        }
    }

    /// Adds to the seconds of keys. While there is room every key is followed.
    fn note(&mut self, report: &Report) {
        for row in &report.rows {
            let id = row.id;
            if let Some(history) = self.histories.get_mut(&id) {
                history.add(report, row);
            } else if self.histories.len() < HISTORIES_MAX {
                let mut history = History::since(report.second);
                history.add(report, row);
                self.histories.insert(id, history);
            }
        }
    }

    /// Time has come to a second: forgets what is too long ago, and sees to it that keys are followed that are among the
    /// most counted.
    pub(super) fn follow(&mut self, now_s: u64) {
        for windows in &mut self.kinds {
            windows.recent.forget(RECENT, now_s);
            windows.long.forget(LONG, now_s);
        }
        self.histories.retain(|_, history| history.is_kept(now_s));
        let slice = now_s / RECENT.slice_s;
        if self.chosen_in == slice {
            return;
        }
        self.chosen_in = slice;
        let mut chosen: Vec<Id> = Vec::new();
        for kind in Kind::ALL {
            let minute = self.kinds[kind as usize].recent.sum(RECENT, now_s);
            let mut counts: Vec<(Reverse<u64>, Id)> = minute
                .iter()
                .map(|(id, count)| (Reverse(count.surely()), id))
                .collect();
            counts.sort_unstable_by_key(|&(count, id)| (count, id));
            counts.truncate(HISTORIES_OF_A_KIND);
            chosen.extend(counts.into_iter().map(|(_, id)| id));
        }
        chosen.sort_unstable();
        chosen.dedup();
        self.choose(&chosen, now_s);
    }

    /// Follows these keys, of which there are fewer than there is room for; others go for them, those first of which nothing
    /// was heard for longest.
    fn choose(&mut self, chosen: &[Id], now_s: u64) {
        let is_new = |id: &&Id| !self.histories.contains_key(id);
        let new = chosen.iter().filter(is_new).count();
        let too_many = (self.histories.len() + new).saturating_sub(HISTORIES_MAX);
        if too_many > 0 {
            let others = self.histories.iter();
            let mut others: Vec<(u64, Id)> = others
                .filter(|(id, _)| chosen.binary_search(id).is_err())
                .map(|(id, history)| (history.heard_of_s(), *id))
                .collect();
            others.sort_unstable();
            for (_, id) in others.into_iter().take(too_many) {
                self.histories.remove(&id);
            }
        }
        for id in chosen {
            let history = || History::since(now_s);
            self.histories.entry(*id).or_insert_with(history);
        }
    }

    /// See [`super::Hot::top`].
    pub(super) fn top(
        &self,
        kind: Kind,
        database: u8,
        count: usize,
        now_s: u64,
        mut wanted: impl FnMut(&[u8]) -> bool,
    ) -> Vec<Ranked> {
        let windows = &self.kinds[kind as usize];
        let minute = windows.recent.sum(RECENT, now_s);
        let ten_minutes = windows.long.sum(LONG, now_s);
        let mut ranked = Vec::new();
        for (id, name, group, long) in ten_minutes.of_database(database, &mut wanted) {
            let recent = minute.count(id);
            let recent = recent.unwrap_or_else(|| minute.count_of_group(group));
            ranked.push(Ranked::new(name.clone(), recent, long));
        }
        for (id, name, group, recent) in minute.of_database(database, &mut wanted) {
            if ten_minutes.count(id).is_none() {
                let long = ten_minutes.count_of_group(group);
                ranked.push(Ranked::new(name.clone(), recent, long));
            }
        }
        ranked.sort_unstable_by(|one, other| one.order().cmp(&other.order()));
        ranked.truncate(count);
        ranked
    }

    /// Rows of all slices, bytes of their names, and keys that are followed.
    #[cfg(test)]
    pub(super) fn size(&self) -> (usize, usize, usize) {
        let slices = self.kinds.iter();
        let slices = slices.flat_map(|kind| kind.recent.0.iter().chain(&kind.long.0));
        let (rows, name_bytes) = slices.fold((0, 0), |(rows, bytes), (_, slice)| {
            (rows + slice.len(), bytes + slice.name_bytes())
        });
        (rows, name_bytes, self.histories.len())
    }

    /// The last ten minutes of a key that is followed.
    pub(super) fn history(&self, id: Id, now_s: u64) -> Option<History> {
        let mut history = self.histories.get(&id)?.clone();
        history.forget(now_s);
        history.since_s = history.since_s.max((now_s + 1).saturating_sub(SECONDS));
        Some(history)
    }
}

impl Ranked {
    fn new(name: Arc<[u8]>, minute: Count, ten_minutes: Count) -> Self {
        // One window is a part of the other: what bounds one bounds the other.
        let count = minute.count.min(ten_minutes.count);
        let surely = ten_minutes.surely().max(minute.surely());
        Self {
            name,
            minute: Count {
                count,
                error: count - minute.surely(),
            },
            ten_minutes: Count {
                count: ten_minutes.count,
                error: ten_minutes.count - surely,
            },
        }
    }

    fn order(&self) -> (Reverse<u64>, Reverse<u64>, &[u8]) {
        let (minute, ten_minutes) = (self.minute.surely(), self.ten_minutes.surely());
        (Reverse(minute), Reverse(ten_minutes), &self.name)
    }
}

/// Slices of a window, by their numbers.
#[derive(Default)]
struct Slices(VecDeque<(u64, Summary)>);

impl Slices {
    fn add(&mut self, shape: Shape, report: &Report) {
        let number = report.second / shape.slice_s;
        let found = self.0.binary_search_by_key(&number, |slice| slice.0);
        let place = match found {
            Ok(place) => place,
            Err(place) => {
                let newest = self.0.back().map_or(number, |slice| slice.0);
                if number + shape.window_s / shape.slice_s < newest {
                    return;
                }
                if let Some((_, before)) = self.0.back_mut().filter(|_| number > newest) {
                    before.cut(CLOSED);
                }
                self.0.insert(place, (number, Summary::default()));
                place
            }
        };
        let room = if place + 1 == self.0.len() {
            OPEN
        } else {
            CLOSED
        };
        let summary = &mut self.0[place].1;
        summary.add_report(report);
        if !room.twice().fits(summary) {
            summary.cut(room);
        }
    }

    /// Forgets slices that are outside of the window at a second.
    fn forget(&mut self, shape: Shape, now_s: u64) {
        let first = shape.first(now_s);
        while let Some((number, _)) = self.0.front()
            && *number < first
        {
            self.0.pop_front();
        }
    }

    /// The window that ends with a second.
    fn sum(&self, shape: Shape, now_s: u64) -> Summary {
        let first = shape.first(now_s);
        let mut sum = Summary::default();
        let slices = self.0.iter().filter(|(number, _)| *number >= first);
        slices.for_each(|(_, slice)| sum.add(slice));
        sum
    }
}
