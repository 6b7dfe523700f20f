//! The wire from outside: requests in, replies out.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

mod connection;
mod fragments;
mod pipeline_errors;
mod read_back;
mod replies;
mod requests;
