//! SIGTERM and SIGINT.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// Exit code after a second SIGINT, as shells report it: 128 and the signal's number.
const INTERRUPTED: i32 = 130;

/// A future that ends at the first SIGTERM or SIGINT. A SIGINT after that ends the process at once, for
/// whoever does not want to wait for the snapshot.
///
/// # Errors
/// The signals cannot be listened for.
pub(super) fn signalled() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        let name = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        };
        tracing::info!(signal = name, "asked to stop");
        tokio::spawn(async move {
            if interrupt.recv().await.is_some() {
                tracing::warn!("second SIGINT: stopping at once, without a snapshot");
                std::process::exit(INTERRUPTED);
            }
        });
    })
}
