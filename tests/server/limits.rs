//! What strangers and floods cost: bounded, and not the others' time.

use crate::harness::{Server, tollgate};
use std::io::Write;
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

#[test]
fn no_free_descriptor_stops_nobody_who_is_in() {
    let directory = tempfile::tempdir().unwrap();
    let binary = tollgate(&[]).get_program().to_owned();
    let mut command = Command::new("sh");
    command.args([
        "-c",
        r#"ulimit -n 48 && exec "$0" --port 0 --clock manual --dir "$1""#,
    ]);
    command.arg(binary).arg(directory.path());
    let server = Server::spawn(command);
    let mut inside = server.connect();
    inside.ping();
    let crowd: Vec<_> = (0..60).map(|_| server.connect()).collect();
    server.wait_for_log("cannot accept connections");
    inside.ping();
    drop(crowd);
    server.connect().ping();
    inside.ping();
}
