//! Accepting, and turning away.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::Notify;

use super::end::{LINGER, linger};
use super::stream::Stream;
use super::tls::{HandshakeError, Tls};
use super::unix_socket::SocketFile;
use super::{Server, served};

/// Shortest and longest rest after a failed accept. The usual reason is that no descriptor is free;
/// without a rest the loop would spin, as the peer stays at the head of the queue.
const REST: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

const TOO_MANY: &[u8] = b"-ERR max number of clients reached\r\n";
const DENIED: &[u8] = b"-DENIED Tollgate is running in protected mode because no password is set. \
In this mode connections are only accepted from the loopback interface. To connect from other machines, \
start it with a password (TOLLGATE_REQUIREPASS or --requirepass-file), or, if nobody else can reach it, \
with --protected-mode no.\r\n";
const SPEAK_TLS: &[u8] = b"-ERR this port speaks TLS\r\n";

/// A way in.
pub(super) enum Door {
    Tcp(TcpListener),
    Tls(TcpListener, Arc<Tls>),
    /// The file goes with the listener.
    Unix(UnixListener, SocketFile),
}

/// Who is at the other end.
#[derive(Clone)]
pub(super) enum Peer {
    Ip(SocketAddr),
    /// Somebody on this machine; the path of the socket.
    Unix(Arc<str>),
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(address) => write!(f, "{address}"),
            // As in Redis.
            Self::Unix(path) => write!(f, "{path}:0"),
        }
    }
}

impl Peer {
    /// True for this machine itself, also when IPv4 comes in through an IPv6 socket.
    fn is_local(&self) -> bool {
        match self {
            Self::Ip(address) => is_loopback(address.ip()),
            Self::Unix(_) => true,
        }
    }
}

fn is_loopback(peer: IpAddr) -> bool {
    peer.to_canonical().is_loopback()
}

impl Door {
    async fn accept(&self) -> io::Result<(Stream, Peer)> {
        match self {
            Self::Tcp(listener) | Self::Tls(listener, _) => {
                let (stream, peer) = listener.accept().await?;
                Ok((Stream::Tcp(stream), Peer::Ip(peer)))
            }
            Self::Unix(listener, file) => {
                let (stream, _) = listener.accept().await?;
                Ok((Stream::Unix(stream), Peer::Unix(file.name().clone())))
            }
        }
    }

    fn tls(&self) -> Option<&Arc<Tls>> {
        match self {
            Self::Tls(_, tls) => Some(tls),
            Self::Tcp(_) | Self::Unix(..) => None,
        }
    }
}

/// Accepts connections for ever.
pub(super) async fn accept(server: Arc<Server>, door: Door) {
    let mut rest = REST.0;
    loop {
        match door.accept().await {
            Ok((stream, peer)) => {
                rest = REST.0;
                admit(&server, stream, peer, door.tls());
            }
            // The peer gave up while it waited: its trouble, not ours.
            Err(error) if is_of_one_peer(&error) => {}
            Err(error) => {
                // Said once in a row.
                if rest == REST.0 {
                    tracing::warn!(
                        %error,
                        "cannot accept connections; trying again (is the limit on open files too low?)"
                    );
                }
                tokio::time::sleep(rest).await;
                rest = (rest * 2).min(REST.1);
            }
        }
    }
}

fn is_of_one_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionReset | Interrupted
    )
}

fn admit(server: &Arc<Server>, stream: Stream, peer: Peer, tls: Option<&Arc<Tls>>) {
    let settings = server.settings();
    if settings.protected_mode() && !server.engine.shared.acl.requires_login() && !peer.is_local() {
        tracing::debug!(%peer, "denied: protected mode");
        return turn_away(server, stream, tls, DENIED);
    }
    let wake = Arc::default();
    let Some(seat) = server
        .gate
        .seat(server.next_seat(), settings.maxclients(), Arc::clone(&wake))
    else {
        tracing::debug!(%peer, "refused: too many clients");
        return match tls {
            None => turn_away(server, stream, None, TOO_MANY),
            // To say so would take a handshake, and in a flood that is what costs most.
            Some(_) => server.engine.shared.metrics.rejected(),
        };
    };
    if let Err(error) = prepare(&stream, settings.tcp_keepalive_seconds()) {
        tracing::debug!(%peer, %error, "cannot set up the connection");
        return;
    }
    let (tls, serving) = (tls.cloned(), server.clone());
    let served = server
        .workers
        .place()
        .serve(stream, async move |stream, place| {
            let stream = match (tls, stream) {
                // It has its place among the clients from here on: handshakes are bounded with them.
                (Some(tls), Stream::Tcp(stream)) => {
                    shake_hands(&serving, &tls, stream, &peer, &wake).await
                }
                (_, stream) => Some(stream),
            };
            if let Some(stream) = stream {
                served::run(serving, stream, place, peer, wake, seat).await;
            }
        });
    if let Err(error) = served {
        tracing::debug!(%error, "cannot hand the connection over");
    }
}

/// A connection under TLS, unless the peer fails at it or the server stops first.
async fn shake_hands(
    server: &Arc<Server>,
    tls: &Tls,
    stream: TcpStream,
    peer: &Peer,
    wake: &Notify,
) -> Option<Stream> {
    tracing::debug!(%peer, "shaking hands");
    let stopping = async {
        while !server.gate.is_closed() {
            wake.notified().await;
        }
    };
    let error = tokio::select! {
        agreed = tls.accept(stream) => match agreed {
            Ok(stream) => return Some(stream),
            Err(error) => error,
        },
        () = stopping => return None,
    };
    if let HandshakeError::Gone = error {
        tracing::debug!(%peer, reason = %error, "no TLS");
    } else if let Some(left_out) = server.failed_handshakes.due(server.now().as_ns()) {
        tracing::warn!(%peer, reason = %error, left_out, "no TLS");
    }
    if let HandshakeError::PlainText(stream) = error {
        turn_away(server, Stream::Tcp(stream), None, SPEAK_TLS);
    }
    None
}

fn prepare(stream: &Stream, keepalive_seconds: u64) -> io::Result<()> {
    let Stream::Tcp(stream) = stream else {
        return Ok(());
    };
    stream.set_nodelay(true)?;
    if keepalive_seconds > 0 {
        // As Redis: the first probe after the given time, later ones a third of it apart.
        let keepalive = TcpKeepalive::new()
            .with_time(Duration::from_secs(keepalive_seconds))
            .with_interval(Duration::from_secs((keepalive_seconds / 3).max(1)));
        SockRef::from(stream).set_tcp_keepalive(&keepalive)?;
    }
    Ok(())
}

/// Says why and closes, in a way that lets the peer read it. Those beyond a bound, as in a flood, are
/// closed at once.
fn turn_away(server: &Server, stream: Stream, tls: Option<&Arc<Tls>>, text: &'static [u8]) {
    server.engine.shared.metrics.rejected();
    if let Ok(permit) = server.farewells.clone().try_acquire_owned() {
        let tls = tls.cloned();
        tokio::spawn(async move {
            let _permit = permit;
            let mut stream = match (tls, stream) {
                (Some(tls), Stream::Tcp(stream)) => match tls.accept(stream).await {
                    Ok(stream) => stream,
                    Err(_) => return,
                },
                (_, stream) => stream,
            };
            // A new socket takes a short text at once; if not, there is nobody to tell.
            if stream.writable().await.is_ok() && stream.try_write(text).is_ok() {
                linger(stream, LINGER).await;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_local() {
        for (address, expected) in [
            ("127.0.0.1", true),
            ("127.8.8.8", true),
            ("::1", true),
            ("::ffff:127.0.0.1", true),
            ("10.0.0.1", false),
            ("::ffff:10.0.0.1", false),
            ("::", false),
        ] {
            let peer = Peer::Ip(SocketAddr::new(address.parse().unwrap(), 1));
            assert_eq!(peer.is_local(), expected, "{address}");
        }
        assert!(Peer::Unix("/run/socket".into()).is_local());
    }
}
