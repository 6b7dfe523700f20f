//! The built-in client: `tollgate ping` and `tollgate cli`. Blocking, one connection, no runtime.

pub mod arguments;
pub mod cli;
pub mod connection;
mod dial;
pub mod ping;
mod print;
mod reply;
