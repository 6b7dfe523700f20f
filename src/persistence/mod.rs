//! The store on disk.
//!
//! A snapshot is all keys at about one instant, in one file that is either whole or refused:
//!
//! - [`codec`] turns one key into bytes and back. Pure, exact, the same bytes for the same state.
//! - [`files`] puts a file in the place of another without ever showing half of it.
//!
//! A new kind of state is one more tag in [`codec`]; an older server then says that it cannot read it.

pub mod codec;
pub mod error;
pub mod files;
pub mod input;

pub use error::{Fault, LoadError, SaveError};
pub use files::remove_leftovers;
