//! The port for metrics: HTTP, on a thread of its own, so that whoever asks there is no burden to those who serve.
//!
//! It answers from the start on, before the snapshot is loaded, so that a server that loads for long can be told from one
//! that is dead. Everything is bounded: connections, the size of a request, the time that it takes to send one and to read an
//! answer, and how long a connection lives.

mod connection;
mod host;
mod patient;
mod port;
mod routes;
mod visitor;

use std::sync::{Arc, OnceLock};

use super::gate::Gate;
use crate::engine::Engine;

pub(super) use port::HttpPort;

/// Connections at a time: a few collectors and a few people. Those beyond are closed.
pub(super) const CONNECTIONS_MAX: usize = 32;

/// What is served, once there is something to serve.
#[derive(Default)]
pub(super) struct Site {
    started: OnceLock<Started>,
    /// The name that `--metrics-bind` listens on, if it is one.
    name: Option<String>,
}

struct Started {
    engine: Arc<Engine>,
    gate: Arc<Gate>,
}

impl Site {
    /// The keys are loaded, and commands run as `gate` lets them.
    pub(super) fn start(&self, engine: Arc<Engine>, gate: Arc<Gate>) {
        // Nobody else starts it.
        let _ = self.started.set(Started { engine, gate });
    }
}
