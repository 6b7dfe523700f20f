//! Binding, accepting, and turning away.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener as StdListener, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, TcpKeepalive, Type};
use tokio::net::{TcpListener, TcpStream};

use super::{Server, connection};

/// Shortest and longest rest after a failed accept. The usual reason is that no descriptor is free;
/// without a rest the loop would spin, as the peer stays at the head of the queue.
const REST: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

const TOO_MANY: &[u8] = b"-ERR max number of clients reached\r\n";
const DENIED: &[u8] = b"-DENIED Tollgate is running in protected mode because no password is set. \
In this mode connections are only accepted from the loopback interface. To connect from other machines, \
start it with a password (TOLLGATE_REQUIREPASS or --requirepass-file), or, if nobody else can reach it, \
with --protected-mode no.\r\n";

/// An address that cannot be listened on.
#[derive(Debug)]
pub struct BindError {
    address: String,
    error: io::Error,
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let advice = match self.error.kind() {
            io::ErrorKind::AddrInUse => {
                "another program listens there; stop it, or choose another --port"
            }
            io::ErrorKind::AddrNotAvailable => "this machine has no such address; see --bind",
            io::ErrorKind::PermissionDenied => {
                "ports below 1024 need privileges; choose another --port"
            }
            _ => "see --bind and --port",
        };
        write!(
            f,
            "cannot listen on {}: {}: {advice}",
            self.address, self.error
        )
    }
}

impl std::error::Error for BindError {}

/// Listens on `port` of every one of `names` (addresses or host names), or on none. With port 0 all
/// get the same free one.
///
/// # Errors
/// The first address that is not to be had.
pub fn bind(names: &[String], port: u16, backlog: u64) -> Result<Vec<StdListener>, BindError> {
    let mut listeners: Vec<StdListener> = Vec::new();
    let mut port = port;
    for name in names {
        let failed = |error| BindError {
            address: format!("{name}:{port}"),
            error,
        };
        let addresses: Vec<SocketAddr> = (name.as_str(), port)
            .to_socket_addrs()
            .map_err(failed)?
            .collect();
        for address in addresses {
            let address = SocketAddr::new(address.ip(), port);
            let failed = |error| BindError {
                address: address.to_string(),
                error,
            };
            let listener = listen(address, backlog).map_err(failed)?;
            port = listener.local_addr().map_err(failed)?.port();
            listeners.push(listener);
        }
    }
    Ok(listeners)
}

fn listen(address: SocketAddr, backlog: u64) -> io::Result<StdListener> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    // Connections of the last run that linger must not keep the next one from starting.
    socket.set_reuse_address(true)?;
    if address.is_ipv6() {
        // So that `0.0.0.0` and `::` can both be listened on.
        socket.set_only_v6(true)?;
    }
    socket.bind(&address.into())?;
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// Accepts connections for ever.
pub(super) async fn accept(server: Arc<Server>, listener: TcpListener) {
    let mut rest = REST.0;
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                rest = REST.0;
                admit(&server, stream, peer);
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

fn admit(server: &Arc<Server>, stream: TcpStream, peer: SocketAddr) {
    let settings = server.settings();
    if settings.protected_mode()
        && !server.engine.shared.acl.requires_login()
        && !is_loopback(peer.ip())
    {
        tracing::debug!(%peer, "denied: protected mode");
        return turn_away(server, stream, DENIED);
    }
    let wake = Arc::default();
    let Some(seat) = server
        .gate
        .seat(server.next_seat(), settings.maxclients(), Arc::clone(&wake))
    else {
        tracing::debug!(%peer, "refused: too many clients");
        return turn_away(server, stream, TOO_MANY);
    };
    if let Err(error) = prepare(&stream, settings.tcp_keepalive_seconds()) {
        tracing::debug!(%peer, %error, "cannot set up the connection");
        return;
    }
    tokio::spawn(connection::run(server.clone(), stream, peer, wake, seat));
}

/// True for this machine itself, also when IPv4 comes in through an IPv6 socket.
fn is_loopback(peer: IpAddr) -> bool {
    peer.to_canonical().is_loopback()
}

fn prepare(stream: &TcpStream, keepalive_seconds: u64) -> io::Result<()> {
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
fn turn_away(server: &Server, stream: TcpStream, text: &'static [u8]) {
    server.engine.shared.metrics.rejected();
    if let Ok(permit) = server.farewells.clone().try_acquire_owned() {
        tokio::spawn(async move {
            let _permit = permit;
            // A new socket takes a short text at once; if not, there is nobody to tell.
            if stream.writable().await.is_ok() && stream.try_write(text).is_ok() {
                connection::linger(stream, connection::LINGER).await;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_loopback() {
        for (address, expected) in [
            ("127.0.0.1", true),
            ("127.8.8.8", true),
            ("::1", true),
            ("::ffff:127.0.0.1", true),
            ("10.0.0.1", false),
            ("::ffff:10.0.0.1", false),
            ("::", false),
        ] {
            assert_eq!(is_loopback(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn a_taken_port_is_named_with_advice() {
        let names = ["127.0.0.1".to_owned()];
        let first = bind(&names, 0, 16).unwrap();
        let port = first[0].local_addr().unwrap().port();
        let message = bind(&names, port, 16).unwrap_err().to_string();
        assert!(message.contains(&format!("127.0.0.1:{port}")), "{message}");
        assert!(message.contains("--port"), "{message}");
    }

    #[test]
    fn one_free_port_serves_all_addresses() {
        let listeners = bind(&["127.0.0.1".to_owned(), "127.0.0.2".to_owned()], 0, 16).unwrap();
        let ports: Vec<u16> = listeners
            .iter()
            .map(|listener| listener.local_addr().unwrap().port())
            .collect();
        assert!(
            ports.len() == 2 && ports[0] == ports[1] && ports[0] != 0,
            "{ports:?}"
        );
    }
}
