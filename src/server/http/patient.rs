//! A socket whose peer must take what is written within a bounded time.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

/// How long a peer may take no byte of an answer. A link that loses packets recovers in seconds.
const STALL: Duration = Duration::from_secs(10);

/// The socket.
pub(super) struct Patient {
    stream: TcpStream,
    /// Ends when the peer has had its time.
    patience: Pin<Box<Sleep>>,
    /// A write waits for the peer.
    waits: bool,
}

impl Patient {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            patience: Box::pin(sleep(STALL)),
            waits: false,
        }
    }

    /// What a write comes to, within the time that the peer has.
    fn bounded<T>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.waits = false;
            return written;
        }
        if !std::mem::replace(&mut self.waits, true) {
            let end = Instant::now() + STALL;
            self.patience.as_mut().reset(end);
        }
        let over = self.patience.as_mut().poll(context);
        over.map(|()| Err(ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.bounded(context, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
