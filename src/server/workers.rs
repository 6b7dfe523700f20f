//! The threads that serve connections, each with a runtime of its own.
//!
//! A runtime whose threads take work from each other wakes a second one whenever there are two things to do, and a second
//! thread sees every key in the cache of the first. For requests that take a microsecond both cost more than the requests
//! (docs/decisions/0014-hot-path.md). So connections are served by as few threads as can: all by the first, until that
//! is busy. [`balance`](super::balance) then has some of them move, and back when there is less to do.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::balance::{Load, Move};
use super::stream::Stream;

/// Where connections are served.
pub(super) struct Workers(Vec<Worker>);

struct Worker {
    handle: Handle,
    connections: AtomicUsize,
    /// The last look's.
    busy_percent: AtomicUsize,
    /// So many connections are to move, and to which worker.
    leaving: AtomicUsize,
    target: AtomicUsize,
}

/// The threads that were started for it. Dropping it ends them, and what they serve.
pub(super) struct Threads(Vec<Thread>);

struct Thread {
    stop: oneshot::Sender<()>,
    joined: JoinHandle<()>,
}

impl Workers {
    /// The thread that calls, within its runtime, and so many more as make `count`.
    ///
    /// # Errors
    /// A runtime or a thread cannot be had.
    pub(super) fn start(count: usize) -> io::Result<(Arc<Self>, Threads)> {
        let mut workers = vec![Worker::on(Handle::current())];
        let mut threads = Threads(Vec::new());
        for number in 1..count {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            workers.push(Worker::on(runtime.handle().clone()));
            let (stop, stopped) = oneshot::channel();
            let thread = thread::Builder::new().name(format!("worker-{number}"));
            let joined = thread.spawn(move || {
                // Told, or nobody is left who could tell.
                let _ = runtime.block_on(stopped);
            })?;
            threads.0.push(Thread { stop, joined });
        }
        Ok((Arc::new(Self(workers)), threads))
    }

    /// A place for a new connection: at the first worker that is not busy, or at the least busy one.
    pub(super) fn place(self: &Arc<Self>) -> Place {
        let busy = |worker: &Worker| worker.busy_percent.load(Relaxed);
        let mut indices = 0..self.0.len();
        let free = indices.find(|&index| busy(&self.0[index]) < super::balance::HIGH_PERCENT);
        let least = || (0..self.0.len()).min_by_key(|&index| busy(&self.0[index]));
        self.place_at(free.or_else(least).unwrap_or(0))
    }

    fn place_at(self: &Arc<Self>, index: usize) -> Place {
        self.0[index].connections.fetch_add(1, Relaxed);
        Place {
            workers: self.clone(),
            index,
        }
    }

    /// How long each worker has been busy since the start.
    pub(super) fn busy(&self) -> Vec<Duration> {
        let busy = |worker: &Worker| worker.handle.metrics().worker_total_busy_duration(0);
        self.0.iter().map(busy).collect()
    }

    /// The loads, with the shares of the time in which each worker was busy, which are remembered.
    pub(super) fn loads(&self, busy_percent: impl Iterator<Item = usize>) -> Vec<Load> {
        let load = |(worker, busy_percent): (&Worker, usize)| {
            worker.busy_percent.store(busy_percent, Relaxed);
            let connections = worker.connections.load(Relaxed);
            Load {
                busy_percent,
                connections,
            }
        };
        self.0.iter().zip(busy_percent).map(load).collect()
    }

    /// Has connections move, in the place of those that have not since the last call.
    pub(super) fn carry_out(&self, moves: &[Move]) {
        for (index, worker) in self.0.iter().enumerate() {
            let wanted = moves.iter().find(|wanted| wanted.from == index);
            if let Some(wanted) = wanted {
                worker.target.store(wanted.to, Relaxed);
            }
            worker
                .leaving
                .store(wanted.map_or(0, |wanted| wanted.connections), Relaxed);
        }
    }
}

impl Worker {
    fn on(handle: Handle) -> Self {
        Self {
            handle,
            connections: AtomicUsize::new(0),
            busy_percent: AtomicUsize::new(0),
            leaving: AtomicUsize::new(0),
            target: AtomicUsize::new(0),
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        for Thread { stop, joined } in self.0.drain(..) {
            // One that has panicked has ended.
            let _ = (stop.send(()), joined.join());
        }
    }
}

/// A connection's place at a worker.
pub(super) struct Place {
    workers: Arc<Workers>,
    index: usize,
}

impl Place {
    /// Another place, if the connection is to move there. Asked between two requests: it costs one load.
    pub(super) fn next(&self) -> Option<Self> {
        let worker = &self.workers.0[self.index];
        if worker.leaving.load(Relaxed) == 0 {
            return None;
        }
        let one_less = |leaving: usize| leaving.checked_sub(1);
        worker
            .leaving
            .fetch_update(Relaxed, Relaxed, one_less)
            .ok()?;
        Some(self.workers.place_at(worker.target.load(Relaxed)))
    }

    /// Serves a connection at this place.
    ///
    /// # Errors
    /// The socket cannot be handed over.
    pub(super) fn serve<F>(
        self,
        stream: Stream,
        serve: impl FnOnce(Stream, Self) -> F + Send + 'static,
    ) -> io::Result<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let socket = stream.detach()?;
        let handle = self.workers.0[self.index].handle.clone();
        handle.spawn(async move {
            match socket.attach() {
                Ok(stream) => serve(stream, self).await,
                Err(error) => tracing::debug!(%error, "cannot take the connection over"),
            }
        });
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.workers.0[self.index].connections.fetch_sub(1, Relaxed);
    }
}
