//! Signals, at any time, and what the service manager hears.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

use crate::harness::{Server, tollgate};
use std::fs::File;
use std::io::Write;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn signal(pid: u32, name: &str) {
    let sent = Command::new("kill")
        .args(["-s", name, &pid.to_string()])
        .status();
    assert!(sent.expect("kill runs").success());
}

/// Leaves a journal behind whose last write goes on for a terabyte of nothing, in which a start looks for more of it.
fn endless_journal(directory: &Path) -> PathBuf {
    drop(Server::start(directory, &[]));
    let path = directory.join("tollgate.snapshot.journal.1");
    let file = File::options().write(true).open(&path).unwrap();
    file.set_len(1 << 40).unwrap();
    path
}

/// Returns when a process has a file open.
fn wait_until_open(pid: u32, path: &Path) {
    let is_open = || {
        let files = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
        let mut files = files.map_while(Result::ok);
        files.any(|file| std::fs::read_link(file.path()).is_ok_and(|open| open == path))
    };
    while !is_open() {}
}

#[test]
fn a_stop_while_a_snapshot_is_loaded_is_an_orderly_one() {
    for name in ["TERM", "INT"] {
        let directory = tempfile::tempdir().unwrap();
        let journal = endless_journal(directory.path());
        let socket = directory.path().join("socket");
        let mut command = tollgate(&["--port", "0", "--unixsocket", socket.to_str().unwrap()]);
        command
            .arg("--dir")
            .arg(directory.path())
            .stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        wait_until_open(child.id(), &journal);
        // Nobody is let in to wait.
        let refused = UnixStream::connect(&socket).unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
        signal(child.id(), "HUP");
        signal(child.id(), name);
        let output = child.wait_with_output().unwrap();
        let log = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{name}: {log}");
        assert!(
            log.contains("asked to stop") && !log.contains("ready"),
            "{log}"
        );
        assert!(!socket.exists());
    }
}

#[test]
fn the_service_manager_hears_how_it_stands() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notify");
    let manager = UnixDatagram::bind(&path).unwrap();
    let next = || {
        let mut text = [0; 256];
        let length = manager.recv(&mut text).unwrap();
        text[..length].escape_ascii().to_string()
    };
    let mut command = tollgate(&["--port", "0", "--clock", "manual"]);
    command
        .arg("--dir")
        .arg(directory.path())
        .env("NOTIFY_SOCKET", &path);
    let mut server = Server::spawn(command);
    assert_eq!(next(), "READY=1");
    server.connect().ping();
    server.signal("HUP");
    assert_eq!(
        (next(), next()),
        ("RELOADING=1".to_owned(), "READY=1".to_owned())
    );
    server.wait_for_log("no file to read again");
    server.signal("TERM");
    assert_eq!(next(), "STOPPING=1");
    assert_eq!(server.wait().code(), Some(0));
    assert!(directory.path().join("tollgate.snapshot").exists());
}

#[test]
fn policies_are_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("policies");
    std::fs::write(&file, "a 1 1/s\nb 2 2/s\n").unwrap();
    let server = Server::start(directory.path(), &["--policies", file.to_str().unwrap()]);
    let mut wire = server.connect();
    let mut listener = server.connect();
    listener.send("PSUBSCRIBE __rl@*__:policy\r\n");
    assert_eq!(listener.lines(6)[0], "*3");
    wire.send("RL.TAKE k POLICY a\r\n");
    assert_eq!(wire.lines(6)[2], ":1");
    std::fs::write(&file, "a 5 5/s\nb 2 2/s\nc 3 3/s\n").unwrap();
    server.signal("HUP");
    let line = server.wait_for_log("policies read again");
    assert!(line.contains("3, of which 2 have changed"), "{line}");
    wire.send("RL.TAKE k POLICY a\r\n");
    assert_eq!(wire.lines(6)[2], ":5");
    // Only of those that have changed.
    for name in ["a", "c"] {
        let told = listener.lines(9);
        assert_eq!(
            (told[6].as_str(), told[8].as_str()),
            ("__rl@0__:policy", name),
            "{told:?}"
        );
    }
    let mut open = File::create(&file).unwrap();
    open.write_all(b"a 9 9/s\nb nonsense\n").unwrap();
    server.signal("HUP");
    let line = server.wait_for_log("policies stay as they are");
    assert!(line.contains("line 2"), "{line}");
    wire.send("RL.TAKE k POLICY a\r\n");
    assert_eq!(wire.lines(6)[2], ":5");
}
