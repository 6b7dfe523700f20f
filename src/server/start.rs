//! From flags to a running server.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use super::{bind, journal, policies, serve, signalled};
use crate::clock::Clock;
use crate::config::{ClockKind, Config};
use crate::core::units::SECOND;
use crate::engine::Engine;
use crate::logging;
use crate::persistence::disk::Machine;
use crate::persistence::{Keeper, Keeping, Restored};
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

    let store = Store::new();
    let keeping = Keeping {
        saves: config.save > 0,
        journal: config.journal,
        salt: random(),
    };
    let (keeper, restored) =
        Keeper::open(Arc::new(Machine), &path, keeping, &store).map_err(line)?;
    let clock = match config.clock {
        ClockKind::System => Clock::system(restored.until),
        ClockKind::Manual => Clock::manual(restored.until),
    };
    let policies = match &config.policies {
        Some(file) => policies::load(&store.policies, file)?,
        None => 0,
    };
    let engine = Arc::new(Engine::with_store(clock, settings, store));
    let keeper = Arc::new(keeper);
    if let Some(journal) = keeper.journal() {
        // Nobody else has set it.
        let _ = engine.shared.journal.set(journal.status());
    }
    // A disk that is full does not stop the start: it is told, and tried again.
    let shared = &engine.shared;
    let now = || shared.clock.now();
    let _ = keeper.begin(&shared.store, &now, journal::flushing(&shared.settings));

    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if let Some(threads) = config.threads {
        runtime.worker_threads(usize::try_from(threads).unwrap_or(usize::MAX));
    }
    let runtime = runtime.enable_all().build().map_err(line)?;
    runtime.block_on(async {
        let stop = signalled().map_err(line)?;
        announce(&engine, &addresses, &path, &restored);
        if policies > 0 {
            tracing::info!(policies, "policies read from the file");
        }
        serve(listeners, engine, keeper, stop).await.map_err(line)
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

/// The first line of the log. Tests and scripts wait for it and read the addresses out of it.
fn announce(engine: &Engine, addresses: &[SocketAddr], path: &Path, restored: &Restored) {
    let settings = &engine.shared.settings;
    let everywhere = addresses
        .iter()
        .map(SocketAddr::ip)
        .any(|address| !address.is_loopback());
    let list: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
    let found = if restored.is_something() {
        let ago_s = engine.shared.clock.now().since(restored.until) / SECOND;
        format!("{} keys of {ago_s} s ago", restored.keys)
    } else {
        "nothing, there is no snapshot yet".to_owned()
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
    if everywhere && !settings.requires_password() {
        tracing::warn!(
            "listening beyond loopback without a password; set one with TOLLGATE_REQUIREPASS or --requirepass-file"
        );
    }
}
