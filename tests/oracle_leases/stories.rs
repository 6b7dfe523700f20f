//! What leases are for, told once.

use crate::server::{Server, lease_of};

/// A lease that is granted: its number, and the milliseconds it lasts.
fn leased(server: &mut Server, request: &str) -> (u64, u64) {
    let reply = server.call(0, request);
    lease_of(&reply).unwrap_or_else(|| panic!("{request}: {reply}"))
}

#[test]
fn a_thousand_holders_that_die_hold_nobody_up_for_longer_than_the_ttl() {
    let mut server = Server::new();
    let (mut stale, mut last) = (Vec::new(), 0);
    for round in 0..334 {
        // Three get one, the others nothing, and all of them die.
        for holder in 0..3 {
            let (number, left) = leased(&mut server, "RL.LEASE k 3 10s");
            assert!(number > last, "{number} after {last}, round {round}");
            assert_eq!(left, 10_000, "holder {holder}");
            (last, _) = (number, stale.push(number));
        }
        assert_eq!(server.call(0, "RL.LEASE k 3 10s"), "$-1");
        assert_eq!(server.call(0, "DEBUG CLOCK ADVANCE 9999999999ns"), "+OK");
        assert_eq!(server.call(0, "RL.LEASE k 3 10s"), "$-1");
        assert_eq!(server.call(0, "DEBUG CLOCK ADVANCE 1ns"), "+OK");
        assert_eq!(server.call(0, "EXISTS k"), ":0");
        if round % 100 == 50 {
            server = server.restarted(0);
        }
    }
    let held: Vec<u64> = (0..3)
        .map(|_| leased(&mut server, "RL.LEASE k 3 10s").0)
        .collect();
    for number in stale {
        assert_eq!(server.call(0, &format!("RL.RELEASE k {number}")), ":0");
        assert_eq!(server.call(0, &format!("RL.RENEW k {number} 10s")), ":0");
    }
    assert_eq!(
        server.call(0, "RL.LEASE k 3 10s"),
        "$-1",
        "nobody's place is free"
    );
    assert!(held.iter().all(|number| *number > last));
}

#[test]
fn a_lease_survives_a_restart_for_the_time_it_has_left() {
    let mut server = Server::new();
    let (first, _) = leased(&mut server, "RL.LEASE k 1 5s OWNER me");
    let mut server = server.restarted(1_000_000_000);
    assert_eq!(
        server.call(0, "RL.LEASES k"),
        format!("[[:{first} :4000 \"me\"]]")
    );
    assert_eq!(server.call(0, "RL.LEASE k 1 5s"), "$-1");
    assert_eq!(server.call(0, "DEBUG CLOCK ADVANCE 3999999999ns"), "+OK");
    assert_eq!(server.call(0, "RL.LEASE k 1 5s"), "$-1");
    assert_eq!(server.call(0, "DEBUG CLOCK ADVANCE 1ns"), "+OK");
    let (second, _) = leased(&mut server, "RL.LEASE k 1 5s");
    assert!(second > first);
    // One that lapses while the server is down is gone when it is there again, and its number is not given again.
    let mut server = server.restarted(5_000_000_000);
    assert_eq!(server.call(0, &format!("RL.RENEW k {second} 5s")), ":0");
    assert_eq!(server.call(0, "RL.LEASES k"), "[]");
    assert!(leased(&mut server, "RL.LEASE k 1 5s").0 > second);
}
