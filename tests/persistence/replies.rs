//! A restart is not noticed: whatever was asked before, every reply after a save and a load is the one that
//! would have come without.
//!
//! `PROPTEST_CASES=1000` for more histories.

use crate::histories::{Step, about, begin, keys, steps};
use crate::server::{DATABASES, Memory, Server};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use tollgate::core::units::SECOND;

/// Everything that can be looked at without changing it.
fn everything(server: &mut Server) -> Vec<String> {
    let mut seen = Vec::new();
    for database in 0..DATABASES.len() {
        for name in ["RL.USAGE", "RL.LEASES", "PTTL", "TYPE", "GET"] {
            for key in keys() {
                let reply = server.send(database, &[name.as_bytes().to_vec(), key.clone()]);
                seen.push(format!(
                    "{name} {} -> {}",
                    key.escape_ascii(),
                    reply.escape_ascii()
                ));
            }
        }
    }
    seen.push(server.ask("RL.POLICY LIST"));
    seen.extend(["p", "q"].map(|name| server.ask(&format!("RL.POLICY GET {name}"))));
    seen
}

fn agree(one: &[String], other: &[String]) -> TestCaseResult {
    for (index, (one_line, other_line)) in one.iter().zip(other).enumerate() {
        prop_assert_eq!(
            one_line,
            other_line,
            "after the restart, number {} of\n{}",
            index,
            one[..index].join("\n")
        );
    }
    prop_assert_eq!(one.len(), other.len());
    Ok(())
}

/// Plays `before`, restarts while the time `down` passes, and plays `after` to both servers; then once more.
fn is_not_noticed(before: &[Step], down: u64, after: &[Step]) -> TestCaseResult {
    let (mut server, mut memory) = (Server::new(), Memory::default());
    server.play(before, &mut memory);
    for _ in 0..2 {
        let wall = server.now().after_ns(down);
        let mut other = server.restarted(wall);
        server.advance(down);
        prop_assert_eq!(server.now(), other.now());
        agree(&everything(&mut server), &everything(&mut other))?;
        let mut same_memory = memory.clone();
        let played = server.play(after, &mut memory);
        agree(&played, &other.play(after, &mut same_memory))?;
        agree(&everything(&mut server), &everything(&mut other))?;
        // And the one that was restarted is restarted in its turn.
        server = other;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_later_reply_is_the_same_as_without_the_restart(
        (before, after) in about().prop_flat_map(|about| (begin(about, 40), steps(about, 25))),
        down in prop_oneof![2 => Just(0), 1 => 0..=10 * SECOND],
    ) {
        is_not_noticed(&before, down, &after)?;
    }
}

#[test]
fn slots_that_a_pause_has_worked_in_are_loaded_under_any_later_rate() {
    let mut server = Server::new();
    server.ask("RL.RESERVE k 2 3 60s COST 2");
    server.ask("RL.RESERVE k 2 3 60s TICKET");
    server.ask("RL.PAUSE k 1s");
    server.advance(SECOND + 1);
    server.ask("RL.RESERVE k 2 80 60s COST 2 TICKET");
    let mut other = server.restarted(server.now());
    assert_eq!(server.ask("RL.USAGE k"), other.ask("RL.USAGE k"));
}

#[test]
fn slots_that_a_pause_has_worked_in_are_loaded_after_a_step_of_a_slow_down() {
    let mut server = Server::new();
    server.ask("RL.RESERVE k 2 0.5 60s COST 2");
    server.ask("RL.PAUSE k 1ms SLOW 0.25 8s");
    server.advance(2 * SECOND);
    server.ask("RL.RESERVE k 2 0.5 60s TICKET");
    server.ask("RL.RESERVE k 2 0.5 60s TICKET");
    server.ask("RL.PAUSE k 30s");
    server.advance(3 * SECOND);
    // Refused, but the steps that have come due by now are worked in.
    server.ask("RL.TAKE k 2 0.5");
    let mut other = server.restarted(server.now());
    assert_eq!(server.ask("RL.USAGE k"), other.ask("RL.USAGE k"));
}
