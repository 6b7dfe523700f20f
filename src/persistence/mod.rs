//! The store on disk.
//!
//! A snapshot is all keys at about one instant, in one file that is either whole or refused; beside it a journal has
//! what has changed since:
//!
//! - [`codec`] turns one key into bytes and back. Pure, exact, the same bytes for the same state.
//! - [`change`] is what changes of one key, for another server.
//! - [`frame`] is the file around it: header, blocks, end, and a checksum over everything.
//! - [`snapshot`] walks the store into a file and reads one back.
//! - [`files`] puts a file in the place of another without ever showing half of it.
//! - [`journal`] writes what changes, several times a second, and reads it back.
//! - [`keeper`] has them both, and what the server calls.
//! - [`disk`] is what they need of a file system.
//! - [`status`] knows whether a save runs and how the last one went.
//!
//! A new kind of state is one more tag in [`codec`]; an older server then says that it cannot read it.

pub mod change;
pub mod codec;
mod codec_gone;
mod codec_leases;
mod codec_plain;
mod codec_records;
mod codec_slow;
mod codec_timeline;
mod codec_windows;
pub mod disk;
pub mod error;
pub mod files;
pub mod frame;
pub mod input;
pub mod journal;
pub mod keeper;
pub mod snapshot;
pub mod status;

pub use codec_gone::Gone;
pub use error::{Fault, LoadError, SaveError};
pub use files::{remove_leftovers, replace};
pub use keeper::{Keeper, Keeping, Restored};
pub use snapshot::{Loaded, Saved};
pub use status::{SaveReport, SaveStatus, Saving};
