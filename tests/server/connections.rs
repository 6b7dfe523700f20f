//! One connection at a time: how bytes become replies, and how connections end.

use crate::harness::Server;
use std::io::Read;

fn server(arguments: &[&str]) -> (Server, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    (Server::start(directory.path(), arguments), directory)
}

#[test]
fn a_pipeline_is_answered_in_order() {
    let (server, _directory) = server(&[]);
    let mut wire = server.connect();
    let many = 20_000;
    let requests: String = (0..many)
        .map(|number| format!("ECHO {number}\r\n"))
        .collect();
    let replies: String = (0..many)
        .map(|number| {
            let text = number.to_string();
            format!("${}\r\n{text}\r\n", text.len())
        })
        .collect();
    wire.send(requests).expect(replies);
}

#[test]
fn bytes_may_come_one_by_one() {
    let (server, _directory) = server(&[]);
    let mut wire = server.connect();
    for byte in b"*2\r\n$4\r\nECHO\r\n$3\r\na\r\n\r\nPING\r\n" {
        wire.send([*byte]);
    }
    wire.expect("$3\r\na\r\n\r\n+PONG\r\n");
}

#[test]
fn half_a_close_still_gets_its_replies() {
    let (server, _directory) = server(&[]);
    let mut wire = server.connect();
    wire.send("PING\r\nECHO last\r\nPIN").close_sending();
    assert_eq!(wire.rest(), r"+PONG\r\n$4\r\nlast\r\n");
}

#[test]
fn quit_is_answered_and_what_follows_is_not() {
    let (server, _directory) = server(&[]);
    let mut wire = server.connect();
    wire.send("PING\r\nQUIT\r\nPING\r\n");
    assert_eq!(wire.rest(), r"+PONG\r\n+OK\r\n");
}

#[test]
fn a_protocol_error_arrives_though_more_was_sent() {
    let (server, _directory) = server(&[]);
    let mut wire = server.connect();
    // What is not read any more must not make the kernel throw the error away.
    wire.send([&b"*1\r\n$abc\r\n"[..], &[b'x'; 200_000]].concat());
    let rest = wire.rest();
    assert!(rest.starts_with("-ERR Protocol error"), "{rest}");
}

#[test]
fn a_killed_client_is_cut_off_at_once() {
    let (server, _directory) = server(&[]);
    let (mut victim, mut other) = (server.connect(), server.connect());
    victim.send("CLIENT ID\r\n");
    let id = victim.line().replace(':', "");
    other
        .send(format!("CLIENT KILL ID {id}\r\n"))
        .expect(":1\r\n");
    assert_eq!(victim.rest(), "");
    other
        .send(format!("CLIENT KILL ID {id}\r\n"))
        .expect(":0\r\n");
}

#[test]
fn an_idle_client_is_closed() {
    let (server, _directory) = server(&["--timeout", "1"]);
    let mut wire = server.connect();
    wire.ping();
    assert_eq!(wire.rest(), "");
}

#[test]
fn a_new_time_to_be_idle_holds_for_those_who_are() {
    let (server, _directory) = server(&[]);
    let mut idle = server.connect();
    idle.ping();
    server
        .connect()
        .send("CONFIG SET timeout 1\r\n")
        .expect("+OK\r\n");
    assert_eq!(idle.rest(), "");
}

#[test]
fn a_password_is_asked_for() {
    let (server, _directory) = server(&["--requirepass", "s3cret"]);
    let mut wire = server.connect();
    wire.send("PING\r\n")
        .expect("-NOAUTH Authentication required.\r\n");
    wire.send("AUTH s3cre\r\n");
    assert!(wire.line().starts_with("-WRONGPASS"));
    wire.send("AUTH s3cret\r\n").expect("+OK\r\n").ping();
}

#[test]
fn settings_change_while_it_runs() {
    let (server, _directory) = server(&[]);
    let mut wire = server.connect();
    wire.send("CONFIG SET requirepass pw loglevel debug\r\n")
        .expect("+OK\r\n");
    let mut stranger = server.connect();
    server.wait_for_log("connected");
    stranger
        .send("PING\r\n")
        .expect("-NOAUTH Authentication required.\r\n");
    wire.send("CONFIG SET port 1\r\n");
    assert!(wire.line().ends_with("can't set immutable config"));
}

#[test]
fn a_broken_connection_leaves_no_trace() {
    let (server, _directory) = server(&["--loglevel", "debug"]);
    let mut watcher = server.connect();
    watcher.ping();
    drop(server.connect().0);
    server.wait_for_log("closed by the client");
    watcher.send("CLIENT LIST\r\n");
    let length: usize = watcher.line().trim_start_matches('$').parse().unwrap();
    let mut list = vec![0; length + 2];
    watcher.0.read_exact(&mut list).unwrap();
    assert_eq!(
        list.iter().filter(|byte| **byte == b'\n').count(),
        2,
        "{}",
        list.escape_ascii()
    );
}

#[test]
fn a_lease_that_is_bound_to_a_connection_goes_with_it() {
    let (server, _directory) = server(&["--loglevel", "debug"]);
    let mut watcher = server.connect();
    let lease = b"RL.LEASE k 2 1h OWNER gone BOUND\r\n";
    let mut holder = server.connect();
    holder.send(lease);
    // All of the reply is read, so that the end is an orderly one.
    let lines = [holder.line(), holder.line(), holder.line()];
    assert_eq!(lines[0], "*2");
    watcher.send("RL.LEASE k 2 1h\r\n");
    let [_, number, _] = [watcher.line(), watcher.line(), watcher.line()];
    watcher.send("RL.LEASE k 2 1h\r\n").expect("$-1\r\n");
    // No QUIT: the process has died.
    drop(holder.0);
    server.wait_for_log("closed by the client");
    watcher
        .send("RL.LEASES k\r\n")
        .expect(format!("*1\r\n*3\r\n{number}\r\n:3600000\r\n$-1\r\n"));
    let mut victim = server.connect();
    victim.send(lease);
    assert_eq!(victim.line(), "*2");
    watcher.send("CLIENT KILL SKIPME yes\r\n").expect(":1\r\n");
    server.wait_for_log("killed");
    watcher
        .send("RL.LEASES k\r\n")
        .expect(format!("*1\r\n*3\r\n{number}\r\n:3600000\r\n$-1\r\n"));
}
