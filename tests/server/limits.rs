//! What strangers and floods cost: bounded, and not the others' time.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

use crate::harness::{Server, tollgate};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[test]
fn one_client_too_many_is_told_so() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &["--maxclients", "2"]);
    let (mut first, mut second) = (server.connect(), server.connect());
    first.ping();
    second.ping();
    let mut third = server.connect();
    // It has sent something before it reads, as clients do.
    third.send("HELLO 3\r\nCLIENT SETINFO LIB-NAME x\r\n");
    assert_eq!(third.rest(), r"-ERR max number of clients reached\r\n");
    second.send("QUIT\r\n");
    second.rest();
    drop(second);
    // The place is free as soon as the server has seen the close.
    while server.connect().send("PING\r\n").line() != "+PONG" {}
    first.ping();
}

#[test]
fn a_client_that_never_reads_costs_a_bounded_amount() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &[]);
    let deaf = server.connect();
    let sent = Arc::new(AtomicU64::new(0));
    let (counter, mut stream) = (sent.clone(), deaf.0.try_clone().unwrap());
    let writer = std::thread::spawn(move || {
        let request = format!("ECHO {}\r\n", "x".repeat(60_000));
        // 6 GB, if it were taken.
        for _ in 0..100_000 {
            if stream.write_all(request.as_bytes()).is_err() {
                break;
            }
            counter.fetch_add(1, Relaxed);
        }
    });
    let mut other = server.connect();
    // Until the server has stopped reading: many round trips of another client without progress.
    let (mut last, mut still) = (0, 0);
    while still < 2_000 {
        other.ping();
        let now = sent.load(Relaxed);
        still = if now == last && now > 0 { still + 1 } else { 0 };
        last = now;
    }
    assert!(last < 100_000, "the server took everything");
    let resident = server.resident_kib();
    assert!(resident < 64 * 1024, "{resident} KiB");
    deaf.0.shutdown(std::net::Shutdown::Both).unwrap();
    writer.join().unwrap();
    drop(deaf);
    other.ping();
}

/// The binary under limits on open files: those in force, and the highest that it may ask for.
fn with_open_files((soft, hard): (u64, u64), directory: &Path, arguments: &[&str]) -> Command {
    let binary = tollgate(&[]).get_program().to_owned();
    let mut command = Command::new("sh");
    let script = format!(r#"ulimit -Sn {soft} && ulimit -Hn {hard} && exec "$@""#);
    command.args(["-c", &script, "sh"]).arg(binary);
    command.args(["--port", "0", "--metrics-bind", "no", "--clock", "manual"]);
    command.arg("--dir");
    command.arg(directory).args(arguments);
    command
}

#[test]
fn no_free_descriptor_stops_nobody_who_is_in() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::spawn(with_open_files((100, 100), directory.path(), &[]));
    let mut inside = server.connect();
    inside.ping();
    // The descriptors that were kept back are taken away, so that there are fewer than clients are let in.
    let pid = server.child.id().to_string();
    let limited = Command::new("prlimit")
        .args(["--nofile=48:48", "--pid", &pid])
        .status();
    assert!(limited.expect("prlimit runs").success());
    let crowd: Vec<_> = (0..60).map(|_| server.connect()).collect();
    server.wait_for_log("cannot accept connections");
    inside.ping();
    drop(crowd);
    server.connect().ping();
    inside.ping();
}

#[test]
fn no_more_clients_are_let_in_than_there_are_descriptors_for() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::spawn(with_open_files((48, 48), directory.path(), &[]));
    let line = server.wait_for_log("leaves room for fewer clients");
    assert!(line.contains("asked=10000 maxclients=16"), "{line}");
    let mut inside: Vec<_> = (0..16).map(|_| server.connect()).collect();
    for wire in &mut inside {
        wire.ping();
    }
    assert_eq!(
        server.connect().rest(),
        r"-ERR max number of clients reached\r\n"
    );
    let first = &mut inside[0];
    first.send("CONFIG SET maxclients 17\r\n");
    let refusal = first.line();
    assert!(refusal.ends_with("leaves room for 16 clients"), "{refusal}");
    first.send("CONFIG SET maxclients 16\r\n").expect("+OK\r\n");

    let nobody = with_open_files((32, 32), directory.path(), &[])
        .output()
        .unwrap();
    assert_eq!(nobody.status.code(), Some(1));
    let line = String::from_utf8(nobody.stderr).unwrap();
    assert!(line.contains("the limit on open files is 32"), "{line}");
}

#[test]
fn the_limit_on_open_files_is_raised_as_far_as_it_may_be() {
    let directory = tempfile::tempdir().unwrap();
    let arguments = ["--maxclients", "60"];
    let command = with_open_files((40, 100), directory.path(), &arguments);
    let server = Server::spawn(command);
    let mut inside: Vec<_> = (0..60).map(|_| server.connect()).collect();
    for wire in &mut inside {
        wire.ping();
    }
}
