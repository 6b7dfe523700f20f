//! Logging in, and what becomes of connections whose user changes.

use crate::server::Server;
use tollgate::clock::Clock;
use tollgate::command::connection::Pending;
use tollgate::core::units::Timestamp;
use tollgate::session::Flow;
use tollgate::settings::Initial;

const WRONG: &str = "-WRONGPASS invalid username-password pair or user is disabled.\r\n";

#[test]
fn a_login_that_fails_is_answered_late_and_later_each_time() {
    let server = Server::with(Clock::system(Timestamp::ZERO), Initial::default());
    server.connect().line("ACL SETUSER a on >pw +@all ~* &*");
    let mut peer = server.connect();
    for ms in [50, 100, 200, 400, 800, 1000, 1000] {
        assert_eq!(peer.line("AUTH a wrong"), "");
        assert_eq!(peer.flow, Flow::Wait(Pending::Delay { ms }));
        assert_eq!(peer.done(), WRONG);
    }
    // A hello, and a login that is hidden in a transaction, are no way around it.
    assert_eq!(peer.line("HELLO 3 AUTH nobody wrong"), "");
    assert_eq!(peer.done(), WRONG);
    peer.line("MULTI");
    peer.line("AUTH a wrong");
    peer.line("PING");
    assert_eq!(peer.line("EXEC"), "");
    assert_eq!(peer.flow, Flow::Wait(Pending::Delay { ms: 1000 }));
    assert_eq!(peer.done(), format!("*2\r\n{WRONG}+PONG\r\n"));
    // RESET does not make it forget, a login that is right does.
    peer.line("RESET");
    peer.line("AUTH a wrong");
    assert_eq!(peer.flow, Flow::Wait(Pending::Delay { ms: 1000 }));
    peer.done();
    assert_eq!(peer.line("AUTH a pw"), "+OK\r\n");
    peer.line("AUTH a wrong");
    assert_eq!(peer.flow, Flow::Wait(Pending::Delay { ms: 50 }));
}

#[test]
fn a_late_reply_that_is_not_wanted_is_not_sent() {
    let server = Server::with(Clock::system(Timestamp::ZERO), Initial::default());
    let mut peer = server.connect();
    peer.line("CLIENT REPLY OFF");
    assert_eq!(peer.line("AUTH nobody wrong"), "");
    assert!(matches!(peer.flow, Flow::Wait(Pending::Delay { .. })));
    assert_eq!(peer.done(), "");
}

#[test]
fn under_the_manual_clock_nothing_is_late() {
    let server = Server::new();
    let mut peer = server.connect();
    for _ in 0..5 {
        assert_eq!(peer.line("AUTH nobody wrong"), WRONG);
    }
    let info = peer.line("INFO stats");
    assert!(info.contains("acl_access_denied_auth:5\r\n"), "{info}");
}

#[test]
fn connections_of_a_user_that_is_removed_are_closed() {
    let server = Server::new();
    let mut admin = server.connect();
    for user in ["a", "b", "me"] {
        admin.line(&format!("ACL SETUSER {user} on nopass +@all ~* &*"));
    }
    let (mut a, b, mut me) = (
        server.connect_as("a"),
        server.connect_as("b"),
        server.connect_as("me"),
    );
    // One that waits leaves the line.
    a.line("RL.TAKE k 1 1");
    a.line("RL.ACQUIRE k 1 1 5000");
    assert_eq!(a.flow, Flow::Wait(Pending::Answer));
    assert_eq!(admin.line("ACL DELUSER a nobody"), ":1\r\n");
    assert!(a.client.is_killed() && !b.client.is_killed());
    let usage = admin.line("RL.USAGE k");
    assert!(usage.contains("waiting\r\n:0\r\n"), "{usage}");
    // Whoever removes itself is told.
    assert_eq!(me.line("ACL DELUSER me"), ":1\r\n");
    assert_eq!(me.line("PING"), "");
    assert_eq!(me.flow, Flow::Close);
}

#[test]
fn a_user_that_is_switched_off_goes_on_where_it_is_and_gets_in_nowhere() {
    let server = Server::new();
    let mut admin = server.connect();
    admin.line("ACL SETUSER a on nopass +ping");
    let mut a = server.connect_as("a");
    admin.line("ACL SETUSER a off");
    assert_eq!(a.line("PING"), "+PONG\r\n");
    assert_eq!(server.connect().call(&["AUTH", "a", ""]), WRONG);
}

#[test]
fn loading_users_closes_those_that_are_gone_and_changes_the_others() {
    let server = Server::new();
    let mut admin = server.connect();
    for user in ["gone", "kept", "listener"] {
        admin.line(&format!("ACL SETUSER {user} on nopass +@all ~* &*"));
    }
    let (gone, mut kept, mut listener) = (
        server.connect_as("gone"),
        server.connect_as("kept"),
        server.connect_as("listener"),
    );
    listener.line("SUBSCRIBE a");
    let text = b"user kept on nopass +@all ~own:*\nuser listener on nopass +@all ~* &b\nuser new on nopass";
    assert_eq!(server.0.load_users(text), Ok(4));
    assert!(gone.client.is_killed() && listener.client.is_killed() && !kept.client.is_killed());
    assert_eq!(
        kept.line("GET a"),
        "-NOPERM No permissions to access a key\r\n"
    );
    assert_eq!(kept.line("GET own:a"), "$-1\r\n");
    assert!(server.0.load_users(b"user kept +nosuch").is_err());
    assert_eq!(kept.line("GET own:a"), "$-1\r\n");
}

#[test]
fn no_password_is_shown_to_those_who_look_on() {
    let server = Server::new();
    let mut admin = server.connect();
    admin.line("CONFIG SET slowlog-log-slower-than 0");
    let mut monitor = server.connect();
    monitor.line("MONITOR");
    for line in [
        "ACL SETUSER a on >s3cret",
        "ACL SETUSER a <s3cret >s3cret nosuch",
        "AUTH a s3cret",
        "AUTH a wrong-s3cret",
        "HELLO 3 AUTH a s3cret",
        "HELLO 2 AUTH a wrong-s3cret",
    ] {
        let mut peer = server.connect();
        peer.line(line);
    }
    let log = admin.line("ACL LOG 100");
    assert!(log.contains("auth") && !log.contains("s3cret"), "{log}");
    let slow = admin.line("SLOWLOG GET 100");
    assert!(
        slow.contains("(redacted)") && !slow.contains("s3cret"),
        "{slow}"
    );
    let mut seen = Vec::new();
    monitor.client.take_messages(&mut seen);
    let seen = String::from_utf8(seen).unwrap();
    assert!(seen.contains("AUTH") && !seen.contains("s3cret"), "{seen}");
    let listed = admin.line("ACL LIST");
    assert!(!listed.contains("s3cret"), "{listed}");
}
