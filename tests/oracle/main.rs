//! Limits against an oracle in unbounded rational arithmetic, over random histories.
//!
//! The oracle ([`exact`], [`key`]) is written from the contract and shares no arithmetic with the crate. Runs
//! repeat: the seed is fixed. `PROPTEST_RNG_SEED=7 PROPTEST_CASES=20000 cargo test --test oracle`
//! looks elsewhere, and longer.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

mod bound;
mod exact;
mod histories;
mod history;
mod key;
mod parameters;
mod world;
