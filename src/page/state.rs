//! What the page is told every second.

use super::hot::hot;
use super::keys::{Viewer, view};
use super::past::Second;
use crate::command::context::Shared;
use crate::command::server::VERSION;
use crate::core::units::{MICROSECOND, MILLISECOND, SECOND, Timestamp};
use crate::memory;
use crate::store::{DATABASES_MAX, KINDS};
use serde_json::{Map, Value, json};

/// Keys at which somebody waits that are shown.
const WAITED_MAX: usize = 8;

/// How the server stands, as far as the viewer may know.
pub fn state(viewer: &mut Viewer<'_>, may_act: bool) -> Value {
    let shared = &viewer.engine.shared;
    let now = shared.clock.now();
    let totals = shared.metrics.totals();
    let settings = &shared.settings;
    json!({
        "version": VERSION,
        "now_ms": now.as_ns() / MILLISECOND,
        "up_s": now.since(shared.started_at) / SECOND,
        "actions": may_act,
        "clients": shared.clients.len(),
        "maxclients": settings.maxclients(),
        "granted": totals.granted,
        "denied": totals.denied,
        "errors": totals.errors,
        "waiting": shared.waiters.len(),
        "waited_keys": shared.waiters.keys(),
        "waited": waited(viewer),
        "hot": hot(viewer, now),
        "leases": shared.store.counts.leases(),
        "lapsed": shared.store.counts.lapsed_leases(),
        "tickets": shared.store.records.counts().0,
        "keys": keys(shared),
        "memory": {
            "used": memory::used_bytes(),
            "peak": memory::peak_bytes(),
            "resident": memory::resident_bytes(),
            "max": settings.maxmemory(),
            "evicted": shared.store.counts.evicted_keys(),
        },
        "snapshot": snapshot(shared, now),
        "journal": journal(shared, now),
    })
}

/// Seconds that are over: `[number, commands, granted, denied]` each.
pub fn past(seconds: &[Second]) -> Value {
    let rows = seconds.iter();
    rows.map(|second| {
        json!([
            second.number,
            second.commands,
            second.granted,
            second.denied
        ])
    })
    .collect()
}

/// The keys at which most wait.
fn waited(viewer: &mut Viewer<'_>) -> Vec<Value> {
    let busiest = viewer.engine.shared.waiters.busiest(WAITED_MAX);
    let mut shown = Vec::new();
    for ((database, key), _) in busiest {
        shown.extend(view(viewer, database, key.as_bytes()));
    }
    shown
}

fn keys(shared: &Shared) -> Value {
    let census = shared.store.kinds.census();
    let kinds = KINDS.iter().zip(census.keys);
    let kinds: Map<String, Value> = kinds
        .filter(|(_, count)| *count > 0)
        .map(|(kind, count)| ((*kind).to_owned(), count.into()))
        .collect();
    let all: usize = (0..DATABASES_MAX)
        .map(|database| shared.store.len(database))
        .sum();
    json!({ "all": all, "kinds": kinds, "paused": census.paused })
}

fn snapshot(shared: &Shared, now: Timestamp) -> Value {
    let report = shared.saves.report();
    let now_s = now.as_ns() / SECOND;
    json!({
        "on": shared.settings.save_seconds() > 0,
        "age_s": now_s.saturating_sub(report.last_save_s),
        "took_ms": report.last_duration.map(|took| took.as_millis() as u64),
        "running_s": report.running_since_s.map(|since| now_s.saturating_sub(since)),
        "error": report.last_error,
        "unsaved": report.changes_since(shared.metrics.changes()),
    })
}

/// How the journal does; null if there is none.
fn journal(shared: &Shared, now: Timestamp) -> Value {
    let Some(status) = shared.journal.get() else {
        return Value::Null;
    };
    let report = status.report();
    let suspended = report.suspended_since(now, shared.journal_late_ns());
    json!({
        "behind_ms": now.since(report.covers_until) / MILLISECOND,
        "flush_us": report.flush_took_ns / MICROSECOND,
        "bytes": report.bytes,
        "suspended_s": suspended.map(|since| now.since(since) / SECOND),
        "error": report.error,
    })
}
