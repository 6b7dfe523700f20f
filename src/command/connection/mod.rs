//! The connection itself: what the server remembers of it, and the commands that change that.

mod state;

pub use state::{Connection, Pending, QUEUED_BYTES_MAX, QUEUED_MAX, Replies, Transaction};
