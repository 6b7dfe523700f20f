//! The port for metrics: HTTP, on a thread of its own, so that whoever asks there is no burden to those who serve.
//!
//! It answers from the start on, before the snapshot is loaded, so that a server that loads for long can be told from one
//! that is dead. Everything is bounded: connections, the size of a request, the time that it takes to send one and to read an
//! answer, and how long a connection lives.

mod action;
mod admission;
mod body;
mod connection;
mod events;
mod host;
mod patient;
mod port;
mod routes;
mod visitor;

use std::sync::{Arc, OnceLock};

use tokio::sync::{Semaphore, watch};

use super::gate::Gate;
use crate::engine::Engine;
use crate::page::Past;

pub(super) use port::HttpPort;

/// Connections at a time: a few collectors and a few people. Those beyond are turned away.
pub(super) const CONNECTIONS_MAX: usize = 32;

/// What is served, once there is something to serve.
pub(super) struct Site {
    started: OnceLock<Started>,
    /// The name that `--metrics-bind` listens on, if it is one.
    name: Option<String>,
    /// What was done in the last seconds.
    past: Past,
    /// The number of the last second that was looked at.
    looked: watch::Receiver<u64>,
    /// Places for pages that are told what goes on.
    pages: Arc<Semaphore>,
}

struct Started {
    engine: Arc<Engine>,
    gate: Arc<Gate>,
    /// Pages may have something done.
    may_act: bool,
}

impl Site {
    fn new(name: Option<String>, looked: watch::Receiver<u64>) -> Self {
        Self {
            started: OnceLock::new(),
            name,
            past: Past::default(),
            looked,
            pages: Arc::new(Semaphore::new(events::PAGES_MAX)),
        }
    }

    /// The keys are loaded, and commands run as `gate` lets them.
    pub(super) fn start(&self, engine: Arc<Engine>, gate: Arc<Gate>) {
        let may_act = engine.shared.settings.ui_actions();
        let started = Started {
            engine,
            gate,
            may_act,
        };
        // Nobody else starts it.
        let _ = self.started.set(started);
    }
}
