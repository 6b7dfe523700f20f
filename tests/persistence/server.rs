//! A server in process, with the manual clock, that random histories are played to.

use crate::histories::{Command, Step};
use bytes::BytesMut;
use std::io::Cursor;
use std::sync::Arc;
use tollgate::clock::Clock;
use tollgate::core::units::{Span, Timestamp};
use tollgate::engine::Engine;
use tollgate::persistence::snapshot;
use tollgate::session::Session;
use tollgate::settings::{Initial, Settings};
use tollgate::store::Store;

/// The databases that histories use.
pub const DATABASES: [u8; 2] = [0, 15];

/// Few, so that histories reach the bound.
const BOOKINGS_MAX: u64 = 12;

/// A ticket or a lease as its owner knows it: its database, as an index into [`DATABASES`], its key and its number.
type Held = (usize, Vec<u8>, u64);

/// A server and one connection a database.
pub struct Server {
    pub engine: Arc<Engine>,
    sessions: Vec<Session>,
}

/// What clients remember of what they did; a restart of the server does not touch it.
#[derive(Clone, Default)]
pub struct Memory {
    tickets: Vec<Held>,
    /// What was sent, and to which database.
    sent: Vec<(usize, Vec<Vec<u8>>)>,
}

impl Server {
    /// A server without keys.
    pub fn new() -> Self {
        Self::start(Store::new(), Timestamp::ZERO)
    }

    /// A server that has loaded `store`.
    pub fn start(store: Store, wall: Timestamp) -> Self {
        let settings = Settings::new(Initial {
            max_bookings: BOOKINGS_MAX,
            ..Initial::default()
        });
        let engine = Arc::new(Engine::with_store(Clock::manual(wall), settings, store));
        let session = |&database: &u8| {
            let (peer, local) = ("127.0.0.1:50000".to_owned(), "127.0.0.1:6379".to_owned());
            let client = engine.shared.clients.register(
                peer,
                local,
                engine.shared.clock.now(),
                Box::new(|| {}),
            );
            let mut session = Session::new(engine.clone(), client);
            let select = format!("SELECT {database}\r\n");
            let mut output = Vec::new();
            session.receive(&mut BytesMut::from(select.as_bytes()), &mut output);
            assert_eq!(output, b"+OK\r\n");
            session
        };
        let sessions = DATABASES.iter().map(session).collect();
        Self { engine, sessions }
    }

    /// The server that starts with what this one saves now, when the wall clock shows `wall`.
    ///
    /// A server gives ticket numbers above all that the time since the epoch could have seen. To have the
    /// same numbers here, this one goes on from there too.
    pub fn restarted(&self, wall: Timestamp) -> Self {
        let mut bytes = Vec::new();
        snapshot::write(&self.engine.shared.store, self.now(), 1, &mut bytes)
            .expect("memory takes it");
        let store = Store::new();
        let loaded = snapshot::fill(&store, Cursor::new(bytes)).expect("it was just written");
        assert_eq!(loaded.taken_at, self.now());
        let other = Self::start(store, wall.max(loaded.taken_at));
        let numbers = other.engine.shared.store.records.last_number();
        self.engine.shared.store.records.start_above(numbers);
        other
    }

    pub fn now(&self) -> Timestamp {
        self.engine.shared.clock.now()
    }

    pub fn advance(&self, ns: u64) {
        let span = Span::from_ns(ns).expect("a span");
        self.engine
            .shared
            .clock
            .advance(span)
            .expect("it is manual");
    }

    /// Sends one request; the bytes of its reply.
    pub fn send(&mut self, database: usize, words: &[Vec<u8>]) -> Vec<u8> {
        let mut input = BytesMut::from(format!("*{}\r\n", words.len()).as_bytes());
        for word in words {
            input.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            input.extend_from_slice(word);
            input.extend_from_slice(b"\r\n");
        }
        let mut output = Vec::new();
        self.sessions[database].receive(&mut input, &mut output);
        output
    }

    /// Sends a request that is written as one line.
    pub fn ask(&mut self, line: &str) -> String {
        let words: Vec<Vec<u8>> = line
            .split(' ')
            .map(|word| word.as_bytes().to_vec())
            .collect();
        let reply = self.send(0, &words);
        String::from_utf8_lossy(&reply).into_owned()
    }

    /// Plays steps; each request and its reply.
    pub fn play(&mut self, steps: &[Step], memory: &mut Memory) -> Vec<String> {
        let mut played = Vec::new();
        for step in steps {
            self.advance(step.later);
            let (database, words) = memory.words(step);
            let before = self.engine.shared.store.records.last_number();
            let reply = self.send(database, &words);
            let number = self.engine.shared.store.records.last_number();
            for number in before + 1..=number {
                memory.tickets.push((database, words[1].clone(), number));
            }
            played.push(format!(
                "{} {} -> {}",
                DATABASES[database],
                words.join(&b' ').escape_ascii(),
                reply.escape_ascii()
            ));
            memory.sent.push((database, words));
        }
        played
    }
}

impl Memory {
    /// The words of a step's request, and where it goes.
    fn words(&mut self, step: &Step) -> (usize, Vec<Vec<u8>>) {
        match &step.command {
            Command::Words(words) => (step.database, words.clone()),
            Command::Again { back } => {
                let again = self
                    .sent
                    .len()
                    .checked_sub(1 + back % self.sent.len().max(1));
                again.map_or((0, vec![b"PING".to_vec()]), |index| {
                    self.sent[index].clone()
                })
            }
            Command::OfTicket {
                verb,
                back,
                key,
                actual,
            } => {
                let held = self
                    .tickets
                    .len()
                    .checked_sub(1 + back % self.tickets.len().max(1));
                let (database, own, number) = match held {
                    None => (0, Vec::new(), 1),
                    Some(index) if ["RL.CONFIRM", "RL.RENEW"].contains(verb) || key.is_some() => {
                        self.tickets[index].clone()
                    }
                    // It is used up; that it is so the second time too is for `Again`.
                    Some(index) => self.tickets.remove(index),
                };
                let key = key.clone().unwrap_or(own);
                let mut words = vec![
                    verb.as_bytes().to_vec(),
                    key,
                    number.to_string().into_bytes(),
                ];
                words.extend(actual.iter().map(|actual| actual.as_bytes().to_vec()));
                (database, words)
            }
        }
    }
}
