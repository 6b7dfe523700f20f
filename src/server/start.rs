//! From flags to a running server.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use super::{bind, policies, serve, signalled};
use crate::clock::Clock;
use crate::config::{ClockKind, Config};
use crate::core::units::{SECOND, Timestamp};
use crate::engine::Engine;
use crate::logging;
use crate::memory;
use crate::persistence::{self, Loaded};
use crate::settings::Settings;
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
    let path = config.snapshot_path();
    check_directory(config)?;
    let listeners = bind(&config.bind.0, config.port, config.tcp_backlog).map_err(line)?;
    let addresses: Vec<SocketAddr> = listeners
        .iter()
        .filter_map(|listener| listener.local_addr().ok())
        .collect();
    let port = addresses.first().map_or(config.port, SocketAddr::port);
    let bound = addresses.iter().map(SocketAddr::ip).collect();
    let settings = Settings::new(config.initial_settings(port, bound).map_err(line)?);
    settings.on_loglevel(set_loglevel);

    memory::started();
    let store = Store::new();
    let loaded = persistence::load(&store, &path).map_err(line)?;
    let not_before = loaded
        .as_ref()
        .map_or(Timestamp::ZERO, |loaded| loaded.taken_at);
    let clock = match config.clock {
        ClockKind::System => Clock::system(not_before),
        ClockKind::Manual => Clock::manual(not_before),
    };
    let policies = match &config.policies {
        Some(file) => policies::load(&store.policies, file)?,
        None => 0,
    };
    let engine = Arc::new(Engine::with_store(clock, settings, store));

    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Some(threads) = config.threads {
        runtime.worker_threads(usize::try_from(threads).unwrap_or(usize::MAX));
    }
    let runtime = runtime.enable_all().build().map_err(line)?;
    runtime.block_on(async {
        let stop = signalled().map_err(line)?;
        announce(&engine, &addresses, &path, loaded.as_ref());
        warn_of_memory(&engine);
        if policies > 0 {
            tracing::info!(policies, "policies read from the file");
        }
        serve(listeners, engine, path, stop).await.map_err(line)
    })
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
    if config.save == 0 {
        return Ok(());
    }
    let probe = config.dir.join(format!(
        "{}.{}-0.tmp",
        config.dbfilename,
        std::process::id()
    ));
    fs::write(&probe, b"")
        .and_then(|()| fs::remove_file(&probe))
        .and_then(|()| persistence::remove_leftovers(&config.snapshot_path()))
        .map(drop)
        .map_err(|error| {
            format!("cannot write to the directory {directory}: {error}; make it writable, see --dir, or switch snapshots off with --save 0")
        })
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
fn announce(engine: &Engine, addresses: &[SocketAddr], path: &Path, loaded: Option<&Loaded>) {
    let settings = &engine.shared.settings;
    let everywhere = addresses
        .iter()
        .map(SocketAddr::ip)
        .any(|address| !address.is_loopback());
    let list: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
    let found = match loaded {
        None => "nothing, there is no snapshot yet".to_owned(),
        Some(loaded) => format!(
            "{} keys of {} s ago",
            loaded.keys,
            engine.shared.clock.now().since(loaded.taken_at) / SECOND
        ),
    };
    let protection = match (settings.requires_password(), settings.protected_mode()) {
        (true, _) => "password",
        (false, true) => "no password: loopback only",
        (false, false) => "no password, protected mode off: open to all",
    };
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        addresses = list.join(","),
        databases = settings.databases(),
        snapshot = %path.display(),
        loaded = found,
        protection,
        "ready"
    );
    if everywhere && !settings.requires_password() {
        tracing::warn!(
            "listening beyond loopback without a password; set one with TOLLGATE_REQUIREPASS or --requirepass-file"
        );
    }
}
