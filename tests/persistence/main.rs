//! Snapshots of everything that a server holds: what is saved is loaded, a damaged file is refused as a
//! whole, and no client can tell that there was a restart.

mod damage;
mod down;
mod histories;
#[path = "../support/holdings.rs"]
mod holdings;
mod plain;
mod replies;
mod round_trip;
mod server;
