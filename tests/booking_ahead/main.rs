//! Booking ahead over several rules: reply by reply against an oracle, the bound, and that nobody is held up.
//!
//! `PROPTEST_CASES` sets how many histories are played.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

mod bound;
#[path = "../support/cases.rs"]
mod cases;
mod exact;
mod history;
mod replies;
#[path = "../support/server.rs"]
mod server;
mod slots;
mod world;
