//! The Unix socket: who may use it, how it shows, and what becomes of its file.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

use crate::harness::{Server, Wire, failure, run, tollgate};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

fn start(directory: &Path, path: &Path, arguments: &[&str]) -> Server {
    let path = path.to_str().unwrap();
    Server::start(directory, &[&["--unixsocket", path], arguments].concat())
}

fn connect(path: &Path) -> Wire<UnixStream> {
    Wire(UnixStream::connect(path).expect("connects"))
}

#[test]
fn it_serves_as_tcp_does() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let mut server = start(directory.path(), &path, &[]);
    // With a socket, port 0 is no port.
    assert_eq!(server.port, 0);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let mut wire = connect(&path);
    let requests: String = (0..5_000)
        .map(|number| format!("ECHO {number:04}\r\n"))
        .collect();
    let replies: String = (0..5_000)
        .map(|number| format!("$4\r\n{number:04}\r\n"))
        .collect();
    wire.send(requests).expect(replies);
    let shown = path.display();
    wire.send("CLIENT INFO\r\n");
    let length: usize = wire.line().trim_start_matches('$').parse().unwrap();
    let line = wire.take(length + 2);
    assert!(
        line.contains(&format!(" addr={shown}:0 laddr={shown}:0 ")),
        "{line}"
    );
    assert!(line.contains(" flags=U "), "{line}");
    let mut half = connect(&path);
    half.send("PING\r\nPIN");
    half.0.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(half.rest(), r"+PONG\r\n");
    let mut quit = connect(&path);
    quit.send("QUIT\r\n");
    assert_eq!(quit.rest(), r"+OK\r\n");
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
    assert_eq!(wire.rest(), "");
    assert!(!path.exists());
}

#[test]
fn the_file_of_a_dead_server_is_replaced_and_that_of_a_live_one_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let arguments = ["--unixsocketperm", "777"];
    let mut dead = start(directory.path(), &path, &arguments);
    dead.signal("KILL");
    dead.wait();
    assert!(path.exists());
    let live = start(directory.path(), &path, &arguments);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o777);
    let line = failure(&["--port", "0", "--unixsocket", path.to_str().unwrap()]);
    assert!(line.contains("another program listens there"), "{line}");
    connect(&path).ping();
    drop(live);
    let file = directory.path().join("file");
    std::fs::write(&file, "precious").unwrap();
    let line = failure(&["--port", "0", "--unixsocket", file.to_str().unwrap()]);
    assert!(
        line.contains("is no socket") && line.contains("--unixsocket"),
        "{line}"
    );
    assert!(failure(&["--unixsocketperm", "888"]).contains("octal"));
}

#[test]
fn a_start_that_fails_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    std::fs::write(directory.path().join("tollgate.snapshot"), "damaged").unwrap();
    let arguments = ["--unixsocket", path.to_str().unwrap(), "--port", "0"];
    let directory = ["--dir", directory.path().to_str().unwrap()];
    failure(&[&arguments[..], &directory].concat());
    assert!(!path.exists());
}

#[test]
fn the_tools_reach_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let _server = start(directory.path(), &path, &[]);
    let shown = path.to_str().unwrap();
    assert_eq!(run(&["ping", "-s", shown]).stdout, b"PONG\n");
    assert_eq!(run(&["cli", "-s", shown, "ECHO", "x"]).stdout, b"x\n");
    let beside = tollgate(&["ping"])
        .env("TOLLGATE_UNIXSOCKET", shown)
        .env("TOLLGATE_PORT", "0")
        .output();
    assert_eq!(beside.unwrap().stdout, b"PONG\n");
    let nowhere = directory.path().join("nowhere");
    let line = failure(&["ping", "-s", nowhere.to_str().unwrap()]);
    assert!(line.contains(nowhere.to_str().unwrap()), "{line}");
}
