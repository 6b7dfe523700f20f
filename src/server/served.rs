//! A connection from its beginning to its end, at whichever workers it is served.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::sync::Notify;

use super::Server;
use super::connection::{Connection, Ended, READ_BYTES};
use super::end::{End, LINGER, linger};
use super::gate::Seat;
use super::listener::Peer;
use super::stream::Stream;
use super::workers::Place;
use crate::clients::Client;
use crate::engine::Engine;
use crate::session::Session;

/// Serves one connection until it ends.
pub(super) async fn run(
    server: Arc<Server>,
    stream: Stream,
    place: Place,
    peer: Peer,
    wake: Arc<Notify>,
    seat: Seat,
) {
    let local = stream.local_address().unwrap_or_else(|| peer.to_string());
    let registered = Registered::new(&server.engine, peer.to_string(), local, wake.clone());
    let client = registered.client.clone();
    tracing::debug!(%peer, id = client.id, "connected");
    let connection = Connection {
        session: Session::new(server.engine.clone(), client.clone()),
        server,
        stream,
        place,
        client,
        wake,
        input: BytesMut::new(),
        output: Vec::new(),
        read_bytes: READ_BYTES,
        is_new: true,
    };
    Served {
        connection,
        registered,
        peer,
        seat,
    }
    .serve()
    .await;
}

/// A connection and what it holds of the server.
struct Served {
    connection: Connection,
    registered: Registered,
    peer: Peer,
    seat: Seat,
}

impl Served {
    async fn serve(mut self) {
        match self.connection.serve().await {
            Ended::Moves(place) => self.go_on_at(place),
            Ended::For(end) => self.end(end).await,
        }
    }

    /// Goes on at another worker; between two requests, with nothing to send.
    fn go_on_at(self, place: Place) {
        let Self {
            connection,
            registered,
            peer,
            seat,
        } = self;
        let Connection {
            server,
            stream,
            client,
            wake,
            session,
            input,
            output,
            read_bytes,
            is_new,
            ..
        } = connection;
        let served = place.serve(stream, move |stream, place| {
            let connection = Connection {
                server,
                stream,
                place,
                client,
                wake,
                session,
                input,
                output,
                read_bytes,
                is_new,
            };
            let served = Self {
                connection,
                registered,
                peer,
                seat,
            };
            let served: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(served.serve());
            served
        });
        if let Err(error) = served {
            tracing::debug!(%error, "cannot hand the connection over");
        }
    }

    async fn end(self, end: End) {
        let Self {
            connection,
            registered,
            peer,
            seat,
        } = self;
        let Connection {
            stream,
            client,
            session,
            server,
            ..
        } = connection;
        // What it watches, what it listens to and what is bound to it goes at once, and not when the last bytes are out.
        drop(session);
        // Gone from CLIENT LIST before the last bytes are; its place is free only when the socket is.
        drop(registered);
        if let End::Overrun = end {
            server.engine.shared.metrics.overran();
            if let Some(left_out) = server.overruns.due(server.now().as_ns()) {
                tracing::warn!(%peer, id = client.id, left_out, "cut off: its messages were not read");
            }
        }
        if let End::SpokeTls = end
            && let Some(left_out) = server.tls_to_plain.due(server.now().as_ns())
        {
            tracing::warn!(%peer, reason = %end, left_out, "no reply");
        }
        tracing::debug!(%peer, id = client.id, reason = %end, "disconnected");
        let stream = stream.into_bare();
        match end {
            End::SessionClosed | End::SpokeTls => linger(stream, LINGER).await,
            // Only what has come already: idle clients must not hold the stop up.
            End::Stopping => linger(stream, Duration::ZERO).await,
            _ => drop(stream),
        }
        drop(seat);
    }
}

/// The client's entry in the engine's list; dropping it (a panic does so too) removes it.
pub(super) struct Registered {
    engine: Arc<Engine>,
    pub(super) client: Arc<Client>,
}

impl Registered {
    pub(super) fn new(
        engine: &Arc<Engine>,
        peer: String,
        local: String,
        wake: Arc<Notify>,
    ) -> Self {
        let wake = Box::new(move || wake.notify_one());
        let client = engine
            .shared
            .clients
            .register(peer, local, engine.shared.clock.now(), wake);
        engine.shared.metrics.connected();
        Self {
            engine: engine.clone(),
            client,
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.engine.shared.clients.remove(self.client.id);
    }
}
