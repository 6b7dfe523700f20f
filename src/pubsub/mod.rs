//! Publish and subscribe: who is subscribed to what, and how a message reaches them.
//!
//! A publisher puts its message into the mailbox of every subscriber, in the subscriber's protocol, and goes on;
//! the subscribers' connections send it. Nothing is kept for whoever is not there.
//!
//! **One lock.** It is held while a message is handed to all its subscribers, and while subscriptions change. So all
//! subscribers see messages in the same order, and a connection that changes its subscriptions knows which messages
//! came before that. Handing over is a copy into memory; what takes time, sending, is done by the connections.

mod hub;
mod subscriptions;

pub use hub::{Changes, Hub};
pub use subscriptions::Subscriptions;

/// What one can subscribe to. Each has names of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A channel (`SUBSCRIBE`, `PUBLISH`).
    Channel,
    /// All channels whose names match a pattern (`PSUBSCRIBE`).
    Pattern,
    /// A shard channel (`SSUBSCRIBE`, `SPUBLISH`). In a cluster it would live on one node; patterns do not reach it.
    Shard,
}

/// Longest name of a channel, and longest pattern, in bytes: as a key. Comparing a pattern with a name takes at most
/// the product of the two steps.
pub const NAME_BYTES_MAX: usize = 512;
/// Most subscriptions of one connection: what one request could name.
pub const SUBSCRIPTIONS_MAX: usize = 65_536;
/// Most subscriptions of all connections. Each takes about 200 bytes and its name.
pub const SUBSCRIPTIONS_MAX_IN_ALL: usize = 1_000_000;
/// Most different patterns: every message to a channel is compared with each of them.
pub const PATTERNS_MAX: usize = 10_000;

/// Why a subscription was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// A name is longer than [`NAME_BYTES_MAX`].
    TooLong,
    /// The connection would have more than [`SUBSCRIPTIONS_MAX`].
    TooMany,
    /// There would be more than [`SUBSCRIPTIONS_MAX_IN_ALL`].
    TooManyInAll,
    /// There would be more than [`PATTERNS_MAX`].
    TooManyPatterns,
}
