//! The table of settings: a row for each name, what it shows, and what it takes.

use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::Ordering::Relaxed;

use super::{LogLevel, Settings};
use crate::core::number;
use crate::core::units::Span;
use crate::password::Password;

/// Most `--maxclients` may ask for; a million descriptors is beyond what one process is given.
pub const MAXCLIENTS_MAX: u64 = 1_000_000;
/// Longest number of seconds a setting may name: ten years.
pub const SECONDS_MAX: u64 = 315_360_000;
/// Least bytes of `client-output-limit`: below it every large reply would be cut into shreds.
pub const OUTPUT_LIMIT_MIN: u64 = 4 * 1024;
/// Least bytes of `pubsub-output-limit`: one message of the longest kind (1 MiB) fits beside another.
pub const PUBSUB_OUTPUT_LIMIT_MIN: u64 = 2 * 1024 * 1024;
/// Most bytes of `client-output-limit` and of `pubsub-output-limit`, per connection.
pub const OUTPUT_LIMIT_MAX: u64 = 1024 * 1024 * 1024;
/// Most milliseconds and microseconds of the two thresholds of slowness: a day.
pub const MS_MAX: u64 = 86_400_000;
/// As [`MS_MAX`], in microseconds.
pub const US_MAX: u64 = MS_MAX * 1000;
/// Most entries of the slow log: with all words of each at their longest they take 50 MB.
pub const SLOWLOG_LEN_LIMIT: u64 = 10_000;

/// Most entries of the log of what was denied: some 20 MB, with the names in each at their longest.
pub const ACLLOG_LEN_LIMIT: u64 = 10_000;

/// A value that has been checked and only waits to be stored.
pub(super) enum Change {
    Maxclients(u64),
    Requirepass(Password),
    OpenChannels(bool),
    AcllogMaxLen(u64),
    Save(u64),
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

/// The table. `appendonly`, `client-output-buffer-limit` and the two about memory are what tools ask Redis for;
/// their answers are true of this server.
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
        get: |_| text("0"),
        parse: None,
    },
    Row {
        name: "maxmemory-policy",
        get: |_| text("noeviction"),
        parse: None,
    },
    Row {
        name: "port",
        get: |s| text(s.fixed.port),
        parse: None,
    },
    Row {
        name: "protected-mode",
        get: |s| text(if s.protected_mode() { "yes" } else { "no" }),
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

fn text(value: impl ToString) -> Vec<u8> {
    value.to_string().into_bytes()
}

fn addresses(bind: &[IpAddr]) -> String {
    bind.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(" ")
}

/// `0` seconds shows as Redis shows it: an empty text.
fn save_text(seconds: u64) -> String {
    if seconds == 0 {
        String::new()
    } else {
        format!("{seconds} 1")
    }
}

/// A whole number from `least` to `most`.
fn integer(value: &[u8], least: u64, most: u64) -> Result<u64, String> {
    std::str::from_utf8(value)
        .ok()
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|text| text.parse().ok())
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| format!("argument must be between {least} and {most} inclusive"))
}

/// A number of bytes from `least` to `most`, with or without a unit.
fn memory(value: &[u8], least: u64, most: u64) -> Result<u64, String> {
    let bytes = bytes(value).ok_or("argument must be a memory value")?;
    if (least..=most).contains(&bytes) {
        Ok(bytes)
    } else {
        Err(format!(
            "argument must be between {least} and {most} inclusive"
        ))
    }
}

/// A number of bytes with Redis's units: `k`, `m`, `g` are powers of 1000, `kb`, `mb`, `gb` of 1024.
pub(crate) fn bytes(value: &[u8]) -> Option<u64> {
    let value = std::str::from_utf8(value).ok()?;
    let digits = value
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(value.len());
    let (number, unit) = value.split_at(digits);
    let unit: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" => 1000,
        "kb" => 1 << 10,
        "m" => 1_000_000,
        "mb" => 1 << 20,
        "g" => 1_000_000_000,
        "gb" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// Microseconds, or -1 for never.
pub(crate) fn slower_than(value: &[u8]) -> Result<i64, String> {
    if value == b"-1" {
        return Ok(-1);
    }
    let us = integer(value, 0, US_MAX).map(|us| us as i64);
    us.map_err(|_| format!("argument must be between -1 and {US_MAX} inclusive"))
}

/// `yes` or `no`.
pub(crate) fn yes_no(value: &[u8]) -> Result<bool, String> {
    match value.to_ascii_lowercase().as_slice() {
        b"yes" => Ok(true),
        b"no" => Ok(false),
        _ => Err("argument must be 'yes' or 'no'".to_owned()),
    }
}

/// `allchannels`: true, or `resetchannels`.
pub(crate) fn channels(value: &[u8]) -> Result<bool, String> {
    match value.to_ascii_lowercase().as_slice() {
        b"allchannels" => Ok(true),
        b"resetchannels" => Ok(false),
        _ => Err("argument(s) must be one of the following: allchannels, resetchannels".to_owned()),
    }
}

/// Most bookings a key may be allowed: a million of them take tens of megabytes, and a call on such a key
/// under another rate tens of milliseconds.
pub(crate) const BOOKINGS_LIMIT: u64 = 1_000_000;

/// The longest pause: a duration above zero.
pub(crate) fn max_pause(value: &[u8]) -> Result<Span, String> {
    let span = number::duration(value).filter(|span| *span > Span::ZERO);
    span.ok_or_else(|| {
        "argument must be a duration from 1ns to 3650d, such as 30m or 24h".to_owned()
    })
}

/// Seconds between snapshots. Redis's pair `seconds changes` is understood if one change is enough.
pub(crate) fn save(value: &[u8]) -> Result<u64, String> {
    let trimmed = value.trim_ascii();
    if trimmed.is_empty() || trimmed.eq_ignore_ascii_case(b"no") {
        return Ok(0);
    }
    let seconds = trimmed
        .strip_suffix(b" 1")
        .unwrap_or(trimmed)
        .trim_ascii_end();
    integer(seconds, 0, SECONDS_MAX).map_err(|_| {
        format!("argument must be a number of seconds up to {SECONDS_MAX} ('60', or '60 1' as Redis writes it), or '' for off")
    })
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
    fn save_takes_seconds_and_the_words_for_off() {
        let cases: [(&[u8], u64); 8] = [
            (b"60", 60),
            (b"60 1", 60),
            (b"0", 0),
            (b"", 0),
            (b"no", 0),
            (b"NO", 0),
            (b" 5 ", 5),
            (b"1", 1),
        ];
        for (value, seconds) in cases {
            assert_eq!(save(value), Ok(seconds), "{value:?}");
        }
        for wrong in [
            &b"60 10"[..],
            b"-1",
            b"1.5",
            b"yes",
            b"900 1 300 10",
            b"99999999999999999999",
        ] {
            assert!(save(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn memory_has_units() {
        let cases: [(&[u8], u64); 5] = [
            (b"4096", 4096),
            (b"4kb", 4096),
            (b"5K", 5000),
            (b"1Mb", 1 << 20),
            (b"4096b", 4096),
        ];
        for (value, bytes) in cases {
            assert_eq!(memory(value, 4096, 1 << 30), Ok(bytes), "{value:?}");
        }
        for wrong in [
            &b"kb"[..],
            b"4 kb",
            b"4kib",
            b"-1",
            b"",
            b"1e9",
            b"99999999999999999gb",
        ] {
            let error = memory(wrong, 0, 1 << 30).unwrap_err();
            assert_eq!(error, "argument must be a memory value", "{wrong:?}");
        }
        assert!(memory(b"2gb", 0, 1 << 30).unwrap_err().contains("between"));
    }

    #[test]
    fn integers_stay_in_their_range() {
        assert_eq!(integer(b"7", 1, 7), Ok(7));
        for wrong in [
            &b"8"[..],
            b"0",
            b"+1",
            b"",
            b" 1",
            b"\xff",
            b"18446744073709551616",
        ] {
            assert!(integer(wrong, 1, 7).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn rows_are_sorted_and_named_once() {
        assert!(ROWS.windows(2).all(|pair| pair[0].name < pair[1].name));
    }
}
