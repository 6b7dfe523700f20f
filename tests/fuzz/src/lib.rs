//! What the fuzz targets check, as plain functions: each takes an input and panics if a promise does not hold.
//! `tests/fuzz_corpus.rs` calls them with every input that is kept.

mod disk;
#[path = "../../support/holdings.rs"]
mod holdings;
pub mod journal;
mod random;
#[path = "../../support/records.rs"]
mod records;
pub mod scanner;
pub mod session;
pub mod snapshot;
#[allow(dead_code, reason = "it serves other tests too")]
#[path = "../../protocol/connection.rs"]
mod stream;

pub use random::Random;
