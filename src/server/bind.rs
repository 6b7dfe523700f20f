//! Where the server listens: addresses are taken before a snapshot is loaded, and opened after.

use std::fmt;
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use socket2::{Domain, Protocol, Socket, Type};
use tokio::net::{TcpListener, UnixListener};

use super::listener::Door;
use super::tls::Tls;
use super::unix_socket::{self, SocketFile};
use crate::config::{BindAddress, Config, ListenPort};

/// An address that cannot be listened on.
#[derive(Debug)]
pub struct BindError {
    pub(super) address: String,
    pub(super) error: io::Error,
    /// The flag that chooses another.
    pub(super) flag: &'static str,
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            address,
            error,
            flag,
        } = self;
        write!(f, "cannot listen on {address}: {error}: ")?;
        match error.kind() {
            io::ErrorKind::AddrInUse => write!(
                f,
                "another program listens there; stop it, or choose another {flag}"
            ),
            io::ErrorKind::AddrNotAvailable => {
                f.write_str("this machine has no such address; see --bind")
            }
            io::ErrorKind::PermissionDenied if *flag != UNIXSOCKET => {
                write!(f, "ports below 1024 need privileges; choose another {flag}")
            }
            _ if *flag == UNIXSOCKET => write!(f, "see {flag}"),
            _ => write!(f, "see --bind and {flag}"),
        }
    }
}

impl std::error::Error for BindError {}

const PORT: &str = "--port";
const TLS_PORT: &str = "--tls-port";
pub(super) const UNIXSOCKET: &str = "--unixsocket";

/// Sockets that are bound, so that nobody else has their addresses, and do not listen yet: peers are refused, and not
/// left waiting, until the server can answer.
pub(super) struct Reserved {
    tcp: Vec<Socket>,
    tls: Option<(Arc<Tls>, Vec<Socket>)>,
    unix: Option<(Socket, SocketFile)>,
}

impl Reserved {
    /// Takes all addresses of the flags, or none; those of TLS if there are certificates for it.
    ///
    /// # Errors
    /// One line about the first that is not to be had.
    pub(super) fn take(config: &Config, certificates: Option<Arc<Tls>>) -> Result<Self, String> {
        let names = &config.bind.0;
        let tls_port = config.tls.tls_port;
        let other_ways = certificates.is_some() || config.unixsocket.is_some();
        let port = match config.port {
            ListenPort::Off if !other_ways => ListenPort::Any,
            port => port,
        };
        if matches!(port, ListenPort::Number(_)) && port == tls_port {
            return Err(format!("--port and --tls-port are both {port}"));
        }
        let line = |error: BindError| error.to_string();
        let tls = match certificates {
            Some(tls) => Some((tls, bind(names, tls_port, TLS_PORT).map_err(line)?)),
            None => None,
        };
        let unix = match &config.unixsocket {
            Some(path) => Some(unix_socket::bind(path, config.unixsocketperm).map_err(line)?),
            None => None,
        };
        Ok(Self {
            tcp: bind(names, port, PORT).map_err(line)?,
            tls,
            unix,
        })
    }

    /// The addresses of plain TCP.
    pub(super) fn tcp_addresses(&self) -> Vec<SocketAddr> {
        self.tcp.iter().filter_map(address).collect()
    }

    /// The addresses of TLS.
    pub(super) fn tls_addresses(&self) -> Vec<SocketAddr> {
        let sockets = self.tls.iter().flat_map(|(_, sockets)| sockets);
        sockets.filter_map(address).collect()
    }

    /// Begins to listen; `backlog` connections may wait to be accepted at each address.
    ///
    /// # Errors
    /// An address that somebody else has begun to listen on meanwhile.
    pub(super) fn open(self, backlog: u64) -> Result<Vec<Door>, BindError> {
        let backlog = i32::try_from(backlog).unwrap_or(i32::MAX);
        let listen = |socket: Socket, flag| {
            let address = address(&socket).map_or(String::new(), |address| address.to_string());
            let listener = socket
                .listen(backlog)
                .and_then(|()| TcpListener::from_std(socket.into()));
            listener.map_err(|error| BindError {
                address,
                error,
                flag,
            })
        };
        let mut doors = Vec::new();
        for socket in self.tcp {
            doors.push(Door::Tcp(listen(socket, PORT)?));
        }
        if let Some((tls, sockets)) = self.tls {
            for socket in sockets {
                doors.push(Door::Tls(listen(socket, TLS_PORT)?, tls.clone()));
            }
        }
        if let Some((socket, file)) = self.unix {
            let listener = socket
                .listen(backlog)
                .and_then(|()| UnixListener::from_std(socket.into()));
            match listener {
                Ok(listener) => doors.push(Door::Unix(listener, file)),
                Err(error) => return Err(file.failed(error)),
            }
        }
        Ok(doors)
    }
}

/// Binds `port` at every one of `names`, or at none. With any port all get the same free one.
pub(super) fn bind(
    names: &[BindAddress],
    port: ListenPort,
    flag: &'static str,
) -> Result<Vec<Socket>, BindError> {
    let mut port = match port {
        ListenPort::Off => return Ok(Vec::new()),
        ListenPort::Any => 0,
        ListenPort::Number(port) => port,
    };
    let mut sockets = Vec::new();
    let mut missing = None;
    for BindAddress { name, optional } in names {
        let found = (name.as_str(), port).to_socket_addrs();
        let found = found.map_err(|error| BindError {
            address: format!("{name}:{port}"),
            error,
            flag,
        })?;
        for mut address in found {
            address.set_port(port);
            match bind_one(address) {
                Ok((socket, bound)) => {
                    port = bound;
                    sockets.push(socket);
                }
                Err(error) => {
                    let error = BindError {
                        address: address.to_string(),
                        error,
                        flag,
                    };
                    if !(*optional && is_missing(&error.error)) {
                        return Err(error);
                    }
                    missing = Some(error);
                }
            }
        }
    }
    match missing {
        Some(error) if sockets.is_empty() => Err(error),
        _ => Ok(sockets),
    }
}

/// True if this machine does not have the address, or none of its kind.
fn is_missing(error: &io::Error) -> bool {
    let unsupported = [
        libc::EAFNOSUPPORT,
        libc::EPFNOSUPPORT,
        libc::EPROTONOSUPPORT,
    ];
    error.kind() == io::ErrorKind::AddrNotAvailable
        || error
            .raw_os_error()
            .is_some_and(|code| unsupported.contains(&code))
}

fn bind_one(address: SocketAddr) -> io::Result<(Socket, u16)> {
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
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    let bound = self::address(&socket).map_or(address.port(), |bound| bound.port());
    Ok((socket, bound))
}

pub(super) fn address(socket: &Socket) -> Option<SocketAddr> {
    socket.local_addr().ok()?.as_socket()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::BindAddresses;

    fn names(list: &str) -> Vec<BindAddress> {
        BindAddresses::parse(list).unwrap().0
    }

    #[test]
    fn a_taken_port_is_named_with_advice() {
        let first = bind(&names("127.0.0.1"), ListenPort::Any, PORT).unwrap();
        first[0].listen(16).unwrap();
        let port = address(&first[0]).unwrap().port();
        let again = bind(&names("127.0.0.1"), ListenPort::Number(port), TLS_PORT);
        let message = again.unwrap_err().to_string();
        assert!(message.contains(&format!("127.0.0.1:{port}")), "{message}");
        assert!(message.contains("--tls-port"), "{message}");
    }

    #[test]
    fn one_free_port_serves_all_addresses() {
        let sockets = bind(&names("127.0.0.1 127.0.0.2"), ListenPort::Any, PORT).unwrap();
        let ports: Vec<u16> = sockets
            .iter()
            .map(|socket| address(socket).unwrap().port())
            .collect();
        assert!(
            ports.len() == 2 && ports[0] == ports[1] && ports[0] != 0,
            "{ports:?}"
        );
    }

    #[test]
    fn only_an_optional_address_may_be_missing() {
        // Kept for documentation: no machine has it.
        let with = |list: &str| bind(&names(list), ListenPort::Any, PORT);
        assert_eq!(with("127.0.0.1 -192.0.2.1").unwrap().len(), 1);
        for refused in [
            "127.0.0.1 192.0.2.1",
            "-192.0.2.1",
            "-192.0.2.1 192.0.2.1 127.0.0.1",
        ] {
            let error = with(refused).unwrap_err().to_string();
            assert!(
                error.contains("192.0.2.1:") && error.contains("--bind"),
                "{error}"
            );
        }
    }
}
