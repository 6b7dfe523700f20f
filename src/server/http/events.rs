//! What an open page is told, once a second (server-sent events).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::{Mutex, OwnedSemaphorePermit, mpsc, watch};
use tokio::time::{MissedTickBehavior, interval};

use super::visitor::Visitor;
use super::{Site, Started};
use crate::page;

/// Pages that are told at a time: each costs some tenths of a millisecond a second.
pub(super) const PAGES_MAX: usize = 8;
/// How often one is told before it has to ask again, which browsers do by themselves: within the life of a connection.
const EVENTS_MAX: usize = 240;
/// How soon they do, in milliseconds.
const RETRY_MS: u64 = 500;

/// Looks once a second at what was done in it, and tells those who wait for that.
pub(super) async fn look(site: Arc<Site>, looked: watch::Sender<u64>) {
    let mut seconds = interval(Duration::from_secs(1));
    seconds.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        seconds.tick().await;
        if let Some(started) = site.started.get() {
            let totals = started.engine.shared.metrics.totals();
            looked.send_replace(site.past.look(&totals));
        }
    }
}

/// Begins to tell a page, for as long as the visitor may know, its connection takes it, and it has its `place`.
pub(super) fn tell(
    site: Arc<Site>,
    visitor: Arc<Mutex<Visitor>>,
    place: OwnedSemaphorePermit,
) -> mpsc::Receiver<Bytes> {
    // One is made while the one before is on its way.
    let (sender, receiver) = mpsc::channel(1);
    let mut looked = site.looked.clone();
    tokio::spawn(async move {
        let mut told = 0;
        let retry = Bytes::from(format!("retry: {RETRY_MS}\n\n"));
        if sender.send(retry).await.is_err() {
            return;
        }
        for _ in 0..EVENTS_MAX {
            let number = *looked.borrow_and_update();
            let Some(started) = site.started.get().filter(|started| started.gate.is_open()) else {
                break;
            };
            let Some(state) = visitor.lock().await.state(started) else {
                break;
            };
            let past = page::past(&site.past.since(told));
            told = number;
            let both = event("past", &past) + &event("state", &state);
            // A page that has gone is noticed here, or when it takes nothing for too long.
            if sender.send(both.into()).await.is_err() || looked.changed().await.is_err() {
                break;
            }
        }
        drop(place);
    });
    receiver
}

/// An event; JSON on one line ends at none within.
fn event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

/// What the page is told of the state, if the visitor may know it.
impl Visitor {
    fn state(&mut self, started: &Started) -> Option<Value> {
        let may_act = started.may_act;
        self.look(started, |viewer| page::state(viewer, may_act))
    }
}
