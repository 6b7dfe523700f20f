//! Snapshots, from the server's side: one at a time, away from the threads that serve.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;

use super::journal::flushing;
use crate::core::units::SECOND;
use crate::engine::Engine;
use crate::persistence::{Keeper, Saving};

/// Takes the snapshots of one engine.
pub(super) struct Saver {
    engine: Arc<Engine>,
    keeper: Arc<Keeper>,
}

impl Saver {
    pub(super) fn new(engine: Arc<Engine>, keeper: Arc<Keeper>) -> Arc<Self> {
        Arc::new(Self { engine, keeper })
    }

    /// Changes that no snapshot holds.
    pub(super) fn changes(&self) -> u64 {
        self.engine
            .shared
            .saves
            .report()
            .changes_since(self.engine.shared.metrics.changes())
    }

    /// Waits for a snapshot that is under way, then takes one. The error is one line.
    pub(super) async fn save(self: &Arc<Self>) -> Result<(), String> {
        let this = self.clone();
        let done = spawn_blocking(move || {
            let saving = this.turn();
            this.take(saving)
        });
        done.await
            .unwrap_or_else(|error| Err(format!("the snapshot was broken off: {error}")))
    }

    /// Has the journal, if there is one, hold all that has changed. The error is one line.
    pub(super) async fn flush(self: &Arc<Self>) -> Result<(), String> {
        let this = self.clone();
        let done = spawn_blocking(move || {
            let (shared, Some(journal)) = (&this.engine.shared, this.keeper.journal()) else {
                return Ok(());
            };
            let now = || shared.clock.now();
            let written = journal.flush(&shared.store, &now, flushing(&shared.settings), false);
            written.and_then(|()| journal.sync(&now))
        });
        match done.await {
            Ok(written) => written.map_err(|error| error.to_string()),
            Err(error) => Err(format!("the journal was broken off: {error}")),
        }
    }

    /// The right to save, as soon as nobody else has it. Blocks.
    fn turn(&self) -> Saving {
        let shared = &self.engine.shared;
        loop {
            let now_s = shared.clock.now().as_ns() / SECOND;
            if let Some(saving) = shared.saves.try_begin(shared.metrics.changes(), now_s) {
                // It holds what was there when it was asked for. Not sooner: INFO must not miss it in between.
                shared.requests.take_snapshot();
                return saving;
            }
            shared.saves.wait_until_idle();
        }
    }

    fn take(&self, saving: Saving) -> Result<(), String> {
        let shared = &self.engine.shared;
        let begun = shared.clock.now();
        let result = self.keeper.save(&shared.store, &|| shared.clock.now());
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
