//! The process, and who is connected to it.

use super::writer::{BYTES, SECONDS, Writer, seconds};
use crate::acl::Reason;
use crate::command::context::Shared;
use crate::command::server::{VERSION, process};
use crate::core::units::{SECOND, Timestamp};
use crate::memory;
use prometheus_client::metrics::MetricType;
use std::fmt;

pub(super) fn write(writer: &mut Writer<'_>, shared: &Shared, now: Timestamp) -> fmt::Result {
    let help = "What runs; always 1";
    let (name, kind) = ("tollgate_build_info", MetricType::Gauge);
    let labels = [("version", VERSION), ("arch", std::env::consts::ARCH)];
    let mut build = writer.0.encode_descriptor(name, help, None, kind)?;
    build.encode_family(&labels)?.encode_gauge(&1_u64)?;
    let help = "How long the server has been up";
    let up = now.since(shared.started_at) as f64 / SECOND as f64;
    writer.gauge("tollgate_uptime", SECONDS, help, up)?;
    let help = "When the server started, since the Unix epoch";
    let started = seconds(shared.started_at);
    writer.gauge("process_start_time", SECONDS, help, started)?;
    if let Some(cpu) = process::cpu_hundredths() {
        let help = "Time on the processors";
        let used = (cpu.user + cpu.system) as f64 / 100.0;
        writer.counter("process_cpu", SECONDS, help, used)?;
    }
    if let Some(bytes) = memory::resident_bytes() {
        let help = "Memory that the process takes, as the system says";
        writer.gauge("process_resident_memory", BYTES, help, bytes)?;
    }
    let totals = shared.metrics.totals();
    let help = "Connections of clients";
    let connected = shared.clients.len();
    writer.gauge("tollgate_connections", None, help, connected)?;
    let help = "Most connections at a time, maxclients";
    let most = shared.settings.maxclients();
    writer.gauge("tollgate_connections_max", None, help, most)?;
    for (name, help, count) in [
        (
            "tollgate_connections_accepted",
            "Connections accepted",
            totals.connections,
        ),
        (
            "tollgate_connections_rejected",
            "Connections refused since there were too many",
            totals.rejected_connections,
        ),
        (
            "tollgate_connections_overrun",
            "Connections cut off since they did not read their messages",
            totals.overruns,
        ),
    ] {
        writer.counter(name, None, help, count)?;
    }
    let help = "Bytes read from clients";
    writer.counter("tollgate_received", BYTES, help, totals.received_bytes)?;
    let help = "Bytes written to clients";
    writer.counter("tollgate_sent", BYTES, help, totals.sent_bytes)?;
    let log = shared.acl.log.lock();
    let denied = Reason::ALL.map(|reason| (reason.name(), log.count(reason)));
    drop(log);
    let help = "Logins that failed (auth), and requests that a user may not make";
    writer.counters("tollgate_acl_denied", help, "reason", denied)
}
