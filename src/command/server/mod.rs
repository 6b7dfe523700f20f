//! The server: what it is, how it stands, how it is set, and its end.

pub mod cluster;
pub mod command;
pub mod config;
pub mod debug;
pub mod info;
pub mod latency;
mod latency_graph;
pub mod memory;
pub mod module;
pub mod monitor;
pub mod process;
pub mod replication;
pub mod save;
pub mod shutdown;
pub mod slowlog;
pub mod time;

/// The version of Redis whose replies these are. Clients choose by it what they send.
pub const REDIS_VERSION: &str = "7.4.0";
/// The version of Tollgate.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
