//! A server in process with the manual clock, several connections, and restarts.

use crate::rendering;
use bytes::BytesMut;
use std::io::Cursor;
use std::sync::Arc;
use tollgate::clock::Clock;
use tollgate::core::units::{MICROSECOND, Span, Timestamp};
use tollgate::engine::Engine;
use tollgate::persistence::snapshot;
use tollgate::session::Session;
use tollgate::settings::{Initial, Settings};
use tollgate::store::Store;

/// Connections of a server.
pub const CONNECTIONS: usize = 3;

pub struct Server {
    pub engine: Arc<Engine>,
    sessions: Vec<Session>,
}

impl Server {
    pub fn new() -> Self {
        Self::start(Store::new(), Timestamp::ZERO)
    }

    fn start(store: Store, wall: Timestamp) -> Self {
        let settings = Settings::new(Initial::default());
        let engine = Arc::new(Engine::with_store(Clock::manual(wall), settings, store));
        let sessions = (0..CONNECTIONS).map(|_| session(&engine)).collect();
        Self { engine, sessions }
    }

    /// Time passes, and nobody notices.
    pub fn advance(&self, ns: u64) {
        let span = Span::from_ns(ns).unwrap();
        self.engine.shared.clock.advance(span).unwrap();
    }

    /// Ends a connection, and begins another in its place.
    pub fn reconnect(&mut self, connection: usize) {
        self.sessions[connection] = session(&self.engine);
    }

    /// The server that starts with what this one saves now, `down` nanoseconds later.
    pub fn restarted(self, down: u64) -> Self {
        let now = self.engine.shared.clock.now();
        let mut bytes = Vec::new();
        snapshot::write(&self.engine.shared.store, now, 1, &mut bytes).unwrap();
        let store = Store::new();
        snapshot::fill(&store, Cursor::new(bytes)).unwrap();
        Self::start(store, now.after_ns(down))
    }

    /// The number above which the first one is that a server starting now gives.
    pub fn first_number(&self) -> u64 {
        self.engine.shared.started_at.as_ns() / MICROSECOND
    }

    /// Sends a request on a connection; its reply, as it is read.
    pub fn call(&mut self, connection: usize, request: &str) -> String {
        call(&mut self.sessions[connection], request)
    }
}

/// Sends a request; its reply, as it is read.
pub fn call(session: &mut Session, request: &str) -> String {
    let mut input = BytesMut::from(format!("{request}\r\n").as_bytes());
    let mut output = Vec::new();
    session.receive(&mut input, &mut output);
    let mut replies = rendering::replies(&output);
    assert_eq!(replies.len(), 1, "{request}");
    replies.remove(0)
}

/// The two integers with which a lease is granted.
pub fn lease_of(reply: &str) -> Option<(u64, u64)> {
    let numbers = reply.strip_prefix("[:")?.strip_suffix(']')?;
    let (number, left) = numbers.split_once(" :")?;
    Some((number.parse().ok()?, left.parse().ok()?))
}

/// Another connection.
pub fn session(engine: &Arc<Engine>) -> Session {
    let shared = &engine.shared;
    let (peer, local) = ("127.0.0.1:50000".to_owned(), "127.0.0.1:6379".to_owned());
    let now = shared.clock.now();
    let client = shared.clients.register(peer, local, now, Box::new(|| {}));
    Session::new(engine.clone(), client)
}
