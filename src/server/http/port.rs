//! Where it listens, and the thread that does.

use std::io;
use std::net::{SocketAddr, TcpListener as StdListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::super::bind::{self, BindError};
use super::{CONNECTIONS_MAX, Site, connection, events};
use crate::config::MetricsBind;

const FLAG: &str = "--metrics-bind";
/// Connections that wait to be accepted.
const BACKLOG: i32 = 16;
/// Connections that are being turned away.
const REFUSALS_MAX: usize = 8;
/// Rest after a failed accept, usually for want of a descriptor: the peer stays at the head of the queue.
const REST: Duration = Duration::from_millis(100);

/// A port that is listened on.
#[derive(Default)]
pub(in super::super) struct HttpPort {
    listeners: Vec<StdListener>,
    addresses: Vec<SocketAddr>,
    name: Option<String>,
    /// Why there is none, though one would have been welcome.
    pub(in super::super) missing: Option<String>,
}

impl HttpPort {
    /// Listens where the flag says.
    ///
    /// # Errors
    /// One line about the address, unless it is optional.
    pub(in super::super) fn take(wanted: &MetricsBind) -> Result<Self, String> {
        let MetricsBind::At(address, port) = wanted else {
            return Ok(Self::default());
        };
        let sockets = bind::bind(std::slice::from_ref(address), *port, FLAG);
        let taken = sockets.and_then(|sockets| {
            let listen = |socket: socket2::Socket| {
                let address = bind::address(&socket);
                let shown = address.map_or(String::new(), |address| address.to_string());
                let listening = socket.listen(BACKLOG).map_err(|error| BindError {
                    address: shown,
                    error,
                    flag: FLAG,
                });
                listening.map(|()| (StdListener::from(socket), address))
            };
            sockets
                .into_iter()
                .map(listen)
                .collect::<Result<Vec<_>, _>>()
        });
        match taken {
            Ok(taken) => {
                let (listeners, addresses): (Vec<_>, Vec<_>) = taken.into_iter().unzip();
                Ok(Self {
                    listeners,
                    addresses: addresses.into_iter().flatten().collect(),
                    name: Some(address.name.clone()),
                    missing: None,
                })
            }
            Err(error) if address.optional => Ok(Self {
                missing: Some(error.to_string()),
                ..Self::default()
            }),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Where it listens.
    pub(in super::super) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Begins to answer; what there is to serve may be told later.
    ///
    /// # Errors
    /// A runtime or a thread cannot be had.
    pub(in super::super) fn open(self) -> io::Result<HttpThread> {
        let (looks, looked) = watch::channel(0);
        let site = Arc::new(Site::new(self.name, looked));
        if self.listeners.is_empty() {
            return Ok(HttpThread {
                site,
                connections_max: 0,
                running: None,
            });
        }
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let (thread, shown) = (thread::Builder::new().name("http".to_owned()), site.clone());
        let joined = thread.spawn(move || {
            runtime.block_on(async move {
                let mut doors = JoinSet::new();
                doors.spawn(events::look(shown.clone(), looks));
                let places = |count| Arc::new(Semaphore::new(count));
                let (room, threshold) = (places(CONNECTIONS_MAX), places(REFUSALS_MAX));
                for listener in self.listeners {
                    let (room, threshold) = (room.clone(), threshold.clone());
                    doors.spawn(accept(shown.clone(), room, threshold, listener));
                }
                // Told, or nobody is left who could tell.
                let _ = stopped.await;
            });
        })?;
        let running = Some((stop, joined));
        Ok(HttpThread {
            site,
            connections_max: (CONNECTIONS_MAX + REFUSALS_MAX) as u64,
            running,
        })
    }
}

/// The thread that answers. Dropping it ends it, and its connections.
pub(in super::super) struct HttpThread {
    /// What it serves.
    pub(in super::super) site: Arc<Site>,
    /// Connections at a time, those that are turned away included.
    pub(in super::super) connections_max: u64,
    running: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl Drop for HttpThread {
    fn drop(&mut self) {
        if let Some((stop, joined)) = self.running.take() {
            // One that has panicked has ended.
            let _ = (stop.send(()), joined.join());
        }
    }
}

/// Accepts connections for ever.
async fn accept(
    site: Arc<Site>,
    room: Arc<Semaphore>,
    threshold: Arc<Semaphore>,
    listener: StdListener,
) {
    let listener = match TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!(%error, "metrics are not served"),
    };
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            sleep(REST).await;
            continue;
        };
        match room.clone().try_acquire_owned() {
            Ok(place) => {
                let site = site.clone();
                tokio::spawn(async move {
                    connection::serve(site, stream, peer).await;
                    drop(place);
                });
            }
            // With no place here either it is closed without a word.
            Err(_) => {
                if let Ok(place) = threshold.clone().try_acquire_owned() {
                    tokio::spawn(async move {
                        connection::refuse(stream).await;
                        drop(place);
                    });
                }
            }
        }
    }
}
