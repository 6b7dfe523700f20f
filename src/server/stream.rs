//! What a connection runs on. A match and no box: over TCP it costs as little as the socket itself.

use std::io::{self, IoSlice, Write};
use std::net::TcpStream as StdTcpStream;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::server::TlsStream;

/// A connected socket, as it is or under TLS.
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    /// Behind a pointer, since a session of TLS is many times as large as a socket.
    Tls(Box<TlsStream<TcpStream>>),
}

/// A socket that no runtime looks after, on its way from one to another.
pub(super) enum Detached {
    Tcp(StdTcpStream),
    Unix(StdUnixStream),
}

impl Detached {
    /// Into the runtime of the caller.
    ///
    /// # Errors
    /// The runtime cannot take it.
    pub(super) fn attach(self) -> io::Result<Stream> {
        Ok(match self {
            Self::Tcp(stream) => Stream::Tcp(TcpStream::from_std(stream)?),
            Self::Unix(stream) => Stream::Unix(UnixStream::from_std(stream)?),
        })
    }
}

impl Stream {
    /// True if it can be [detached](Self::detach). A session of TLS stays where it was begun.
    pub(super) const fn can_move(&self) -> bool {
        matches!(self, Self::Tcp(_) | Self::Unix(_))
    }

    /// Out of its runtime. A session of TLS is not begun before the socket is where it stays.
    ///
    /// # Errors
    /// The runtime does not let it go.
    pub(super) fn detach(self) -> io::Result<Detached> {
        match self {
            Self::Tcp(stream) => Ok(Detached::Tcp(stream.into_std()?)),
            Self::Unix(stream) => Ok(Detached::Unix(stream.into_std()?)),
            Self::Tls(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Hands over as many of `bytes` as are taken at once, at least one, or for TLS some of what it
    /// [holds back](Self::holds_back), and then it may be none.
    ///
    /// # Errors
    /// `WouldBlock` if nothing was taken: wait until it is [writable](Self::writable).
    pub(super) fn try_write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = match self {
            Self::Tcp(stream) => stream.try_write(bytes),
            Self::Unix(stream) => stream.try_write(bytes),
            Self::Tls(stream) => return try_write_tls(stream, bytes),
        };
        match taken {
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            taken => taken,
        }
    }

    /// True while bytes that were handed over have not gone out: what TLS has encrypted and the socket has not taken.
    pub(super) fn holds_back(&self) -> bool {
        match self {
            Self::Tcp(_) | Self::Unix(_) => false,
            Self::Tls(stream) => stream.get_ref().1.wants_write(),
        }
    }

    /// The address that the peer connected to, if it has one of its own.
    pub(super) fn local_address(&self) -> Option<String> {
        let address = match self {
            Self::Tcp(stream) => stream.local_addr(),
            Self::Tls(stream) => stream.get_ref().0.local_addr(),
            Self::Unix(_) => return None,
        };
        address.ok().map(|address| address.to_string())
    }

    /// Waits until the socket takes more.
    pub(super) async fn writable(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.writable().await,
            Self::Unix(stream) => stream.writable().await,
            Self::Tls(stream) => stream.get_ref().0.writable().await,
        }
    }

    /// Takes leave: what TLS has to say at an end is said, if the socket takes it at once, and the bare socket is left.
    pub(super) fn into_bare(self) -> Self {
        match self {
            Self::Tls(mut stream) => {
                stream.get_mut().1.send_close_notify();
                // Whoever does not take it is gone, or will see that the connection was closed without it.
                let _ = try_write_tls(&mut stream, &[]);
                Self::Tcp(stream.into_inner().0)
            }
            bare => bare,
        }
    }

    /// Says that nothing more will be sent.
    pub(super) async fn shutdown(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.shutdown().await,
            Self::Unix(stream) => stream.shutdown().await,
            Self::Tls(stream) => stream.shutdown().await,
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => match Pin::new(stream).poll_read(context, buffer) {
                // Many clients close the socket without taking leave of TLS first. Requests say how long they are, so
                // that nothing can be cut off unseen.
                Poll::Ready(Err(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    Poll::Ready(Ok(()))
                }
                result => result,
            },
        }
    }
}

/// Encrypts as many of `bytes` as its bounded buffer has room for, and sends as much of the buffer as the socket takes.
fn try_write_tls(stream: &mut TlsStream<TcpStream>, bytes: &[u8]) -> io::Result<usize> {
    let (socket, session) = stream.get_mut();
    let taken = session.writer().write(bytes)?;
    let mut sent = 0;
    while session.wants_write() {
        match session.write_tls(&mut AtOnce(socket)) {
            Ok(length) => sent += length,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    match (taken, sent) {
        (0, 0) => Err(io::ErrorKind::WouldBlock.into()),
        _ => Ok(taken),
    }
}

/// A socket's writes as rustls wants them.
struct AtOnce<'a>(&'a TcpStream);

impl Write for AtOnce<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.try_write(bytes) {
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            written => written,
        }
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.0.try_write_vectored(pieces) {
            Ok(0) => Err(io::ErrorKind::WriteZero.into()),
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
