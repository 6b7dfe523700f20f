//! The connection itself: what the server remembers of it, and the commands that change that.

pub mod auth;
pub mod bound;
pub mod client;
pub mod hello;
pub mod ping;
pub mod reset;
pub mod select;
mod state;

pub use state::{
    Connection, Executing, Pending, QUEUED_BYTES_MAX, QUEUED_MAX, QUEUED_SURVEYS_MAX, Replies,
    Transaction,
};
