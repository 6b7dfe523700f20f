//! What the server counts.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts of what was done, kept by whoever does it and added to [`Metrics`] once a batch, so that the
/// hot path shares no cache line.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Tally {
    /// Commands run, those that failed included.
    pub commands: u64,
    /// Commands that failed.
    pub errors: u64,
    /// Commands that may have changed a key.
    pub writes: u64,
    /// Requests granted, at once or at a slot ahead.
    pub granted: u64,
    /// Requests denied.
    pub denied: u64,
}

impl Tally {
    /// What was counted since the last call.
    pub fn take(&mut self) -> Self {
        std::mem::take(self)
    }
}

/// Totals since the start, or since `CONFIG RESETSTAT`.
#[derive(Default)]
pub struct Metrics {
    commands: AtomicU64,
    errors: AtomicU64,
    granted: AtomicU64,
    denied: AtomicU64,
    connections: AtomicU64,
    rejected_connections: AtomicU64,
    overruns: AtomicU64,
    forgotten_keys: AtomicU64,
    /// Never reset: what the snapshot compares itself with.
    changes: AtomicU64,
}

/// [`Metrics`] at an instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Totals {
    /// What commands did.
    pub tally: Tally,
    /// Connections accepted.
    pub connections: u64,
    /// Connections refused because there were too many.
    pub rejected_connections: u64,
    /// Connections cut off since they did not read their messages.
    pub overruns: u64,
    /// Keys that have gone by themselves.
    pub forgotten_keys: u64,
}

impl Metrics {
    /// Adds what a batch counted.
    pub fn add(&self, tally: Tally) {
        let add = |total: &AtomicU64, count: u64| {
            if count > 0 {
                total.fetch_add(count, Relaxed);
            }
        };
        add(&self.commands, tally.commands);
        add(&self.errors, tally.errors);
        add(&self.changes, tally.writes);
        add(&self.granted, tally.granted);
        add(&self.denied, tally.denied);
    }

    /// A connection was accepted.
    pub fn connected(&self) {
        self.connections.fetch_add(1, Relaxed);
    }

    /// A connection was refused because there were too many.
    pub fn rejected(&self) {
        self.rejected_connections.fetch_add(1, Relaxed);
    }

    /// A connection was cut off since it did not read its messages.
    pub fn overran(&self) {
        self.overruns.fetch_add(1, Relaxed);
    }

    /// Keys were found gone.
    pub fn forgot(&self, keys: usize) {
        self.forgotten_keys.fetch_add(keys as u64, Relaxed);
    }

    /// Commands so far that may have changed a key.
    pub fn changes(&self) -> u64 {
        self.changes.load(Relaxed)
    }

    /// The totals.
    pub fn totals(&self) -> Totals {
        let tally = Tally {
            commands: self.commands.load(Relaxed),
            errors: self.errors.load(Relaxed),
            writes: self.changes(),
            granted: self.granted.load(Relaxed),
            denied: self.denied.load(Relaxed),
        };
        Totals {
            tally,
            connections: self.connections.load(Relaxed),
            rejected_connections: self.rejected_connections.load(Relaxed),
            overruns: self.overruns.load(Relaxed),
            forgotten_keys: self.forgotten_keys.load(Relaxed),
        }
    }

    /// Starts counting anew.
    pub fn reset(&self) {
        let all = [
            &self.commands,
            &self.errors,
            &self.granted,
            &self.denied,
            &self.connections,
            &self.rejected_connections,
            &self.overruns,
            &self.forgotten_keys,
        ];
        all.iter().for_each(|total| total.store(0, Relaxed));
    }
}
