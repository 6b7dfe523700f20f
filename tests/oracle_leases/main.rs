//! Leases, alone and together with a log: every reply compared with what a plain list of leases says.
//!
//! `PROPTEST_CASES` sets how many histories are played.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

#[path = "../support/cases.rs"]
mod cases;
mod crowd;
mod history;
#[path = "../transcripts/rendering.rs"]
mod rendering;
mod replies;
mod server;
mod stories;
mod world;
