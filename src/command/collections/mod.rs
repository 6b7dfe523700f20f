//! Hashes, lists and sorted sets, so far as rate-limit libraries use them.

pub mod hash;
pub mod list;
pub mod sorted_set;
mod sorted_set_range;

use super::context::Context;
use super::error::Error;
use crate::plain::{Plain, PlainError};
use crate::store::KEY_BYTES_MAX;

/// Changes what a key holds.
fn change<R>(
    context: &Context<'_>,
    key: &[u8],
    f: impl FnOnce(&mut Option<Plain>) -> Result<R, PlainError>,
) -> Result<R, Error> {
    if key.len() > KEY_BYTES_MAX {
        return Err(Error::argument("key", "at most 512 bytes long"));
    }
    let (store, database) = (&context.shared.store, context.connection.database);
    Ok(store.with_plain(database, key, context.now, f)??)
}
