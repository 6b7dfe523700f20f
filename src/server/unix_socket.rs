//! The Unix socket: its file, that of a server before us, and who may use it.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use socket2::{Domain, SockAddr, Socket, Type};

use super::bind::{BindError, UNIXSOCKET};
use crate::config::SocketMode;

/// The file of a socket that is ours; removed when this is dropped.
pub(super) struct SocketFile {
    path: PathBuf,
    name: Arc<str>,
    /// Device and number, by which it is told from a file that another has put in its place.
    identity: (u64, u64),
}

impl SocketFile {
    /// Its path, as it is shown.
    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// An error about it.
    pub(super) fn failed(&self, error: io::Error) -> BindError {
        failed(&self.path, error)
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_ours = |found: fs::Metadata| (found.dev(), found.ino()) == self.identity;
        if fs::symlink_metadata(&self.path).is_ok_and(is_ours) {
            // If it stays, the next server replaces it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Makes the socket, in the place of one that a server that is dead has left. It does not listen yet, so nobody can
/// connect before its permissions are set.
///
/// # Errors
/// A server listens there, something else is in the way, or the file cannot be made.
pub(super) fn bind(path: &Path, mode: SocketMode) -> Result<(Socket, SocketFile), BindError> {
    let bound = remove_dead(path).and_then(|()| {
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        socket.set_nonblocking(true)?;
        socket.bind(&SockAddr::unix(path)?)?;
        let made = fs::symlink_metadata(path)?;
        let file = SocketFile {
            path: path.to_owned(),
            name: path.display().to_string().into(),
            identity: (made.dev(), made.ino()),
        };
        if mode.0 != 0 {
            fs::set_permissions(path, Permissions::from_mode(mode.0))?;
        }
        Ok((socket, file))
    });
    bound.map_err(|error| failed(path, error))
}

fn remove_dead(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
        Ok(found) if !found.file_type().is_socket() => {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                "a file that is no socket is in the way",
            ));
        }
        Ok(_) => {}
    }
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // A server that is busy accepts later; that is not to be waited for.
    socket.set_nonblocking(true)?;
    match socket.connect(&SockAddr::unix(path)?) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
        _ => Err(io::ErrorKind::AddrInUse.into()),
    }
}

fn failed(path: &Path, error: io::Error) -> BindError {
    BindError {
        address: path.display().to_string(),
        error,
        flag: UNIXSOCKET,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    const MODE: SocketMode = SocketMode(0o700);

    #[test]
    fn a_dead_socket_is_replaced_and_a_live_one_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        let live = UnixListener::bind(&path).unwrap();
        let message = bind(&path, MODE).err().unwrap().to_string();
        assert!(message.contains(path.to_str().unwrap()), "{message}");
        assert!(
            message.contains("another program listens there"),
            "{message}"
        );
        drop(live);
        assert!(path.exists());
        let (_socket, file) = bind(&path, MODE).unwrap();
        let mode = fs::symlink_metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        drop(file);
        assert!(!path.exists());
    }

    #[test]
    fn what_is_not_ours_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        fs::write(&path, "precious").unwrap();
        let message = bind(&path, MODE).err().unwrap().to_string();
        assert!(message.contains("is no socket"), "{message}");
        assert_eq!(fs::read(&path).unwrap(), b"precious");
        fs::remove_file(&path).unwrap();
        let (_socket, file) = bind(&path, MODE).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "another's").unwrap();
        drop(file);
        assert!(path.exists());
    }
}
