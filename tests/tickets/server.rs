//! A server in process, with one connection and the manual clock.

use bytes::BytesMut;
use std::sync::Arc;
use tollgate::clock::Clock;
use tollgate::core::units::Timestamp;
use tollgate::engine::Engine;
use tollgate::session::Session;
use tollgate::settings::{Initial, Settings};

pub struct Server {
    pub engine: Arc<Engine>,
    session: Session,
}

impl Server {
    pub fn new() -> Self {
        let clock = Clock::manual(Timestamp::ZERO);
        let engine = Arc::new(Engine::new(clock, Settings::new(Initial::default())));
        let address = || "127.0.0.1:1".to_owned();
        let now = engine.shared.clock.now();
        let client = engine
            .shared
            .clients
            .register(address(), address(), now, Box::new(|| {}));
        Self {
            session: Session::new(engine.clone(), client),
            engine,
        }
    }

    pub fn now(&self) -> Timestamp {
        self.engine.shared.clock.now()
    }

    /// The integers of a reply, or the text of an error.
    pub fn try_call(&mut self, request: &str) -> Result<Vec<i64>, String> {
        let mut input = BytesMut::from(format!("{request}\r\n").as_bytes());
        let mut output = Vec::new();
        self.session.receive(&mut input, &mut output);
        let text = String::from_utf8(output).unwrap();
        match text.strip_prefix('-') {
            Some(error) => Err(error.trim_end().to_owned()),
            None => Ok(text
                .lines()
                .filter_map(|line| line.strip_prefix(':'))
                .map(|number| number.parse().unwrap())
                .collect()),
        }
    }

    /// As [`Self::try_call`], for a request that is not refused.
    pub fn call(&mut self, request: &str) -> Vec<i64> {
        match self.try_call(request) {
            Ok(numbers) => numbers,
            Err(error) => panic!("{request}: {error}"),
        }
    }
}
