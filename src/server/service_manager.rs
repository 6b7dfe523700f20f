//! What systemd is told (sd_notify): a datagram to the socket that it names.

use std::env;
use std::ffi::OsStr;
use std::io;
#[cfg(target_os = "linux")]
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// A state of the service; see sd_notify(3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It serves, for the first time or again.
    Ready,
    /// It reads files again.
    Reloading,
    /// It is on its way out.
    Stopping,
}

/// Tells the service manager, if there is one that wants to know.
pub(super) fn tell(state: State) {
    let text = match state {
        State::Ready => "READY=1",
        State::Reloading => "RELOADING=1",
        State::Stopping => "STOPPING=1",
    };
    if let Some(name) = env::var_os("NOTIFY_SOCKET")
        && let Err(error) = send(name.as_bytes(), text)
    {
        tracing::warn!(%error, text, "the service manager could not be told");
    }
}

fn send(name: &[u8], text: &str) -> io::Result<()> {
    let address = match name.strip_prefix(b"@") {
        #[cfg(target_os = "linux")]
        Some(name) => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(OsStr::from_bytes(name))?,
    };
    UnixDatagram::unbound()?.send_to_addr(text.as_bytes(), &address)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_a_datagram() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify");
        let manager = UnixDatagram::bind(&path).unwrap();
        send(path.as_os_str().as_bytes(), "READY=1").unwrap();
        let mut text = [0; 64];
        let length = manager.recv(&mut text).unwrap();
        assert_eq!(&text[..length], b"READY=1");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_socket_may_have_no_file() {
        let name = format!("tollgate-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let manager = UnixDatagram::bind_addr(&address).unwrap();
        send(format!("@{name}").as_bytes(), "STOPPING=1").unwrap();
        let mut text = [0; 64];
        let length = manager.recv(&mut text).unwrap();
        assert_eq!(&text[..length], b"STOPPING=1");
    }
}
