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
    pub fn count(&mut self, told: Told, hash: u64, key: &[u8], spot: &Spot<'_>) {
        let usual = self.0.as_mut().filter(|_| told == Told::AT_ONCE);
        let counted = usual
            .is_some_and(|kinds| kinds.granted[index_of(hash)].count_again(hash, spot.now.as_ns()));
        if !counted {
            self.count_any(told, hash, key, spot);
        }
    }

    #[inline(never)]
    fn count_any(&mut self, told: Told, hash: u64, key: &[u8], spot: &Spot<'_>) {
        let kinds = self.0.get_or_insert_default();
        if let Told::Granted { .. } = told {
            kinds.granted[index_of(hash)].count(Kind::Granted, hash, key, 0, spot);
        }
        if told != Told::AT_ONCE {
            kinds.count_others(told, hash, key, spot);
        }
    }

    /// Hands in what was counted; of seconds that are over, or all.
    pub fn hand_in(&mut self, all: bool, spot: &Spot<'_>) {
        let Some(kinds) = &mut self.0 else {
            return;
        };
        for kind in Kind::ALL {
            for (index, sketch) in kinds.of(kind).into_iter().flatten().enumerate() {
                if all || spot.now.as_ns() >= sketch.ends_ns {
                    sketch.hand_in(kind, index, spot);
                }
            }
        }
    }
}

impl Kinds {
    fn count_others(&mut self, told: Told, hash: u64, key: &[u8], spot: &Spot<'_>) {
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

/// Eight counters. What a call looks at whose key is counted already is in two cache lines.
#[derive(Default)]
#[repr(C, align(64))]
struct Sketch {
    /// The lower half of the hash of each key, its last bit set if the name is kept.
    tags: [u32; KEYS_OF_A_SKETCH],
    /// Zero if a counter is free.
    counts: [u32; KEYS_OF_A_SKETCH],
    /// The upper half of each hash.
    checks: [u32; KEYS_OF_A_SKETCH],
    /// When the second is over that it counts, in nanoseconds.
    ends_ns: u64,
    /// No count is below it.
    least: u32,
    errors: [u32; KEYS_OF_A_SKETCH],
    most: [u32; KEYS_OF_A_SKETCH],
    names: [Option<Box<[u8]>>; KEYS_OF_A_SKETCH],
}

/// The bit of a tag that says that the name is kept.
const NAMED: u32 = 1;

impl Sketch {
    /// Counts a key, if it is counted already and there is nothing else to do.
    #[inline]
    fn count_again(&mut self, hash: u64, now_ns: u64) -> bool {
        let (tag, check) = halves_of(hash);
        // Keys of the same tag are one in many millions: the others are left to those who look longer.
        let at = place_of(&self.tags, tag | NAMED).trailing_zeros() as usize;
        if now_ns >= self.ends_ns || self.checks.get(at) != Some(&check) {
            return false;
        }
        self.counts[at] = self.counts[at].saturating_add(1);
        true
    }

    fn count(&mut self, kind: Kind, hash: u64, key: &[u8], measure: u32, spot: &Spot<'_>) {
        if spot.now.as_ns() >= self.ends_ns {
            self.hand_in(kind, index_of(hash), spot);
        }
        let (tag, check) = halves_of(hash);
        let mut found = place_of(&self.tags, tag | NAMED) | place_of(&self.tags, tag & !NAMED);
        while found != 0 {
            let at = found.trailing_zeros() as usize % KEYS_OF_A_SKETCH;
            if self.checks[at] == check && self.counts[at] > 0 {
                self.counts[at] = self.counts[at].saturating_add(1);
                self.most[at] = self.most[at].max(measure);
                if self.tags[at] & NAMED == 0 {
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
        self.tags[at] |= NAMED;
    }

    /// Gives the smallest counter to a key.
    #[inline]
    fn take_over(&mut self, tag: u32, check: u32, key: &[u8], measure: u32) {
        let mut smallest = place_of(&self.counts, self.least);
        if smallest == 0 {
            self.least = self.counts.iter().copied().min().unwrap_or(0);
            smallest = place_of(&self.counts, self.least);
        }
        let at = smallest.trailing_zeros() as usize % KEYS_OF_A_SKETCH;
        (self.tags[at], self.checks[at]) = (tag & !NAMED, check);
        self.counts[at] = self.least.saturating_add(1);
        (self.errors[at], self.most[at]) = (self.least, measure);
        if self.least == 0 {
            self.name(at, key);
        }
    }

    /// Hands in what it has counted, and begins anew.
    #[cold]
    fn hand_in(&mut self, kind: Kind, index: usize, spot: &Spot<'_>) {
        let next_ns = (second_of(spot.now) + 1).saturating_mul(SECOND);
        let ended_ns = std::mem::replace(&mut self.ends_ns, next_ns);
        if self.counts == [0; KEYS_OF_A_SKETCH] {
            return;
        }
        let mut floor = self.counts.iter().copied().min().unwrap_or(0);
        let mut rows = Vec::with_capacity(KEYS_OF_A_SKETCH);
        for at in 0..KEYS_OF_A_SKETCH {
            let (tag, count, name) = (self.tags[at], self.counts[at], self.names[at].take());
            // A counter that was taken over keeps the name of before until its key is called again.
            if let Some(name) = name.filter(|_| tag & NAMED != 0) {
                rows.push(ReportRow {
                    hash: u64::from(self.checks[at]) << 32 | u64::from(tag),
                    name,
                    count,
                    error: self.errors[at],
                    most: self.most[at],
                });
            } else {
                floor = floor.max(count);
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

const fn halves_of(hash: u64) -> (u32, u32) {
    (hash as u32, (hash >> 32) as u32)
}

/// The places of a number among eight, as bits. It looks at all of them at once: where it is cannot be foreseen.
#[inline]
fn place_of(numbers: &[u32; KEYS_OF_A_SKETCH], number: u32) -> u32 {
    let bits = numbers.iter().enumerate();
    bits.fold(0, |found, (at, other)| {
        found | u32::from(*other == number) << at
    })
}

/// A hash as it stands in a report.
pub(super) const fn reported(hash: u64) -> u64 {
    hash | NAMED as u64
}
