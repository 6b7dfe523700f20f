//! Counts the keys of a small part of all, for a second.
//!
//! Space-Saving (Metwally, Agrawal, El Abbadi: *Efficient computation of frequent and top-k elements in data streams*,
//! ICDT 2005): so many counters; a key that has none takes over the smallest, and what that counted is by how much its own
//! count may be too high. So of N calls no count is too high by more than N divided by the counters, and a key without a
//! counter was not called more often than that. A key that is called much has its counter from the beginning on, and
//! an error of some units.
//!
//! **A name is copied when its key is called again**: of the many keys that are called once and pass through, most are
//! not. A key that finds a free counter is named at once, so that few keys are all known.

use super::{Id, KINDS, Kind, Report, ReportRow, second_of};
use crate::core::units::{SECOND, Timestamp};

/// Counters of a sketch. With the sketches that there are, thousands of keys have one each.
pub const COUNTERS: usize = 32;

/// Counters for the keys of a group. What is looked through lies together: it is not in the processor's cache as a rule.
#[derive(Default)]
pub(super) struct Sketch {
    /// When the second is over that it counts, in nanoseconds.
    ends_ns: u64,
    ids: [Option<Id>; COUNTERS],
    /// Zero if a counter is free.
    counts: [u32; COUNTERS],
    rest: [Rest; COUNTERS],
}

/// The rest of a counter.
#[derive(Default)]
struct Rest {
    /// By how much the count may be too high.
    error: u32,
    most: u32,
    /// The variance of the count, from calls that stand for others.
    chance: u64,
    database: u8,
    name: Option<Box<[u8]>>,
}

impl Sketch {
    /// Counts a call of a key, a name in a database, which stands for `weight` calls and has a measure.
    pub(super) fn count(&mut self, id: Id, key: (u8, &[u8]), weight: u32, measure: u32) {
        let known = self.ids.iter().position(|one| *one == Some(id));
        let at = known.unwrap_or_else(|| self.take_over(id));
        let (count, rest) = (&mut self.counts[at], &mut self.rest[at]);
        if known.is_some() || *count == 0 {
            rest.database = key.0;
            rest.name.get_or_insert_with(|| key.1.into());
        }
        *count = count.saturating_add(weight);
        rest.most = rest.most.max(measure);
        // What is counted with a chance of one in so many, and then as so many, varies by this.
        let variance = u64::from(weight) * u64::from(weight.saturating_sub(1));
        rest.chance = rest.chance.saturating_add(variance);
    }

    /// Gives the smallest counter to a key.
    fn take_over(&mut self, id: Id) -> usize {
        let (mut at, mut error) = (0, u32::MAX);
        for (other, &count) in self.counts.iter().enumerate() {
            if count < error {
                (at, error) = (other, count);
            }
        }
        self.ids[at] = Some(id);
        self.rest[at] = Rest {
            error,
            ..Rest::default()
        };
        at
    }

    /// True if the second that it counts is over.
    pub(super) const fn is_over(&self, now: Timestamp) -> bool {
        now.as_ns() >= self.ends_ns
    }

    /// What it has counted, if it is anything; it begins anew.
    pub(super) fn hand_in(&mut self, kind: Kind, group: usize, now: Timestamp) -> Option<Report> {
        let next_ns = (second_of(now) + 1).saturating_mul(SECOND);
        let ended_ns = std::mem::replace(&mut self.ends_ns, next_ns);
        let (ids, counts) = (
            std::mem::take(&mut self.ids),
            std::mem::take(&mut self.counts),
        );
        let mut floor = counts.iter().copied().min().unwrap_or(0);
        let mut rows = Vec::new();
        for ((id, count), rest) in ids.into_iter().zip(counts).zip(&mut self.rest) {
            let Rest {
                error,
                most,
                chance,
                database,
                name,
            } = std::mem::take(rest);
            match (id, name) {
                (Some(id), Some(name)) => rows.push(ReportRow {
                    id,
                    database,
                    name,
                    count,
                    error,
                    most,
                    chance,
                }),
                _ => floor = floor.max(count),
            }
        }
        (floor > 0 || !rows.is_empty()).then_some(Report {
            kind,
            group: group as u16,
            second: (ended_ns / SECOND).saturating_sub(1),
            floor,
            rows,
        })
    }
}

/// The sketches of a group, one a kind; those to which nothing has come are not there.
#[derive(Default)]
pub(super) struct Group([Option<Box<Sketch>>; KINDS]);

impl Group {
    /// The sketch of a kind, made if it is not there.
    pub(super) fn of(&mut self, kind: Kind) -> &mut Sketch {
        self.0[kind as usize].get_or_insert_default()
    }

    /// Those that are there.
    pub(super) fn all(&mut self) -> impl Iterator<Item = (Kind, &mut Sketch)> {
        let sketches = Kind::ALL.into_iter().zip(&mut self.0);
        sketches.filter_map(|(kind, sketch)| Some((kind, sketch.as_deref_mut()?)))
    }
}
