//! The journal and the directory of the real server: what a kill leaves, what a disk that does not take writes does, and
//! what is refused at start.

use crate::harness::{Server, Wire, failure, tollgate};
use std::fs;
use std::path::Path;
use std::process::Command;

const FULL: &str = "-MISCONF Tollgate cannot write to its disk";

/// A field of `INFO persistence`.
fn info(wire: &mut Wire, name: &str) -> String {
    wire.send("INFO persistence\r\n");
    let length: usize = wire.line()[1..].parse().expect("a length");
    let mut found = None;
    let mut read = 0;
    while read < length {
        let line = wire.line();
        read += line.len() + 2;
        if let Some((key, value)) = line.split_once(':')
            && key == name
        {
            found = Some(value.to_owned());
        }
    }
    assert_eq!(wire.line(), "");
    found.unwrap_or_else(|| panic!("no {name}"))
}

/// Waits until a field is as it should be.
fn wait_for(wire: &mut Wire, name: &str, is_good: impl Fn(&str) -> bool) {
    while !is_good(&info(wire, name)) {}
}

fn flushed(wire: &mut Wire) {
    wait_for(wire, "journal_pending_keys", |pending| pending == "0");
}

fn names(directory: &Path) -> Vec<String> {
    let names = fs::read_dir(directory).expect("is there");
    let mut names: Vec<String> = names
        .map(|entry| {
            entry
                .expect("is there")
                .file_name()
                .into_string()
                .expect("text")
        })
        .collect();
    names.sort();
    names
}

#[test]
fn a_kill_loses_no_more_than_the_last_interval() {
    let directory = tempfile::tempdir().unwrap();
    // Without snapshots the journal alone keeps all.
    for flags in [
        &["--save", "0"][..],
        &["--journal-fsync", "always"],
        &["--journal-fsync", "no"],
    ] {
        let mut server = Server::start(directory.path(), flags);
        let mut wire = server.connect();
        wire.send("FLUSHALL\r\n").expect("+OK\r\n");
        wire.send("RL.RESERVE k 1 1 60000 TICKET\r\n")
            .expect("*2\r\n:0\r\n");
        let ticket = wire.line();
        wire.send("RL.PAUSE paused 30s\r\n").expect(":30000\r\n");
        wire.send("RL.POLICY SET p LOG 7 2s\r\n").expect("+OK\r\n");
        wire.send("RL.LEASE l 1 60s OWNER me\r\n").expect("*2\r\n");
        let lease = wire.line();
        wire.expect(":60000\r\n");
        wire.send("SET s v PX 5000\r\n").expect("+OK\r\n");
        flushed(&mut wire);
        server.child.kill().unwrap();
        server.wait();

        let server = Server::start(directory.path(), flags);
        assert!(server.ready.contains("4 keys"), "{}", server.ready);
        server.wait_for_log("journal read");
        let mut wire = server.connect();
        wire.send("RL.RESERVE k 1 1 0\r\n").expect(":-1\r\n");
        wire.send(format!("RL.CANCEL k {}\r\n", &ticket[1..]))
            .expect(":1\r\n");
        wire.send("RL.PAUSE paused 1ms\r\n").expect(":30000\r\n");
        wire.send("RL.POLICY GET p\r\n")
            .expect("*1\r\n$8\r\nLOG 7 2s\r\n");
        let held = format!("*1\r\n*3\r\n{lease}\r\n:60000\r\n$2\r\nme\r\n");
        wire.send("RL.LEASES l\r\n").expect(held);
        wire.send("PTTL s\r\n").expect(":5000\r\n");
    }
}

#[test]
fn without_a_journal_there_is_none() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server::start(directory.path(), &["--journal", "no"]);
    let mut wire = server.connect();
    wire.send("SET k v\r\n").expect("+OK\r\n");
    assert_eq!(info(&mut wire, "journal_enabled"), "0");
    assert_eq!(names(directory.path()), ["tollgate.lock"]);
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
    assert_eq!(
        names(directory.path()),
        ["tollgate.lock", "tollgate.snapshot"]
    );
}

#[test]
fn what_was_answered_is_in_the_journal_when_the_server_stops_without_a_snapshot() {
    let directory = tempfile::tempdir().unwrap();
    let flags = ["--save", "0", "--journal-interval", "60s"];
    for (value, stop) in [
        ("1", "SHUTDOWN\r\n"),
        ("2", "SHUTDOWN NOSAVE\r\n"),
        ("3", ""),
    ] {
        let mut server = Server::start(directory.path(), &flags);
        server
            .connect()
            .send(format!("SET k {value}\r\n"))
            .expect("+OK\r\n");
        match stop {
            "" => server.signal("TERM"),
            stop => assert_eq!(server.connect().send(stop).rest(), ""),
        }
        assert_eq!(server.wait().code(), Some(0));
        let server = Server::start(directory.path(), &flags);
        server
            .connect()
            .send("GET k\r\n")
            .expect(format!("$1\r\n{value}\r\n"));
    }
    assert!(!names(directory.path()).contains(&"tollgate.snapshot".to_owned()));
}

#[test]
fn two_servers_on_one_directory_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    let mut server = Server::start(directory.path(), &[]);
    let line = failure(&["--port", "0", "--dir", path]);
    assert!(
        line.contains("another server") && line.contains("--dir"),
        "{line}"
    );
    // One that writes nothing by itself may read along, and must not write either.
    let reader = Server::start(directory.path(), &["--save", "0", "--journal", "no"]);
    reader.connect().send("SAVE\r\n").expect("-ERR snapshot");
    // The lock ends with the process, however that dies.
    server.child.kill().unwrap();
    server.wait();
    reader.connect().send("SAVE\r\n").expect("+OK\r\n");
    let line = failure(&["--port", "0", "--dir", path]);
    assert!(line.contains("another server"), "{line}");
    drop(reader);
    Server::start(directory.path(), &[]);
}

#[test]
fn a_pipe_or_a_device_in_the_place_of_a_file_does_not_hang_the_start() {
    for name in [
        "tollgate.snapshot",
        "tollgate.snapshot.journal.1",
        "tollgate.lock",
    ] {
        let directory = tempfile::tempdir().unwrap();
        let (path, file) = (
            directory.path().to_str().unwrap(),
            directory.path().join(name),
        );
        assert!(
            Command::new("mkfifo")
                .arg(&file)
                .status()
                .unwrap()
                .success()
        );
        let line = failure(&["--port", "0", "--dir", path]);
        assert!(
            line.contains(name) && line.contains("no regular file"),
            "{line}"
        );
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
        let line = failure(&["--port", "0", "--dir", path]);
        assert!(
            line.contains(name) && line.contains("no regular file"),
            "{line}"
        );
    }
}

#[test]
fn a_damaged_journal_stops_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let flags = ["--save", "0"];
    let mut server = Server::start(directory.path(), &flags);
    let mut wire = server.connect();
    for value in 0..2 {
        wire.send(format!("SET k {value}\r\n")).expect("+OK\r\n");
        flushed(&mut wire);
    }
    server.child.kill().unwrap();
    server.wait();
    let path = directory.path().join("tollgate.snapshot.journal.1");
    let good = fs::read(&path).unwrap();
    let mut damaged = good.clone();
    damaged[80] ^= 1;
    fs::write(&path, &damaged).unwrap();
    let line = failure(&["--port", "0", "--dir", directory.path().to_str().unwrap()]);
    assert!(
        line.contains(path.to_str().unwrap()) && line.contains("Nothing was loaded"),
        "{line}"
    );
    assert_eq!(fs::read(&path).unwrap(), damaged, "it is left as it is");
    // The last write was broken off: what came before it is there.
    fs::write(&path, &good[..good.len() - 1]).unwrap();
    let server = Server::start(directory.path(), &flags);
    server.wait_for_log("broken off");
    server.connect().send("GET k\r\n").expect("$1\r\n0\r\n");
}

/// A directory that takes no more than a megabyte.
struct Small {
    directory: tempfile::TempDir,
    mounted: bool,
}

impl Small {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("there is room");
        let mut mount = Command::new("mount");
        mount
            .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
            .arg(directory.path());
        let output = mount.output();
        let mounted = output.is_ok_and(|output| output.status.success());
        Self { directory, mounted }
    }

    /// A server in it; where nothing can be mounted, one whose files may not be larger.
    fn start(&self, flags: &[&str]) -> Server {
        if self.mounted {
            return Server::start(self.directory.path(), flags);
        }
        let mut command = Command::new("sh");
        let script = r#"ulimit -f 2048 && exec "$0" --port 0 --clock manual "$@""#;
        command.args(["-c", script, env!("CARGO_BIN_EXE_tollgate")]);
        command.arg("--dir").arg(self.directory.path()).args(flags);
        Server::spawn(command)
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        if self.mounted {
            let _ = Command::new("umount")
                .arg("-l")
                .arg(self.directory.path())
                .status();
        }
    }
}

#[test]
fn a_full_disk_stops_no_command_and_is_told() {
    let small = Small::new();
    let mut server = small.start(&["--save", "0"]);
    let mut wire = server.connect();
    wire.send("SET small 1\r\nSAVE\r\n")
        .expect("+OK\r\n+OK\r\n");
    let snapshot = small.directory.path().join("tollgate.snapshot");
    let good = fs::read(&snapshot).unwrap();
    let value = "x".repeat(60_000);
    for key in 0..40 {
        wire.send(format!("SET k{key} {value}\r\n"))
            .expect("+OK\r\n");
    }
    wait_for(&mut wire, "journal_last_write_status", |status| {
        status == "err"
    });
    assert_ne!(info(&mut wire, "journal_suspended_since"), "0");
    assert!(info(&mut wire, "journal_error").contains("journal"));
    server.wait_for_log("the journal is suspended");
    wire.send("SAVE\r\n").expect("-ERR snapshot");
    wire.line();
    assert_eq!(fs::read(&snapshot).unwrap(), good);
    wire.send("SET more 1\r\n").expect("+OK\r\n");
    // Who wants it is refused.
    wire.send("CONFIG SET stop-writes-on-bgsave-error yes\r\n")
        .expect("+OK\r\n");
    wire.send("SET more 2\r\n").expect(FULL);
    wire.line();
    wire.send("MULTI\r\nSET more 2\r\n")
        .expect("+OK\r\n")
        .expect(FULL);
    wire.line();
    wire.send("EXEC\r\n").expect("-EXECABORT");
    wire.line();
    wire.send("GET more\r\nRL.PEEK l 1 1\r\n")
        .expect("$1\r\n1\r\n*5\r\n:0\r\n");
    (0..4).for_each(|_| drop(wire.line()));
    wire.send("CONFIG SET stop-writes-on-bgsave-error no\r\n")
        .expect("+OK\r\n");
    assert!(
        names(small.directory.path())
            .iter()
            .all(|name| !name.ends_with(".tmp"))
    );
    // There is room again: what could not be written is.
    for key in 0..40 {
        wire.send(format!("DEL k{key}\r\n")).expect(":1\r\n");
    }
    server.wait_for_log("the journal is written again");
    flushed(&mut wire);
    assert_eq!(info(&mut wire, "journal_suspended_since"), "0");
    server.child.kill().unwrap();
    server.wait();
    let server = small.start(&["--save", "0"]);
    server
        .connect()
        .send("GET more\r\nDBSIZE\r\n")
        .expect("$1\r\n1\r\n:2\r\n");
}

#[test]
fn a_directory_that_goes_away_and_comes_back_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let inner = directory.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let mut server = Server::start(&inner, &["--save", "0"]);
    let mut wire = server.connect();
    fs::remove_dir_all(&inner).unwrap();
    wire.send("SET k 1\r\n").expect("+OK\r\n");
    server.wait_for_log("the journal is suspended");
    assert_eq!(info(&mut wire, "journal_last_write_status"), "err");
    wire.send("SET k 2\r\n").expect("+OK\r\n");
    fs::create_dir(&inner).unwrap();
    server.wait_for_log("the journal is written again");
    wire.send("SET late 3\r\n").expect("+OK\r\n");
    flushed(&mut wire);
    server.child.kill().unwrap();
    server.wait();
    let server = Server::start(&inner, &["--save", "0"]);
    server
        .connect()
        .send("GET k\r\nGET late\r\n")
        .expect("$1\r\n2\r\n$1\r\n3\r\n");
}

#[test]
fn a_directory_that_cannot_be_written_is_refused_at_start() {
    let line = failure(&["--port", "0", "--dir", "/proc", "--save", "0"]);
    assert!(line.contains("--journal no"), "{line}");
    let mut command = tollgate(&[
        "--port",
        "0",
        "--dir",
        "/proc",
        "--save",
        "0",
        "--journal",
        "no",
    ]);
    command.env_clear();
    Server::spawn(command)
        .connect()
        .send("SAVE\r\n")
        .expect("-ERR snapshot");
}
