//! The server, its clients, and what must hold of them.

use super::super::stream::array;
use super::batch::Batch;
use super::frame::{self, Dialect};
use super::script::{self, Act, CLIENTS, Deed, Room};
use super::stores;
use bytes::BytesMut;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tollgate::clients::Client;
use tollgate::clock::Clock;
use tollgate::command::dispatch;
use tollgate::command::spec::Flags;
use tollgate::core::units::Timestamp;
use tollgate::engine::Engine;
use tollgate::protocol::OwnedArguments;
use tollgate::session::{Completion, Session};
use tollgate::settings::{Initial, Settings};
use tollgate::store::Store;

/// Few, so that scripts reach the bound.
const BOOKINGS_MAX: u64 = 12;

const NUMBERS_KEPT: usize = 10;

/// One client.
pub struct Peer {
    pub client: Arc<Client>,
    pub session: Session,
    pub input: BytesMut,
    /// Kept back until it sends more.
    held: Vec<u8>,
    /// For the answer to a command.
    pub waits: bool,
    /// Each of its requests gets one reply.
    pub counted: bool,
    /// Its EXEC may confirm subscriptions, as many as there are names.
    pub queues_subscriptions: bool,
    /// Its EXEC may change the protocol on the way.
    pub queues_hello: bool,
    /// The last time that something was to be written that went well.
    pub saves: bool,
}

/// A server and its clients.
pub struct Play {
    engine: Arc<Engine>,
    peers: [Option<Peer>; CLIENTS],
    /// Large numbers that were replied, the last one first.
    numbers: VecDeque<i64>,
    room: Room,
}

impl Play {
    /// A server without keys.
    pub fn new() -> Self {
        Self::with_store(Store::new(), Timestamp::ZERO)
    }

    /// A server that has loaded `store`.
    pub fn with_store(store: Store, wall: Timestamp) -> Self {
        let settings = Settings::new(Initial {
            max_bookings: BOOKINGS_MAX,
            ..Initial::default()
        });
        let engine = Engine::with_store(Clock::manual(wall), settings, store);
        Self {
            engine: Arc::new(engine),
            peers: Default::default(),
            numbers: VecDeque::new(),
            room: Room::default(),
        }
    }

    /// What it holds.
    pub fn store(&self) -> &Store {
        &self.engine.shared.store
    }

    /// The time on its clock.
    pub fn now(&self) -> Timestamp {
        self.engine.shared.clock.now()
    }

    /// A client sends a request.
    pub fn request(&mut self, client: usize, words: &[Vec<u8>]) {
        self.send(client, &array(words));
        self.settle();
    }

    /// A client sends a request. One that only reads, or is refused, changes nothing.
    fn watched_request(&mut self, client: usize, words: &[Vec<u8>]) {
        let is_alone = self.peer(client).is_idle();
        let slices: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let request = OwnedArguments::from_slices(&slices);
        let named = dispatch::named(request.as_arguments());
        // What a script has changed before it fails stays changed.
        let is_script = named.is_some_and(|spec| spec.name.starts_with("EVAL"));
        let reads = named.is_some_and(|spec| spec.flags.has(Flags::READONLY));
        let now = self.now();
        let before = (is_alone && !is_script).then(|| stores::image(self.store(), now));
        let refused = self.send(client, &array(words));
        if let Some(before) = before
            && (refused || reads)
            && self.peers[client].is_some()
        {
            let after = stores::image(self.store(), now);
            let same = stores::are_alike(&before, &after, now);
            assert!(same, "{:?} has changed something", request.as_arguments());
        }
        self.settle();
    }

    /// Does what a line of a script says.
    pub fn line(&mut self, line: &[u8]) {
        let Act { client, deed } = script::act(line, &self.numbers, &mut self.room);
        match deed {
            Deed::Send(words) => return self.watched_request(client, &words),
            Deed::Hold(words) => {
                let mut bytes = array(&words);
                self.peer(client).held.append(&mut bytes);
            }
            Deed::Raw(bytes) => drop(self.send(client, &bytes)),
            Deed::Break => self.part(client),
        }
        self.settle();
    }

    fn peer(&mut self, number: usize) -> &mut Peer {
        let engine = &self.engine;
        self.peers[number].get_or_insert_with(|| {
            let (peer, local) = (format!("10.0.0.1:{number}"), "127.0.0.1:6379".to_owned());
            let (clients, now) = (&engine.shared.clients, engine.shared.clock.now());
            let client = clients.register(peer, local, now, Box::new(|| {}));
            Peer {
                session: Session::new(engine.clone(), client.clone()),
                client,
                input: BytesMut::new(),
                held: Vec::new(),
                waits: false,
                counted: true,
                queues_subscriptions: false,
                queues_hello: false,
                saves: false,
            }
        })
    }

    fn part(&mut self, number: usize) {
        if let Some(peer) = self.peers[number].take() {
            self.engine.shared.clients.remove(peer.client.id);
        }
    }

    /// True if it was one request and is refused.
    fn send(&mut self, number: usize, bytes: &[u8]) -> bool {
        let peer = self.peer(number);
        peer.read_messages();
        let mut held = std::mem::take(&mut peer.held);
        held.extend_from_slice(bytes);
        peer.input.extend_from_slice(&held);
        if peer.waits {
            peer.session.look_ahead(&peer.input);
            return false;
        }
        self.run(number, None)
    }

    /// Lets the session go on with what it has received; true if that is one request and is refused.
    fn run(&mut self, number: usize, completion: Option<Completion>) -> bool {
        let engine = self.engine.clone();
        let peer = self.peer(number);
        let mut batch = Batch::of(peer, &engine, completion.is_some());
        let closed = batch.run(peer, completion);
        if batch.oversized && engine.shared.acl.requires_login() {
            // Whether a long request is one depends on whether the one before it logged in, or out.
            batch.forget();
        }
        let refused = batch.is_refused();
        batch.compare(peer, closed);
        for number in batch.numbers {
            self.numbers.push_front(number);
            self.numbers.truncate(NUMBERS_KEPT);
        }
        if closed {
            self.part(number);
        }
        refused
    }

    /// What the server does by itself, until nothing is left to do.
    fn settle(&mut self) {
        self.engine.fire();
        let mut again = true;
        while std::mem::take(&mut again) {
            for number in 0..CLIENTS {
                let Some(peer) = &mut self.peers[number] else {
                    continue;
                };
                if peer.client.is_killed() {
                    self.part(number);
                    again = true;
                } else if peer.waits
                    && let Some(answer) = peer.client.take_answer()
                {
                    peer.waits = false;
                    peer.read_messages();
                    self.run(number, Some(Completion::Answer(answer)));
                    again = true;
                }
            }
        }
    }

    /// Everybody goes. What must hold then does.
    pub fn end(mut self) {
        (0..CLIENTS).for_each(|number| self.part(number));
        let shared = &self.engine.shared;
        self.engine.fire();
        assert!(shared.clients.is_empty());
        let waits = shared.waiters.with(shared, |desk, _| desk.waiting.next());
        assert_eq!(waits, None, "somebody waits who has gone");
        stores::counts_agree(&shared.store);
        stores::comes_back(&shared.store, shared.clock.now());
    }
}

impl Peer {
    /// Nothing of what it has sent is still to be served.
    fn is_idle(&self) -> bool {
        self.input.is_empty() && self.held.is_empty() && !self.waits
    }

    /// Messages that others have sent: all can be read.
    fn read_messages(&mut self) {
        let mut bytes = Vec::new();
        self.client.take_messages(&mut bytes);
        let dialect = Dialect::of(self.version());
        let frames = frame::all(&bytes, dialect);
        assert!(frames.is_some(), "{dialect:?}: {}", bytes.escape_ascii());
    }

    /// Of its protocol.
    pub fn version(&self) -> u8 {
        self.client.protocol.load(Relaxed)
    }

    /// To channels, and to all commands.
    pub fn listens(&self) -> (bool, bool) {
        (
            self.client.is_subscribed(),
            self.client.labels.read().monitors,
        )
    }
}
