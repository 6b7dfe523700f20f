//! How many leases are held in each database, and how many have lapsed.
//!
//! A key's leases are counted by whoever changes the key: what it held before, and what it holds after. So the
//! numbers are never found by a walk over all keys.

use super::keyspace::DATABASES_MAX;
use super::value::Value;
use crate::core::units::Timestamp;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The counts of all databases.
#[derive(Default)]
pub struct LeaseCounts {
    held: [AtomicU64; DATABASES_MAX as usize],
    lapsed: AtomicU64,
}

impl LeaseCounts {
    /// Leases held, those that have lapsed and that nobody has noticed included.
    pub fn held(&self) -> u64 {
        self.held.iter().map(|held| held.load(Relaxed)).sum()
    }

    /// Leases that have lapsed since the start or the last reset, as far as somebody has noticed.
    pub fn lapsed(&self) -> u64 {
        self.lapsed.load(Relaxed)
    }

    /// Counts those that have lapsed anew.
    pub fn reset_lapsed(&self) {
        self.lapsed.store(0, Relaxed);
    }

    /// Takes out of a value what has lapsed, and counts it: the one place that learns of a lapse.
    pub fn lapse(&self, database: u8, value: &mut Value, now: Timestamp) {
        let lapsed = value.lapse(now).len();
        if lapsed > 0 {
            self.lapsed.fetch_add(lapsed as u64, Relaxed);
            self.change(database, lapsed, 0);
        }
    }

    /// A value of a database held so many before and holds so many after.
    pub fn change(&self, database: u8, before: usize, after: usize) {
        let held = &self.held[usize::from(database)];
        if after > before {
            held.fetch_add((after - before) as u64, Relaxed);
        } else if before > after {
            held.fetch_sub((before - after) as u64, Relaxed);
        }
    }

    /// A database was emptied, while nobody used it.
    pub fn clear(&self, database: u8) {
        self.held[usize::from(database)].store(0, Relaxed);
    }
}

#[cfg(test)]
#[path = "leases_tests.rs"]
mod tests;
