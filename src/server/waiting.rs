//! Lets those who wait on the server go when their time has come, and leases lapse.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;

use super::gate::{Gate, Passage};
use crate::engine::Engine;

/// How long to rest while commands are held.
const HELD_REST: Duration = Duration::from_millis(10);
/// From this on a look takes long: those whose plan is made anew are many.
const LONG_LOOK: Duration = Duration::from_millis(1);
/// Longest rest behind a long look. Where thousands leave one after the other, one plan does for those who leave
/// meanwhile, and at most half of the time goes into plans.
const LONG_LOOK_REST: Duration = Duration::from_millis(10);

/// One timer for all: sleeps until the next instant at which something falls due, or until a command changes that.
pub(super) async fn fire(engine: Arc<Engine>, gate: Arc<Gate>) {
    let changed = Arc::new(Notify::new());
    let waker = changed.clone();
    engine.shared.waiters.on_due(move || waker.notify_one());
    let waker = changed.clone();
    engine
        .shared
        .store
        .lapses
        .on_due(move || waker.notify_one());
    loop {
        let begun = engine.shared.clock.now();
        let rest = match gate.pass(|| engine.fire()) {
            Passage::Ran(rest) => rest.map(|rest| Duration::from_nanos(rest.as_ns())),
            Passage::Held => Some(HELD_REST),
            Passage::Closed => return,
        };
        let took = Duration::from_nanos(engine.shared.clock.now().since(begun));
        if took >= LONG_LOOK {
            sleep(took.min(LONG_LOOK_REST)).await;
        }
        let rest = async {
            match rest {
                Some(rest) => sleep(rest).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = rest => {}
            () = changed.notified() => {}
        }
    }
}
