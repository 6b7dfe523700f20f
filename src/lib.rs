//! Tollgate: a self-hosted, Redis-compatible rate-limit server.
pub mod clients;
pub mod clock;
pub mod command;
pub mod core;
pub mod engine;
pub mod metrics;
pub mod password;
pub mod persistence;
pub mod protocol;
pub mod requests;
pub mod session;
pub mod settings;
pub mod store;
