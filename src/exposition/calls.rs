//! What was decided, and who waits.

use super::writer::{Histogram, Writer};
use crate::command::context::Shared;
use crate::core::units::Timestamp;
use crate::metrics::{GroupTotal, WAIT_BOUNDS_MS, WaitTotals};
use std::fmt;

pub(super) fn write(writer: &mut Writer<'_>, shared: &Shared, _: Timestamp) -> fmt::Result {
    let metrics = &shared.metrics;
    let totals = metrics.totals();
    let (granted, denied) = (totals.granted, totals.denied);
    let help = "Calls granted, at once or at a slot ahead";
    writer.counter("tollgate_granted", None, help, granted)?;
    writer.counter("tollgate_denied", None, "Calls denied", denied)?;
    let help = "Calls let go that would have been denied: those with SHADOW";
    let shadow_limited = totals.shadow_limited;
    writer.counter("tollgate_shadow_limited", None, help, shadow_limited)?;
    let help = "Calls denied, or put off, since a key was paused";
    writer.counter("tollgate_held_by_pause", None, help, totals.paused)?;
    let help = "How long those waited whose calls were granted, as they were told or on the server";
    writer.durations("tollgate_wait", help, &waits(&metrics.waits()))?;
    by_group(writer, "policy", &metrics.by_policy.totals())?;
    by_group(writer, "prefix", &metrics.by_prefix.totals())?;
    let help = "Pauses that were set or changed";
    writer.counter("tollgate_pauses", None, help, totals.pauses)?;
    let help = "Pauses and slow-downs that were ended by RL.RESUME";
    writer.counter("tollgate_resumes", None, help, totals.resumes)?;
    let help = "Tickets that were given back by RL.CANCEL";
    let cancelled = totals.cancelled_tickets;
    writer.counter("tollgate_cancellations", None, help, cancelled)?;
    let waiters = &shared.waiters;
    let help = "Callers that wait on the server";
    writer.gauge("tollgate_waiters", None, help, waiters.len())?;
    let help = "Keys at which somebody waits on the server";
    writer.gauge("tollgate_waited_keys", None, help, waiters.keys())
}

/// What was decided in groups of calls; a `policy` that has no series of its own counts as `other`.
fn by_group(writer: &mut Writer<'_>, group: &str, totals: &[GroupTotal]) -> fmt::Result {
    let rows =
        |of: fn(&GroupTotal) -> u64| totals.iter().map(move |total| (&total.name, of(total)));
    let name = format!("tollgate_{group}_granted");
    let help = format!("Calls granted, by {group}");
    writer.counters(&name, &help, group, rows(|total| total.granted))?;
    let name = format!("tollgate_{group}_denied");
    let help = format!("Calls denied, by {group}");
    writer.counters(&name, &help, group, rows(|total| total.denied))?;
    let name = format!("tollgate_{group}_shadow_limited");
    let help = format!("Calls let go that would have been denied, by {group}");
    writer.counters(&name, &help, group, rows(|total| total.shadowed))
}

fn waits(totals: &WaitTotals) -> Histogram {
    let bounds = WAIT_BOUNDS_MS.iter().map(|&ms| ms as f64 / 1_000.0);
    let waited = bounds.chain([f64::INFINITY]).zip(totals.counts);
    Histogram {
        sum: totals.sum_ms as f64 / 1_000.0,
        buckets: [(0.0, totals.at_once)].into_iter().chain(waited).collect(),
    }
}
