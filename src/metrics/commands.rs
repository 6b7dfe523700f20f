//! What each command did and how long it took.

use super::durations::{self, Durations, Spread};
use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Calls of one command that took about as long, in one batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Run {
    pub(super) name: &'static str,
    /// Their bucket of [`Durations`]; any for what did not run.
    bucket: u8,
    calls: u32,
    failed: u32,
    rejected: u32,
    ns: u64,
}

impl Run {
    /// `calls` of a command, each of `ns` nanoseconds.
    pub(super) fn of_calls(name: &'static str, calls: u32, failed: u32, ns: u64) -> Self {
        Self {
            name,
            bucket: durations::bucket_of(ns),
            calls,
            failed,
            rejected: 0,
            ns: ns.saturating_mul(calls.into()),
        }
    }

    pub(super) const fn of_rejection(name: &'static str) -> Self {
        Self {
            name,
            bucket: 0,
            calls: 0,
            failed: 0,
            rejected: 1,
            ns: 0,
        }
    }

    /// Takes another one in; false if it is not of the same kind. Names are those of rows: the same text is at the
    /// same place, or it counts apart until the batch is added up.
    pub(super) fn merge(&mut self, other: &Self) -> bool {
        let same = self.bucket == other.bucket && std::ptr::eq(self.name, other.name);
        if same {
            self.calls += other.calls;
            self.failed += other.failed;
            self.rejected += other.rejected;
            self.ns = self.ns.saturating_add(other.ns);
        }
        same
    }
}

/// The totals of one command, or subcommand.
#[derive(Default)]
struct Command {
    failed: AtomicU64,
    rejected: AtomicU64,
    ns: AtomicU64,
    /// 1 KiB, so only for commands that are called.
    durations: OnceLock<Box<Durations>>,
}

/// The totals of one command at an instant.
pub struct CommandTotals {
    /// Calls that ran.
    pub calls: u64,
    /// Those of them that replied with an error.
    pub failed: u64,
    /// Calls that did not run: a wrong number of arguments, no permission.
    pub rejected: u64,
    /// How long all calls took, in nanoseconds.
    pub ns: u64,
    /// How long each took, if any ran.
    pub spread: Option<Spread>,
}

/// The totals of all commands, each under its name. Which there are does not change, so no lock is needed.
#[derive(Default)]
pub(super) struct Commands(HashMap<&'static str, Command, ahash::RandomState>);

impl Commands {
    pub(super) fn new(names: impl IntoIterator<Item = &'static str>) -> Self {
        Self(
            names
                .into_iter()
                .map(|name| (name, Command::default()))
                .collect(),
        )
    }

    pub(super) fn add(&self, run: &Run) {
        let Some(command) = self.0.get(run.name) else {
            debug_assert!(false, "{} is not among the names", run.name);
            return;
        };
        let add = |total: &AtomicU64, count: u64| {
            if count > 0 {
                total.fetch_add(count, Relaxed);
            }
        };
        add(&command.failed, run.failed.into());
        add(&command.rejected, run.rejected.into());
        add(&command.ns, run.ns);
        if run.calls > 0 {
            let durations = command.durations.get_or_init(Box::default);
            durations.add(run.bucket, run.calls.into());
        }
    }

    pub(super) fn totals(&self, name: &str) -> Option<CommandTotals> {
        let command = self.0.get(name)?;
        let spread = command.durations.get().map(|durations| durations.spread());
        Some(CommandTotals {
            calls: spread.as_ref().map_or(0, Spread::total),
            failed: command.failed.load(Relaxed),
            rejected: command.rejected.load(Relaxed),
            ns: command.ns.load(Relaxed),
            spread,
        })
    }

    pub(super) fn reset(&self) {
        for command in self.0.values() {
            [&command.failed, &command.rejected, &command.ns]
                .iter()
                .for_each(|total| total.store(0, Relaxed));
            if let Some(durations) = command.durations.get() {
                durations.reset();
            }
        }
    }
}
