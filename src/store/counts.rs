//! What is counted of the keys of each database as they change: those that stay, and the leases that are held.
//!
//! Whoever changes a key counts what it was before and what it is after. So no number is found by a walk over all
//! keys.

use super::keyspace::DATABASES_MAX;
use super::value::Value;
use std::iter::Sum;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

/// What one value adds to the counts of its database, or several do together.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Share {
    staying: i64,
    leases: i64,
}

impl Share {
    /// True if there are leases among them.
    pub const fn has_leases(self) -> bool {
        self.leases != 0
    }

    /// What a value adds.
    pub fn of(value: &Value) -> Self {
        Self {
            staying: i64::from(value.stays()),
            leases: value.leases() as i64,
        }
    }
}

impl Sum for Share {
    fn sum<I: Iterator<Item = Self>>(shares: I) -> Self {
        shares.fold(Self::default(), |sum, share| Self {
            staying: sum.staying + share.staying,
            leases: sum.leases + share.leases,
        })
    }
}

/// The counts of all databases.
#[derive(Default)]
pub struct Counts {
    databases: [Count; DATABASES_MAX as usize],
    lapsed: AtomicU64,
    evicted: AtomicU64,
}

#[derive(Default)]
struct Count {
    staying: AtomicI64,
    leases: AtomicI64,
}

impl Counts {
    /// Keys of a database that do not go by themselves.
    pub fn staying(&self, database: u8) -> usize {
        let count = self.databases[usize::from(database)].staying.load(Relaxed);
        usize::try_from(count).unwrap_or(0)
    }

    /// Leases held in all databases, those that have lapsed and that nobody has noticed included.
    pub fn leases(&self) -> u64 {
        let counts = self.databases.iter();
        let count: i64 = counts.map(|count| count.leases.load(Relaxed)).sum();
        u64::try_from(count).unwrap_or(0)
    }

    /// Leases that have lapsed since the start or the last reset, as far as somebody has noticed.
    pub fn lapsed_leases(&self) -> u64 {
        self.lapsed.load(Relaxed)
    }

    /// Counts those that have lapsed anew.
    pub fn reset_lapsed_leases(&self) {
        self.lapsed.store(0, Relaxed);
    }

    /// Keys that had to go for others since the start or the last reset.
    pub fn evicted_keys(&self) -> u64 {
        self.evicted.load(Relaxed)
    }

    /// Counts those that had to go anew.
    pub fn reset_evicted_keys(&self) {
        self.evicted.store(0, Relaxed);
    }

    /// Keys had to go for others.
    pub(super) fn evicted(&self, keys: usize) {
        if keys > 0 {
            self.evicted.fetch_add(keys as u64, Relaxed);
        }
    }

    /// Leases of a database have lapsed.
    pub fn lapsed(&self, database: u8, lapsed: usize) {
        if lapsed > 0 {
            self.lapsed.fetch_add(lapsed as u64, Relaxed);
            let count = &self.databases[usize::from(database)];
            count.leases.fetch_sub(lapsed as i64, Relaxed);
        }
    }

    /// Values of a database were changed.
    pub fn change(&self, database: u8, before: Share, after: Share) {
        if before == after {
            return;
        }
        let count = &self.databases[usize::from(database)];
        count
            .staying
            .fetch_add(after.staying - before.staying, Relaxed);
        count
            .leases
            .fetch_add(after.leases - before.leases, Relaxed);
    }

    /// A database was emptied.
    pub fn clear(&self, database: u8) {
        let count = &self.databases[usize::from(database)];
        count.staying.store(0, Relaxed);
        count.leases.store(0, Relaxed);
    }
}

#[cfg(test)]
#[path = "counts_tests.rs"]
mod tests;
