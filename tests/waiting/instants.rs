//! At which instants callers go, told by the server itself to the nanosecond.

use crate::server::Server;
use std::collections::BTreeSet;

const MS: i128 = 1_000_000;
const STEP: i128 = 12_500_000;

/// Lets everything happen until `to`: who was answered what at which instant, in order.
fn play_to(server: &mut Server, names: &[usize], to: i128) -> Vec<(usize, i128, String)> {
    let mut left: BTreeSet<usize> = names.iter().copied().collect();
    let mut answers = Vec::new();
    while let Some(at) = server.next().filter(|at| *at <= to) {
        server.set_clock(at.max(server.now()));
        server.fire();
        let now = server.now();
        let found = left
            .iter()
            .filter_map(|name| Some((*name, server.answer(*name)?)));
        let found: Vec<_> = found.collect();
        for (name, answer) in found {
            left.remove(&name);
            answers.push((name, now, answer));
        }
    }
    server.set_clock(to);
    answers
}

fn waited(ns: i128) -> String {
    format!(":{}\r\n", (ns as u64).div_ceil(MS as u64))
}

/// A server on which the key `k` of 80 a second has just been emptied, and so many callers wait at it.
fn thousand(options: impl Fn(usize) -> String) -> Server {
    let mut server = Server::new();
    assert_eq!(
        server.boss("RL.TAKE k 1 80"),
        "*5\r\n:0\r\n:1\r\n:0\r\n:-1\r\n:13\r\n"
    );
    for name in 1..=1_000 {
        let request = format!("RL.ACQUIRE k 1 80 1m {}", options(name));
        assert_eq!(server.call(name, &request), None);
    }
    server
}

#[test]
fn a_thousand_at_one_key_leave_in_order_at_exactly_their_steps() {
    let mut server = thousand(|_| String::new());
    let names: Vec<usize> = (1..=1_000).collect();
    let answers = play_to(&mut server, &names, 20_000 * MS);
    let expected: Vec<_> = (1..=1_000)
        .map(|name: usize| (name, STEP * name as i128, waited(STEP * name as i128)))
        .collect();
    assert_eq!(answers, expected);
    assert_eq!(
        server.boss("RL.PEEK k 1 80"),
        "*5\r\n:0\r\n:1\r\n:1\r\n:-1\r\n:0\r\n"
    );
}

#[test]
fn the_clock_command_lets_one_go_in_each_step() {
    let mut server = thousand(|_| String::new());
    for name in 1..=1_000 {
        server.boss("DEBUG CLOCK ADVANCE 12499999ns");
        assert_eq!(server.answer(name), None);
        server.boss("DEBUG CLOCK ADVANCE 1ns");
        assert_eq!(server.answer(name), Some(waited(STEP * name as i128)));
    }
}

#[test]
fn priorities_and_groups_come_out_as_written_down() {
    // Priority by tens, and of three groups the first comes twice as often.
    let queue = |name: usize| (name / 10 % 10, ["a", "b", "a", "c"][name % 4]);
    let mut server = thousand(|name| {
        let (priority, group) = queue(name);
        format!("PRIORITY {priority} GROUP {group}")
    });
    let names: Vec<usize> = (1..=1_000).collect();
    let answers = play_to(&mut server, &names, 20_000 * MS);
    // In each priority the groups take turns in the order of their first caller, while they have any.
    let mut expected: Vec<usize> = Vec::new();
    for priority in 0..10 {
        let of_group = |group: &str| {
            let members = names.iter().copied();
            members
                .filter(|name| queue(*name) == (priority, group))
                .collect::<Vec<usize>>()
        };
        let mut groups = ["a", "b", "c"].map(of_group);
        groups.sort_by_key(|group| group[0]);
        let longest = groups.iter().map(Vec::len).max().unwrap();
        for round in 0..longest {
            expected.extend(groups.iter().filter_map(|group| group.get(round)));
        }
    }
    let order: Vec<usize> = answers.iter().map(|(name, ..)| *name).collect();
    assert_eq!(order, expected);
    let steps = (1..).map(|step: i128| step * STEP);
    assert!(
        answers
            .iter()
            .zip(steps)
            .all(|((_, at, _), step)| *at == step)
    );
}

/// Every third is killed, some at once and some on the way; the rest moves forward, and no slot is lost or doubled.
fn every_third_leaves(kill: impl Fn(&mut Server, usize)) {
    let mut server = thousand(|_| String::new());
    let thirds: Vec<usize> = (1..=1_000).filter(|name| name % 3 == 0).collect();
    let rest: Vec<usize> = (1..=1_000).filter(|name| name % 3 != 0).collect();
    let (at_once, later) = thirds.split_at(100);
    at_once.iter().for_each(|name| kill(&mut server, *name));
    let mut answers = play_to(&mut server, &rest, 100 * STEP + 1);
    assert_eq!(answers.len(), 100);
    later.iter().for_each(|name| kill(&mut server, *name));
    answers.extend(play_to(&mut server, &rest, 20_000 * MS));
    let expected: Vec<_> = (1..)
        .zip(&rest)
        .map(|(step, name)| (*name, step * STEP, waited(step * STEP)))
        .collect();
    assert_eq!(answers, expected);
}

#[test]
fn who_is_killed_gives_its_slot_to_the_next() {
    every_third_leaves(|server, name| {
        let id = server.id(name);
        assert_eq!(server.boss(&format!("CLIENT KILL ID {id}")), ":1\r\n");
    });
}

#[test]
fn who_disconnects_gives_its_slot_to_the_next() {
    every_third_leaves(Server::drop_peer);
}

#[test]
fn a_blocked_recipient_holds_up_only_itself() {
    let mut server = Server::new();
    server.boss("RL.TAKE a PACE 1/1h");
    assert_eq!(
        server.call(1, "RL.ACQUIRE phone 1 1 2h AND a PACE 1/1h"),
        None
    );
    let other = server.call(2, "RL.ACQUIRE phone 1 1 2h AND b PACE 1/1h");
    assert_eq!(other.as_deref(), Some(":0\r\n"));
    // And so does whoever comes later, as long as the phone has room before the slot of the first.
    for second in 1..3_600 {
        server.boss("DEBUG CLOCK ADVANCE 1s");
        let request = format!("RL.ACQUIRE phone 1 1 0 AND r{second} PACE 1/1h");
        let reply = server.call(2, &request);
        assert_eq!(reply.as_deref(), Some(":0\r\n"), "{second}");
    }
    server.boss("DEBUG CLOCK ADVANCE 1s");
    assert_eq!(server.answer(1), Some(":3600000\r\n".to_owned()));
}

/// Two streams, one on x and one on y, out of phase: whenever one of the keys is free the other is not. Who needs both
/// gets both, and soon.
#[test]
fn two_streams_out_of_phase_lock_nobody_out() {
    for verb in ["RL.TAKE", "RL.RESERVE", "RL.ACQUIRE"] {
        let mut server = Server::new();
        let call = |server: &mut Server, name: usize, key: &str| {
            let request = match verb {
                "RL.TAKE" => format!("RL.TAKE {key} PACE 1"),
                // With a wait, so that a stream queues ahead.
                _ => format!("{verb} {key} PACE 1 3s"),
            };
            server.call(name, &request);
        };
        call(&mut server, 1, "x");
        server.boss("DEBUG CLOCK ADVANCE 500ms");
        call(&mut server, 2, "y");
        assert_eq!(server.call(3, "RL.ACQUIRE x PACE 1 1m AND y PACE 1"), None);
        for (name, half) in (10..).zip(1..=20) {
            server.boss("DEBUG CLOCK ADVANCE 500ms");
            if server.answer(3).is_some() {
                assert!(half <= 3, "{verb}: after {half} half seconds");
                break;
            }
            call(&mut server, name, if half % 2 == 1 { "x" } else { "y" });
            assert!(half < 20, "{verb}: locked out");
        }
    }
}

/// New groups come all the time, each for the first time: whoever is first goes before all that come later.
#[test]
fn a_stream_of_new_groups_locks_nobody_out() {
    let mut server = Server::new();
    server.boss("RL.TAKE k 1 1");
    for name in 1..=3 {
        assert_eq!(server.call(name, "RL.ACQUIRE k 1 1 1h GROUP old"), None);
    }
    let mut gone = Vec::new();
    for second in 0..40 {
        for newcomer in 0..2 {
            let name = 10 + 2 * second + newcomer;
            let request = format!("RL.ACQUIRE k 1 1 1h GROUP g{name}");
            assert_eq!(server.call(name, &request), None);
        }
        server.boss("DEBUG CLOCK ADVANCE 1s");
        gone.extend(
            (1..=3)
                .filter(|name| server.answer(*name).is_some())
                .map(|name| (name, second)),
        );
    }
    // Each turn comes behind those who were there when the one before had gone.
    assert_eq!(gone, [(1, 0), (2, 3), (3, 10)]);
}

#[test]
fn a_hundred_thousand_wait_at_a_thousand_keys() {
    let mut server = Server::new();
    let keys = 1_000;
    for key in 0..keys {
        server.boss(&format!("RL.TAKE k{key} 1 1"));
    }
    let names: Vec<usize> = (0..100_000).collect();
    for &name in &names {
        let key = name % keys;
        assert_eq!(
            server.call(name, &format!("RL.ACQUIRE k{key} 1 1 1h")),
            None
        );
    }
    assert_eq!(server.engine.shared.waiters.len(), names.len());
    assert_eq!(server.engine.shared.waiters.keys(), keys);
    // Half of them leave at once, from the middle of every line.
    for &name in names.iter().filter(|name| **name / keys % 2 == 1) {
        server.drop_peer(name);
    }
    for line in 1..=50 {
        server.boss("DEBUG CLOCK ADVANCE 1s");
        for key in 0..keys {
            let name = (line - 1) * 2 * keys + key;
            assert_eq!(server.answer(name), Some(format!(":{}\r\n", line * 1_000)));
        }
    }
    assert!(server.engine.shared.waiters.is_empty());
    assert_eq!(server.engine.shared.waiters.keys(), 0);
    server.boss("DEBUG CLOCK ADVANCE 1s");
    assert_eq!(server.boss("DBSIZE"), ":0\r\n");
}
