//! What a user may not do it does not do: keys in every place of every command, channels, tickets, and what becomes of
//! connections whose user changes.
#![allow(clippy::unwrap_used, reason = "the helpers of tests are tests too")]

mod categories;
mod channels;
mod keys;
mod logins;
mod server;
mod tickets;
