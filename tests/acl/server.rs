//! A server in process with the manual clock, and connections to it.

use bytes::BytesMut;
use std::sync::Arc;
use tollgate::clients::Client;
use tollgate::clock::Clock;
use tollgate::core::units::Timestamp;
use tollgate::engine::Engine;
use tollgate::session::{Completion, Flow, Session};
use tollgate::settings::{Initial, Settings};

pub struct Server(pub Arc<Engine>);

impl Server {
    pub fn new() -> Self {
        Self::with(Clock::manual(Timestamp::ZERO), Initial::default())
    }

    pub fn with(clock: Clock, initial: Initial) -> Self {
        Self(Arc::new(Engine::new(clock, Settings::new(initial))))
    }

    pub fn connect(&self) -> Peer {
        let (shared, now) = (&self.0.shared, self.0.shared.clock.now());
        let client = shared.clients.register(
            "127.0.0.1:50001".into(),
            "127.0.0.1:6379".into(),
            now,
            Box::new(|| {}),
        );
        Peer {
            session: Session::new(self.0.clone(), client.clone()),
            client,
            flow: Flow::Read,
        }
    }

    /// A connection that is logged in as a user who takes any password.
    pub fn connect_as(&self, user: &str) -> Peer {
        let mut peer = self.connect();
        assert_eq!(peer.call(&["AUTH", user, ""]), "+OK\r\n");
        peer
    }
}

pub struct Peer {
    pub client: Arc<Client>,
    pub session: Session,
    /// What is to be done after the last request.
    pub flow: Flow,
}

impl Peer {
    /// Sends a request; the reply, nothing if it waits for something.
    pub fn call<W: AsRef<[u8]>>(&mut self, words: &[W]) -> String {
        let mut input = BytesMut::from(format!("*{}\r\n", words.len()).as_bytes());
        for word in words {
            let word = word.as_ref();
            input.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            input.extend_from_slice(word);
            input.extend_from_slice(b"\r\n");
        }
        let mut output = Vec::new();
        self.flow = self.session.receive(&mut input, &mut output);
        self.client.take_messages(&mut output);
        String::from_utf8_lossy(&output).into_owned()
    }

    /// A request whose words have no spaces.
    pub fn line(&mut self, line: &str) -> String {
        let words: Vec<&str> = line.split(' ').collect();
        self.call(&words)
    }

    /// What it waited for is done; the reply.
    pub fn done(&mut self) -> String {
        let mut output = Vec::new();
        self.flow = self
            .session
            .resume(Completion::Done, &mut BytesMut::new(), &mut output);
        String::from_utf8_lossy(&output).into_owned()
    }
}
