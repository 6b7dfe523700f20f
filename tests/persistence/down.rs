//! Time while the server is down counts, and time that the wall clock does not show counts as none.

use crate::server::Server;
use tollgate::core::units::{SECOND, Timestamp};

/// A server with something of everything that ends by itself, and the ticket that it gave.
fn server() -> (Server, String) {
    let mut server = Server::new();
    server.advance(3600 * SECOND);
    assert_eq!(server.ask("RL.CHARGE debt 1 1 31"), ":31000\r\n");
    assert_eq!(server.ask("RL.PAUSE paused 30s KEEP"), ":30000\r\n");
    assert_eq!(
        server.ask("RL.TAKE window WINDOW 1 30s"),
        "*5\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:30000\r\n"
    );
    assert_eq!(
        server.ask("RL.TAKE log LOG 1 30s"),
        "*5\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:30000\r\n"
    );
    assert_eq!(
        server.ask("RL.TAKE slot 1 1/30s"),
        "*5\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:30000\r\n"
    );
    let reply = server.ask("RL.RESERVE slot 1 1/30s 60s TICKET 10s ID a");
    let ticket = reply
        .strip_prefix("*2\r\n:30000\r\n:")
        .expect("a ticket")
        .trim_end()
        .to_owned();
    (server, ticket)
}

/// The milliseconds that each of them lasts, as a reply tells them; -1 for over.
fn left(server: &mut Server, ticket: &str) -> [i64; 6] {
    let mut retry = |limit: &str| {
        let reply = server.ask(&format!("RL.PEEK {limit}"));
        number(reply.split("\r\n").nth(4).unwrap_or_default())
    };
    let [debt, pause, window, log] = [
        "debt 1 1",
        "paused 1 1",
        "window WINDOW 1 30s",
        "log LOG 1 30s",
    ]
    .map(&mut retry);
    let slot = server.ask(&format!("RL.CONFIRM slot {ticket}"));
    let answer = server.ask("RL.RESERVE slot 1 1/30s 60s TICKET 10s ID a");
    assert!(answer.contains(ticket), "it is remembered: {answer}");
    let answer = answer.split("\r\n").nth(1).unwrap_or_default();
    [
        debt,
        pause,
        window,
        log,
        number(slot.trim_end()),
        number(answer),
    ]
}

fn number(reply: &str) -> i64 {
    let number = reply
        .strip_prefix(':')
        .and_then(|digits| digits.parse().ok());
    number.unwrap_or_else(|| panic!("a number, not {reply}"))
}

#[test]
fn time_that_passed_while_the_server_was_down_counts() {
    let (server, ticket) = server();
    let after = |seconds: u64| {
        let mut later = server.restarted(server.now().after_ns(seconds * SECOND));
        left(&mut later, &ticket)
    };
    assert_eq!(after(0), [31_000, 30_000, 30_000, 30_000, 30_000, 30_000]);
    assert_eq!(after(20), [11_000, 10_000, 10_000, 10_000, 10_000, 10_000]);
    // The slot and the ttl of its ticket are over, but the answer stands for 60 s after its slot.
    assert_eq!(after(50), [-1, -1, -1, -1, -1, 0]);
}

#[test]
fn a_wall_clock_before_the_snapshot_counts_as_no_time() {
    let (server, ticket) = server();
    for wall in [0, 1_700_000_000 * SECOND, server.now().as_ns() - 1] {
        let mut earlier = server.restarted(Timestamp::from_ns(wall).expect("in range"));
        assert_eq!(earlier.now(), server.now());
        assert_eq!(left(&mut earlier, &ticket)[..2], [31_000, 30_000]);
        earlier.advance(20 * SECOND);
        let passed = [11_000, 10_000, 10_000, 10_000, 10_000, 10_000];
        assert_eq!(left(&mut earlier, &ticket), passed, "it goes on from there");
    }
}

#[test]
fn a_plain_value_goes_when_it_would_have() {
    let mut server = Server::new();
    for line in [
        "SET goes 7 PX 30000",
        "SET stays v",
        "SET far v EXAT 253402300799",
    ] {
        assert_eq!(server.ask(line), "+OK\r\n");
    }
    let after = |ns: u64| {
        let mut later = server.restarted(server.now().after_ns(ns));
        [
            "PTTL goes",
            "GET goes",
            "PTTL stays",
            "EXPIRETIME far",
            "DBSIZE",
        ]
        .map(|line| later.ask(line))
    };
    let [left, value, stays, far, keys] = after(0);
    assert_eq!(left, ":30000\r\n");
    assert_eq!(value, "$1\r\n7\r\n");
    assert_eq!(stays, ":-1\r\n");
    assert_eq!(far, ":253402300799\r\n");
    assert_eq!(keys, ":3\r\n");
    assert_eq!(after(20 * SECOND)[0], ":10000\r\n");
    assert_eq!(after(30 * SECOND - 1)[..2], [":1\r\n", "$1\r\n7\r\n"]);
    assert_eq!(after(30 * SECOND)[..3], [":-2\r\n", "$-1\r\n", ":-1\r\n"]);
}

#[test]
fn no_number_of_a_ticket_is_given_twice() {
    let (mut server, ticket) = server();
    let given: u64 = ticket.parse().expect("a number");
    let mut other = server.restarted(Timestamp::ZERO);
    let numbers = [&mut server, &mut other].map(|server| {
        let reply = server.ask("RL.TAKE other 1 1 TICKET");
        number(reply.split("\r\n").nth(6).unwrap_or_default())
    });
    assert!(
        numbers.iter().all(|&number| number as u64 > given),
        "{numbers:?}"
    );
}
