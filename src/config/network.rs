//! Where to listen: ports, addresses, and who may use a Unix socket.

use std::fmt;

use super::DEFAULT_PORT;

/// What a port flag asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListenPort {
    /// 0.
    Off,
    /// Any free one.
    Any,
    /// This one.
    Number(u16),
}

impl fmt::Display for ListenPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("0"),
            Self::Any => f.write_str("any"),
            Self::Number(port) => write!(f, "{port}"),
        }
    }
}

/// Who may use the Unix socket: the lower nine bits of a file's mode; 0 leaves them to the umask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketMode(pub u32);

impl fmt::Display for SocketMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:o}", self.0)
    }
}

/// What `--bind` names: addresses, or host names that are looked up when binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindAddresses(pub Vec<BindAddress>);

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindAddress {
    /// An address or a host name.
    pub name: String,
    /// It may be missing on this machine (`-` before it).
    pub optional: bool,
}

impl BindAddresses {
    /// From a list separated by commas or spaces. `*` and `[::1]` become what they mean.
    pub(crate) fn parse(value: &str) -> Result<Self, String> {
        let words = value
            .split([',', ' ', '\t'])
            .filter(|name| !name.is_empty());
        let mut unique: Vec<BindAddress> = Vec::new();
        for word in words {
            let (optional, name) = match word.strip_prefix('-') {
                Some(name) => (true, name),
                None => (false, word),
            };
            let name = match name {
                "*" => "0.0.0.0",
                "::*" => "::",
                _ => name.trim_start_matches('[').trim_end_matches(']'),
            };
            if name.is_empty() || name.starts_with('-') {
                return Err(format!("'{word}' is no address"));
            }
            match unique.iter_mut().find(|known| known.name == name) {
                // Named both ways it must be there.
                Some(known) => known.optional &= optional,
                None => unique.push(BindAddress {
                    name: name.to_owned(),
                    optional,
                }),
            }
        }
        if unique.is_empty() {
            Err("needs at least one address, such as 127.0.0.1".to_owned())
        } else {
            Ok(Self(unique))
        }
    }
}

/// The port of a server that is called.
pub(crate) fn port(value: &str) -> Result<u16, String> {
    if is_service_link(value) {
        return Ok(DEFAULT_PORT);
    }
    value
        .parse()
        .map_err(|_| "a port is a number from 0 to 65535".to_owned())
}

pub(super) fn tcp_port(value: &str) -> Result<ListenPort, String> {
    listen_port(value, ListenPort::Number(DEFAULT_PORT))
}

pub(super) fn tls_port(value: &str) -> Result<ListenPort, String> {
    listen_port(value, ListenPort::Off)
}

fn listen_port(value: &str, default: ListenPort) -> Result<ListenPort, String> {
    if is_service_link(value) {
        return Ok(default);
    }
    match (value, value.parse()) {
        ("any", _) => Ok(ListenPort::Any),
        (_, Ok(0)) => Ok(ListenPort::Off),
        (_, Ok(port)) => Ok(ListenPort::Number(port)),
        _ => Err("a port is a number from 0 (none) to 65535, or 'any' for a free one".to_owned()),
    }
}

/// Kubernetes sets `TOLLGATE_PORT=tcp://10.0.0.1:6379` in every pod beside a service called `tollgate`, and so
/// with `TOLLGATE_TLS_PORT` beside `tollgate-tls`; those are no settings of ours.
fn is_service_link(value: &str) -> bool {
    value.starts_with("tcp://")
}

pub(super) fn socket_mode(value: &str) -> Result<SocketMode, String> {
    u32::from_str_radix(value, 8)
        .ok()
        .filter(|mode| *mode <= 0o777)
        .map(SocketMode)
        .ok_or_else(|| "a mode is octal, from 0 to 777, such as 700 or 770".to_owned())
}
