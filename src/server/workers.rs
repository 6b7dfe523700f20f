//! The threads that serve connections: each has a runtime of its own, and a connection stays with the one it came to.
//!
//! A runtime whose threads take work from each other wakes a second one whenever there are two things to do. For a
//! request that takes a microsecond that costs more than the request (docs/decisions/0014-hot-path.md).

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::{self, JoinHandle};

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::stream::Stream;

/// Where connections are served.
pub(super) struct Workers(Vec<Worker>);

struct Worker {
    handle: Handle,
    connections: Arc<AtomicUsize>,
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
    pub(super) fn start(count: usize) -> io::Result<(Self, Threads)> {
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
        Ok((Self(workers), threads))
    }

    /// Serves a connection on the thread that has the fewest.
    ///
    /// # Errors
    /// The socket cannot be handed over.
    pub(super) fn serve<F>(
        &self,
        stream: Stream,
        serve: impl FnOnce(Stream) -> F + Send + 'static,
    ) -> io::Result<()>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let connections = |worker: &&Worker| worker.connections.load(Relaxed);
        let fewest = self.0.iter().min_by_key(connections);
        let worker = fewest.expect("the thread that started the others is one");
        let place = Place::taken(&worker.connections);
        let socket = stream.detach()?;
        worker.handle.spawn(async move {
            match socket.attach() {
                Ok(stream) => serve(stream).await,
                Err(error) => tracing::debug!(%error, "cannot take the connection over"),
            }
            drop(place);
        });
        Ok(())
    }
}

impl Worker {
    fn on(handle: Handle) -> Self {
        Self {
            handle,
            connections: Arc::default(),
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

/// One connection more for as long as it is held.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn taken(connections: &Arc<AtomicUsize>) -> Self {
        connections.fetch_add(1, Relaxed);
        Self(connections.clone())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
