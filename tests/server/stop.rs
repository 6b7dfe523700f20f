//! Stopping: signals, `SHUTDOWN`, and what is on disk afterwards.

use crate::harness::Server;

const DEBT: &str = "RL.RESERVE k 1 1 60000\r\n";

#[test]
fn a_signal_saves_and_exits_with_0() {
    let directory = tempfile::tempdir().unwrap();
    for signal in ["TERM", "INT"] {
        let file = format!("{signal}.snapshot");
        let arguments = ["--dbfilename", file.as_str()];
        let mut server = Server::start(directory.path(), &arguments);
        let mut wire = server.connect();
        wire.send(DEBT)
            .expect(":0\r\n")
            .send(DEBT)
            .expect(":1000\r\n");
        server.signal(signal);
        assert_eq!(server.wait().code(), Some(0), "{signal}");
        assert_eq!(wire.rest(), "");

        let server = Server::start(directory.path(), &arguments);
        assert!(server.ready.contains("1 keys"), "{}", server.ready);
        server.connect().send(DEBT).expect(":2000\r\n");
    }
}

#[test]
fn no_snapshot_is_written_when_they_are_off() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server::start(directory.path(), &["--save", "", "--journal", "no"]);
    server.connect().send(DEBT).expect(":0\r\n");
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn shutdown_ends_the_process() {
    let directory = tempfile::tempdir().unwrap();
    let snapshot = directory.path().join("tollgate.snapshot");
    for (command, saved) in [("SHUTDOWN NOSAVE", false), ("SHUTDOWN", true)] {
        let mut server = Server::start(directory.path(), &["--journal", "no"]);
        let (mut wire, mut other) = (server.connect(), server.connect());
        other.ping();
        wire.send(DEBT)
            .expect(":0\r\n")
            .send(format!("{command}\r\n"));
        assert_eq!(wire.rest(), "");
        assert_eq!(other.rest(), "");
        assert_eq!(server.wait().code(), Some(0));
        assert_eq!(snapshot.exists(), saved, "{command}");
    }
    let mut server = Server::start(directory.path(), &["--save", "0", "--dbfilename", "asked"]);
    server.connect().send("SHUTDOWN SAVE\r\n").rest();
    assert_eq!(server.wait().code(), Some(0));
    assert!(directory.path().join("asked").exists());
}

#[test]
fn a_shutdown_that_cannot_save_does_not_happen() {
    let directory = tempfile::tempdir().unwrap();
    let inner = directory.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let mut server = Server::start(&inner, &[]);
    let mut wire = server.connect();
    wire.send(DEBT).expect(":0\r\n");
    std::fs::remove_dir_all(&inner).unwrap();
    wire.send("SHUTDOWN\r\n")
        .expect("-ERR Errors trying to SHUTDOWN. Check logs.\r\n")
        .ping();
    server.connect().ping();
    wire.send("SAVE\r\n");
    assert!(wire.line().starts_with("-ERR snapshot"));
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(1));
}

#[test]
fn a_client_that_never_reads_does_not_hold_the_stop_up() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server::start(directory.path(), &[]);
    let mut deaf = server.connect();
    deaf.0.set_nonblocking(true).unwrap();
    let request = format!("ECHO {}\r\n", "x".repeat(60_000));
    let mut other = server.connect();
    // Full when neither side's kernel has taken a byte during many round trips of another client.
    let mut refused = 0;
    while refused < 1_000 {
        match std::io::Write::write(&mut deaf.0, request.as_bytes()) {
            Ok(_) => refused = 0,
            Err(_) => refused += 1,
        }
        other.ping();
    }
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn snapshots_are_taken_by_themselves() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &["--save", "1"]);
    server.connect().send(DEBT).expect(":0\r\n");
    let line = server.wait_for_log("snapshot saved");
    assert!(line.contains("keys=1"), "{line}");
    assert!(directory.path().join("tollgate.snapshot").exists());
}

#[test]
fn save_and_bgsave_write_a_snapshot() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &["--save", "0"]);
    let mut wire = server.connect();
    wire.send("SAVE\r\n").expect("+OK\r\n");
    server.wait_for_log("snapshot saved");
    wire.send("BGSAVE\r\n")
        .expect("+Background saving started\r\n");
    server.wait_for_log("snapshot saved");
    assert!(directory.path().join("tollgate.snapshot").exists());
}

#[test]
fn a_forced_shutdown_happens_without_a_snapshot() {
    let directory = tempfile::tempdir().unwrap();
    let inner = directory.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let mut server = Server::start(&inner, &[]);
    let mut wire = server.connect();
    wire.ping();
    std::fs::remove_dir_all(&inner).unwrap();
    wire.send("SHUTDOWN FORCE\r\n");
    assert_eq!(wire.rest(), "");
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn a_bound_lease_outlives_a_restart_and_then_lapses() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = Server::start(directory.path(), &[]);
    let mut wire = server.connect();
    wire.send("RL.LEASE k 1 5s OWNER me BOUND\r\n");
    let [_, number, _] = [wire.line(), wire.line(), wire.line()];
    // The connection is there until the snapshot is written.
    server.signal("TERM");
    assert_eq!(server.wait().code(), Some(0));

    let server = Server::start(directory.path(), &[]);
    let held = format!("*1\r\n*3\r\n{number}\r\n:5000\r\n$2\r\nme\r\n");
    let mut wire = server.connect();
    wire.send("RL.LEASES k\r\n").expect(held);
    wire.send("RL.LEASE k 1 5s\r\n").expect("$-1\r\n");
    wire.send("DEBUG CLOCK ADVANCE 5s\r\n").expect("+OK\r\n");
    wire.send("RL.LEASES k\r\n").expect("*0\r\n");
}
