//! SIGHUP: files are read again while the server runs.

use std::sync::Arc;

use tokio::signal::unix::Signal;
use tokio::task::spawn_blocking;

use super::service_manager::{State, tell};

/// Reads a file again. What it says goes into the log: what there is now, or why all stays as it was.
type Read = Box<dyn Fn() -> Result<String, String> + Send + Sync>;

/// What SIGHUP has read again.
#[derive(Default)]
pub(super) struct Reload {
    parts: Vec<(&'static str, Read)>,
}

impl Reload {
    /// Adds a file, under the name that the log gives it. If `read` fails it must have changed nothing.
    pub(super) fn add(
        &mut self,
        name: &'static str,
        read: impl Fn() -> Result<String, String> + Send + Sync + 'static,
    ) {
        self.parts.push((name, Box::new(read)));
    }

    /// Does so at each SIGHUP, for ever. One file that is bad does not keep the others from being read.
    pub(super) async fn at_each(self, mut hangup: Signal) {
        let this = Arc::new(self);
        while hangup.recv().await.is_some() {
            tell(State::Reloading);
            let reading = this.clone();
            // Away from the threads that serve. A panic has been logged.
            let _ = spawn_blocking(move || reading.read()).await;
            tell(State::Ready);
        }
    }

    fn read(&self) {
        for (name, read) in &self.parts {
            match read() {
                Ok(found) => tracing::info!(found, "SIGHUP: {name} read again"),
                Err(error) => tracing::error!(error, "SIGHUP: {name} stay as they are"),
            }
        }
        if self.parts.is_empty() {
            tracing::info!("SIGHUP: there is no file to read again");
        }
    }
}
