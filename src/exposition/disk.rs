//! How the snapshots and the journal do.

use super::writer::{BYTES, SECONDS, Writer, seconds};
use crate::command::context::Shared;
use crate::core::units::{SECOND, Timestamp};
use std::fmt;

pub(super) fn write(writer: &mut Writer<'_>, shared: &Shared, now: Timestamp) -> fmt::Result {
    let report = shared.saves.report();
    let help =
        "When the last good snapshot ended, since the Unix epoch; the server's start before that";
    let (name, at) = (
        "tollgate_snapshot_last_success_timestamp",
        report.last_save_s,
    );
    writer.gauge(name, SECONDS, help, at)?;
    let help = "How long the last snapshot took, good or not; 0 before the first";
    let took = report.last_duration.map_or(0.0, |took| took.as_secs_f64());
    writer.gauge("tollgate_snapshot_duration", SECONDS, help, took)?;
    let help = "1 while a snapshot is being taken";
    let running = u32::from(report.running_since_s.is_some());
    writer.gauge("tollgate_snapshot_running", None, help, running)?;
    let help = "1 if the last snapshot failed";
    let failing = u32::from(report.last_error.is_some());
    writer.gauge("tollgate_snapshot_failing", None, help, failing)?;
    let help = "Snapshots that failed";
    writer.counter("tollgate_snapshot_failures", None, help, report.failures)?;
    let help = "Changes that the last good snapshot does not hold";
    let changes = report.changes_since(shared.metrics.changes());
    writer.gauge("tollgate_snapshot_unsaved_changes", None, help, changes)?;
    journal(writer, shared, now)
}

fn journal(writer: &mut Writer<'_>, shared: &Shared, now: Timestamp) -> fmt::Result {
    let status = shared.journal.get();
    let help = "1 if a journal is kept";
    let enabled = u32::from(status.is_some());
    writer.gauge("tollgate_journal_enabled", None, help, enabled)?;
    let Some(status) = status else {
        return Ok(());
    };
    // In this order, so that none is missed on its way from the notes to the disk.
    let changes = shared.store.changes();
    let report = status.report();
    let help = "What was acknowledged before this instant, since the Unix epoch, is in the journal or the snapshot";
    let (name, covered) = (
        "tollgate_journal_covered_timestamp",
        seconds(report.covers_until),
    );
    writer.gauge(name, SECONDS, help, covered)?;
    let help = "Since when what is acknowledged may be lost if the process dies, since the Unix epoch; 0 while it may not";
    let suspended = report.suspended_since(now, shared.journal_late_ns());
    let (name, since) = (
        "tollgate_promise_suspended_timestamp",
        suspended.map_or(0.0, seconds),
    );
    writer.gauge(name, SECONDS, help, since)?;
    let help =
        "When the last good flush to the disk ended, since the Unix epoch; 0 before the first";
    let (name, flushed) = (
        "tollgate_journal_flush_timestamp",
        seconds(report.flushed_at),
    );
    writer.gauge(name, SECONDS, help, flushed)?;
    let help = "How long the last flush to the disk took, good or not";
    let took = report.flush_took_ns as f64 / SECOND as f64;
    writer.gauge("tollgate_journal_flush_duration", SECONDS, help, took)?;
    let help = "Writes and flushes of the journal that failed";
    writer.counter("tollgate_journal_failures", None, help, report.failures)?;
    let help = "Batches written to the journal";
    writer.counter("tollgate_journal_batches", None, help, report.batches)?;
    let help = "Size of the journal beside the last snapshot";
    writer.gauge("tollgate_journal_size", BYTES, help, report.bytes)?;
    let help = "Keys and records that have changed and are not in the journal yet";
    let pending = changes + report.writing;
    writer.gauge("tollgate_journal_pending_changes", None, help, pending)
}
