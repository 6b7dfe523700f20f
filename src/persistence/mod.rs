//! The store on disk.
//!
//! A snapshot is all keys at about one instant, in one file that is either whole or refused:
//!
//! - [`codec`] turns one key into bytes and back. Pure, exact, the same bytes for the same state.
//! - [`frame`] is the file around it: header, blocks, end, and a checksum over everything.
//! - [`snapshot`] walks the store into a file and reads one back.
//! - [`files`] puts a file in the place of another without ever showing half of it.
//! - [`status`] knows whether a save runs and how the last one went.
//!
//! A new kind of state is one more tag in [`codec`]; an older server then says that it cannot read it.

pub mod codec;
mod codec_leases;
mod codec_plain;
mod codec_records;
mod codec_slow;
mod codec_timeline;
mod codec_windows;
pub mod error;
pub mod files;
pub mod frame;
pub mod input;
pub mod snapshot;
pub mod status;

pub use error::{Fault, LoadError, SaveError};
pub use files::{remove_leftovers, replace};
pub use snapshot::{Loaded, Saved, load, save};
pub use status::{SaveReport, SaveStatus, Saving};
