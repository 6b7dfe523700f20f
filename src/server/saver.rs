//! Snapshots, from the server's side: one at a time, away from the threads that serve.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::core::units::SECOND;
use crate::engine::Engine;
use crate::persistence::{self, Saving};
use crate::session::Completion;

/// Takes the snapshots of one engine.
pub(super) struct Saver {
    engine: Arc<Engine>,
    path: PathBuf,
}

impl Saver {
    pub(super) fn new(engine: Arc<Engine>, path: PathBuf) -> Arc<Self> {
        Arc::new(Self { engine, path })
    }

    /// Changes that no snapshot holds.
    pub(super) fn changes(&self) -> u64 {
        self.engine
            .shared
            .saves
            .report()
            .changes_since(self.engine.shared.changes())
    }

    /// Waits for a snapshot that is under way, then takes one. The error is one line.
    pub(super) async fn save(self: &Arc<Self>) -> Completion {
        let this = self.clone();
        off_thread(move || {
            let saving = this.turn();
            this.take(saving)
        })
        .await
    }

    /// The right to save, as soon as nobody else has it. Blocks.
    fn turn(&self) -> Saving {
        let shared = &self.engine.shared;
        loop {
            let now_s = shared.clock.now().as_ns() / SECOND;
            if let Some(saving) = shared.saves.try_begin(shared.changes(), now_s) {
                return saving;
            }
            shared.saves.wait_until_idle();
        }
    }

    fn take(&self, saving: Saving) -> Completion {
        let shared = &self.engine.shared;
        let begun = shared.clock.now();
        let result = persistence::save(&shared.store, begun, &self.path);
        let ended = shared.clock.now();
        let took = Duration::from_nanos(ended.since(begun));
        match &result {
            Ok(saved) => tracing::info!(
                keys = saved.keys,
                bytes = saved.bytes,
                ?took,
                "snapshot saved"
            ),
            Err(error) => tracing::error!("{error}"),
        }
        let outcome = result.map(drop).map_err(|error| error.to_string());
        saving.end(outcome.clone(), ended.as_ns() / SECOND, took);
        outcome
    }
}

async fn off_thread(work: impl FnOnce() -> Completion + Send + 'static) -> Completion {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(format!("the snapshot was broken off: {error}")))
}
