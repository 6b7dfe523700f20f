//! What the server counts and measures.

mod commands;
mod durations;
mod errors;
mod groups;
mod latency;
mod rate;
mod slowlog;
mod stretch;
mod waits;

use commands::{Commands, Run};
use errors::{Code, Errors};
use groups::{ByPolicy, Prefixes};
use rate::Rate;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use stretch::Stretch;
use waits::{Waited, Waits};

pub use commands::CommandTotals;
pub use durations::Spread;
pub use groups::{GroupTotal, PREFIX_BYTES_MAX, PREFIXES_MAX, Verdict};
pub use latency::{Latency, Sample, Series};
pub use slowlog::{SlowEntry, SlowLog, cut};
pub use waits::{WAIT_BOUNDS_MS, WaitTotals};

/// Counts of what was done, kept by whoever does it and added to [`Metrics`] once a batch, so that the
/// hot path shares no cache line.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
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
    waited: Waited,
    /// Requests let go that would have been denied: those with `SHADOW`.
    pub shadow_limited: u64,
    /// Requests denied, or put off, since a key was paused.
    pub paused: u64,
    stretch: Stretch,
    runs: SmallVec<[Run; 8]>,
    codes: SmallVec<[(Code, u64); 1]>,
}

/// Most kinds of calls that a tally tells apart: those of one pipeline are mostly alike, and each is looked for
/// among them.
const RUNS_MAX: usize = 16;

impl Tally {
    /// What was counted since the last call.
    pub fn take(&mut self) -> Self {
        std::mem::take(self)
    }

    /// A call was granted whose slot is not now, or was not when it came: so many milliseconds, rounded up.
    pub fn waits(&mut self, ms: u64) {
        self.waited.add(ms);
    }

    /// A command has run, and the clock was read before and after it.
    pub fn ran(&mut self, name: &'static str, took_ns: u64, failed: bool) {
        self.add(Run::of_calls(name, 1, u32::from(failed), took_ns));
    }

    /// A quick command has run, and the clock was not read; how many have since it was.
    #[inline]
    pub fn ran_quickly(&mut self, name: &'static str, failed: bool) -> u32 {
        self.stretch.add(name, failed);
        self.stretch.calls()
    }

    /// True if quick commands have run since the clock was read.
    pub const fn has_stretch(&self) -> bool {
        self.stretch.calls() > 0
    }

    /// The clock was read, `ns` nanoseconds after the reading before; how long the last quick command ran.
    pub fn end_stretch(&mut self, ns: u64) -> u64 {
        let mut stretch = std::mem::take(&mut self.stretch);
        stretch.end(ns, |run| self.add(run))
    }

    /// A command was refused and did not run.
    pub fn rejected(&mut self, name: &'static str) {
        self.add(Run::of_rejection(name));
    }

    fn add(&mut self, run: Run) {
        if !self.runs.iter_mut().rev().any(|other| other.merge(&run)) {
            self.runs.push(run);
        }
    }

    /// An error was replied; its text, code first.
    pub fn error(&mut self, text: &[u8]) {
        self.errors += 1;
        let code = Code::of(text);
        match self.codes.iter_mut().find(|(other, _)| *other == code) {
            Some((_, count)) => *count += 1,
            None => self.codes.push((code, 1)),
        }
    }

    /// True if it is time to add it to [`Metrics`], also within a batch.
    pub fn is_full(&self) -> bool {
        self.runs.len() >= RUNS_MAX
    }
}

/// Totals since the start, or since `CONFIG RESETSTAT`.
#[derive(Default)]
pub struct Metrics {
    commands: AtomicU64,
    errors: AtomicU64,
    granted: AtomicU64,
    denied: AtomicU64,
    shadow_limited: AtomicU64,
    paused: AtomicU64,
    connections: AtomicU64,
    rejected_connections: AtomicU64,
    overruns: AtomicU64,
    forgotten_keys: AtomicU64,
    pauses: AtomicU64,
    resumes: AtomicU64,
    cancelled_tickets: AtomicU64,
    received_bytes: AtomicU64,
    sent_bytes: AtomicU64,
    command_rate: Rate,
    receiving_rate: Rate,
    sending_rate: Rate,
    /// Never reset: what the snapshot compares itself with.
    changes: AtomicU64,
    waits: Waits,
    by_command: Commands,
    by_error: Errors,
    /// Decisions by the policy that they were made under.
    pub by_policy: ByPolicy,
    /// Decisions by how their keys begin.
    pub by_prefix: Prefixes,
    /// The last commands that took long. Not reset with the totals.
    pub slowlog: SlowLog,
    /// What held others up. Not reset with the totals.
    pub latency: Latency,
}

/// [`Metrics`] at an instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Totals {
    /// Commands run, those that failed included.
    pub commands: u64,
    /// Errors replied.
    pub errors: u64,
    /// Requests granted, at once or at a slot ahead.
    pub granted: u64,
    /// Requests denied.
    pub denied: u64,
    /// Requests let go that would have been denied.
    pub shadow_limited: u64,
    /// Requests denied, or put off, since a key was paused.
    pub paused: u64,
    /// Connections accepted.
    pub connections: u64,
    /// Connections refused because there were too many.
    pub rejected_connections: u64,
    /// Connections cut off since they did not read their messages.
    pub overruns: u64,
    /// Keys that have gone by themselves.
    pub forgotten_keys: u64,
    /// Pauses that were set or changed.
    pub pauses: u64,
    /// Pauses and slow-downs that were ended.
    pub resumes: u64,
    /// Tickets that were given back.
    pub cancelled_tickets: u64,
    /// Bytes read from all connections.
    pub received_bytes: u64,
    /// Bytes written to all connections.
    pub sent_bytes: u64,
    /// Commands a second, over the last second or two.
    pub commands_per_second: u64,
    /// Bytes read from all connections a second, over the same time.
    pub received_bytes_per_second: u64,
    /// Bytes written to them.
    pub sent_bytes_per_second: u64,
}

impl Metrics {
    /// All zero, for the commands of these names. Keys are told apart by these prefixes.
    pub fn new(commands: impl IntoIterator<Item = &'static str>, prefixes: Vec<String>) -> Self {
        Self {
            by_command: Commands::new(commands),
            by_prefix: Prefixes::new(prefixes),
            ..Self::default()
        }
    }

    /// Adds what a batch counted.
    pub fn add(&self, tally: &Tally) {
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
        self.waits.add(&tally.waited);
        add(&self.shadow_limited, tally.shadow_limited);
        add(&self.paused, tally.paused);
        tally.runs.iter().for_each(|run| self.by_command.add(run));
        tally
            .codes
            .iter()
            .for_each(|(code, count)| self.by_error.add(*code, *count));
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

    /// A connection has read bytes.
    pub fn received(&self, bytes: usize) {
        self.received_bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// A connection has written bytes.
    pub fn sent(&self, bytes: usize) {
        self.sent_bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// Looks at how many commands and bytes there were, for what [`Totals`] has of each second; several times a second.
    pub fn sample(&self, now_ns: u64) {
        for (rate, total) in [
            (&self.command_rate, &self.commands),
            (&self.receiving_rate, &self.received_bytes),
            (&self.sending_rate, &self.sent_bytes),
        ] {
            rate.sample(now_ns, total.load(Relaxed));
        }
    }

    /// Keys were found gone.
    pub fn forgot(&self, keys: usize) {
        self.forgotten_keys.fetch_add(keys as u64, Relaxed);
    }

    /// A pause was set or changed.
    pub fn paused(&self) {
        self.pauses.fetch_add(1, Relaxed);
    }

    /// A pause or a slow-down was ended.
    pub fn resumed(&self) {
        self.resumes.fetch_add(1, Relaxed);
    }

    /// A ticket was given back.
    pub fn cancelled(&self) {
        self.cancelled_tickets.fetch_add(1, Relaxed);
    }

    /// Commands so far that may have changed a key.
    pub fn changes(&self) -> u64 {
        self.changes.load(Relaxed)
    }

    /// The totals.
    pub fn totals(&self) -> Totals {
        Totals {
            commands: self.commands.load(Relaxed),
            errors: self.errors.load(Relaxed),
            granted: self.granted.load(Relaxed),
            denied: self.denied.load(Relaxed),
            shadow_limited: self.shadow_limited.load(Relaxed),
            paused: self.paused.load(Relaxed),
            connections: self.connections.load(Relaxed),
            rejected_connections: self.rejected_connections.load(Relaxed),
            overruns: self.overruns.load(Relaxed),
            forgotten_keys: self.forgotten_keys.load(Relaxed),
            pauses: self.pauses.load(Relaxed),
            resumes: self.resumes.load(Relaxed),
            cancelled_tickets: self.cancelled_tickets.load(Relaxed),
            received_bytes: self.received_bytes.load(Relaxed),
            sent_bytes: self.sent_bytes.load(Relaxed),
            commands_per_second: self.command_rate.per_second(),
            received_bytes_per_second: self.receiving_rate.per_second(),
            sent_bytes_per_second: self.sending_rate.per_second(),
        }
    }

    /// How long those waited whose calls were granted.
    pub fn waits(&self) -> WaitTotals {
        self.waits.totals(|| self.granted.load(Relaxed))
    }

    /// What a command did; `None` for a name that is none.
    pub fn command(&self, name: &str) -> Option<CommandTotals> {
        self.by_command.totals(name)
    }

    /// Errors replied, by code.
    pub fn errors_by_code(&self) -> Vec<(String, u64)> {
        self.by_error.totals()
    }

    /// Starts counting anew.
    pub fn reset(&self) {
        let all = [
            &self.commands,
            &self.errors,
            &self.granted,
            &self.denied,
            &self.shadow_limited,
            &self.paused,
            &self.connections,
            &self.rejected_connections,
            &self.overruns,
            &self.forgotten_keys,
            &self.pauses,
            &self.resumes,
            &self.cancelled_tickets,
            &self.received_bytes,
            &self.sent_bytes,
        ];
        all.iter().for_each(|total| total.store(0, Relaxed));
        self.waits.reset();
        self.by_command.reset();
        self.by_error.reset();
        self.by_policy.reset();
        self.by_prefix.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_a_rate_each_way() {
        let metrics = Metrics::default();
        for tick in 0..17 {
            metrics.sample(tick * 100_000_000);
            metrics.received(1_000);
            metrics.sent(300);
        }
        let totals = metrics.totals();
        let rates = [
            totals.received_bytes_per_second,
            totals.sent_bytes_per_second,
        ];
        assert_eq!((rates, totals.commands_per_second), ([10_000, 3_000], 0));
    }
}
