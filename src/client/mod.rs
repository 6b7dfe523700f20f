//! The built-in client: `tollgate ping`, `tollgate cli`, `tollgate top` and `tollgate bench`. No runtime: all but the last
//! block on one connection, and that one waits for many at once.

pub mod arguments;
pub mod bench;
pub mod cli;
pub mod connection;
mod dial;
mod json;
pub mod ping;
mod print;
mod reply;
pub mod top;
