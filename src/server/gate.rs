//! The gate every command passes, so that a last snapshot misses nothing that was answered.

use parking_lot::{Mutex, RwLock};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::Notify;

/// Whether commands run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// They run.
    Open,
    /// They wait: a snapshot is being taken, after which the server stops, or goes on if it fails.
    Held,
    /// None will run any more: connections end.
    Closed,
}

/// What became of a piece of work that wanted to pass.
pub(super) enum Passage<R> {
    /// It ran.
    Ran(R),
    /// The gate is held: wait for a wake-up and try again.
    Held,
    /// The gate is closed for good.
    Closed,
}

/// The gate and the connections before it. All commands between two awaits of a connection run under
/// one read lock; changing the phase takes the write lock, so afterwards none is under way.
pub(super) struct Gate {
    phase: RwLock<Phase>,
    seats: Mutex<HashMap<u64, Arc<Notify>>>,
    /// Told when the last connection has gone.
    emptied: Notify,
}

impl Gate {
    pub(super) fn new() -> Self {
        Self {
            phase: RwLock::new(Phase::Open),
            seats: Mutex::new(HashMap::new()),
            emptied: Notify::new(),
        }
    }

    /// Runs `work` if the gate is open.
    pub(super) fn pass<R>(&self, work: impl FnOnce() -> R) -> Passage<R> {
        let phase = self.phase.read();
        match *phase {
            Phase::Open => Passage::Ran(work()),
            Phase::Held => Passage::Held,
            Phase::Closed => Passage::Closed,
        }
    }

    pub(super) fn is_open(&self) -> bool {
        *self.phase.read() == Phase::Open
    }

    pub(super) fn is_closed(&self) -> bool {
        *self.phase.read() == Phase::Closed
    }

    /// Changes the phase, once no command is under way, and wakes every connection.
    pub(super) fn set(&self, phase: Phase) {
        *self.phase.write() = phase;
        self.wake_all();
    }

    /// Has every connection look again how things stand.
    pub(super) fn wake_all(&self) {
        self.seats
            .lock()
            .values()
            .for_each(|wake| wake.notify_one());
    }

    /// Takes one of `most` places for a connection that is woken through `wake`; `None` if all are taken.
    pub(super) fn seat(self: &Arc<Self>, id: u64, most: u64, wake: Arc<Notify>) -> Option<Seat> {
        let mut seats = self.seats.lock();
        if seats.len() as u64 >= most {
            return None;
        }
        seats.insert(id, wake);
        Some(Seat {
            id,
            gate: self.clone(),
        })
    }

    /// Returns once there is no connection left.
    pub(super) async fn empty(&self) {
        loop {
            // Enabled before looking, so that the last one leaving in between is not missed.
            let mut emptied = std::pin::pin!(self.emptied.notified());
            emptied.as_mut().enable();
            if self.seats.lock().is_empty() {
                return;
            }
            emptied.await;
        }
    }
}

/// A connection's place; dropping it (a panic does so too) gives it back.
pub(super) struct Seat {
    id: u64,
    gate: Arc<Gate>,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut seats = self.gate.seats.lock();
        seats.remove(&self.id);
        if seats.is_empty() {
            self.gate.emptied.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_and_come_back() {
        let gate = Arc::new(Gate::new());
        let first = gate.seat(1, 1, Arc::default());
        assert!(first.is_some());
        assert!(gate.seat(2, 1, Arc::default()).is_none());
        drop(first);
        assert!(gate.seat(3, 1, Arc::default()).is_some());
    }

    #[test]
    fn nothing_passes_while_held() {
        let gate = Gate::new();
        assert!(matches!(gate.pass(|| 1), Passage::Ran(1)));
        gate.set(Phase::Held);
        assert!(matches!(gate.pass(|| 1), Passage::Held));
        gate.set(Phase::Open);
        assert!(matches!(gate.pass(|| 1), Passage::Ran(1)));
        gate.set(Phase::Closed);
        assert!(matches!(gate.pass(|| 1), Passage::Closed) && gate.is_closed());
    }
}
