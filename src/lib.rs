//! Tollgate: a self-hosted, Redis-compatible rate-limit server.
pub mod clients;
pub mod clock;
pub mod command;
pub mod core;
pub mod persistence;
pub mod protocol;
pub mod session;
pub mod settings;
pub mod store;
