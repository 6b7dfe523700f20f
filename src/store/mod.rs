//! Keys and their entries: sharded, locked for as long as one call takes, swept of what is forgotten.

mod key;
mod keyspace;
mod shard;
mod watches;

pub use key::{KEY_BYTES_MAX, Key};
pub use keyspace::{DATABASES_MAX, Page, Store, Sweep};
pub use watches::Watch;

#[cfg(test)]
mod page_tests;
#[cfg(test)]
mod sweep_tests;
#[cfg(test)]
mod test_entries;
