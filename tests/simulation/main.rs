//! Histories of a server on a disk that fails, drawn from a seed each: calls, journal, snapshots, kills at any call of the
//! disk, starts. Whatever a start finds was there at one time, and not before what was durable.
//!
//! `cargo test` plays a few hundred; `tests/simulation/run` plays many. A history that fails is told with its seed and in
//! words; `TOLLGATE_SEED` plays it alone.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

mod calls;
mod disk;
mod history;
mod money;
mod numbers;
mod sabotage;
mod shadow;
mod trace;

use sabotage::Sabotage;

/// Histories played unless `TOLLGATE_HISTORIES` says how many.
const HISTORIES: u64 = 150;
/// A bug that was put in is found within so many.
const FOUND_WITHIN: u64 = 2_000;

fn number_of(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} takes a number, not {text}")),
    )
}

#[test]
fn whatever_a_start_finds_was_there() {
    let first = number_of("TOLLGATE_FIRST_SEED").unwrap_or(1);
    let count = number_of("TOLLGATE_HISTORIES").unwrap_or(HISTORIES);
    let seeds = match number_of("TOLLGATE_SEED") {
        Some(seed) => seed..seed + 1,
        None => first..first + count,
    };
    for seed in seeds {
        if let Err(wrong) = history::play(seed, Sabotage::None) {
            panic!("{wrong}");
        }
    }
}

fn assert_is_found(sabotage: Sabotage) {
    let found = (1..=FOUND_WITHIN).find(|seed| history::play(*seed, sabotage).is_err());
    println!("{sabotage:?} is found by seed {found:?}");
    assert!(found.is_some(), "{sabotage:?}");
}

#[test]
fn a_record_that_is_left_out_is_found() {
    assert_is_found(Sabotage::SkipsAKey);
    assert_is_found(Sabotage::SkipsATicket);
    assert_is_found(Sabotage::SkipsAnAnswer);
    assert_is_found(Sabotage::SkipsAPolicy);
}

#[test]
fn a_disk_that_does_not_flush_is_found() {
    assert_is_found(Sabotage::SyncsNothing);
}
