//! A bound on memory: what goes, what stays, what is refused.

use super::harness::{Server, Wire};
use tempfile::tempdir;

const OOM: &str = "-OOM command not allowed when used memory > 'maxmemory'.";
/// Keys of one write: their replies fit into the buffers of the sockets.
const AT_ONCE: usize = 200;
const MIB: u64 = 1024 * 1024;

/// The number behind `name` in INFO.
fn info(wire: &mut Wire, name: &str) -> u64 {
    let header = wire.send("INFO everything\r\n").line();
    let length: usize = header[1..].parse().expect("a length");
    let mut text = String::new();
    while text.len() < length {
        text += &wire.line();
        text += "\r\n";
    }
    wire.line();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.strip_prefix(':'))
        .and_then(|number| number.parse().ok())
        .unwrap_or_else(|| panic!("{name} in {text}"))
}

/// Sets the bound to so much above what an empty server takes: much beside the least that 512 tables can grow by.
fn set_bound(wire: &mut Wire, mib: u64) -> u64 {
    let bound = info(wire, "used_memory_startup") + mib * MIB;
    wire.send(format!("CONFIG SET maxmemory {bound}\r\n"))
        .expect("+OK\r\n");
    bound
}

/// Takes `cost` of `capacity` permits an hour of each key; how many were refused for want of memory.
fn take(wire: &mut Wire, keys: std::ops::Range<usize>, cost: u32, capacity: u32) -> usize {
    let (mut from, mut refused) = (keys.start, 0);
    while from < keys.end {
        let names = from..keys.end.min(from + AT_ONCE);
        let requests: String = names
            .clone()
            .map(|key| format!("RL.TAKE client:{key:012} {capacity} {capacity}/h COST {cost}\r\n"))
            .collect();
        wire.send(requests);
        for key in names.clone() {
            let line = wire.line();
            if line == OOM {
                refused += 1;
                continue;
            }
            assert_eq!(line, "*5", "key {key}");
            let numbers: Vec<String> = (0..5).map(|_| wire.line()).collect();
            assert_eq!(numbers[0], ":0", "key {key} is new: {numbers:?}");
        }
        from = names.end;
    }
    refused
}

fn drained(wire: &mut Wire, key: usize) {
    wire.send(format!("RL.TAKE client:{key:012} 4 4/h\r\n"));
    assert_eq!(wire.line(), "*5");
    assert_eq!(wire.line(), ":1", "key {key} was forgotten");
    (0..4).for_each(|_| drop(wire.line()));
}

#[test]
fn nearly_full_limits_make_room_and_drained_ones_stay() {
    let directory = tempdir().expect("a directory");
    let server = Server::start(directory.path(), &["--save", "0"]);
    let mut wire = server.connect();
    let bound = set_bound(&mut wire, 32);
    assert_eq!(take(&mut wire, 0..500, 4, 4), 0);
    wire.send("SET counter 7\r\n").expect("+OK\r\n");
    wire.send("RL.PAUSE paused 10h\r\n").expect(":36000000\r\n");
    wire.send("RL.LEASE leased 1 10h\r\n").expect("*2\r\n");
    let lease = wire.line();
    wire.line();

    let (mut from, mut most) = (1_000_000, 0);
    while info(&mut wire, "evicted_keys") < 20_000 {
        assert_eq!(take(&mut wire, from..from + 5_000, 1, 100), 0, "refused");
        most = most.max(info(&mut wire, "used_memory"));
        from += 5_000;
    }
    assert!(most <= bound, "{most} of {bound}");
    let used = info(&mut wire, "used_memory");
    assert!(used > bound / 4 * 3, "{used} of {bound}");
    (0..500).for_each(|key| drained(&mut wire, key));
    wire.send("GET counter\r\n").expect("$1\r\n7\r\n");
    wire.send("RL.PAUSE paused 1s\r\n").expect(":36000000\r\n");
    wire.send(format!("RL.RENEW leased {} 10h\r\n", &lease[1..]))
        .expect(":1\r\n");
}

#[test]
fn new_keys_are_refused_among_drained_ones_until_time_frees_them() {
    let directory = tempdir().expect("a directory");
    // What a journal is about to write comes and goes beside the keys.
    let server = Server::start(directory.path(), &["--save", "0", "--journal", "no"]);
    let mut wire = server.connect();
    let bound = set_bound(&mut wire, 8);
    let (mut keys, mut refused) = (0, 0);
    while refused < AT_ONCE {
        refused = take(&mut wire, keys..keys + AT_ONCE, 4, 4);
        keys += AT_ONCE;
    }
    assert_eq!(info(&mut wire, "evicted_keys"), 0);
    // Buffers of connections come and go, and are not asked for.
    assert!(info(&mut wire, "used_memory") <= bound + bound / 64);
    (0..200).for_each(|key| drained(&mut wire, key));
    wire.send("DEL client:000000000000\r\n").expect(":1\r\n");
    wire.send("RL.PAUSE client:000000000001 2h\r\n")
        .expect(":7200000\r\n");
    wire.send("RL.PAUSE nobody 2h\r\n")
        .expect(format!("{OOM}\r\n"));
    // Full again after an hour, and forgotten; the paused one is paused.
    wire.send("DEBUG CLOCK ADVANCE 61m\r\n").expect("+OK\r\n");
    assert_eq!(take(&mut wire, keys..keys + 2_000, 4, 4), 0);
    drained(&mut wire, 1);
}

#[test]
fn a_bound_that_is_lowered_is_reached_without_anybody_waiting() {
    let directory = tempdir().expect("a directory");
    let server = Server::start(directory.path(), &["--save", "0"]);
    let mut wire = server.connect();
    assert_eq!(take(&mut wire, 0..1_000, 4, 4), 0);
    assert_eq!(take(&mut wire, 1_000_000..1_300_000, 1, 100), 0);
    let used = info(&mut wire, "used_memory");
    let bound = info(&mut wire, "used_memory_startup") + 8 * MIB;
    assert!(used > bound + 4 * MIB);
    wire.send(format!("CONFIG SET maxmemory {bound}\r\n"))
        .expect("+OK\r\n");
    // Answered while tables are made smaller, until they are small enough.
    while info(&mut wire, "used_memory") > bound {
        drained(&mut wire, 7);
    }
    (0..1_000).for_each(|key| drained(&mut wire, key));
}

#[test]
fn a_snapshot_above_the_bound_is_loaded_and_a_warning_logged() {
    let directory = tempdir().expect("a directory");
    let mut server = Server::start(directory.path(), &[]);
    let mut wire = server.connect();
    assert_eq!(take(&mut wire, 0..20_000, 4, 4), 0);
    wire.send("SHUTDOWN SAVE\r\n");
    assert!(server.wait().success());
    let server = Server::start(directory.path(), &["--maxmemory", "1mb"]);
    server.wait_for_log("more memory is in use than maxmemory");
    let mut wire = server.connect();
    (0..100).for_each(|key| drained(&mut wire, key));
    assert_eq!(take(&mut wire, 20_000..20_010, 4, 4), 10);
}
