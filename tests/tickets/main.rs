//! Tickets on buckets: whatever is reserved, confirmed, cancelled, settled and paused, no bucket grants more
//! than it may.
//!
//! `PROPTEST_CASES=10000 cargo test --test tickets` looks at more histories.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

mod bound;
mod history;
mod ledger;
mod play;
mod server;
