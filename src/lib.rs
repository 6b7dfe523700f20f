//! Tollgate: a self-hosted, Redis-compatible rate-limit server.
//!
//! Modules in dependency order: [`protocol`] reads and writes the wire.
pub mod protocol;
