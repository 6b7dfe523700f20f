//! What happens without a client: dead keys are swept away, changes are saved.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::saver::Saver;
use crate::command::room;
use crate::engine::Engine;
use crate::memory;
use crate::store::{Sweep, Thinning};

/// Places looked at in one step: a fraction of a millisecond, during which one shard is locked.
const SWEEP_PLACES: usize = 2_000;
/// Longest rest between steps. A key that is dead by then costs only memory: before a table grows the dead are dropped
/// from it. A caller who comes back finds its key in its place, which is cheaper than to make it anew.
const SWEEP_REST: Duration = Duration::from_millis(100);
/// How long a round over all keys takes at most, but for the steps themselves: the numbers of keys by kind are those of
/// the last whole round. Over ten million keys that is about a hundredth of one processor.
const SWEEP_ROUND: Duration = Duration::from_secs(60);
/// One dead place in so many is much.
const SWEEP_BUSY_SHARE: usize = 10;
/// How long a round over all keys takes while much is found dead: a large table is given back in so long, at a few
/// hundredths of one processor.
const SWEEP_ROUND_BUSY: Duration = Duration::from_secs(10);
/// Shortest rest between steps.
const SWEEP_REST_MIN: Duration = Duration::from_millis(1);

/// Places of a step while tables are made smaller, with others having their turn after each.
const THIN_PLACES: usize = 2_000;
/// Rest after nothing more could be dropped, and between two looks at whether memory is above its bound.
const THIN_REST: Duration = Duration::from_millis(100);

/// How often the `save` setting is looked at.
const SAVE_TICK: Duration = Duration::from_secs(1);
/// Least seconds from a save that failed to the next try.
const SAVE_RETRY_SECONDS: u64 = 5;

/// Sweeps for ever.
pub(super) async fn sweep(engine: Arc<Engine>) {
    let mut sweep = Sweep::default();
    loop {
        sweep = engine.sweep(sweep, SWEEP_PLACES);
        let busy = sweep.dropped > 0 && sweep.dropped * SWEEP_BUSY_SHARE >= sweep.looked;
        let round = if busy { SWEEP_ROUND_BUSY } else { SWEEP_ROUND };
        sleep(sweep_rest(engine.shared.store.places(), round)).await;
    }
}

/// The rest between steps with which a round over so many places takes so long, or less.
fn sweep_rest(places: usize, round: Duration) -> Duration {
    let steps = u32::try_from(places / SWEEP_PLACES).unwrap_or(u32::MAX);
    (round / steps.max(1)).clamp(SWEEP_REST_MIN, SWEEP_REST)
}

/// Drops keys and makes tables smaller while more memory is in use than `maxmemory`, for ever. Commands make room for
/// themselves; this is for when the bound is lowered, or something else than keys has grown.
pub(super) async fn thin(engine: Arc<Engine>) {
    let mut thinning = Thinning::default();
    let mut warned = false;
    loop {
        memory::look_outside();
        if !room::is_over(&engine.shared) {
            warned = false;
            sleep(THIN_REST).await;
            continue;
        }
        thinning = engine.thin(thinning, THIN_PLACES);
        if thinning.is_stuck {
            if !std::mem::replace(&mut warned, true) {
                tracing::warn!(
                    used_bytes = memory::used_bytes(),
                    maxmemory = engine.shared.settings.maxmemory(),
                    "more memory is in use than maxmemory, and no key may go: new ones are refused"
                );
            }
            sleep(THIN_REST).await;
        } else {
            yield_now().await;
        }
    }
}

/// Saves whenever something has changed and the last save is `save` seconds old, and when `BGSAVE` asks
/// for it. For ever.
pub(super) async fn save(engine: Arc<Engine>, saver: Arc<Saver>) {
    let asked = Arc::new(Notify::new());
    let waker = asked.clone();
    let requests = &engine.shared.requests;
    requests.on_request(move || waker.notify_one());
    let mut ticks = interval(SAVE_TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut due = Due::default();
    loop {
        let wanted = tokio::select! {
            () = asked.notified() => requests.is_snapshot_wanted(),
            _ = ticks.tick() => {
                let save_seconds = engine.shared.settings.save_seconds();
                let last_save_s = engine.shared.saves.report().last_save_s;
                due.tick(save_seconds, last_save_s, saver.changes())
            }
        };
        if wanted {
            due.saved(saver.save().await.is_ok());
        }
    }
}

/// Counts the seconds since the last save. It counts ticks, since the server's clock may be a manual one
/// and the wall's may step.
#[derive(Debug, Default)]
struct Due {
    seconds: u64,
    last_save_s: u64,
    retry: Option<u64>,
}

impl Due {
    /// One second more: true if it is time. `last_save_s` tells saves that somebody else asked for.
    fn tick(&mut self, save_seconds: u64, last_save_s: u64, changes: u64) -> bool {
        if last_save_s != self.last_save_s {
            (self.last_save_s, self.seconds) = (last_save_s, 0);
        }
        self.seconds = self.seconds.saturating_add(1);
        let wait = save_seconds.max(self.retry.unwrap_or(0));
        save_seconds > 0 && changes > 0 && self.seconds >= wait
    }

    fn saved(&mut self, well: bool) {
        self.seconds = 0;
        self.retry = if well { None } else { Some(SAVE_RETRY_SECONDS) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds until a save is due, at most 1000.
    fn seconds(due: &mut Due, save_seconds: u64, changes: u64) -> Option<u64> {
        (1..=1000).find(|_| due.tick(save_seconds, 0, changes))
    }

    #[test]
    fn a_save_is_due_after_its_seconds_if_something_changed() {
        assert_eq!(seconds(&mut Due::default(), 60, 1), Some(60));
        assert_eq!(seconds(&mut Due::default(), 60, 0), None);
        assert_eq!(seconds(&mut Due::default(), 0, 1), None);
    }

    #[test]
    fn a_change_after_a_long_calm_is_saved_at_once() {
        let mut due = Due::default();
        assert_eq!(seconds(&mut due, 60, 0), None);
        assert_eq!(seconds(&mut due, 60, 1), Some(1));
        due.saved(true);
        assert_eq!(seconds(&mut due, 60, 1), Some(60));
    }

    #[test]
    fn a_failed_save_is_not_tried_every_second() {
        let mut due = Due::default();
        due.saved(false);
        assert_eq!(seconds(&mut due, 1, 1), Some(SAVE_RETRY_SECONDS));
        due.saved(true);
        assert_eq!(seconds(&mut due, 1, 1), Some(1));
    }

    #[test]
    fn a_save_by_command_starts_the_count_anew() {
        let mut due = Due::default();
        (0..50).for_each(|_| assert!(!due.tick(60, 0, 1)));
        assert!(!due.tick(60, 7, 1));
        assert_eq!((1..=100).find(|_| due.tick(60, 7, 1)), Some(59));
    }
}
