//! The server's flags, each also an environment variable `TOLLGATE_*`, and what they take.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use clap::builder::TypedValueParser;
use clap::{Args, ValueEnum};

use crate::cluster::Announced;
use crate::core::units::Span;
use crate::password::Password;
use crate::settings::{self, Fsync, Initial, Journaling, LogLevel};

pub mod file;
mod metrics;
mod network;
mod tls;

pub use metrics::{MetricsBind, MetricsFlags};
pub(crate) use network::port;
pub use network::{BindAddress, BindAddresses, ListenPort, SocketMode};
use network::{socket_mode, tcp_port};
pub use tls::{AuthClients, TlsFlags};

/// Redis's port, and the default.
pub const DEFAULT_PORT: u16 = 6379;
/// Most worker threads; more than any machine this is for has cores.
const THREADS_MAX: u64 = 1024;

/// The flags of the server. Every one can be given as an environment variable instead; the flag wins.
#[derive(Args, Clone, Debug)]
pub struct Config {
    /// File of settings in TOML, named as these flags; a flag and the environment win over it
    #[arg(long = "config", env = "TOLLGATE_CONFIG", value_name = "FILE")]
    pub config_file: Option<PathBuf>,

    /// TCP port. 'any' takes a free one, and so does 0, unless --tls-port or --unixsocket is given: then it is none.
    /// The line logged at start says which
    #[arg(long, env = "TOLLGATE_PORT", default_value_t = ListenPort::Number(DEFAULT_PORT), value_parser = tcp_port, help_heading = "Network")]
    pub port: ListenPort,

    /// How TLS is served.
    #[command(flatten)]
    pub tls: TlsFlags,

    /// Unix socket to listen on
    #[arg(
        long,
        env = "TOLLGATE_UNIXSOCKET",
        value_name = "PATH",
        help_heading = "Network"
    )]
    pub unixsocket: Option<PathBuf>,

    /// Who may use the Unix socket, as three octal digits; 0 leaves it to the umask
    #[arg(long, env = "TOLLGATE_UNIXSOCKETPERM", value_name = "MODE", default_value = "700", value_parser = socket_mode, help_heading = "Network")]
    pub unixsocketperm: SocketMode,

    /// Addresses to listen on, separated by commas or spaces; '*' is every IPv4 and '::' every IPv6 one.
    /// All of them must be free; one with '-' before it may be missing on this machine
    #[arg(long, env = "TOLLGATE_BIND", value_name = "ADDRESSES", default_value = "127.0.0.1", allow_hyphen_values = true, value_parser = BindAddresses::parse, help_heading = "Network")]
    pub bind: BindAddresses,

    /// Most connections at a time; one more is told so and closed
    #[arg(long, env = "TOLLGATE_MAXCLIENTS", value_name = "N", default_value_t = 10_000, value_parser = range(1, settings::MAXCLIENTS_MAX), help_heading = "Network")]
    pub maxclients: u64,

    /// Seconds after which an idle connection is closed; 0 never
    #[arg(long, env = "TOLLGATE_TIMEOUT", value_name = "SECONDS", default_value_t = 0, value_parser = range(0, settings::SECONDS_MAX), help_heading = "Network")]
    pub timeout: u64,

    /// Seconds of silence after which the kernel asks whether the peer is still there; 0 never
    #[arg(long, env = "TOLLGATE_TCP_KEEPALIVE", value_name = "SECONDS", default_value_t = 300, value_parser = range(0, settings::SECONDS_MAX), help_heading = "Network")]
    pub tcp_keepalive: u64,

    /// Connections that may wait to be accepted; the kernel may hold fewer (net.core.somaxconn)
    #[arg(long, env = "TOLLGATE_TCP_BACKLOG", value_name = "N", default_value_t = 511, value_parser = range(1, 65_535), help_heading = "Network")]
    pub tcp_backlog: u64,

    /// Answer as a Redis cluster of one node, which clients reach at this address. Without a port it is the one that a
    /// client came to. Calls on keys in different slots are refused then, as are databases other than 0
    #[arg(long, env = "TOLLGATE_CLUSTER_ANNOUNCE", value_name = "HOST[:PORT]", value_parser = Announced::parse, help_heading = "Network")]
    pub cluster_announce: Option<Announced>,

    /// Bytes of replies one connection may have waiting before it must read them (units: kb, mb, gb)
    #[arg(long, env = "TOLLGATE_CLIENT_OUTPUT_LIMIT", value_name = "BYTES", default_value = "1mb", value_parser = output_limit, help_heading = "Network")]
    pub client_output_limit: u64,

    /// Bytes of messages one subscriber may have waiting before it is cut off (units: kb, mb, gb)
    #[arg(long, env = "TOLLGATE_PUBSUB_OUTPUT_LIMIT", value_name = "BYTES", default_value = "32mb", value_parser = pubsub_output_limit, help_heading = "Network")]
    pub pubsub_output_limit: u64,

    /// Worker threads [default: one for each core]
    #[arg(long, env = "TOLLGATE_THREADS", value_name = "N", value_parser = range(1, THREADS_MAX), help_heading = "Network")]
    pub threads: Option<u64>,

    /// Password that clients give with AUTH or HELLO. Other users of this machine may see flags: prefer
    /// the environment variable or --requirepass-file
    #[arg(long, env = "TOLLGATE_REQUIREPASS", value_name = "PASSWORD", default_value = "", hide_default_value = true, hide_env_values = true, value_parser = secret, help_heading = "Access")]
    pub requirepass: Secret,

    /// File whose first line is the password
    #[arg(
        long,
        env = "TOLLGATE_REQUIREPASS_FILE",
        value_name = "PATH",
        help_heading = "Access"
    )]
    pub requirepass_file: Option<PathBuf>,

    /// File of users, one `user name rule rule...` a line, as ACL SAVE writes it
    #[arg(
        long,
        env = "TOLLGATE_ACLFILE",
        value_name = "PATH",
        help_heading = "Access"
    )]
    pub aclfile: Option<PathBuf>,

    /// Channels that new users may listen and publish to: resetchannels (none) or allchannels
    #[arg(long, action = clap::ArgAction::Set, env = "TOLLGATE_ACL_PUBSUB_DEFAULT", value_name = "RULE", default_value = "resetchannels", value_parser = |v: &str| settings::channels(v.as_bytes()), help_heading = "Access")]
    pub acl_pubsub_default: bool,

    /// Most entries of ACL LOG
    #[arg(long, env = "TOLLGATE_ACLLOG_MAX_LEN", value_name = "N", default_value_t = 128, value_parser = range(0, settings::ACLLOG_LEN_LIMIT), help_heading = "Access")]
    pub acllog_max_len: u64,

    /// While there is no password, refuse connections from other machines
    #[arg(long, action = clap::ArgAction::Set, env = "TOLLGATE_PROTECTED_MODE", value_name = "yes|no", default_value = "yes", value_parser = |v: &str| settings::yes_no(v.as_bytes()), help_heading = "Access")]
    pub protected_mode: bool,

    /// Directory of the snapshot and its journal; it must exist and be writable
    #[arg(
        long,
        env = "TOLLGATE_DIR",
        value_name = "PATH",
        default_value = ".",
        help_heading = "Snapshots"
    )]
    pub dir: PathBuf,

    /// File name of the snapshot in --dir
    #[arg(long, env = "TOLLGATE_DBFILENAME", value_name = "NAME", default_value = "tollgate.snapshot", value_parser = file_name, help_heading = "Snapshots")]
    pub dbfilename: String,

    /// Seconds between snapshots, taken if something changed; 0 or '' for none, at shutdown neither
    #[arg(long, env = "TOLLGATE_SAVE", value_name = "SECONDS", default_value = "60", value_parser = |v: &str| settings::save(v.as_bytes()), help_heading = "Snapshots")]
    pub save: u64,

    /// Keep a journal beside the snapshot, so that a crash loses no more than the last --journal-interval
    #[arg(long, action = clap::ArgAction::Set, env = "TOLLGATE_JOURNAL", value_name = "yes|no", default_value = "yes", value_parser = |v: &str| settings::yes_no(v.as_bytes()), help_heading = "Snapshots")]
    pub journal: bool,

    /// Time between two writes to the journal, 1ms to 60s
    #[arg(long, env = "TOLLGATE_JOURNAL_INTERVAL", value_name = "DURATION", default_value = "100ms", value_parser = |v: &str| settings::journal_interval(v.as_bytes()), help_heading = "Snapshots")]
    pub journal_interval: Span,

    /// When the disk is made to keep the journal: everysec, always (with each write), or no (as the system likes)
    #[arg(long, env = "TOLLGATE_JOURNAL_FSYNC", value_name = "WHEN", default_value = "everysec", value_parser = |v: &str| Fsync::parse(v.as_bytes()), help_heading = "Snapshots")]
    pub journal_fsync: Fsync,

    /// Refuse commands that write, with -MISCONF, while the disk takes no snapshot or no journal
    #[arg(long, action = clap::ArgAction::Set, env = "TOLLGATE_STOP_WRITES_ON_ERROR", value_name = "yes|no", default_value = "no", value_parser = |v: &str| settings::yes_no(v.as_bytes()), help_heading = "Snapshots")]
    pub stop_writes_on_error: bool,
    /// Most bytes of memory (units: kb, mb, gb); 0 for no bound. When it is reached limits that are nearly full go
    /// first, and then what needs more is refused with -OOM
    #[arg(long, env = "TOLLGATE_MAXMEMORY", value_name = "BYTES", default_value = "0", value_parser = maxmemory, help_heading = "Limits")]
    pub maxmemory: u64,

    /// Databases for SELECT, 1 to 16
    #[arg(long, env = "TOLLGATE_DATABASES", value_name = "N", default_value_t = 16, value_parser = range(1, 16), help_heading = "Limits")]
    pub databases: u64,

    /// Longest pause that RL.PAUSE sets, such as 30m or 24h; longer ones are cut to it
    #[arg(long, env = "TOLLGATE_MAX_PAUSE", value_name = "DURATION", default_value = "24h", value_parser = |v: &str| settings::max_pause(v.as_bytes()), help_heading = "Limits")]
    pub max_pause: Span,

    /// Most bookings ahead that one key holds
    #[arg(long, env = "TOLLGATE_MAX_BOOKINGS", value_name = "N", default_value_t = 100_000, value_parser = range(1, settings::BOOKINGS_LIMIT), help_heading = "Limits")]
    pub max_bookings: u64,

    /// File of policies, one `name <limit> [AND <limit>]...` a line; they replace those of the same name
    #[arg(
        long,
        env = "TOLLGATE_POLICIES",
        value_name = "FILE",
        help_heading = "Limits"
    )]
    pub policies: Option<PathBuf>,

    /// How metrics are served.
    #[command(flatten)]
    pub metrics: MetricsFlags,

    /// Microseconds from which on a command goes into SLOWLOG; 0 all of them, -1 none
    #[arg(long, env = "TOLLGATE_SLOWLOG_LOG_SLOWER_THAN", value_name = "MICROSECONDS", default_value = "10000", allow_hyphen_values = true, value_parser = |v: &str| settings::slower_than(v.as_bytes()), help_heading = "Logging")]
    pub slowlog_log_slower_than: i64,

    /// Most entries of SLOWLOG
    #[arg(long, env = "TOLLGATE_SLOWLOG_MAX_LEN", value_name = "N", default_value_t = 128, value_parser = range(0, settings::SLOWLOG_LEN_LIMIT), help_heading = "Logging")]
    pub slowlog_max_len: u64,

    /// Milliseconds from which on something that holds others up is noted for LATENCY; 0 nothing
    #[arg(long, env = "TOLLGATE_LATENCY_MONITOR_THRESHOLD", value_name = "MILLISECONDS", default_value_t = 0, value_parser = range(0, settings::MS_MAX), help_heading = "Logging")]
    pub latency_monitor_threshold: u64,

    /// How much is logged: trace, debug, verbose, notice (info), warning (warn), error, nothing
    #[arg(long, env = "TOLLGATE_LOGLEVEL", value_name = "LEVEL", default_value = "notice", value_parser = log_level, help_heading = "Logging")]
    pub loglevel: LogLevel,

    /// How it is written, on standard error
    #[arg(
        long,
        env = "TOLLGATE_LOG_FORMAT",
        value_name = "FORMAT",
        default_value = "human",
        help_heading = "Logging"
    )]
    pub log_format: LogFormat,

    /// 'manual' stops the clock at 1700000000000 ms; DEBUG CLOCK ADVANCE moves it. For tests only
    #[arg(
        long,
        env = "TOLLGATE_CLOCK",
        value_name = "CLOCK",
        default_value = "system",
        help_heading = "Testing"
    )]
    pub clock: ClockKind,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// A line for people.
    Human,
    /// A JSON object a line.
    Json,
}

/// Which clock the server reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClockKind {
    /// The machine's.
    System,
    /// One that only `DEBUG CLOCK` moves.
    Manual,
}

impl Config {
    /// The password, from the flag, the environment or the file.
    ///
    /// # Errors
    /// Both a password and a file are given; the file cannot be read; the password is too long.
    pub fn password(&self) -> Result<Password, ConfigError> {
        password(&self.requirepass, self.requirepass_file.as_deref())
    }

    /// The full name of the snapshot.
    pub fn snapshot_path(&self) -> PathBuf {
        self.dir.join(&self.dbfilename)
    }

    /// The settings to start with, listening where `listening` says.
    ///
    /// # Errors
    /// As [`Self::password`].
    pub fn initial_settings(&self, listening: Listening) -> Result<Initial, ConfigError> {
        Ok(Initial {
            config_file: absolute(self.config_file.as_deref()),
            port: listening.port,
            bind: listening.bind,
            tls_port: listening.tls_port,
            tls_cert_file: absolute(self.tls.tls_cert_file.as_deref()),
            tls_key_file: absolute(self.tls.tls_key_file.as_deref()),
            tls_ca_cert_file: absolute(self.tls.tls_ca_cert_file.as_deref()),
            tls_auth_clients: self.tls.tls_auth_clients.to_string(),
            unixsocket: absolute(self.unixsocket.as_deref()),
            unixsocketperm: self.unixsocketperm.to_string(),
            dir: absolute(Some(&self.dir)),
            dbfilename: self.dbfilename.clone(),
            maxclients: listening.maxclients,
            maxmemory: self.maxmemory,
            metrics_bind: listening.metrics,
            metrics_key_prefixes: self.metrics.prefixes()?,
            ui_actions: self.metrics.ui_actions,
            cluster: self.cluster_announce.clone(),
            requirepass: self.password()?,
            aclfile: absolute(self.aclfile.as_deref()),
            open_channels: self.acl_pubsub_default,
            acllog_len_max: self.acllog_max_len,
            save_seconds: self.save,
            journal: Journaling {
                enabled: self.journal,
                interval: self.journal_interval,
                fsync: self.journal_fsync,
                stop_writes_on_error: self.stop_writes_on_error,
            },
            loglevel: self.loglevel,
            databases: self.databases,
            timeout_seconds: self.timeout,
            tcp_keepalive_seconds: self.tcp_keepalive,
            tcp_backlog: self.tcp_backlog,
            max_pause: self.max_pause,
            max_bookings: self.max_bookings,
            protected_mode: self.protected_mode,
            client_output_limit: self.client_output_limit,
            pubsub_output_limit: self.pubsub_output_limit,
            slowlog_slower_than_us: self.slowlog_log_slower_than,
            slowlog_len_max: self.slowlog_max_len,
            latency_threshold_ms: self.latency_monitor_threshold,
        })
    }
}

/// What has become of the flags about the network once everything is bound.
#[derive(Clone, Debug)]
pub struct Listening {
    /// The real plain TCP port, 0 for none.
    pub port: u16,
    /// The real port of TLS, 0 for none.
    pub tls_port: u16,
    /// The addresses of both.
    pub bind: Vec<IpAddr>,
    /// Where metrics are served, `no` for nowhere.
    pub metrics: String,
    /// As many clients as there are descriptors for, at most those asked for.
    pub maxclients: u64,
}

/// A path as it is shown: absolute, where that can be told; empty for none.
fn absolute(path: Option<&Path>) -> String {
    path.map_or_else(String::new, |path| {
        let absolute = std::path::absolute(path);
        absolute
            .unwrap_or_else(|_| path.to_owned())
            .display()
            .to_string()
    })
}

/// The password out of its two places: given as it is, or as the first line of a file.
pub(crate) fn password(given: &Secret, file: Option<&Path>) -> Result<Password, ConfigError> {
    let bytes = match file {
        None => given.0.clone().into_bytes(),
        Some(_) if !given.0.is_empty() => {
            return Err(ConfigError(
                "a password and a password file are both given; keep one of them".to_owned(),
            ));
        }
        Some(path) => {
            let text = std::fs::read(path).map_err(|error| {
                ConfigError(format!(
                    "cannot read the password file {}: {error}; see --requirepass-file",
                    path.display()
                ))
            })?;
            let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() {
                // Silently serving without a password is the last thing this flag's user wants.
                return Err(ConfigError(format!(
                    "the first line of the password file {} is empty",
                    path.display()
                )));
            }
            line.to_vec()
        }
    };
    Password::new(&bytes).map_err(|error| ConfigError(error.to_string()))
}

/// What is wrong with the configuration, in one line that says what to do.
#[derive(Debug)]
pub struct ConfigError(String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

/// A text that neither `Debug` nor an error about a flag shows.
#[derive(Clone, Default)]
pub struct Secret(pub(crate) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() {
            "Secret(none)"
        } else {
            "Secret(set)"
        })
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Never fails: clap would show the value in its error.
pub(crate) fn secret(value: &str) -> Result<Secret, std::convert::Infallible> {
    Ok(Secret(value.to_owned()))
}

fn range(least: u64, most: u64) -> impl TypedValueParser<Value = u64> {
    clap::value_parser!(u64).range(least..=most)
}

fn log_level(value: &str) -> Result<LogLevel, String> {
    LogLevel::parse(value.as_bytes())
        .ok_or_else(|| format!("a level is one of {}", LogLevel::NAMES))
}

/// Reads the name of a file in a directory.
///
/// # Errors
/// It is none, for clap.
pub fn file_name(value: &str) -> Result<String, String> {
    let plain = !value.is_empty() && !value.contains(['/', '\0']) && value != "." && value != "..";
    if plain {
        Ok(value.to_owned())
    } else {
        Err("a file name without a path; the directory is --dir".to_owned())
    }
}

fn maxmemory(value: &str) -> Result<u64, String> {
    settings::bytes(value.as_bytes()).ok_or_else(|| "a number of bytes, such as 256mb".to_owned())
}

fn output_limit(value: &str) -> Result<u64, String> {
    settings::bytes(value.as_bytes())
        .filter(|bytes| (settings::OUTPUT_LIMIT_MIN..=settings::OUTPUT_LIMIT_MAX).contains(bytes))
        .ok_or_else(|| "a number of bytes from 4kb to 1gb".to_owned())
}

fn pubsub_output_limit(value: &str) -> Result<u64, String> {
    settings::bytes(value.as_bytes())
        .filter(|bytes| {
            (settings::PUBSUB_OUTPUT_LIMIT_MIN..=settings::OUTPUT_LIMIT_MAX).contains(bytes)
        })
        .ok_or_else(|| "a number of bytes from 2mb to 1gb".to_owned())
}
