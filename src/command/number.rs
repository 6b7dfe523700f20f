//! Integers as Redis's own commands take them.

use super::error::Error;
pub use crate::core::number::signed_integer as integer;

/// A signed 64-bit integer, with Redis's error.
pub fn required(text: &[u8]) -> Result<i64, Error> {
    integer(text).ok_or(Error::NOT_AN_INTEGER)
}
