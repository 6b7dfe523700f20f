//! Waiting on the server over sockets: how a wait ends when its connection does, or the server.

use crate::harness::{Server, Wire, tollgate};

const WAIT: &str = "RL.ACQUIRE k 1 1 1m\r\n";

fn server(arguments: &[&str]) -> (Server, tempfile::TempDir) {
    let directory = tempfile::tempdir().expect("a directory");
    (Server::start(directory.path(), arguments), directory)
}

/// Returns once so many wait.
pub fn wait_for(boss: &mut Wire, count: usize) {
    let expected = format!("blocked_clients:{count}");
    let mut found = String::new();
    while found != expected {
        boss.send("INFO clients\r\n");
        let length: usize = boss
            .line()
            .trim_start_matches('$')
            .parse()
            .expect("a length");
        let mut read = 0;
        while read < length + 2 {
            let line = boss.line();
            read += line.len() + 2;
            if line.starts_with("blocked_clients") {
                found = line;
            }
        }
    }
}

/// A server whose key `k` is empty, and callers who wait at it.
fn waiting(boss: &mut Wire, server: &Server, count: usize) -> Vec<Wire> {
    boss.send("RL.TAKE k 1 1\r\n");
    (0..6).for_each(|_| drop(boss.line()));
    let mut wires = Vec::new();
    for number in 1..=count {
        let mut wire = server.connect();
        wire.send(WAIT);
        wait_for(boss, number);
        wires.push(wire);
    }
    wires
}

#[test]
fn callers_are_answered_when_their_slots_have_come() {
    let (server, _directory) = server(&[]);
    let mut boss = server.connect();
    let mut wires = waiting(&mut boss, &server, 3);
    boss.send("DEBUG CLOCK ADVANCE 2s\r\n").expect("+OK\r\n");
    wires[0].expect(":1000\r\n");
    wires[1].expect(":2000\r\n");
    boss.send("DEBUG CLOCK ADVANCE 1s\r\n").expect("+OK\r\n");
    wires[2].expect(":3000\r\n").ping();
}

#[test]
fn what_is_sent_meanwhile_is_answered_behind_it() {
    let (server, _directory) = server(&[]);
    let mut boss = server.connect();
    let mut wires = waiting(&mut boss, &server, 1);
    wires[0].send("ECHO later\r\nPING\r\n");
    boss.send("DEBUG CLOCK ADVANCE 1s\r\n").expect("+OK\r\n");
    wires[0].expect(":1000\r\n$5\r\nlater\r\n+PONG\r\n");
}

#[test]
fn who_disconnects_gives_its_slot_to_the_next() {
    let (server, _directory) = server(&[]);
    let mut boss = server.connect();
    let mut wires = waiting(&mut boss, &server, 3);
    drop(wires.remove(0));
    wait_for(&mut boss, 2);
    // Also one that only closes its sending side: nobody waits for a caller that cannot say more.
    wires[0].close_sending();
    wait_for(&mut boss, 1);
    boss.send("DEBUG CLOCK ADVANCE 1s\r\n").expect("+OK\r\n");
    wires[1].expect(":1000\r\n");
}

#[test]
fn who_is_killed_gives_its_slot_to_the_next() {
    let (server, _directory) = server(&[]);
    let mut boss = server.connect();
    let mut wires = waiting(&mut boss, &server, 2);
    boss.send("CLIENT KILL ID 2\r\n").expect(":1\r\n");
    boss.send("DEBUG CLOCK ADVANCE 1s\r\n").expect("+OK\r\n");
    wires[1].expect(":1000\r\n");
    assert_eq!(wires[0].rest(), "");
}

#[test]
fn a_resume_reaches_those_who_wait_without_another_command() {
    let (server, _directory) = server(&[]);
    let mut boss = server.connect();
    let mut wires = waiting(&mut boss, &server, 1);
    boss.send("RL.PAUSE k 30s\r\n").expect(":30000\r\n");
    boss.send("DEBUG CLOCK ADVANCE 5s\r\n").expect("+OK\r\n");
    boss.send("RL.RESUME k\r\n").expect(":1\r\n");
    wires[0].expect(":5000\r\n");
}

#[test]
fn reset_and_quit_end_a_wait() {
    let (server, _directory) = server(&[]);
    let mut boss = server.connect();
    let mut wires = waiting(&mut boss, &server, 2);
    wires[0].send("RESET\r\n");
    wires[0].expect("-UNBLOCKED the connection has sent another request\r\n+RESET\r\n");
    wires[0].ping();
    wires[1].send("QUIT\r\n");
    let rest = wires[1].rest();
    assert_eq!(
        rest,
        r"-UNBLOCKED the connection has sent another request\r\n+OK\r\n"
    );
    wait_for(&mut boss, 0);
}

#[test]
fn a_stop_tells_those_who_wait_to_try_again() {
    for how in ["TERM", "SHUTDOWN"] {
        let (mut server, _directory) = server(&[]);
        let mut boss = server.connect();
        let mut wires = waiting(&mut boss, &server, 3);
        match how {
            "TERM" => server.signal("TERM"),
            _ => drop(boss.send("SHUTDOWN\r\n")),
        }
        for wire in &mut wires {
            let rest = wire.rest();
            assert_eq!(
                rest,
                r"-LOADING Tollgate is stopping: send the request again\r\n"
            );
        }
        assert_eq!(server.wait().code(), Some(0));
    }
}

#[test]
fn the_real_clock_lets_callers_go() {
    let directory = tempfile::tempdir().expect("a directory");
    let directory = directory.path().to_str().expect("a path that is text");
    let server = Server::spawn(tollgate(&[
        "--port", "0", "--dir", directory, "--save", "0",
    ]));
    let mut wires: Vec<Wire> = (0..20).map(|_| server.connect()).collect();
    for wire in &mut wires {
        wire.send("RL.ACQUIRE k 1 200 10s\r\n");
    }
    for wire in &mut wires {
        let waited: i64 = wire
            .line()
            .trim_start_matches(':')
            .parse()
            .expect("an integer");
        assert!((0..10_000).contains(&waited), "{waited}");
    }
}

#[test]
fn a_lease_that_is_bound_goes_with_whoever_waited_for_it() {
    let (server, _directory) = server(&[]);
    let mut boss = server.connect();
    boss.send("RL.LEASE l 1 1m\r\n")
        .expect("*2\r\n:1700000000000001\r\n:60000\r\n");
    let (mut first, mut second) = (server.connect(), server.connect());
    first.send("RL.LEASE l 1 1h WAIT 1h BOUND\r\n");
    wait_for(&mut boss, 1);
    second.send("RL.LEASE l 1 1h WAIT 1h\r\n");
    wait_for(&mut boss, 2);
    boss.send("DEBUG CLOCK ADVANCE 1m\r\n").expect("+OK\r\n");
    first.expect("*2\r\n:1700000000000002\r\n:3600000\r\n");
    drop(first);
    second.expect("*2\r\n:1700000000000003\r\n:3600000\r\n");
}
