//! A server in process with the manual clock, called by text as over the wire.

use bytes::BytesMut;
use std::sync::Arc;
use tollgate::clock::Clock;
use tollgate::core::entry::Entry;
use tollgate::core::units::Timestamp;
use tollgate::engine::Engine;
use tollgate::session::Session;
use tollgate::settings::{Initial, Settings};
use tollgate::store::Value;

/// When the manual clock starts, in nanoseconds since the epoch.
pub const START: u64 = 1_700_000_000_000_000_000;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    Integer(i64),
    Integers(Vec<i64>),
    Text(String),
    Error(String),
}

impl From<i64> for Reply {
    fn from(n: i64) -> Self {
        Self::Integer(n)
    }
}

pub struct Server {
    engine: Arc<Engine>,
    session: Session,
}

impl Server {
    pub fn new() -> Self {
        let settings = Settings::new(Initial::default());
        let engine = Arc::new(Engine::new(Clock::manual(Timestamp::ZERO), settings));
        let (peer, local) = ("127.0.0.1:50001".to_owned(), "127.0.0.1:6379".to_owned());
        let now = engine.shared.clock.now();
        let client = engine
            .shared
            .clients
            .register(peer, local, now, Box::new(|| {}));
        Self {
            session: Session::new(engine.clone(), client),
            engine,
        }
    }

    /// Sends a request as a line and reads its reply.
    pub fn call(&mut self, line: &str) -> Reply {
        let mut input = BytesMut::from(format!("{line}\r\n").as_bytes());
        let mut output = Vec::new();
        self.session.receive(&mut input, &mut output);
        let text = String::from_utf8(output).expect("replies in text");
        let (reply, rest) = read(&text);
        assert_eq!(rest, "", "one reply to {line}");
        reply
    }

    pub fn now(&self) -> Timestamp {
        self.engine.shared.clock.now()
    }

    /// A copy of what a key holds.
    pub fn entry(&self, key: &str) -> Entry {
        let read = |value: Option<&Value>| {
            value.map_or_else(Entry::default, |value| value.limit().unwrap().clone())
        };
        self.engine
            .shared
            .store
            .read(0, key.as_bytes(), self.now(), read)
    }
}

fn read(text: &str) -> (Reply, &str) {
    let (line, mut rest) = text.split_once("\r\n").expect("a whole reply");
    let body = &line[1..];
    let reply = match &line[..1] {
        ":" => Reply::Integer(body.parse().expect("an integer")),
        "+" => Reply::Text(body.to_owned()),
        "-" => Reply::Error(body.to_owned()),
        "*" => {
            let mut integers = Vec::new();
            for _ in 0..body.parse::<usize>().expect("a length") {
                let (reply, left) = read(rest);
                rest = left;
                match reply {
                    Reply::Integer(n) => integers.push(n),
                    other => panic!("{other:?} in an array of integers"),
                }
            }
            Reply::Integers(integers)
        }
        other => panic!("a reply of kind {other}"),
    };
    (reply, rest)
}
