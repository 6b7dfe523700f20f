//! A socket to a server, over TCP or on the same machine.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A host name or address, and a port.
    Tcp(String, u16),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// An open socket, blocking.
#[derive(Debug)]
pub enum Stream {
    /// Over TCP, without Nagle's delay.
    Tcp(TcpStream),
    /// Over a Unix socket.
    Unix(UnixStream),
}

impl Stream {
    /// Connects; `timeout` bounds the dialling of each address, and each later read and write.
    ///
    /// # Errors
    /// The reason of the last address that a name has.
    pub fn open(address: &Address, timeout: Option<Duration>) -> io::Result<Self> {
        let (host, port) = match address {
            Address::Tcp(host, port) => (host.as_str(), *port),
            Address::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(timeout)?;
                stream.set_write_timeout(timeout)?;
                return Ok(Self::Unix(stream));
            }
        };
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
        for address in (host, port).to_socket_addrs()? {
            let stream = match timeout {
                Some(timeout) => TcpStream::connect_timeout(&address, timeout),
                None => TcpStream::connect(address),
            };
            match stream {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    stream.set_read_timeout(timeout)?;
                    stream.set_write_timeout(timeout)?;
                    return Ok(Self::Tcp(stream));
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.flush(),
            Self::Unix(stream) => stream.flush(),
        }
    }
}
