//! Snapshots of everything that a server holds: what is saved is loaded, a damaged file is refused as a
//! whole, and no client can tell that there was a restart.

mod damage;
mod down;
mod encoding;
mod histories;
#[path = "../support/holdings.rs"]
mod holdings;
mod plain;
#[path = "../support/records.rs"]
mod records;
mod replies;
mod round_trip;
mod server;
