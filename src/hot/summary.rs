//! What was counted of keys in a stretch of time, put together from reports.
//!
//! Summaries can be added up, and cut to their largest rows, without losing the bounds (Agarwal, Cormode, Huang, Phillips,
//! Wei, Yi: *Mergeable summaries*, PODS 2012). A row has a count and by how much that may be too high. What it does not
//! have is what was missed while its key had no counter, or no row; that is bounded for all keys of its group together:
//!
//! - `absent` of a group is a bound on what a key of that group counts that has no row at all;
//! - `covered` of a row is the part of it that cannot have been missed of its key, since it had a row then.
//!
//! So a key was counted at most `count + absent - covered` times, and that is too high by at most
//! `error + absent - covered`. Both simply add up over reports and over summaries.

use super::{GROUPS, Id, Report};
use ahash::RandomState;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

/// Counts of keys.
#[derive(Default)]
pub(super) struct Summary {
    rows: HashMap<Id, Row, RandomState>,
    /// Nothing while it is zero for all.
    absent: Vec<u64>,
    name_bytes: usize,
}

/// The count of a key.
struct Row {
    database: u8,
    name: Arc<[u8]>,
    group: u16,
    count: u64,
    error: u64,
    covered: u64,
    chance: u64,
}

/// What is known of how often something was.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Count {
    /// At most so often; but for chance, where not all were counted.
    pub count: u64,
    /// By how much that may be too high, chance included.
    pub error: u64,
}

impl Count {
    /// So often at least.
    pub const fn surely(self) -> u64 {
        self.count.saturating_sub(self.error)
    }
}

impl Summary {
    /// How many keys have a row.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    #[cfg(test)]
    pub(super) const fn name_bytes(&self) -> usize {
        self.name_bytes
    }

    fn absent(&self, group: u16) -> u64 {
        self.absent.get(usize::from(group)).copied().unwrap_or(0)
    }

    fn of(&self, row: &Row) -> Count {
        let missed = self.absent(row.group) - row.covered;
        // One in ten thousand is off by more than four times the standard deviation.
        let off = 4 * row.chance.isqrt();
        Count {
            count: row.count + missed,
            error: row.error + missed + off,
        }
    }

    /// What is known of a key, as long as it has a row.
    pub(super) fn count(&self, id: Id) -> Option<Count> {
        self.rows.get(&id).map(|row| self.of(row))
    }

    /// What is known of a key of which only the group is known.
    pub(super) fn count_of_group(&self, group: u16) -> Count {
        let count = self.absent(group);
        Count {
            count,
            error: count,
        }
    }

    /// All keys with a row, and what is known of them.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Id, Count)> {
        let rows = self.rows.iter();
        rows.map(|(id, row)| (*id, self.of(row)))
    }

    /// The keys of a database that have a row and are `wanted`: their names, their groups, and what is known of them.
    pub(super) fn of_database(
        &self,
        database: u8,
        mut wanted: impl FnMut(&[u8]) -> bool,
    ) -> impl Iterator<Item = (Id, &Arc<[u8]>, u16, Count)> {
        let rows = self.rows.iter();
        let rows = rows.filter(move |(_, row)| row.database == database && wanted(&row.name));
        rows.map(|(id, row)| (*id, &row.name, row.group, self.of(row)))
    }

    /// Adds a report of the stretch.
    pub(super) fn add_report(&mut self, report: &Report) {
        let group = report.group;
        for row in &report.rows {
            let home = (row.database, group);
            let own = self.row(row.id, home, || Arc::from(&*row.name));
            own.count += u64::from(row.count);
            own.error += u64::from(row.error);
            own.covered += u64::from(report.floor);
            own.chance = own.chance.saturating_add(row.chance);
        }
        self.raise(group, u64::from(report.floor));
    }

    /// Adds another summary, of another stretch.
    pub(super) fn add(&mut self, other: &Self) {
        for (id, row) in &other.rows {
            let home = (row.database, row.group);
            let own = self.row(*id, home, || row.name.clone());
            own.count += row.count;
            own.error += row.error;
            own.covered += row.covered;
            own.chance = own.chance.saturating_add(row.chance);
        }
        for (group, by) in (0..).zip(&other.absent) {
            self.raise(group, *by);
        }
    }

    /// The row of a key, which belongs to a database and a group.
    fn row(&mut self, id: Id, home: (u8, u16), name: impl FnOnce() -> Arc<[u8]>) -> &mut Row {
        self.rows.entry(id).or_insert_with(|| {
            let name = name();
            self.name_bytes += name.len();
            let (database, group) = home;
            Row {
                database,
                name,
                group,
                count: 0,
                error: 0,
                covered: 0,
                chance: 0,
            }
        })
    }

    fn raise(&mut self, group: u16, by: u64) {
        if by > 0 {
            self.absent.resize(GROUPS, 0);
            self.absent[usize::from(group)] += by;
        }
    }

    /// Keeps the largest rows only: at most so many, whose names have at most so many bytes.
    pub(super) fn cut(&mut self, room: Room) {
        if room.fits(self) {
            return;
        }
        let mut order: Vec<(u64, Id, usize)> = self
            .rows
            .iter()
            .map(|(id, row)| (self.of(row).count, *id, row.name.len()))
            .collect();
        order.sort_unstable_by_key(|&(count, id, _)| (Reverse(count), id));
        let mut bytes = 0;
        let fits = |(_, _, length): &&(u64, Id, usize)| {
            bytes += length;
            bytes <= room.name_bytes
        };
        let kept = order.iter().take(room.rows).take_while(fits).count();
        let Some(&(largest, ..)) = order.get(kept) else {
            return;
        };
        for (_, id, length) in &order[kept..] {
            self.rows.remove(id);
            self.name_bytes -= length;
        }
        self.rows.shrink_to_fit();
        // Whoever has no row now was not counted more often than the largest of those that went.
        let before = std::mem::take(&mut self.absent);
        let raised = |group: u16| {
            let before = before.get(usize::from(group)).copied().unwrap_or(0);
            (before, before.max(largest))
        };
        for row in self.rows.values_mut() {
            let (before, after) = raised(row.group);
            row.covered += after - before;
        }
        self.absent = (0..GROUPS as u16).map(|group| raised(group).1).collect();
    }
}

/// What a summary may hold.
#[derive(Clone, Copy)]
pub(super) struct Room {
    /// Most rows.
    pub rows: usize,
    /// Most bytes of their names.
    pub name_bytes: usize,
}

impl Room {
    /// True of a summary that holds no more.
    pub(super) fn fits(self, summary: &Summary) -> bool {
        summary.len() <= self.rows && summary.name_bytes <= self.name_bytes
    }

    /// Twice as much.
    pub(super) const fn twice(self) -> Self {
        Self {
            rows: 2 * self.rows,
            name_bytes: 2 * self.name_bytes,
        }
    }
}
