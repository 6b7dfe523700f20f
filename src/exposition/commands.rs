//! What each command did, and which errors were replied.

use super::writer::{Histogram, Writer};
use crate::command::context::Shared;
use crate::command::table;
use crate::core::units::{SECOND, Timestamp};
use crate::metrics::{CommandTotals, Spread};
use std::fmt;

/// Bounds of the durations of commands: powers of four of a microsecond, up to a second.
const BOUNDS_US: [u64; 11] = [
    1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576,
];

pub(super) fn write(writer: &mut Writer<'_>, shared: &Shared, _: Timestamp) -> fmt::Result {
    let metrics = &shared.metrics;
    let called: Vec<(String, CommandTotals)> = table::names()
        .filter_map(|name| Some((name, metrics.command(name)?)))
        .filter(|(_, totals)| totals.calls + totals.rejected > 0)
        .map(|(name, totals)| (name.to_ascii_lowercase(), totals))
        .collect();
    let durations = called.iter().filter_map(|(name, totals)| {
        let histogram = histogram(totals, totals.spread.as_ref()?);
        Some((name.clone(), histogram))
    });
    let help = "How long commands took, without what they waited for when they left the processor; _count is how often each ran";
    writer.durations_by("tollgate_command_duration", help, "command", durations)?;
    let rows = |of: fn(&CommandTotals) -> u64| {
        let rows = called.iter().map(move |(name, totals)| (name, of(totals)));
        rows.filter(|(_, count)| *count > 0)
    };
    let help = "Commands that ran and replied an error";
    let failed = rows(|totals| totals.failed);
    writer.counters("tollgate_commands_failed", help, "command", failed)?;
    let help = "Commands that did not run: a wrong number of arguments, no permission";
    let rejected = rows(|totals| totals.rejected);
    writer.counters("tollgate_commands_rejected", help, "command", rejected)?;
    let help = "Errors replied, by code";
    let codes = metrics.errors_by_code();
    writer.counters("tollgate_errors", help, "code", codes)
}

fn histogram(totals: &CommandTotals, spread: &Spread) -> Histogram {
    let mut before = 0;
    let mut buckets = Vec::with_capacity(BOUNDS_US.len() + 1);
    for us in BOUNDS_US {
        let below = spread.below_us(us);
        buckets.push((us as f64 / 1e6, below - before));
        before = below;
    }
    buckets.push((f64::INFINITY, spread.total() - before));
    Histogram {
        sum: totals.ns as f64 / SECOND as f64,
        buckets,
    }
}
