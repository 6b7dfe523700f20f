//! Counts the keys of a small part of all, for a second.
//!
//! Space-Saving (Metwally, Agrawal, El Abbadi: *Efficient computation of frequent and top-k elements in data streams*,
//! ICDT 2005): eight counters; a key that has none takes over the smallest, and what that counted is by how much its own
//! count may be too high. So of N calls no count is too high by more than N/8, and a key without a counter was not called
//! more often than that. What was called in a row with few others before is right to some units.
//!
//! **A name is copied when its key is called again**: of the many keys that are called once and pass through, most are
//! not. A key that is there as the only one of its counter is named at once, so that few keys are all known.

use super::{Kind, Report, ReportRow, Spot, Told, second_of};
use crate::core::units::SECOND;

/// Counters of a sketch: what one cache line holds of tags and counts.
pub const KEYS_OF_A_SKETCH: usize = 8;
/// Sketches that share the keys of a shard, of each kind.
pub const SKETCHES_OF_A_SHARD: usize = 2;

/// The bit of a hash that says which of a shard's two sketches counts it: none by which shards or places are found.
const SKETCH_BIT: u32 = 47;

/// The sketches of a shard; nothing before the first decision.
#[derive(Default)]
pub struct Sketches(Option<Box<Kinds>>);

#[derive(Default)]
struct Kinds {
    granted: [Sketch; SKETCHES_OF_A_SHARD],
    /// Of the other kinds: there are many servers on which some never come.
    others: [Option<Box<[Sketch; SKETCHES_OF_A_SHARD]>>; super::KINDS - 1],
}

impl Sketches {
    /// Counts what a call was told at a key; the hash is the one by which its shard was found.
    #[inline]
    pub fn count(&mut self, told: Told, hash: u64, key: &[u8], spot: Spot<'_>) {
        let kinds = self.0.get_or_insert_default();
        if let Told::Granted { wait_ms, paused } = told {
            kinds.granted[index_of(hash)].count(Kind::Granted, hash, key, 0, spot);
            if wait_ms == 0 && !paused {
                return;
            }
        }
        kinds.count_others(told, hash, key, spot);
    }

    /// Hands in what was counted; of seconds that are over, or all.
    pub fn hand_in(&mut self, all: bool, spot: Spot<'_>) {
        let Some(kinds) = &mut self.0 else {
            return;
        };
        for kind in Kind::ALL {
            for (index, sketch) in kinds.of(kind).into_iter().flatten().enumerate() {
                if all || sketch.is_over(spot) {
                    sketch.hand_in(kind, index, spot);
                }
            }
        }
    }
}

impl Kinds {
    fn count_others(&mut self, told: Told, hash: u64, key: &[u8], spot: Spot<'_>) {
        for (kind, measure) in told.others() {
            let sketches = self.others[kind as usize].get_or_insert_default();
            sketches[index_of(hash)].count(kind, hash, key, measure, spot);
        }
    }

    fn of(&mut self, kind: Kind) -> Option<&mut [Sketch; SKETCHES_OF_A_SHARD]> {
        match kind {
            Kind::Granted => Some(&mut self.granted),
            _ => self.others[kind as usize].as_deref_mut(),
        }
    }
}

const fn index_of(hash: u64) -> usize {
    (hash >> SKETCH_BIT) as usize % SKETCHES_OF_A_SHARD
}

/// Eight counters. What a call looks at that is counted already is in two cache lines.
#[derive(Default)]
#[repr(C, align(64))]
struct Sketch {
    /// The lower half of a key's hash, its last bit set.
    tags: [u32; KEYS_OF_A_SKETCH],
    counts: [u32; KEYS_OF_A_SKETCH],
    /// The upper half.
    checks: [u32; KEYS_OF_A_SKETCH],
    /// When the second is over that it counts, in nanoseconds.
    ends_ns: u64,
    /// The counters whose key has taken over from another and was not called since, as bits.
    nameless: u8,
    errors: [u32; KEYS_OF_A_SKETCH],
    most: [u32; KEYS_OF_A_SKETCH],
    names: [Option<Box<[u8]>>; KEYS_OF_A_SKETCH],
}

impl Sketch {
    const fn is_over(&self, spot: Spot<'_>) -> bool {
        spot.now.as_ns() >= self.ends_ns
    }

    #[inline]
    fn count(&mut self, kind: Kind, hash: u64, key: &[u8], measure: u32, spot: Spot<'_>) {
        if self.is_over(spot) {
            self.hand_in(kind, index_of(hash), spot);
        }
        let (tag, check) = halves_of(hash);
        let mut found = 0;
        for (at, known) in self.tags.iter().enumerate() {
            found |= u32::from(*known == tag) << at;
        }
        while found != 0 {
            let at = found.trailing_zeros() as usize % KEYS_OF_A_SKETCH;
            if self.checks[at] == check {
                self.counts[at] = self.counts[at].saturating_add(1);
                if measure > 0 {
                    self.most[at] = self.most[at].max(measure);
                }
                if self.nameless & (1 << at) != 0 {
                    self.name(at, key);
                }
                return;
            }
            found &= found - 1;
        }
        self.take_over(tag, check, key, measure);
    }

    #[cold]
    fn name(&mut self, at: usize, key: &[u8]) {
        self.names[at] = Some(key.into());
        self.nameless &= !(1 << at);
    }

    /// Gives the smallest counter to a key.
    fn take_over(&mut self, tag: u32, check: u32, key: &[u8], measure: u32) {
        let (mut at, mut least) = (0, self.counts[0]);
        for (other, &count) in self.counts.iter().enumerate().skip(1) {
            if count < least {
                (at, least) = (other, count);
            }
        }
        (self.tags[at], self.checks[at]) = (tag, check);
        self.counts[at] = least.saturating_add(1);
        (self.errors[at], self.most[at]) = (least, measure);
        match least {
            0 => self.name(at, key),
            _ => self.nameless |= 1 << at,
        }
    }

    /// Hands in what it has counted, and begins anew.
    #[cold]
    fn hand_in(&mut self, kind: Kind, index: usize, spot: Spot<'_>) {
        let next_ns = (second_of(spot.now) + 1).saturating_mul(SECOND);
        let ended_ns = std::mem::replace(&mut self.ends_ns, next_ns);
        if self.counts == [0; KEYS_OF_A_SKETCH] {
            return;
        }
        let mut floor = self.counts.iter().copied().min().unwrap_or(0);
        let mut rows = Vec::with_capacity(KEYS_OF_A_SKETCH);
        for at in 0..KEYS_OF_A_SKETCH {
            let (count, name) = (self.counts[at], self.names[at].take());
            if self.nameless & (1 << at) != 0 {
                floor = floor.max(count);
            } else if let Some(name) = name {
                rows.push(ReportRow {
                    hash: u64::from(self.checks[at]) << 32 | u64::from(self.tags[at]),
                    name,
                    count,
                    error: self.errors[at],
                    most: self.most[at],
                });
            }
        }
        *self = Self {
            ends_ns: next_ns,
            ..Self::default()
        };
        spot.hot.hand_in(Report {
            kind,
            database: spot.database,
            group: (spot.shard * SKETCHES_OF_A_SHARD + index) as u16,
            second: (ended_ns / SECOND).saturating_sub(1),
            floor,
            rows,
        });
    }
}

/// A hash as a sketch keeps it. No tag is zero, which is that of a free counter.
const fn halves_of(hash: u64) -> (u32, u32) {
    (hash as u32 | 1, (hash >> 32) as u32)
}

/// A hash as it stands in a report.
pub(super) const fn reported(hash: u64) -> u64 {
    hash | 1
}
