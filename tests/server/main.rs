//! The real binary on loopback: its flags, its exit codes, its tools, its sockets.
//!
//! Nothing here sleeps: tests wait for a line of the log, a reply, the end of a stream or of a process.

mod authority;
mod bench;
mod config;
mod connections;
mod demo;
mod harness;
mod journal;
mod limits;
mod log;
mod memory;
mod metrics;
mod monitor;
mod page;
mod pubsub;
mod signals;
mod site;
mod start;
mod stop;
mod tls;
mod tools;
mod top;
mod unix_socket;
mod users;
mod waiting;
