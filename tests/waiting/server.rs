//! A server in process with the manual clock and many connections, called by text as over the wire.

use bytes::BytesMut;
use std::collections::BTreeMap;
use std::sync::Arc;
use tollgate::clients::Client;
use tollgate::clock::Clock;
use tollgate::core::entry::Entry;
use tollgate::core::units::Timestamp;
use tollgate::engine::Engine;
use tollgate::session::{Completion, Flow, Session};
use tollgate::settings::{Initial, Settings};
use tollgate::store::{Key, Value};

/// When the manual clock starts, in nanoseconds since the epoch.
pub const START: u64 = 1_700_000_000_000_000_000;

struct Peer {
    client: Arc<Client>,
    session: Session,
}

pub struct Server {
    pub engine: Arc<Engine>,
    peers: BTreeMap<usize, Peer>,
}

/// The connection that never waits.
pub const BOSS: usize = usize::MAX;

impl Server {
    pub fn new() -> Self {
        let settings = Settings::new(Initial::default());
        let engine = Engine::new(Clock::manual(Timestamp::ZERO), settings);
        Self {
            engine: Arc::new(engine),
            peers: BTreeMap::new(),
        }
    }

    fn peer(&mut self, number: usize) -> &mut Peer {
        let engine = &self.engine;
        self.peers.entry(number).or_insert_with(|| {
            let now = engine.shared.clock.now();
            let (peer, local) = (format!("10.0.0.1:{number}"), "127.0.0.1:6379".to_owned());
            let clients = &engine.shared.clients;
            let client = clients.register(peer, local, now, Box::new(|| {}));
            let session = Session::new(engine.clone(), client.clone());
            Peer { client, session }
        })
    }

    /// Sends a request; its reply, `None` if it waits.
    pub fn call(&mut self, number: usize, line: &str) -> Option<String> {
        let mut input = BytesMut::from(format!("{line}\r\n").as_bytes());
        let mut output = Vec::new();
        let flow = self.peer(number).session.receive(&mut input, &mut output);
        let text = String::from_utf8(output).unwrap();
        (!matches!(flow, Flow::Wait(_))).then_some(text)
    }

    /// Calls without waiting.
    pub fn boss(&mut self, line: &str) -> String {
        self.call(BOSS, line).unwrap()
    }

    /// Takes the answer to the request with which a connection waits.
    pub fn answer(&mut self, number: usize) -> Option<String> {
        let peer = self.peers.get_mut(&number)?;
        let answer = Completion::Answer(peer.client.take_answer()?);
        let (mut input, mut output) = (BytesMut::new(), Vec::new());
        peer.session.resume(answer, &mut input, &mut output);
        Some(String::from_utf8(output).unwrap())
    }

    pub fn id(&mut self, number: usize) -> u64 {
        self.peer(number).client.id
    }

    /// The connection breaks.
    pub fn drop_peer(&mut self, number: usize) {
        if let Some(peer) = self.peers.remove(&number) {
            self.engine.shared.clients.remove(peer.client.id);
        }
    }

    /// Nanoseconds since the start.
    pub fn now(&self) -> i128 {
        i128::from(self.engine.shared.clock.now().as_ns()) - i128::from(START)
    }

    /// What the server does by itself when something may have fallen due.
    pub fn fire(&self) {
        self.engine.fire();
    }

    /// When something falls due next, in nanoseconds since the start.
    pub fn next(&self) -> Option<i128> {
        let shared = &self.engine.shared;
        let next = shared.waiters.with(shared, |desk, _| desk.waiting.next())?;
        Some(i128::from(next.as_ns()) - i128::from(START))
    }

    pub fn set_clock(&self, to: i128) {
        let at = Timestamp::from_ns(START + to as u64).unwrap();
        self.engine.shared.clock.set(at);
    }

    /// A copy of what a key holds.
    pub fn kept(&self, key: &str) -> Entry {
        let read = |value: Option<&Value>| {
            value.map_or_else(Entry::default, |value| value.limit().unwrap().clone())
        };
        let shared = &self.engine.shared;
        let now = shared.clock.now();
        shared.store.read(0, key.as_bytes(), now, read)
    }

    /// A copy of a key as callers see it.
    pub fn seen(&self, key: &str) -> Entry {
        let shared = &self.engine.shared;
        let home = (0, Key::new(key.as_bytes()));
        let planned = shared
            .waiters
            .with(shared, |desk, _| desk.waiting.planned(&home).cloned());
        planned.unwrap_or_else(|| self.kept(key))
    }
}
