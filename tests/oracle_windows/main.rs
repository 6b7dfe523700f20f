//! Windows, sliding windows and logs: every reply compared with what plain lists of permits say.
//!
//! `PROPTEST_CASES` sets how many histories are played.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

#[path = "../support/cases.rs"]
mod cases;
mod counters;
mod history;
mod replies;
#[path = "../support/server.rs"]
mod server;
mod world;
