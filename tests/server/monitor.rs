//! MONITOR over real sockets, and what INFO counts at them.

use crate::harness::{Server, Wire};

/// The number behind `name:` in a section of INFO.
fn info(wire: &mut Wire, section: &str, name: &str) -> u64 {
    let head = wire.send(format!("INFO {section}\r\n")).line();
    let length: usize = head.trim_start_matches('$').parse().expect("a length");
    let mut read = 0;
    let mut found = None;
    while read < length {
        let line = wire.line();
        read += line.len() + 2;
        found = found.or(line.strip_prefix(&format!("{name}:")).map(str::to_owned));
    }
    wire.expect("\r\n");
    found.expect(name).parse().expect("a number")
}

#[test]
fn a_monitor_sees_what_others_do_while_it_sends_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &[]);
    let (mut monitor, mut other) = (server.connect(), server.connect());
    monitor.send("MONITOR\r\n").expect("+OK\r\n");
    let address = other.0.local_addr().unwrap();
    for number in 0..1000 {
        other.send(format!("ECHO {number}\r\n"));
    }
    for number in 0..1000 {
        let line = format!("+1700000000.000000 [0 {address}] \"ECHO\" \"{number}\"\r\n");
        monitor.expect(line);
    }
    monitor.send("QUIT\r\n").expect("+OK\r\n");
}

#[test]
fn a_monitor_that_never_reads_is_cut_off() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &["--client-output-limit", "64kb"]);
    let mut deaf = server.connect();
    deaf.send("MONITOR\r\n").expect("+OK\r\n");
    let mut other = server.connect();
    let word = "x".repeat(10_000);
    // Its kernel takes some megabytes first.
    while info(&mut other, "clients", "connected_clients") > 1 {
        let head = other.send(format!("ECHO {word}\r\n")).line();
        assert_eq!(head, "$10000");
        other.expect(&word).expect("\r\n");
    }
    let resident = server.resident_kib();
    assert!(resident < 64 * 1024, "{resident} KiB");
    other.ping();
}

#[test]
fn bytes_are_counted_at_the_socket() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(directory.path(), &[]);
    let mut wire = server.connect();
    wire.ping();
    let before = info(&mut wire, "stats", "total_net_input_bytes");
    let sent = info(&mut wire, "stats", "total_net_output_bytes");
    assert!(before >= 6 && sent >= 7, "{before} {sent}");
    wire.send(format!("ECHO {}\r\n", "x".repeat(1000)));
    assert_eq!(wire.line(), "$1000");
    wire.line();
    let after = info(&mut wire, "stats", "total_net_input_bytes");
    assert!(after >= before + 1007, "{before} {after}");
}
