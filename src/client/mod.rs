//! The built-in client: `tollgate ping`, `tollgate cli`, `tollgate top`, `tollgate demo` and `tollgate bench`. No runtime:
//! all but the last block on a connection, and that one waits for many at once.

pub mod arguments;
pub mod bench;
pub mod cli;
pub mod connection;
pub mod demo;
mod dial;
mod json;
pub mod ping;
mod print;
mod reply;
pub mod top;
