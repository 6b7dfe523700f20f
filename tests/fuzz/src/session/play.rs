//! The server, its clients, and what must hold of them.

use super::super::holdings::Holdings;
use super::frame::{self, Dialect, Frame};
use super::script::{self, Act, CLIENTS, Deed, Room};
use bytes::BytesMut;
use std::collections::VecDeque;
use std::io::Cursor;
use std::sync::Arc;
use tollgate::clients::Client;
use tollgate::clock::Clock;
use tollgate::command::connection::Pending;
use tollgate::core::units::Timestamp;
use tollgate::engine::Engine;
use tollgate::persistence::snapshot;
use tollgate::protocol::{Arguments, OwnedArguments, RequestLimits, Scan, Scanner};
use tollgate::session::{Completion, Flow, Session};
use tollgate::settings::{Initial, Settings};
use tollgate::store::{DATABASES_MAX, Store, Value};

/// Few, so that scripts reach the bound.
const BOOKINGS_MAX: u64 = 12;

/// Numbers from here on are remembered: tickets and leases begin at the time in microseconds.
const LARGE: i64 = 1_000_000_000_000_000;
const NUMBERS_KEPT: usize = 10;

/// What a request is answered with.
enum Expected {
    /// One reply.
    Reply,
    /// A confirmation for each of so many names, or one reply if it is refused or queued.
    Confirmations(usize),
    /// One, several or none: no longer counted in this batch.
    Any,
    /// `CLIENT REPLY`: no longer counted on this connection.
    Unknown,
}

struct Peer {
    client: Arc<Client>,
    session: Session,
    input: BytesMut,
    /// Kept back until it sends more.
    held: Vec<u8>,
    waits: bool,
    counted: bool,
    /// Its EXEC may confirm subscriptions, as many as there are names.
    queues_subscriptions: bool,
    /// Its EXEC may change the protocol on the way.
    queues_hello: bool,
    saves: bool,
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

    /// Does what a line of a script says.
    pub fn line(&mut self, line: &[u8]) {
        let Act { client, deed } = script::act(line, &self.numbers, &mut self.room);
        match deed {
            Deed::Send(words) => self.send(client, &array(&words)),
            Deed::Hold(words) => {
                let mut bytes = array(&words);
                self.peer(client).held.append(&mut bytes);
            }
            Deed::Raw(bytes) => self.send(client, &bytes),
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

    fn send(&mut self, number: usize, bytes: &[u8]) {
        let peer = self.peer(number);
        peer.read_messages();
        let mut held = std::mem::take(&mut peer.held);
        held.extend_from_slice(bytes);
        peer.input.extend_from_slice(&held);
        match peer.waits {
            true => peer.session.look_ahead(&peer.input),
            false => self.run(number, None),
        }
    }

    /// Lets the session go on with what it has received.
    fn run(&mut self, number: usize, completion: Option<Completion>) {
        let engine = self.engine.clone();
        let peer = self.peer(number);
        let mut batch = Batch::of(peer, &engine, completion.is_some());
        let closed = batch.run(peer, completion);
        if batch.oversized && engine.shared.acl.requires_login() {
            // Whether a long request is one depends on whether the one before it logged in, or out.
            batch.expected.clear();
            batch.frames.clear();
        }
        batch.compare(peer, closed);
        for number in batch.numbers {
            self.numbers.push_front(number);
            self.numbers.truncate(NUMBERS_KEPT);
        }
        if closed {
            self.part(number);
        }
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
        counts_agree(&shared.store);
        comes_back(&shared.store, shared.clock.now());
    }
}

/// What is counted of the keys is what a walk over them finds.
pub fn counts_agree(store: &Store) {
    let mut leases = 0;
    for database in 0..DATABASES_MAX {
        let (mut staying, mut keys) = (0, 0);
        for shard in 0..store.shards() {
            store.for_each_in(database, shard, |_, value| {
                assert!(!value.is_absent(), "a place is taken by nothing");
                keys += 1;
                staying += usize::from(value.stays());
                leases += Value::leases(value) as u64;
            });
        }
        assert_eq!(store.len(database), keys);
        assert_eq!(store.counts.staying(database), staying);
    }
    assert_eq!(store.counts.leases(), leases);
}

/// A snapshot brings back everything.
pub fn comes_back(store: &Store, now: Timestamp) {
    let mut bytes = Vec::new();
    let saved = snapshot::write(store, now, 1, &mut bytes).expect("memory takes it");
    let other = Store::new();
    let loaded = snapshot::fill(&other, Cursor::new(&bytes)).expect("it was just written");
    assert_eq!((loaded.taken_at, loaded.keys), (now, saved.keys));
    assert_eq!(Holdings::of(&other, now), Holdings::of(store, now));
    counts_agree(&other);
}

fn array(words: &[Vec<u8>]) -> Vec<u8> {
    super::super::stream::array(words)
}

impl Peer {
    /// Messages that others have sent: all can be read.
    fn read_messages(&mut self) {
        let mut bytes = Vec::new();
        self.client.take_messages(&mut bytes);
        let dialect = Dialect::of(self.version());
        let frames = frame::all(&bytes, dialect);
        assert!(frames.is_some(), "{dialect:?}: {}", bytes.escape_ascii());
    }

    fn version(&self) -> u8 {
        self.client
            .protocol
            .load(std::sync::atomic::Ordering::Relaxed)
    }

    fn listens(&self) -> (bool, bool) {
        (
            self.client.is_subscribed(),
            self.client.labels.read().monitors,
        )
    }
}

/// The requests that a session serves in one go, and what it answers.
struct Batch {
    expected: VecDeque<Expected>,
    frames: VecDeque<Frame>,
    numbers: Vec<i64>,
    /// One of several is above the bounds of who has not logged in.
    oversized: bool,
    /// One of them subscribes.
    subscribes: bool,
    /// One of them may change the protocol.
    says_hello: bool,
    /// One of them may run several.
    executes: bool,
}

impl Batch {
    /// Those that are complete in what the peer has sent.
    fn of(peer: &Peer, engine: &Engine, resumes: bool) -> Self {
        let mut batch = Self {
            expected: VecDeque::new(),
            frames: VecDeque::new(),
            numbers: Vec::new(),
            oversized: false,
            subscribes: false,
            says_hello: false,
            executes: false,
        };
        if resumes {
            batch.expected.push_back(Expected::Reply);
        }
        let asks = engine.shared.acl.requires_login();
        let limits = match peer.session.is_authenticated() || !asks {
            true => RequestLimits::AUTHENTICATED,
            false => RequestLimits::UNAUTHENTICATED,
        };
        let (mut scanner, mut start) = (Scanner::new(), 0);
        let mut requests: Vec<OwnedArguments> = Vec::new();
        loop {
            match scanner.scan(&peer.input[start..], &limits) {
                Ok(Scan::Incomplete { .. }) => break,
                Ok(Scan::Skip { consumed }) => start += consumed,
                Ok(Scan::Request {
                    arguments,
                    consumed,
                }) => {
                    requests.push(OwnedArguments::from(arguments));
                    start += consumed;
                }
                // Told as a last reply.
                Err(_) => {
                    requests.push(OwnedArguments::from_slices(&[b"an error"]));
                    break;
                }
            }
        }
        for request in &requests {
            let arguments = request.as_arguments();
            let most = RequestLimits::UNAUTHENTICATED;
            batch.oversized |= requests.len() > 1
                && (arguments.len() > most.arguments_max || request.bytes() > most.bulk_bytes_max);
            let expected = batch.expected_of(arguments, peer);
            batch.expected.push_back(expected);
        }
        batch
    }

    fn expected_of(&mut self, arguments: Arguments<'_>, peer: &Peer) -> Expected {
        let word = |index: usize| {
            let word = arguments.get(index).unwrap_or_default();
            String::from_utf8_lossy(word).to_ascii_uppercase()
        };
        let name = word(0);
        if name.ends_with("SUBSCRIBE") {
            self.subscribes = true;
        }
        match (name.as_str(), arguments.len()) {
            ("SUBSCRIBE" | "PSUBSCRIBE" | "SSUBSCRIBE", count @ 2..) => {
                Expected::Confirmations(count - 1)
            }
            ("UNSUBSCRIBE" | "PUNSUBSCRIBE" | "SUNSUBSCRIBE", 1) => Expected::Any,
            ("UNSUBSCRIBE" | "PUNSUBSCRIBE" | "SUNSUBSCRIBE", count) => {
                Expected::Confirmations(count - 1)
            }
            ("CLIENT", 2..) if word(1) == "REPLY" => Expected::Unknown,
            ("EXEC", _) => {
                self.executes = true;
                match self.subscribes || peer.queues_subscriptions {
                    true => Expected::Any,
                    false => Expected::Reply,
                }
            }
            ("HELLO" | "RESET", _) => {
                self.says_hello = true;
                Expected::Reply
            }
            _ => Expected::Reply,
        }
    }

    /// Lets the session serve them; true if it closes the connection.
    fn run(&mut self, peer: &mut Peer, mut completion: Option<Completion>) -> bool {
        loop {
            let (before, heard) = (peer.version(), peer.listens());
            let mut output = Vec::new();
            let (session, input) = (&mut peer.session, &mut peer.input);
            let flow = match completion.take() {
                Some(completion) => session.resume(completion, input, &mut output),
                None => session.receive(input, &mut output),
            };
            let changes = self.says_hello || peer.queues_hello || before != peer.version();
            let dialect = match changes {
                true => Dialect::Either,
                false => Dialect::of(before),
            };
            match frame::all(&output, dialect) {
                Some(frames) => {
                    let hears = peer.listens();
                    let is_reply =
                        |frame: &Frame| !frame.is_message(heard.0 || hears.0, heard.1 || hears.1);
                    self.frames.extend(frames.into_iter().filter(is_reply));
                }
                // Two protocols in one EXEC are read by no reader.
                None if self.executes && changes => peer.counted = false,
                None => panic!("not {dialect:?}: {}", output.escape_ascii()),
            }
            match flow {
                Flow::Read => return false,
                Flow::Close => return true,
                Flow::Flush => {}
                Flow::Wait(Pending::Answer) => {
                    peer.waits = true;
                    peer.session.look_ahead(&peer.input);
                    return false;
                }
                Flow::Wait(Pending::Delay { .. }) => completion = Some(Completion::Done),
                Flow::Wait(Pending::Save | Pending::LoadUsers | Pending::SaveUsers) => {
                    peer.saves = !peer.saves;
                    completion = Some(match peer.saves {
                        true => Completion::Done,
                        false => Completion::Failed("ERR the disk is full".to_owned()),
                    });
                }
                Flow::Wait(Pending::Shutdown { .. }) => {
                    completion = Some(Completion::Failed("ERR it goes on".to_owned()));
                }
            }
        }
    }

    /// Exactly one reply a request, in order.
    fn compare(&mut self, peer: &mut Peer, closed: bool) {
        for frame in &self.frames {
            frame.integers(&mut self.numbers);
        }
        self.numbers.retain(|number| *number >= LARGE);
        peer.queues_subscriptions |= self.subscribes;
        peer.queues_hello |= self.says_hello;
        while let Some(expected) = self.expected.pop_front() {
            if !peer.counted {
                return;
            }
            let more = match expected {
                Expected::Reply => 0,
                Expected::Confirmations(count) => count - 1,
                Expected::Any => return,
                Expected::Unknown => {
                    peer.counted = false;
                    return;
                }
            };
            let Some(first) = self.frames.pop_front() else {
                assert!(closed || peer.waits, "a request without a reply");
                return;
            };
            // Refused or queued it is one reply.
            for _ in 0..if first.is_confirmation() { more } else { 0 } {
                let next = self.frames.pop_front();
                assert!(next.is_some_and(|next| next.is_confirmation()));
            }
        }
        assert!(
            !peer.counted || self.frames.is_empty(),
            "replies to nothing: {:?}",
            self.frames
        );
    }
}
