//! Connections that are sent every command.

use super::Client;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Connections that said `MONITOR`.
#[derive(Default)]
pub struct Monitors {
    /// Asked before each command is written down, so that it costs nothing while nobody monitors.
    any: AtomicBool,
    clients: RwLock<Vec<Arc<Client>>>,
}

impl Monitors {
    /// True if anybody monitors.
    pub fn any(&self) -> bool {
        self.any.load(Relaxed)
    }

    /// Begins to send to a connection, unless it is sent to already.
    pub fn add(&self, client: &Arc<Client>) {
        let mut clients = self.clients.write();
        if !clients.iter().any(|other| other.id == client.id) {
            clients.push(client.clone());
        }
        self.any.store(true, Relaxed);
    }

    /// Sends nothing more to a connection.
    pub fn remove(&self, id: u64) {
        let mut clients = self.clients.write();
        clients.retain(|client| client.id != id);
        self.any.store(!clients.is_empty(), Relaxed);
    }

    /// Sends a line to all; see [`Client::push`].
    pub fn push(&self, line: &[u8], bytes_max: usize) {
        let clients = self.clients.read();
        clients
            .iter()
            .for_each(|client| client.push(line, bytes_max));
    }
}
