//! Counts the keys of a small part of all, for a second.
//!
//! Space-Saving (Metwally, Agrawal, El Abbadi: *Efficient computation of frequent and top-k elements in data streams*,
//! ICDT 2005): eight counters; a key that has none takes over the smallest, and what that counted is by how much its own
//! count may be too high. So of N calls no count is too high by more than N/8, and a key without a counter was not called
//! more often than that. What was called in a row with few others before is right to some units.
//!
//! **A name is copied when its key is called again**: of the many keys that are called once and pass through, most are
//! not. A key that finds a free counter is named at once, so that few keys are all known.

use super::{Kind, Report, ReportRow, Spot, Told, second_of};
use crate::core::units::SECOND;

/// Counters of a sketch: as many as can be looked through at once.
pub const KEYS_OF_A_SKETCH: usize = 8;
/// Sketches that share the keys of a shard, of each kind.
pub const SKETCHES_OF_A_SHARD: usize = 2;

/// The bit of a hash that says which of a shard's two sketches counts it: none by which shards or places are found.
const SKETCH_BIT: u32 = 47;
/// The lowest bit of the byte of a hash that is compared first: none of those either.
const TAG_BIT: u32 = 38;

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
        match &mut self.0 {
            Some(kinds) if told == Told::AT_ONCE => {
                let sketch = &mut kinds.granted[index_of(hash)];
                if !sketch.count_again(hash, spot.now.as_ns()) {
                    sketch.count(Kind::Granted, hash, key, 0, spot);
                }
            }
            _ => self.count_any(told, hash, key, spot),
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
    /// A byte of the hash of each key: all are compared at once.
    tags: [u8; KEYS_OF_A_SKETCH],
    /// Zero if a counter is free.
    counts: [u32; KEYS_OF_A_SKETCH],
    /// When the second is over that it counts, in nanoseconds.
    ends_ns: u64,
    /// No count is below it.
    least: u32,
    /// The counters that were that small when it was last looked, and were not taken over since, as bits.
    smallest: u8,
    /// The counters whose names are those of their keys, as bits.
    named: u8,
    /// The hash of each key; its complement until the name is known.
    hashes: [u64; KEYS_OF_A_SKETCH],
    errors: [u32; KEYS_OF_A_SKETCH],
    most: [u32; KEYS_OF_A_SKETCH],
    names: [Option<Box<[u8]>>; KEYS_OF_A_SKETCH],
}

impl Sketch {
    /// Counts a key, if it is counted already and there is nothing else to do.
    #[inline]
    fn count_again(&mut self, hash: u64, now_ns: u64) -> bool {
        // Another key may have the same byte. That is left to those who look longer.
        let at = places_of(tag_of(hash), self.tags).trailing_zeros() as usize / 8;
        if now_ns >= self.ends_ns || self.hashes.get(at) != Some(&hash) {
            return false;
        }
        self.counts[at] = self.counts[at].saturating_add(1);
        true
    }

    #[inline(never)]
    fn count(&mut self, kind: Kind, hash: u64, key: &[u8], measure: u32, spot: &Spot<'_>) {
        if spot.now.as_ns() >= self.ends_ns {
            self.hand_in(kind, index_of(hash), spot);
        }
        let mut places = places_of(tag_of(hash), self.tags);
        while places != 0 {
            let at = places.trailing_zeros() as usize / 8 % KEYS_OF_A_SKETCH;
            if self.hashes[at] == !hash {
                self.name(at, hash, key);
            }
            if self.hashes[at] == hash {
                self.counts[at] = self.counts[at].saturating_add(1);
                self.most[at] = self.most[at].max(measure);
                return;
            }
            places &= places - 1;
        }
        self.take_over(hash, key, measure);
    }

    #[cold]
    fn name(&mut self, at: usize, hash: u64, key: &[u8]) {
        self.names[at] = Some(key.into());
        self.hashes[at] = hash;
        self.named |= 1 << at;
    }

    /// Gives the smallest counter to a key.
    #[inline]
    fn take_over(&mut self, hash: u64, key: &[u8], measure: u32) {
        let at = self.smallest();
        let least = self.least;
        self.tags[at] = tag_of(hash);
        self.hashes[at] = !hash;
        self.named &= !(1 << at);
        self.counts[at] = least.saturating_add(1);
        (self.errors[at], self.most[at]) = (least, measure);
        if least == 0 {
            self.name(at, hash, key);
        }
    }

    /// The smallest counter, which counts `least`.
    #[inline]
    fn smallest(&mut self) -> usize {
        loop {
            if self.smallest == 0 {
                self.look_for_smallest();
            }
            let at = self.smallest.trailing_zeros() as usize % KEYS_OF_A_SKETCH;
            self.smallest &= self.smallest - 1;
            if self.counts[at] == self.least {
                return at;
            }
        }
    }

    fn look_for_smallest(&mut self) {
        self.least = self.counts.iter().copied().min().unwrap_or(0);
        for (at, count) in self.counts.iter().enumerate() {
            self.smallest |= u8::from(*count == self.least) << at;
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
            let count = self.counts[at];
            // A counter that was taken over keeps the name of before until its key is called again.
            let is_named = self.named & (1 << at) != 0;
            match self.names[at].take().filter(|_| is_named) {
                Some(name) => rows.push(ReportRow {
                    hash: self.hashes[at],
                    name,
                    count,
                    error: self.errors[at],
                    most: self.most[at],
                }),
                None => floor = floor.max(count),
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

const fn tag_of(hash: u64) -> u8 {
    (hash >> TAG_BIT) as u8
}

/// The places of a byte among eight: of each, the highest bit of its byte. Behind the first some may be wrong.
#[inline]
const fn places_of(byte: u8, bytes: [u8; KEYS_OF_A_SKETCH]) -> u64 {
    const ONES: u64 = u64::from_le_bytes([0x01; KEYS_OF_A_SKETCH]);
    const HIGHEST: u64 = u64::from_le_bytes([0x80; KEYS_OF_A_SKETCH]);
    // Zero where they are the same. One less borrows from a highest bit that is not set.
    let difference = u64::from_le_bytes(bytes) ^ (ONES * byte as u64);
    difference.wrapping_sub(ONES) & !difference & HIGHEST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_found_wherever_it_is() {
        for byte in [0, 1, 0x7f, 0x80, 0xfe, 0xff] {
            for at in 0..KEYS_OF_A_SKETCH {
                for other in [0, 1, 0x7f, 0x80, 0xfe, 0xff] {
                    let mut bytes = [other; KEYS_OF_A_SKETCH];
                    bytes[at] = byte;
                    let places = places_of(byte, bytes);
                    assert!(places & (0x80 << (8 * at)) != 0, "{byte} in {bytes:?}");
                    let first = places.trailing_zeros() as usize / 8;
                    assert_eq!(bytes[first], byte);
                }
            }
        }
        assert_eq!(places_of(7, [1, 2, 3, 4, 5, 6, 8, 9]), 0);
    }
}
