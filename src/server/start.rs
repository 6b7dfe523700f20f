//! From flags to a running server.

use std::fs;
use std::net::SocketAddr;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::thread;

use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::spawn_blocking;

use super::bind::Reserved;
use super::gate::Gate;
use super::http::HttpPort;
use super::reload::Reload;
use super::service_manager::{State, tell};
use super::shutdown::signalled;
use super::tls::Tls;
use super::workers::Workers;
use super::{descriptors, policies, serve, users};
use crate::clock::Clock;
use crate::config::{ClockKind, Config, Listening};
use crate::core::units::SECOND;
use crate::engine::Engine;
use crate::logging;
use crate::memory;
use crate::persistence::disk::Machine;
use crate::persistence::{Keeper, Keeping, Restored};
use crate::settings::{LogLevel, Settings};
use crate::store::Store;

/// Runs the server until it is told to stop.
///
/// Nothing is logged before everything that can fail at start has succeeded, so that a failure is the
/// one line that is returned.
///
/// # Errors
/// One line that says what is wrong and what to do.
pub fn run(config: &Config) -> Result<(), String> {
    let set_loglevel = logging::start(config.log_format, config.loglevel);
    check_directory(config)?;
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(line)?;
    let result = runtime.block_on(async {
        // Before anything takes long: a signal must not end the process without further ado.
        let hangup = signal(SignalKind::hangup()).map_err(line)?;
        let stop = pin!(signalled().map_err(line)?);
        start(config, set_loglevel, hangup, stop).await
    });
    match result {
        Ok(End::Stopped) => Ok(()),
        Ok(End::BrokenOff) => {
            // What is being loaded is of no use any more, and not to be waited for.
            runtime.shutdown_background();
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// How a run ends well.
enum End {
    Stopped,
    /// Before the snapshot was loaded.
    BrokenOff,
}

async fn start(
    config: &Config,
    set_loglevel: impl Fn(LogLevel) + Send + Sync + 'static,
    hangup: Signal,
    mut stop: Pin<&mut impl Future<Output = ()>>,
) -> Result<End, String> {
    let tls = Tls::from_flags(&config.tls)?;
    let reserved = Reserved::take(config, tls.clone())?;
    let metrics = HttpPort::take(&config.metrics.metrics_bind)?;
    let ways = Ways {
        tcp: reserved.tcp_addresses(),
        tls: reserved.tls_addresses(),
        unix: config.unixsocket.clone(),
        metrics: metrics.addresses().to_vec(),
    };
    let missing = metrics.missing.clone();
    // It tells from now on that the server is there, and loads.
    let http = metrics.open().map_err(line)?;
    let maxclients = descriptors::make_room(config.maxclients, http.connections_max)?;
    let settings = Settings::new(
        config
            .initial_settings(ways.listening(maxclients))
            .map_err(line)?,
    );
    settings.on_loglevel(set_loglevel);
    let others = http.connections_max;
    settings.on_maxclients(move |asked| match descriptors::make_room(asked, others) {
        Ok(room) if room < asked => Err(format!(
            "the limit on open files leaves room for {room} clients"
        )),
        room => room.map(drop),
    });
    let policies = match &config.policies {
        Some(file) => policies::read(file)?,
        None => Vec::new(),
    };

    memory::started();
    let path = config.snapshot_path();
    let keeping = Keeping {
        saves: config.save > 0,
        journal: config.journal,
        salt: random(),
    };
    let loading = spawn_blocking({
        let path = path.clone();
        move || {
            let store = Store::new();
            Keeper::open(Arc::new(Machine), &path, keeping, &store)
                .map(|(keeper, restored)| (store, keeper, restored))
        }
    });
    let (store, keeper, restored) = tokio::select! {
        loaded = loading => loaded.map_err(line)?.map_err(line)?,
        () = &mut stop => return Ok(End::BrokenOff),
    };
    let clock = match config.clock {
        ClockKind::System => Clock::system(restored.until),
        ClockKind::Manual => Clock::manual(restored.until),
    };
    let engine = Arc::new(Engine::with_store(clock, settings, store));
    let keeper = Arc::new(keeper);
    if let Some(journal) = keeper.journal() {
        // Nobody else has set it.
        let _ = engine.shared.journal.set(journal.status());
    }
    let begun = spawn_blocking({
        let (engine, keeper) = (engine.clone(), keeper.clone());
        move || {
            let shared = &engine.shared;
            keeper.begin(&shared.store, &|| shared.clock.now())
        }
    });
    tokio::select! {
        // A disk that is full does not stop the start: it is told, and tried again.
        begun = begun => drop(begun.map_err(line)?),
        () = &mut stop => return Ok(End::BrokenOff),
    }
    let policies_read = policies.len();
    engine.set_policies(policies).ok_or(TOO_MANY_POLICIES)?;
    let users = match &config.aclfile {
        Some(file) => users::load_at_start(&engine, file)?,
        None => 0,
    };

    // Nobody can connect before there is somebody to answer.
    let doors = reserved.open(config.tcp_backlog).map_err(line)?;
    let gate = Arc::new(Gate::new());
    http.site.start(engine.clone(), gate.clone());
    announce(&engine, &ways, &path, &restored);
    if let Some(reason) = missing {
        tracing::warn!(
            reason,
            "no metrics; --metrics-bind no says that none are wanted"
        );
    }
    warn_of_memory(&engine);
    if policies_read > 0 {
        tracing::info!(policies = policies_read, "policies read from the file");
    }
    if users > 0 {
        tracing::info!(users, "users read from the file");
    }
    if maxclients < config.maxclients {
        tracing::warn!(
            asked = config.maxclients,
            maxclients,
            "the limit on open files leaves room for fewer clients; raise it (ulimit -n, LimitNOFILE)"
        );
    }
    tell(State::Ready);
    tokio::spawn(reload(config, &engine, tls).at_each(hangup));
    // Never freed: at the end the system takes the memory back at once, and key by key it takes seconds.
    std::mem::forget(engine.clone());
    let (workers, _threads) = Workers::start(threads(config)).map_err(line)?;
    serve(doors, engine, keeper, workers, gate, stop)
        .await
        .map_err(line)?;
    Ok(End::Stopped)
}

/// As many threads as were asked for, or one for each core.
fn threads(config: &Config) -> usize {
    match config.threads {
        Some(threads) => usize::try_from(threads).unwrap_or(usize::MAX),
        None => thread::available_parallelism().map_or(1, NonZero::get),
    }
}

const TOO_MANY_POLICIES: &str = "with those of --policies there are more than 10000 policies";

/// What SIGHUP has read again. A new file gets its lines here.
fn reload(config: &Config, engine: &Arc<Engine>, tls: Option<Arc<Tls>>) -> Reload {
    let mut reload = Reload::default();
    if let Some(tls) = tls {
        reload.add("certificates", move || {
            tls.reload()
                .map(|()| "for connections from now on".to_owned())
        });
    }
    if let Some(file) = config.policies.clone() {
        let engine = engine.clone();
        reload.add("policies", move || {
            let read = policies::read(&file)?;
            let count = read.len();
            let changed = engine.set_policies(read).ok_or(TOO_MANY_POLICIES)?;
            Ok(format!("{count}, of which {changed} have changed"))
        });
    }
    reload
}

/// The ways in.
struct Ways {
    tcp: Vec<SocketAddr>,
    tls: Vec<SocketAddr>,
    unix: Option<PathBuf>,
    metrics: Vec<SocketAddr>,
}

impl Ways {
    fn listening(&self, maxclients: u64) -> Listening {
        let port = |addresses: &[SocketAddr]| addresses.first().map_or(0, SocketAddr::port);
        let mut bind = Vec::new();
        for address in self.all() {
            if !bind.contains(&address.ip()) {
                bind.push(address.ip());
            }
        }
        Listening {
            port: port(&self.tcp),
            tls_port: port(&self.tls),
            bind,
            metrics: list(&self.metrics).unwrap_or_else(|| "no".to_owned()),
            maxclients,
        }
    }

    /// The addresses of TCP, under TLS and not.
    fn all(&self) -> impl Iterator<Item = &SocketAddr> {
        self.tcp.iter().chain(&self.tls)
    }
}

/// Addresses with commas between; `None` if there are none.
fn list(addresses: &[SocketAddr]) -> Option<String> {
    let list: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
    Some(list.join(",")).filter(|list| !list.is_empty())
}

fn line(error: impl ToString) -> String {
    error.to_string()
}

/// The directory must be there, and writable if anything will be written to it by itself.
fn check_directory(config: &Config) -> Result<(), String> {
    let directory = config.dir.display();
    match fs::metadata(&config.dir) {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return Err(format!("{directory} is not a directory; see --dir")),
        Err(error) => {
            return Err(format!(
                "the directory {directory} cannot be used: {error}; create it, or see --dir"
            ));
        }
    }
    if config.save == 0 && !config.journal {
        return Ok(());
    }
    let probe = config.dir.join(format!(
        "{}.{}-0.tmp",
        config.dbfilename,
        std::process::id()
    ));
    fs::write(&probe, b"")
        .and_then(|()| fs::remove_file(&probe))
        .map_err(|error| {
            format!("cannot write to the directory {directory}: {error}; make it writable, see --dir, or switch off what is written there with --save 0 --journal no")
        })
}

/// A number that nobody can guess.
fn random() -> u64 {
    let mut bytes = [0; 8];
    // Without randomness from the system it is zero.
    let _ = getrandom::fill(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// What is in use at start, keys of a snapshot included, may be above the bound: they are loaded all the same.
fn warn_of_memory(engine: &Engine) {
    let (bound, used_bytes) = (engine.shared.settings.maxmemory(), memory::used_bytes());
    if bound > 0 && used_bytes > bound {
        tracing::warn!(
            used_bytes,
            startup_bytes = memory::startup_bytes(),
            maxmemory = bound,
            "more memory is in use than maxmemory: limits that are nearly full go, new keys are refused"
        );
    }
}

/// The first line of the log. Tests and scripts wait for it and read the addresses out of it.
fn announce(engine: &Engine, ways: &Ways, path: &Path, restored: &Restored) {
    let settings = &engine.shared.settings;
    let found = if restored.is_something() {
        let ago_s = engine.shared.clock.now().since(restored.until) / SECOND;
        format!("{} keys of {ago_s} s ago", restored.keys)
    } else {
        "nothing, there is no snapshot yet".to_owned()
    };
    let protection = match (
        engine.shared.acl.requires_login(),
        settings.protected_mode(),
    ) {
        (true, _) => "password",
        (false, true) => "no password: loopback only",
        (false, false) => "no password, protected mode off: open to all",
    };
    let unix = ways.unix.as_ref().map(|path| path.display().to_string());
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        addresses = list(&ways.tcp),
        tls = list(&ways.tls),
        unixsocket = unix,
        metrics = list(&ways.metrics),
        config = Some(settings.config_file()).filter(|file| !file.is_empty()),
        databases = settings.databases(),
        maxmemory = Some(settings.maxmemory()).filter(|bound| *bound > 0),
        snapshot = %path.display(),
        journal = engine.shared.journal.get().is_some(),
        loaded = found,
        protection,
        "ready"
    );
    let journal = &restored.journal;
    if journal.batches > 0 {
        tracing::info!(
            batches = journal.batches,
            records = journal.records,
            bytes = journal.bytes,
            "journal read"
        );
    }
    if journal.torn_bytes > 0 {
        let bytes = journal.torn_bytes;
        tracing::warn!(
            bytes,
            "the last write to the journal was broken off, and does not count"
        );
    }
    let everywhere = ways.all().any(|address| !address.ip().is_loopback());
    if everywhere && !engine.shared.acl.requires_login() {
        tracing::warn!(
            "listening beyond loopback without a password; set one with TOLLGATE_REQUIREPASS or --requirepass-file"
        );
    }
}
