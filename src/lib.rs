//! Tollgate: a self-hosted, Redis-compatible rate-limit server.
//!
//! Modules in dependency order: [`core`] decides, [`protocol`] reads and writes the wire.
pub mod core;
pub mod persistence;
pub mod protocol;
pub mod store;
