//! What `INFO persistence` tells of the journal.

use super::Lines;
use crate::command::context::Context;
use crate::core::units::{MICROSECOND, SECOND};

pub(super) fn write(lines: &mut Lines, context: &Context<'_>) {
    let shared = context.shared;
    let Some(status) = shared.journal.get() else {
        return lines.line("journal_enabled", 0);
    };
    // In this order, so that none is missed on its way from the notes to the disk.
    let changes = shared.store.changes();
    let (report, now) = (status.report(), context.now);
    let suspended = report.suspended_since(now, shared.journal_late_ns());
    let status_of = |good: bool| if good { "ok" } else { "err" };
    lines.line("journal_enabled", 1);
    lines.line(
        "journal_last_write_status",
        status_of(report.error.is_none()),
    );
    let since_s = suspended.map_or(0, |since| since.as_ns() / SECOND);
    lines.line("journal_suspended_since", since_s);
    if let Some(error) = &report.error {
        lines.line("journal_error", error.escape_debug());
    }
    lines.line("journal_covers_until", report.covers_until.as_ns() / SECOND);
    let behind_ns = now.since(report.covers_until);
    lines.line("journal_behind_usec", behind_ns / MICROSECOND);
    lines.line("journal_size", report.bytes);
    lines.line("journal_base_size", report.base_bytes);
    lines.line("journal_generation", report.generation);
    lines.line("journal_batches", report.batches);
    lines.line("journal_pending_keys", changes + report.writing);
    lines.line("journal_last_fsync", report.flushed_at.as_ns() / SECOND);
    lines.line(
        "journal_last_fsync_usec",
        report.flush_took_ns / MICROSECOND,
    );
    let running = report.flushing_since.map_or(0, |since| now.since(since));
    lines.line("journal_current_fsync_usec", running / MICROSECOND);
}
