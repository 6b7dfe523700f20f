//! Tollgate: a self-hosted, Redis-compatible rate-limit server.
pub mod arguments;
pub mod client;
pub mod clients;
pub mod clock;
pub mod command;
pub mod config;
pub mod core;
pub mod engine;
pub mod logging;
pub mod metrics;
pub mod password;
pub mod persistence;
pub mod protocol;
pub mod server;
pub mod session;
pub mod settings;
pub mod store;
