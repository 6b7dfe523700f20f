//! Waiting on the server, against a model that works everything out anew after each event, by the definition.
//!
//! `PROPTEST_CASES` sets how many histories are played.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

mod bounds;
#[path = "../support/cases.rs"]
mod cases;
mod history;
mod instants;
mod model;
mod play;
mod server;

#[path = "../booking_ahead/exact.rs"]
mod exact;
#[allow(dead_code, reason = "what only its owner uses")]
#[path = "../booking_ahead/world.rs"]
mod world;
