//! The journal, from the server's side: threads of its own that write it, since a disk may be slow and nobody else
//! must wait for it; and one who watches how it does.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::time::{MissedTickBehavior, interval};

use crate::core::units::{SECOND, Timestamp};
use crate::engine::Engine;
use crate::persistence::Keeper;
use crate::persistence::journal::{Flushing, JournalReport};
use crate::settings::{Fsync, Settings};

/// Pause after a write that failed.
const RETRY: Duration = Duration::from_secs(1);
/// Between two flushes to the disk, where they are not part of each write.
const SYNC_EVERY: Duration = Duration::from_secs(1);
/// A flush that takes so long is told.
const SYNC_LATE_NS: u64 = 2 * SECOND;
/// How often it is looked how the journal does.
const WATCH_EVERY: Duration = Duration::from_millis(500);
/// Looks from one request for a snapshot to the next: as long as saves that fail wait.
const ASK_EVERY: u32 = 10;
/// A journal below this size is not worth a snapshot: it is read in a second.
const FOLD_BYTES_MIN: u64 = 64 << 20;

/// When the disk is made to keep a batch, as the settings have it.
pub(super) fn flushing(settings: &Settings) -> Flushing {
    match settings.journal.fsync() {
        Fsync::Always => Flushing::Always,
        Fsync::EverySecond => Flushing::Apart,
        Fsync::No => Flushing::Never,
    }
}

/// The threads that write the journal. Dropped, they end as soon as what they are at is done.
pub(super) struct Writers(Arc<Stop>);

#[derive(Default)]
struct Stop {
    asked: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Waits so long; true if it is time to stop.
    fn wait(&self, pause: Duration) -> bool {
        let mut asked = self.asked.lock();
        if !*asked {
            self.changed.wait_for(&mut asked, pause);
        }
        *asked
    }
}

impl Drop for Writers {
    fn drop(&mut self) {
        *self.0.asked.lock() = true;
        self.0.changed.notify_all();
    }
}

/// What a thread does until it is stopped.
type Work = fn(&Stop, &Engine, &Keeper);

impl Writers {
    /// Starts them, if there is a journal.
    ///
    /// # Errors
    /// The system gives no threads.
    pub(super) fn start(engine: &Arc<Engine>, keeper: &Arc<Keeper>) -> std::io::Result<Self> {
        let stop = Arc::new(Stop::default());
        if keeper.journal().is_some() {
            let threads: [(&str, Work); 2] = [("journal", write), ("journal-sync", sync)];
            for (name, work) in threads {
                let (stop, engine, keeper) = (stop.clone(), engine.clone(), keeper.clone());
                let thread = std::thread::Builder::new().name(name.to_owned());
                thread.spawn(move || work(&stop, &engine, &keeper))?;
            }
        }
        Ok(Self(stop))
    }
}

fn write(stop: &Stop, engine: &Engine, keeper: &Keeper) {
    let Some(journal) = keeper.journal() else {
        return;
    };
    let shared = &engine.shared;
    let settings = &shared.settings;
    let now = || shared.clock.now();
    let mut pause = Duration::from_nanos(settings.journal.interval().as_ns());
    while !stop.wait(pause) {
        let began = now();
        let written = journal.flush(&shared.store, &now, flushing(settings), false);
        // From beginning to beginning; under a clock that stands still, from end to beginning.
        let took = Duration::from_nanos(now().since(began));
        let interval = Duration::from_nanos(settings.journal.interval().as_ns());
        pause = match written {
            Ok(()) => interval.saturating_sub(took),
            // Whoever watches tells of it.
            Err(_) => RETRY,
        };
    }
}

fn sync(stop: &Stop, engine: &Engine, keeper: &Keeper) {
    let Some(journal) = keeper.journal() else {
        return;
    };
    let shared = &engine.shared;
    while !stop.wait(SYNC_EVERY) {
        if shared.settings.journal.fsync() == Fsync::EverySecond {
            // Whoever watches tells of an error.
            let _ = journal.sync(&|| shared.clock.now());
        }
    }
}

/// Logs when the journal is suspended, when a flush takes long, and when that ends; asks for a snapshot when the
/// journal has grown too large. For ever.
pub(super) async fn watch(engine: Arc<Engine>, keeper: Arc<Keeper>) {
    let Some(journal) = keeper.journal() else {
        return;
    };
    let status = journal.status();
    let mut ticks = interval(WATCH_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut watch, mut since_asked) = (Watch::default(), ASK_EVERY);
    loop {
        ticks.tick().await;
        let shared = &engine.shared;
        let report = status.report();
        watch.tell(&report, shared.clock.now(), shared.journal_late_ns());
        since_asked = since_asked.saturating_add(1);
        let is_asked = shared.saves.is_saving() || shared.requests.is_snapshot_wanted();
        if report.wants_snapshot(FOLD_BYTES_MIN) && !is_asked && since_asked >= ASK_EVERY {
            shared.requests.ask_for_snapshot();
            since_asked = 0;
        }
    }
}

/// What was told last.
#[derive(Default)]
struct Watch {
    suspended: bool,
    slow: bool,
}

impl Watch {
    fn tell(&mut self, report: &JournalReport, now: Timestamp, late_ns: u64) {
        let suspended = report.suspended_since(now, late_ns);
        match suspended {
            Some(since) if !self.suspended => {
                let ago = Duration::from_nanos(now.since(since));
                let error = report.error.as_deref().unwrap_or("the disk is slow");
                tracing::error!(
                    ?ago,
                    "the journal is suspended: a crash now loses what came since then: {error}"
                );
            }
            None if self.suspended => tracing::info!("the journal is written again"),
            _ => {}
        }
        self.suspended = suspended.is_some();
        let slow = report
            .flushing_since
            .is_some_and(|since| now.since(since) >= SYNC_LATE_NS);
        match (slow, self.slow) {
            (true, false) => tracing::warn!(
                "flushing the journal to the disk takes long: a power failure now loses more than a second"
            ),
            (false, true) => tracing::info!("the journal was flushed to the disk"),
            _ => {}
        }
        self.slow = slow;
    }
}
