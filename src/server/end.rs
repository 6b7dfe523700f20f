//! How a connection ends.

use std::fmt;
use std::io;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use super::stream::Stream;

/// How long a peer is listened to after its last reply; see [`linger`].
pub(super) const LINGER: Duration = Duration::from_secs(1);
/// For how many bytes at most.
const LINGER_BYTES: usize = 1024 * 1024;

/// Why a connection ends.
pub(super) enum End {
    /// The peer closed its side, and has its replies.
    PeerClosed,
    /// The session closes it (QUIT, a protocol error).
    SessionClosed,
    /// The peer speaks TLS, and this is not the port for it.
    SpokeTls,
    /// `CLIENT KILL`.
    Killed,
    /// It did not read its messages.
    Overrun,
    /// Nothing came for `timeout` seconds.
    Idle,
    /// The peer left its replies unread.
    Stalled,
    /// The server stops.
    Stopping,
    /// The socket broke.
    Broken(io::Error),
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PeerClosed => f.write_str("closed by the client"),
            Self::SessionClosed => f.write_str("closed after a last reply"),
            Self::SpokeTls => f.write_str("the client speaks TLS to a port of plain text"),
            Self::Killed => f.write_str("killed"),
            Self::Overrun => f.write_str("messages were not read"),
            Self::Idle => f.write_str("idle for too long"),
            Self::Stalled => f.write_str("replies were not read"),
            Self::Stopping => f.write_str("the server stops"),
            Self::Broken(error) => write!(f, "{error}"),
        }
    }
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

/// Closes so that the last replies arrive. Closing a socket with unread input makes the kernel send a
/// reset, on which the peer's kernel throws away replies that it has not read yet; so the sending side
/// is closed first and what still comes in `time` is read and dropped.
pub(super) async fn linger(stream: Stream, time: Duration) {
    let mut stream = stream.into_bare();
    let drain = async {
        if stream.shutdown().await.is_err() {
            return;
        }
        let mut scratch = [0; 4096];
        let mut left = LINGER_BYTES;
        while left > 0 {
            match stream.read(&mut scratch).await {
                Ok(0) | Err(_) => return,
                Ok(length) => left = left.saturating_sub(length),
            }
        }
    };
    // On time-out there is nothing more to do for this peer.
    let _ = timeout(time, drain).await;
}
