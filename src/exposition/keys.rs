//! What is held: keys, tickets, leases, memory.

use super::writer::{BYTES, Writer};
use crate::command::context::Shared;
use crate::core::units::Timestamp;
use crate::memory;
use crate::store::{DATABASES_MAX, KINDS};
use std::fmt;

pub(super) fn write(writer: &mut Writer<'_>, shared: &Shared, _: Timestamp) -> fmt::Result {
    let (store, totals) = (&shared.store, shared.metrics.totals());
    let census = store.kinds.census();
    let help = "Keys by kind, as the last round of the sweep has found them";
    let rows = KINDS.iter().zip(census.keys);
    writer.gauges("tollgate_keys", help, "kind", rows)?;
    let help = "Keys that are paused, as the last round of the sweep has found them";
    writer.gauge("tollgate_paused_keys", None, help, census.paused)?;
    let help = "Keys by database, those included that have gone by themselves and that the sweep has not met";
    let lengths = (0..DATABASES_MAX).map(|database| (database, store.len(database) as u64));
    let rows = lengths
        .filter(|&(database, keys)| database == 0 || keys > 0)
        .map(|(database, keys)| (database.to_string(), keys));
    writer.gauges("tollgate_database_keys", help, "db", rows)?;
    let help = "Keys that have gone by themselves";
    let gone = totals.forgotten_keys;
    writer.counter("tollgate_keys_gone", None, help, gone)?;
    let help = "Keys that had to go since memory was full";
    let evicted = store.counts.evicted_keys();
    writer.counter("tollgate_keys_evicted", None, help, evicted)?;
    let help = "Leases that are held, those included that have lapsed unnoticed";
    let leases = store.counts.leases();
    writer.gauge("tollgate_leases", None, help, leases)?;
    let help = "Leases that have lapsed";
    let lapsed = store.counts.lapsed_leases();
    writer.counter("tollgate_leases_lapsed", None, help, lapsed)?;
    let (tickets, answers) = store.records.counts();
    let help = "Tickets that are known";
    writer.gauge("tollgate_tickets", None, help, tickets)?;
    let help = "Answers to request ids that are remembered";
    writer.gauge("tollgate_remembered_answers", None, help, answers)?;
    let policies = store.policies.names().len();
    writer.gauge("tollgate_policies", None, "Policies", policies)?;
    let help = "Memory in use, as it is counted against maxmemory";
    let used = memory::used_bytes();
    writer.gauge("tollgate_memory_used", BYTES, help, used)?;
    let help = "Most memory that was in use";
    let peak = memory::peak_bytes();
    writer.gauge("tollgate_memory_peak", BYTES, help, peak)?;
    let help = "The bound of memory, maxmemory; 0 for none";
    let bound = shared.settings.maxmemory();
    writer.gauge("tollgate_memory_max", BYTES, help, bound)
}
