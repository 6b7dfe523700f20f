//! The table of settings: a row for each name, what it shows, and what it takes.

use std::fmt;
use std::sync::atomic::Ordering::Relaxed;

use super::values::*;
use super::{Fsync, LogLevel, Settings, journal_interval};
use crate::core::units::Span;
use crate::password::Password;

/// A value that has been checked and only waits to be stored.
pub(super) enum Change {
    Maxclients(u64),
    Maxmemory(u64),
    Requirepass(Password),
    OpenChannels(bool),
    AcllogMaxLen(u64),
    Save(u64),
    JournalInterval(Span),
    JournalFsync(Fsync),
    StopWritesOnError(bool),
    Loglevel(LogLevel),
    Timeout(u64),
    TcpKeepalive(u64),
    MaxPause(Span),
    MaxBookings(u64),
    ProtectedMode(bool),
    ClientOutputLimit(u64),
    PubsubOutputLimit(u64),
    SlowlogSlowerThan(i64),
    SlowlogMaxLen(u64),
    LatencyThreshold(u64),
}

/// Reads a new value; the error says what the setting takes.
type Parse = fn(&[u8]) -> Result<Change, String>;

/// One setting: its name, how it is shown, and how a new value is read (`None`: fixed at start).
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) get: fn(&Settings) -> Vec<u8>,
    pub(super) parse: Option<Parse>,
}

/// The table. `appendonly`, `client-output-buffer-limit` and `maxmemory-policy` are what tools ask Redis for; their
/// answers are true of this server, where no value is evicted, and no limit that was reached.
pub(super) const ROWS: &[Row] = &[
    Row {
        name: "acl-pubsub-default",
        get: |s| {
            text(if s.open_channels() {
                "allchannels"
            } else {
                "resetchannels"
            })
        },
        parse: Some(|value| channels(value).map(Change::OpenChannels)),
    },
    Row {
        name: "aclfile",
        get: |s| text(&s.fixed.aclfile),
        parse: None,
    },
    Row {
        name: "acllog-max-len",
        get: |s| text(s.acllog_len_max()),
        parse: Some(|value| integer(value, 0, ACLLOG_LEN_LIMIT).map(Change::AcllogMaxLen)),
    },
    Row {
        name: "appendonly",
        get: |_| text("no"),
        parse: None,
    },
    Row {
        name: "bind",
        get: |s| text(addresses(&s.fixed.bind)),
        parse: None,
    },
    Row {
        name: "client-output-buffer-limit",
        get: |s| {
            let bytes = s.pubsub_output_limit();
            text(format!("normal 0 0 0 slave 0 0 0 pubsub {bytes} 0 0"))
        },
        parse: None,
    },
    Row {
        name: "client-output-limit",
        get: |s| text(s.client_output_limit.load(Relaxed)),
        parse: Some(|value| {
            memory(value, OUTPUT_LIMIT_MIN, OUTPUT_LIMIT_MAX).map(Change::ClientOutputLimit)
        }),
    },
    Row {
        name: "cluster-announce",
        get: |s| text(s.cluster().map_or_else(String::new, ToString::to_string)),
        parse: None,
    },
    Row {
        name: "cluster-enabled",
        get: |s| text(yes_or_no(s.cluster().is_some())),
        parse: None,
    },
    Row {
        name: "databases",
        get: |s| text(s.fixed.databases),
        parse: None,
    },
    Row {
        name: "dbfilename",
        get: |s| text(&s.fixed.dbfilename),
        parse: None,
    },
    Row {
        name: "dir",
        get: |s| text(&s.fixed.dir),
        parse: None,
    },
    Row {
        name: "journal",
        get: |s| text(yes_or_no(s.journal.enabled())),
        parse: None,
    },
    Row {
        name: "journal-fsync",
        get: |s| text(s.journal.fsync().name()),
        parse: Some(|value| Fsync::parse(value).map(Change::JournalFsync)),
    },
    Row {
        name: "journal-interval",
        get: |s| text(s.journal.interval().to_string()),
        parse: Some(|value| journal_interval(value).map(Change::JournalInterval)),
    },
    Row {
        name: "latency-monitor-threshold",
        get: |s| text(s.latency_threshold_ms.load(Relaxed)),
        parse: Some(|value| integer(value, 0, MS_MAX).map(Change::LatencyThreshold)),
    },
    Row {
        name: "loglevel",
        get: |s| text(s.loglevel.lock().name()),
        parse: Some(|value| {
            let level = LogLevel::parse(value)
                .ok_or_else(|| format!("argument must be one of {}", LogLevel::NAMES));
            level.map(Change::Loglevel)
        }),
    },
    Row {
        name: "max-bookings",
        get: |s| text(s.max_bookings()),
        parse: Some(|value| integer(value, 1, BOOKINGS_LIMIT).map(Change::MaxBookings)),
    },
    Row {
        name: "max-pause",
        get: |s| text(s.max_pause().to_string()),
        parse: Some(|value| max_pause(value).map(Change::MaxPause)),
    },
    Row {
        name: "maxclients",
        get: |s| text(s.maxclients()),
        parse: Some(|value| integer(value, 1, MAXCLIENTS_MAX).map(Change::Maxclients)),
    },
    Row {
        name: "maxmemory",
        get: |s| text(s.maxmemory.load(Relaxed)),
        parse: Some(|value| {
            let bytes = bytes(value).ok_or("argument must be a memory value")?;
            Ok(Change::Maxmemory(bytes))
        }),
    },
    Row {
        name: "maxmemory-policy",
        get: |_| text("noeviction"),
        parse: None,
    },
    Row {
        name: "metrics-bind",
        get: |s| text(&s.fixed.metrics_bind),
        parse: None,
    },
    Row {
        name: "metrics-key-prefix",
        get: |s| text(s.fixed.metrics_key_prefixes.join(" ")),
        parse: None,
    },
    Row {
        name: "port",
        get: |s| text(s.fixed.port),
        parse: None,
    },
    Row {
        name: "protected-mode",
        get: |s| text(yes_or_no(s.protected_mode())),
        parse: Some(|value| yes_no(value).map(Change::ProtectedMode)),
    },
    Row {
        name: "pubsub-output-limit",
        get: |s| text(s.pubsub_output_limit()),
        parse: Some(|value| {
            memory(value, PUBSUB_OUTPUT_LIMIT_MIN, OUTPUT_LIMIT_MAX).map(Change::PubsubOutputLimit)
        }),
    },
    Row {
        name: "requirepass",
        get: |s| s.requirepass.read().reveal().to_vec(),
        parse: Some(|value| {
            Password::new(value)
                .map(Change::Requirepass)
                .map_err(|error| error.to_string())
        }),
    },
    Row {
        name: "save",
        get: |s| text(save_text(s.save_seconds())),
        parse: Some(|value| save(value).map(Change::Save)),
    },
    Row {
        name: "slowlog-log-slower-than",
        get: |s| text(s.slowlog_slower_than_us.load(Relaxed)),
        parse: Some(|value| slower_than(value).map(Change::SlowlogSlowerThan)),
    },
    Row {
        name: "slowlog-max-len",
        get: |s| text(s.slowlog_len_max()),
        parse: Some(|value| integer(value, 0, SLOWLOG_LEN_LIMIT).map(Change::SlowlogMaxLen)),
    },
    Row {
        name: "stop-writes-on-bgsave-error",
        get: |s| text(yes_or_no(s.journal.stop_writes_on_error())),
        parse: Some(|value| yes_no(value).map(Change::StopWritesOnError)),
    },
    Row {
        name: "tcp-backlog",
        get: |s| text(s.fixed.tcp_backlog),
        parse: None,
    },
    Row {
        name: "tcp-keepalive",
        get: |s| text(s.tcp_keepalive_seconds()),
        parse: Some(|value| integer(value, 0, SECONDS_MAX).map(Change::TcpKeepalive)),
    },
    Row {
        name: "timeout",
        get: |s| text(s.timeout_seconds()),
        parse: Some(|value| integer(value, 0, SECONDS_MAX).map(Change::Timeout)),
    },
    Row {
        name: "tls-auth-clients",
        get: |s| text(&s.fixed.tls_auth_clients),
        parse: None,
    },
    Row {
        name: "tls-ca-cert-file",
        get: |s| text(&s.fixed.tls_ca_cert_file),
        parse: None,
    },
    Row {
        name: "tls-cert-file",
        get: |s| text(&s.fixed.tls_cert_file),
        parse: None,
    },
    Row {
        name: "tls-key-file",
        get: |s| text(&s.fixed.tls_key_file),
        parse: None,
    },
    Row {
        name: "tls-port",
        get: |s| text(s.fixed.tls_port),
        parse: None,
    },
    Row {
        name: "ui-actions",
        get: |s| text(yes_or_no(s.fixed.ui_actions)),
        parse: None,
    },
    Row {
        name: "unixsocket",
        get: |s| text(&s.fixed.unixsocket),
        parse: None,
    },
    Row {
        name: "unixsocketperm",
        get: |s| text(&s.fixed.unixsocketperm),
        parse: None,
    },
];

pub(super) fn find(name: &[u8]) -> Option<&'static Row> {
    ROWS.iter()
        .find(|row| row.name.as_bytes().eq_ignore_ascii_case(name))
}

/// Why `CONFIG SET` changed nothing. [`fmt::Display`] is Redis's text, without `ERR`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetError {
    /// There is no such setting (its name, cut and made printable).
    Unknown(String),
    /// It is fixed while the server runs, or the value is not one it takes.
    Refused {
        /// The setting.
        name: &'static str,
        /// What it takes.
        reason: String,
    },
}

impl SetError {
    pub(super) fn unknown(name: &[u8]) -> Self {
        Self::Unknown(name[..name.len().min(64)].escape_ascii().to_string())
    }
}

impl fmt::Display for SetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(
                f,
                "Unknown option or number of arguments for CONFIG SET - '{name}'"
            ),
            Self::Refused { name, reason } => {
                write!(
                    f,
                    "CONFIG SET failed (possibly related to argument '{name}') - {reason}"
                )
            }
        }
    }
}

impl std::error::Error for SetError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted_and_named_once() {
        assert!(ROWS.windows(2).all(|pair| pair[0].name < pair[1].name));
    }
}
