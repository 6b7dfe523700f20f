//! The built-in client: `tollgate ping`, `tollgate cli` and `tollgate bench`. No runtime: the first two block on one
//! connection, the third waits for many at once.

pub mod arguments;
pub mod bench;
pub mod cli;
pub mod connection;
mod dial;
pub mod ping;
mod print;
mod reply;
