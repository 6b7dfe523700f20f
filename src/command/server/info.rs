//! INFO: how the server stands, in sections of `name:value` lines.
//!
//! Redis's names where the number is the same thing, and no line for what is not measured.

mod counts;
mod journal;
mod memory;

use super::{REDIS_VERSION, VERSION, process};
use crate::acl::Reason;
use crate::clients::Client;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Flags, Group, Spec};
use crate::core::units::SECOND;
use crate::protocol::Arguments;
use crate::pubsub::Kind;
use crate::store::DATABASES_MAX;
use std::fmt::{Display, Write as _};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Tell how the server stands",
    arguments: &[Argument::string("section").optional().multiple()],
    reply: "Lines of `name:value` in sections: server, clients, memory, persistence, stats, ratelimit, replication, cpu, modules, commandstats, errorstats, latencystats, cluster, keyspace. Those named; without a name, and under `default`, all but commandstats and latencystats; under `all` and `everything` all.",
    flags: Flags::DANGEROUS,
    ..Spec::new("INFO", Group::Server, Arity::at_least(1), run)
};

/// A section.
struct Section {
    name: &'static str,
    /// Shown unless others are named.
    default: bool,
    write: fn(&mut Lines, &Context<'_>),
}

const fn section(name: &'static str, write: fn(&mut Lines, &Context<'_>)) -> Section {
    Section {
        name,
        default: true,
        write,
    }
}

const fn on_request(name: &'static str, write: fn(&mut Lines, &Context<'_>)) -> Section {
    Section {
        name,
        default: false,
        write,
    }
}

const SECTIONS: [Section; 14] = [
    section("Server", server),
    section("Clients", clients),
    section("Memory", memory::section),
    section("Persistence", persistence),
    section("Stats", statistics),
    section("Ratelimit", rate_limit),
    section("Replication", replication),
    section("CPU", cpu),
    section("Modules", |_, _| {}),
    on_request("Commandstats", counts::commands),
    section("Errorstats", counts::errors),
    on_request("Latencystats", counts::latencies),
    section("Cluster", cluster),
    section("Keyspace", keyspace),
];

/// The text so far.
struct Lines(String);

impl Lines {
    fn line(&mut self, name: &str, value: impl Display) {
        // Writing to a text cannot fail.
        let _ = write!(self.0, "{name}:{value}\r\n");
    }
}

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    // So that INFO counts itself and what its batch did before it, as in Redis.
    context.shared.metrics.add(&context.tally.take());
    let asked = arguments.tail(1);
    let named = |name: &str| {
        let mut words = asked.iter();
        words.any(|word| word.eq_ignore_ascii_case(name.as_bytes()))
    };
    let all = named("all") || named("everything");
    let default = asked.is_empty() || named("default");
    let mut lines = Lines(String::with_capacity(2048));
    for section in &SECTIONS {
        if !(all || default && section.default || named(section.name)) {
            continue;
        }
        if !lines.0.is_empty() {
            lines.0.push_str("\r\n");
        }
        lines.0.push_str("# ");
        lines.0.push_str(section.name);
        lines.0.push_str("\r\n");
        (section.write)(&mut lines, context);
    }
    context.reply.verbatim("txt", lines.0.as_bytes());
    Ok(())
}

fn server(lines: &mut Lines, context: &Context<'_>) {
    let (shared, now) = (context.shared, context.now);
    let up_s = now.since(shared.started_at) / SECOND;
    lines.line("redis_version", REDIS_VERSION);
    lines.line("tollgate_version", VERSION);
    lines.line("redis_mode", shared.settings.mode());
    lines.line("os", process::system());
    lines.line("arch_bits", usize::BITS);
    lines.line("process_id", std::process::id());
    lines.line("run_id", &shared.run_id);
    lines.line("tcp_port", shared.settings.port());
    lines.line("server_time_usec", now.as_ns() / 1000);
    lines.line("uptime_in_seconds", up_s);
    lines.line("uptime_in_days", up_s / 86_400);
    let clock = if shared.clock.is_manual() {
        "manual"
    } else {
        "system"
    };
    lines.line("clock", clock);
    lines.line("config_file", shared.settings.config_file());
}

fn clients(lines: &mut Lines, context: &Context<'_>) {
    let connected = context.shared.clients.all();
    let watching = connected.iter().map(|client| client.watching.load(Relaxed));
    let (watchers, watched) = watching
        .filter(|&keys| keys > 0)
        .fold((0, 0), |(clients, keys), more| (clients + 1, keys + more));
    lines.line("connected_clients", connected.len());
    lines.line("maxclients", context.shared.settings.maxclients());
    lines.line("blocked_clients", context.shared.waiters.len());
    let tracks = |client: &&Arc<Client>| client.labels.read().tracking.is_some();
    lines.line("tracking_clients", connected.iter().filter(tracks).count());
    let subscribed = connected.iter().filter(|client| client.is_subscribed());
    lines.line("pubsub_clients", subscribed.count());
    lines.line("watching_clients", watchers);
    lines.line("total_watched_keys", watched);
}

fn persistence(lines: &mut Lines, context: &Context<'_>) {
    let report = context.shared.saves.report();
    let changes = context.shared.metrics.changes();
    let now_s = context.now.as_ns() / SECOND;
    let running_s = report
        .running_since_s
        .map(|since| now_s.saturating_sub(since));
    let or_none = |seconds: Option<u64>| seconds.map_or(-1, |seconds| seconds as i64);
    let status = if report.last_error.is_none() {
        "ok"
    } else {
        "err"
    };
    lines.line("loading", 0);
    lines.line("async_loading", 0);
    lines.line("rdb_changes_since_last_save", report.changes_since(changes));
    lines.line(
        "rdb_bgsave_in_progress",
        u8::from(report.running_since_s.is_some() || context.shared.requests.is_snapshot_wanted()),
    );
    lines.line("rdb_last_save_time", report.last_save_s);
    lines.line("rdb_last_bgsave_status", status);
    let last_s = report.last_duration.map(|took| took.as_secs());
    lines.line("rdb_last_bgsave_time_sec", or_none(last_s));
    lines.line("rdb_current_bgsave_time_sec", or_none(running_s));
    if let Some(error) = &report.last_error {
        lines.line("rdb_last_bgsave_error", error.escape_debug());
    }
    lines.line("aof_enabled", 0);
    journal::write(lines, context);
}

fn statistics(lines: &mut Lines, context: &Context<'_>) {
    let totals = context.shared.metrics.totals();
    lines.line("total_connections_received", totals.connections);
    lines.line("total_commands_processed", totals.commands);
    lines.line("instantaneous_ops_per_sec", totals.commands_per_second);
    lines.line("total_net_input_bytes", totals.received_bytes);
    lines.line("total_net_output_bytes", totals.sent_bytes);
    for (name, bytes) in [
        ("instantaneous_input_kbps", totals.received_bytes_per_second),
        ("instantaneous_output_kbps", totals.sent_bytes_per_second),
    ] {
        // As in Redis these are KiB, in hundredths.
        let hundredths = u128::from(bytes) * 100 / 1024;
        let value = format_args!("{}.{:02}", hundredths / 100, hundredths % 100);
        lines.line(name, value);
    }
    lines.line("rejected_connections", totals.rejected_connections);
    lines.line("expired_keys", totals.forgotten_keys);
    lines.line("evicted_keys", context.shared.store.counts.evicted_keys());
    let hub = &context.shared.hub;
    lines.line("pubsub_channels", hub.count(Kind::Channel));
    lines.line("pubsub_patterns", hub.count(Kind::Pattern));
    lines.line("pubsubshard_channels", hub.count(Kind::Shard));
    let overruns = totals.overruns;
    lines.line("client_output_buffer_limit_disconnections", overruns);
    lines.line("total_error_replies", totals.errors);
    let denied = context.shared.acl.log.lock();
    for reason in Reason::ALL {
        lines.line(reason.counter_name(), denied.count(reason));
    }
}

fn rate_limit(lines: &mut Lines, context: &Context<'_>) {
    let totals = context.shared.metrics.totals();
    lines.line("granted_total", totals.granted);
    lines.line("denied_total", totals.denied);
    lines.line("shadow_limited", totals.shadow_limited);
    lines.line("paused_total", totals.paused);
    lines.line("waiting", context.shared.waiters.len());
    lines.line("waited_keys", context.shared.waiters.keys());
    lines.line("forgotten_keys_total", totals.forgotten_keys);
    lines.line("leases", context.shared.store.counts.leases());
    lines.line("lapsed_leases", context.shared.store.counts.lapsed_leases());
}

fn replication(lines: &mut Lines, context: &Context<'_>) {
    lines.line("role", "master");
    lines.line("connected_slaves", 0);
    lines.line("master_failover_state", "no-failover");
    lines.line("master_replid", &context.shared.run_id);
    lines.line("master_repl_offset", 0);
}

fn cpu(lines: &mut Lines, _: &Context<'_>) {
    if let Some(cpu) = process::cpu_hundredths() {
        for (name, hundredths) in [("sys", cpu.system), ("user", cpu.user)] {
            let value = format_args!("{}.{:02}0000", hundredths / 100, hundredths % 100);
            lines.line(&format!("used_cpu_{name}"), value);
        }
        // There are no child processes.
        lines.line("used_cpu_sys_children", "0.000000");
        lines.line("used_cpu_user_children", "0.000000");
    }
}

fn cluster(lines: &mut Lines, context: &Context<'_>) {
    let enabled = context.shared.settings.cluster().is_some();
    lines.line("cluster_enabled", u8::from(enabled));
}

fn keyspace(lines: &mut Lines, context: &Context<'_>) {
    for database in 0..DATABASES_MAX {
        let keys = context.shared.store.len(database);
        if keys > 0 {
            // Every limit key goes by itself. For how long they all are there on average is not measured.
            let expires = keys.saturating_sub(context.shared.store.counts.staying(database));
            let value = format_args!("keys={keys},expires={expires},avg_ttl=0");
            lines.line(&format!("db{database}"), value);
        }
    }
}
