//! The only asynchronous code: sockets, timers and signals around the sans-I/O
//! [`crate::session::Session`].

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;

use crate::core::units::{SECOND, Timestamp};
use crate::engine::Engine;
use crate::persistence::Keeper;
use crate::seldom::Seldom;
use crate::session::Completion;
use crate::settings::Settings;

mod background;
mod balance;
mod bind;
mod connection;
mod descriptors;
mod end;
mod gate;
mod http;
mod journal;
mod listener;
mod policies;
mod reload;
mod saver;
mod served;
mod service_manager;
mod shutdown;
mod start;
mod stream;
mod tls;
mod unix_socket;
mod users;
mod waiting;
mod workers;

pub use start::run;

use gate::{Gate, Phase};
use listener::Door;
use saver::Saver;
use service_manager::{State, tell};
use workers::Workers;

/// How long connections may take to hand over their last replies when the server stops.
const GRACE: Duration = Duration::from_secs(1);
/// Refused peers that are told why at the same time.
const FAREWELLS_MAX: usize = 64;

/// Least nanoseconds from one line of the log to the next about what peers can cause.
const LINES_APART_NS: u64 = 10 * SECOND;

/// What all tasks share.
struct Server {
    engine: Arc<Engine>,
    workers: Arc<Workers>,
    saver: Arc<Saver>,
    gate: Arc<Gate>,
    shutdown_requests: mpsc::Sender<ShutdownRequest>,
    farewells: Arc<Semaphore>,
    seats_given: AtomicU64,
    /// The lines about handshakes that failed.
    failed_handshakes: Seldom,
    /// The lines about peers that speak TLS to a plain port.
    tls_to_plain: Seldom,
    /// The lines about clients that did not read their messages.
    overruns: Seldom,
}

impl Server {
    fn now(&self) -> Timestamp {
        self.engine.shared.clock.now()
    }

    fn settings(&self) -> &Settings {
        &self.engine.shared.settings
    }

    fn next_seat(&self) -> u64 {
        self.seats_given.fetch_add(1, Relaxed)
    }
}

/// `SHUTDOWN`, on its way from a connection to [`serve`].
struct ShutdownRequest {
    /// `SAVE` or `NOSAVE`; without either it depends on the `save` setting.
    save: Option<bool>,
    /// Stop even if the snapshot fails.
    force: bool,
    /// Gets an error if the server stays up; dropped if it stops.
    answer: oneshot::Sender<Completion>,
}

/// Serves connections that come through `doors` and `gate`, its keys kept by `keeper`, until `stop` ends or a client says
/// `SHUTDOWN`, takes a last snapshot, and lets the connections end.
///
/// # Errors
/// A last snapshot that failed.
async fn serve(
    doors: Vec<Door>,
    engine: Arc<Engine>,
    keeper: Arc<Keeper>,
    workers: Arc<Workers>,
    gate: Arc<Gate>,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let (shutdown_requests, mut requests) = mpsc::channel(1);
    let server = Arc::new(Server {
        saver: Saver::new(engine.clone(), keeper.clone()),
        engine,
        workers,
        gate: gate.clone(),
        shutdown_requests,
        farewells: Arc::new(Semaphore::new(FAREWELLS_MAX)),
        seats_given: AtomicU64::new(0),
        failed_handshakes: Seldom::one_each(LINES_APART_NS),
        tls_to_plain: Seldom::one_each(LINES_APART_NS),
        overruns: Seldom::some_each(20, LINES_APART_NS),
    });
    server.settings().on_timeout(move || gate.wake_all());
    // Dropping the set ends its tasks, whichever way this function is left.
    let mut tasks = JoinSet::new();
    for door in doors {
        tasks.spawn(listener::accept(server.clone(), door));
    }
    tasks.spawn(balance::balance(server.workers.clone()));
    tasks.spawn(background::sweep(server.engine.clone()));
    tasks.spawn(background::thin(server.engine.clone()));
    tasks.spawn(waiting::fire(server.engine.clone(), server.gate.clone()));
    tasks.spawn(background::save(
        server.engine.clone(),
        server.saver.clone(),
    ));
    tasks.spawn(journal::watch(server.engine.clone(), keeper.clone()));
    let writers = journal::Writers::start(&server.engine, &keeper)?;

    tokio::pin!(stop);
    let result = loop {
        tokio::select! {
            () = &mut stop => {
                tell(State::Stopping);
                let saved = last_save(&server, None).await;
                break saved.map_err(|error| {
                    io::Error::other(format!("what came last is not on disk: {error}"))
                });
            }
            Some(request) = requests.recv() => match last_save(&server, request.save).await {
                Ok(()) => break Ok(()),
                // `Saver` has logged what failed.
                Err(_) if request.force => break Ok(()),
                Err(error) => {
                    tracing::error!(%error, "SHUTDOWN: the snapshot failed, so the server stays up");
                    server.gate.set(Phase::Open);
                    let refusal = "ERR Errors trying to SHUTDOWN. Check logs.".to_owned();
                    // The client may have gone; then nobody is left to tell.
                    let _ = request.answer.send(Completion::Failed(refusal));
                }
            },
        }
    };
    tell(State::Stopping);
    tasks.shutdown().await;
    drop(writers);
    server.engine.stop_waiting();
    server.gate.set(Phase::Closed);
    drop(requests);
    if tokio::time::timeout(GRACE, server.gate.empty())
        .await
        .is_err()
    {
        tracing::warn!("some clients did not take their last replies in time");
    }
    tracing::info!("stopped");
    result
}

/// Holds all commands, then saves if that is wanted, else writes what the journal lacks: nothing that was answered is
/// missing in it.
async fn last_save(server: &Server, wish: Option<bool>) -> Result<(), String> {
    tracing::info!("stopping");
    server.gate.set(Phase::Held);
    let wanted = wish.unwrap_or(server.settings().save_seconds() > 0);
    if wanted {
        return server.saver.save().await;
    }
    let flushed = server.saver.flush().await;
    if let Err(error) = &flushed {
        tracing::error!("{error}");
    }
    // Whoever wants no snapshot wants it to stop.
    if wish.is_some() { Ok(()) } else { flushed }
}
