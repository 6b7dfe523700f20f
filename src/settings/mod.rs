//! The settings in force: what `CONFIG GET` shows and `CONFIG SET` may change while the server runs.
//!
//! One row per name in `table.rs`. Built by [`crate::config::Config`] at start; read everywhere without
//! waiting. Pure, but for the log level, which is handed to a closure given by `main`.

use std::fmt;
use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};

use parking_lot::{Mutex, RwLock};

use crate::cluster::Announced;
use crate::core::units::{DAY, Span};
use crate::password::Password;

mod journal;
mod level;
mod table;
mod values;

pub(crate) use journal::interval as journal_interval;
pub use journal::{Fsync, JournalSettings, Journaling};
pub use level::LogLevel;
pub use table::SetError;
use table::{Change, ROWS, find};
pub(crate) use values::{
    ACLLOG_LEN_LIMIT, BOOKINGS_LIMIT, MAXCLIENTS_MAX, MS_MAX, OUTPUT_LIMIT_MAX, OUTPUT_LIMIT_MIN,
    PUBSUB_OUTPUT_LIMIT_MIN, SECONDS_MAX, SLOWLOG_LEN_LIMIT, bytes, channels, max_pause, save,
    slower_than, yes_no,
};

/// What was given at start; see [`Settings::new`]. [`Default`] is what the server does without flags.
#[derive(Clone, Debug)]
pub struct Initial {
    /// The file of settings, empty for none.
    pub config_file: String,
    /// The port that is listened on (after binding: the real one), 0 for none.
    pub port: u16,
    /// The addresses that are listened on.
    pub bind: Vec<IpAddr>,
    /// The port of TLS, 0 for none.
    pub tls_port: u16,
    /// The file of the certificate; empty, as the next two, if none was named.
    pub tls_cert_file: String,
    /// The file of its key.
    pub tls_key_file: String,
    /// The file of the authorities for clients' certificates.
    pub tls_ca_cert_file: String,
    /// Whether clients must show one: `no`, `optional` or `yes`.
    pub tls_auth_clients: String,
    /// The Unix socket that is listened on, empty for none.
    pub unixsocket: String,
    /// Its permissions, octal.
    pub unixsocketperm: String,
    /// The directory of the snapshot.
    pub dir: String,
    /// The snapshot's file name in it.
    pub dbfilename: String,
    /// Most connections at a time.
    pub maxclients: u64,
    /// Most bytes of memory, 0 for no bound.
    pub maxmemory: u64,
    /// Where metrics are served, `no` for nowhere.
    pub metrics_bind: String,
    /// Keys that begin alike are counted together, by these beginnings.
    pub metrics_key_prefixes: Vec<String>,
    /// The page may pause, resume and reset keys.
    pub ui_actions: bool,
    /// The server is a cluster of one, which is found here.
    pub cluster: Option<Announced>,
    /// Password of the default user.
    pub requirepass: Password,
    /// The file of users; empty for none.
    pub aclfile: String,
    /// New users may listen to all channels.
    pub open_channels: bool,
    /// Most entries of the log of what was denied.
    pub acllog_len_max: u64,
    /// Seconds between automatic snapshots, 0 for none.
    pub save_seconds: u64,
    /// The journal.
    pub journal: Journaling,
    /// How much is logged.
    pub loglevel: LogLevel,
    /// Databases for `SELECT`, 1 to 16.
    pub databases: u64,
    /// Seconds after which an idle connection is closed, 0 for never.
    pub timeout_seconds: u64,
    /// Seconds of silence after which the kernel probes a connection, 0 for never.
    pub tcp_keepalive_seconds: u64,
    /// Connections the kernel holds that are not accepted yet.
    pub tcp_backlog: u64,
    /// Longest pause that `RL.PAUSE` sets.
    pub max_pause: Span,
    /// Most bookings ahead that one key holds.
    pub max_bookings: u64,
    /// Refuse peers from elsewhere while there is no password.
    pub protected_mode: bool,
    /// Replies a connection may have waiting, in bytes, before it is made to read them.
    pub client_output_limit: u64,
    /// Messages a connection may have waiting, in bytes, before it is cut off.
    pub pubsub_output_limit: u64,
    /// A command that takes so many microseconds goes into the slow log; -1 for none.
    pub slowlog_slower_than_us: i64,
    /// Most entries of the slow log.
    pub slowlog_len_max: u64,
    /// What takes so many milliseconds is noted for `LATENCY`; 0 for nothing.
    pub latency_threshold_ms: u64,
}

impl Default for Initial {
    fn default() -> Self {
        Self {
            config_file: String::new(),
            port: 6379,
            bind: vec![IpAddr::from([127, 0, 0, 1])],
            tls_port: 0,
            tls_cert_file: String::new(),
            tls_key_file: String::new(),
            tls_ca_cert_file: String::new(),
            tls_auth_clients: "yes".to_owned(),
            unixsocket: String::new(),
            unixsocketperm: "700".to_owned(),
            dir: ".".to_owned(),
            dbfilename: "tollgate.snapshot".to_owned(),
            maxclients: 10_000,
            maxmemory: 0,
            metrics_bind: "no".to_owned(),
            metrics_key_prefixes: Vec::new(),
            ui_actions: false,
            cluster: None,
            requirepass: Password::default(),
            aclfile: String::new(),
            open_channels: false,
            acllog_len_max: 128,
            save_seconds: 60,
            journal: Journaling::default(),
            loglevel: LogLevel::Info,
            databases: 16,
            timeout_seconds: 0,
            tcp_keepalive_seconds: 300,
            tcp_backlog: 511,
            max_pause: Span::from_ns(DAY).unwrap_or(Span::MAX),
            max_bookings: 100_000,
            protected_mode: true,
            client_output_limit: 1024 * 1024,
            pubsub_output_limit: 32 * 1024 * 1024,
            slowlog_slower_than_us: 10_000,
            slowlog_len_max: 128,
            latency_threshold_ms: 0,
        }
    }
}

type LogLevelHook = Box<dyn Fn(LogLevel) + Send + Sync>;
type TimeoutHook = Box<dyn Fn() + Send + Sync>;
type MaxclientsHook = Box<dyn Fn(u64) -> Result<(), String> + Send + Sync>;

/// The settings in force. Shared by everything that runs; every method takes `&self`.
pub struct Settings {
    fixed: Initial,
    maxclients: AtomicU64,
    maxmemory: AtomicU64,
    requirepass: RwLock<Password>,
    open_channels: AtomicBool,
    acllog_len_max: AtomicU64,
    save_seconds: AtomicU64,
    /// Those of the journal.
    pub journal: JournalSettings,
    loglevel: Mutex<LogLevel>,
    timeout_seconds: AtomicU64,
    tcp_keepalive_seconds: AtomicU64,
    max_pause_ns: AtomicU64,
    max_bookings: AtomicU64,
    protected_mode: AtomicBool,
    client_output_limit: AtomicU64,
    pubsub_output_limit: AtomicU64,
    slowlog_slower_than_us: AtomicI64,
    slowlog_len_max: AtomicU64,
    latency_threshold_ms: AtomicU64,
    loglevel_hook: Mutex<Option<LogLevelHook>>,
    maxclients_hook: Mutex<Option<MaxclientsHook>>,
    timeout_hook: Mutex<Option<TimeoutHook>>,
}

impl Settings {
    /// The settings a server starts with.
    pub fn new(initial: Initial) -> Self {
        Self {
            maxclients: initial.maxclients.into(),
            maxmemory: initial.maxmemory.into(),
            requirepass: RwLock::new(initial.requirepass.clone()),
            open_channels: initial.open_channels.into(),
            acllog_len_max: initial.acllog_len_max.into(),
            save_seconds: initial.save_seconds.into(),
            journal: JournalSettings::new(initial.journal),
            loglevel: Mutex::new(initial.loglevel),
            timeout_seconds: initial.timeout_seconds.into(),
            tcp_keepalive_seconds: initial.tcp_keepalive_seconds.into(),
            max_pause_ns: initial.max_pause.as_ns().into(),
            max_bookings: initial.max_bookings.into(),
            protected_mode: initial.protected_mode.into(),
            client_output_limit: initial.client_output_limit.into(),
            pubsub_output_limit: initial.pubsub_output_limit.into(),
            slowlog_slower_than_us: initial.slowlog_slower_than_us.into(),
            slowlog_len_max: initial.slowlog_len_max.into(),
            latency_threshold_ms: initial.latency_threshold_ms.into(),
            loglevel_hook: Mutex::new(None),
            maxclients_hook: Mutex::new(None),
            timeout_hook: Mutex::new(None),
            fixed: initial,
        }
    }

    /// Calls `hook` whenever `CONFIG SET loglevel` changes the level.
    pub fn on_loglevel(&self, hook: impl Fn(LogLevel) + Send + Sync + 'static) {
        *self.loglevel_hook.lock() = Some(Box::new(hook));
    }

    /// Calls `hook` whenever `CONFIG SET timeout` has changed how long connections may be idle.
    pub fn on_timeout(&self, hook: impl Fn() + Send + Sync + 'static) {
        *self.timeout_hook.lock() = Some(Box::new(hook));
    }

    /// Has `hook` make room for that many clients before `CONFIG SET maxclients` takes effect; if it fails, nothing changes.
    pub fn on_maxclients(&self, hook: impl Fn(u64) -> Result<(), String> + Send + Sync + 'static) {
        *self.maxclients_hook.lock() = Some(Box::new(hook));
    }

    /// The port that is listened on: that of plain TCP, else that of TLS, 0 if there is neither.
    pub fn port(&self) -> u16 {
        match self.fixed.port {
            0 => self.fixed.tls_port,
            port => port,
        }
    }

    /// The file of settings, empty for none.
    pub fn config_file(&self) -> &str {
        &self.fixed.config_file
    }

    /// Keys that begin alike are counted together, by these beginnings.
    pub fn metrics_key_prefixes(&self) -> &[String] {
        &self.fixed.metrics_key_prefixes
    }

    /// True if the page may pause, resume and reset keys.
    pub fn ui_actions(&self) -> bool {
        self.fixed.ui_actions
    }

    /// Where the cluster of one is found that the server is; `None` if it is no cluster.
    #[inline]
    pub fn cluster(&self) -> Option<&Announced> {
        self.fixed.cluster.as_ref()
    }

    /// What it is, in Redis's word.
    pub fn mode(&self) -> &'static str {
        match self.cluster() {
            Some(_) => "cluster",
            None => "standalone",
        }
    }

    /// A port that is listened on: that without TLS, if there is one; 0 if there is none at all.
    pub fn any_port(&self) -> u16 {
        match self.fixed.port {
            0 => self.fixed.tls_port,
            port => port,
        }
    }

    /// Databases for `SELECT`, 1 to 16.
    pub fn databases(&self) -> u64 {
        self.fixed.databases
    }

    /// Most connections at a time.
    pub fn maxclients(&self) -> u64 {
        self.maxclients.load(Relaxed)
    }

    /// Most bytes of memory, 0 for no bound.
    pub fn maxmemory(&self) -> usize {
        usize::try_from(self.maxmemory.load(Relaxed)).unwrap_or(usize::MAX)
    }

    /// The password that the default user was given here.
    pub fn requirepass(&self) -> Password {
        self.requirepass.read().clone()
    }

    /// The file of users; `None` without one.
    pub fn aclfile(&self) -> Option<&Path> {
        let file = &self.fixed.aclfile;
        (!file.is_empty()).then(|| Path::new(file))
    }

    /// True if new users may listen to all channels.
    pub fn open_channels(&self) -> bool {
        self.open_channels.load(Relaxed)
    }

    /// Most entries of the log of what was denied.
    pub fn acllog_len_max(&self) -> usize {
        usize::try_from(self.acllog_len_max.load(Relaxed)).unwrap_or(usize::MAX)
    }

    /// Seconds between automatic snapshots, 0 for none.
    pub fn save_seconds(&self) -> u64 {
        self.save_seconds.load(Relaxed)
    }

    /// Seconds after which an idle connection is closed, 0 for never.
    pub fn timeout_seconds(&self) -> u64 {
        self.timeout_seconds.load(Relaxed)
    }

    /// Seconds of silence after which the kernel probes a connection, 0 for never.
    pub fn tcp_keepalive_seconds(&self) -> u64 {
        self.tcp_keepalive_seconds.load(Relaxed)
    }

    /// Longest pause that `RL.PAUSE` sets.
    pub fn max_pause(&self) -> Span {
        Span::from_ns(self.max_pause_ns.load(Relaxed)).unwrap_or(Span::MAX)
    }

    /// Most bookings ahead that one key holds.
    pub fn max_bookings(&self) -> usize {
        usize::try_from(self.max_bookings.load(Relaxed)).unwrap_or(usize::MAX)
    }

    /// True if peers from elsewhere are refused while there is no password.
    pub fn protected_mode(&self) -> bool {
        self.protected_mode.load(Relaxed)
    }

    /// Replies a connection may have waiting, in bytes, before it is made to read them.
    pub fn client_output_limit(&self) -> usize {
        usize::try_from(self.client_output_limit.load(Relaxed)).unwrap_or(usize::MAX)
    }

    /// Messages a connection may have waiting, in bytes, before it is cut off.
    pub fn pubsub_output_limit(&self) -> usize {
        usize::try_from(self.pubsub_output_limit.load(Relaxed)).unwrap_or(usize::MAX)
    }

    /// Nanoseconds from which on a command goes into the slow log; `u64::MAX` for never.
    pub fn slowlog_slower_than_ns(&self) -> u64 {
        let us = u64::try_from(self.slowlog_slower_than_us.load(Relaxed));
        us.map_or(u64::MAX, |us| us * 1000)
    }

    /// Most entries of the slow log.
    pub fn slowlog_len_max(&self) -> usize {
        usize::try_from(self.slowlog_len_max.load(Relaxed)).unwrap_or(usize::MAX)
    }

    /// Nanoseconds from which on something is noted for `LATENCY`; `u64::MAX` for never.
    pub fn latency_threshold_ns(&self) -> u64 {
        match self.latency_threshold_ms.load(Relaxed) {
            0 => u64::MAX,
            ms => ms * 1_000_000,
        }
    }

    /// Every setting's name, in the order of the table.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ROWS.iter().map(|row| row.name)
    }

    /// The value of `name` (in any case) as `CONFIG GET` shows it. The password in plain: who may ask
    /// has given it.
    pub fn get(&self, name: &str) -> Option<Vec<u8>> {
        find(name.as_bytes()).map(|row| (row.get)(self))
    }

    /// Changes several settings at once: all of them, or none if one is refused.
    ///
    /// # Errors
    /// The first name that is unknown, given twice, fixed, or has a value it does not take.
    pub fn set(&self, pairs: &[(&[u8], &[u8])]) -> Result<(), SetError> {
        let mut changes = Vec::with_capacity(pairs.len());
        let mut seen: Vec<&str> = Vec::with_capacity(pairs.len());
        for (name, value) in pairs {
            let row = find(name).ok_or_else(|| SetError::unknown(name))?;
            let refused = |reason: String| SetError::Refused {
                name: row.name,
                reason,
            };
            if seen.contains(&row.name) {
                return Err(refused("duplicate parameter".to_owned()));
            }
            seen.push(row.name);
            let parse = row
                .parse
                .ok_or_else(|| refused("can't set immutable config".to_owned()))?;
            let change = parse(value).map_err(refused)?;
            if let (Change::Maxclients(most), Some(make_room)) =
                (&change, &*self.maxclients_hook.lock())
            {
                make_room(*most).map_err(refused)?;
            }
            changes.push(change);
        }
        changes.into_iter().for_each(|change| self.apply(change));
        Ok(())
    }

    fn apply(&self, change: Change) {
        match change {
            Change::Maxclients(most) => self.maxclients.store(most, Relaxed),
            Change::Maxmemory(bytes) => self.maxmemory.store(bytes, Relaxed),
            Change::Requirepass(password) => *self.requirepass.write() = password,
            Change::OpenChannels(open) => self.open_channels.store(open, Relaxed),
            Change::AcllogMaxLen(most) => self.acllog_len_max.store(most, Relaxed),
            Change::Save(seconds) => self.save_seconds.store(seconds, Relaxed),
            Change::JournalInterval(span) => self.journal.set_interval(span),
            Change::JournalFsync(fsync) => self.journal.set_fsync(fsync),
            Change::StopWritesOnError(stop) => self.journal.set_stop_writes_on_error(stop),
            Change::Timeout(seconds) => {
                self.timeout_seconds.store(seconds, Relaxed);
                if let Some(hook) = &*self.timeout_hook.lock() {
                    hook();
                }
            }
            Change::TcpKeepalive(seconds) => self.tcp_keepalive_seconds.store(seconds, Relaxed),
            Change::MaxPause(span) => self.max_pause_ns.store(span.as_ns(), Relaxed),
            Change::MaxBookings(most) => self.max_bookings.store(most, Relaxed),
            Change::ProtectedMode(on) => self.protected_mode.store(on, Relaxed),
            Change::ClientOutputLimit(bytes) => self.client_output_limit.store(bytes, Relaxed),
            Change::PubsubOutputLimit(bytes) => self.pubsub_output_limit.store(bytes, Relaxed),
            Change::SlowlogSlowerThan(us) => self.slowlog_slower_than_us.store(us, Relaxed),
            Change::SlowlogMaxLen(most) => self.slowlog_len_max.store(most, Relaxed),
            Change::LatencyThreshold(ms) => self.latency_threshold_ms.store(ms, Relaxed),
            Change::Loglevel(level) => {
                *self.loglevel.lock() = level;
                if let Some(hook) = &*self.loglevel_hook.lock() {
                    hook(level);
                }
            }
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::new(Initial::default())
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("requirepass", &*self.requirepass.read())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
