//! The wire: requests in, replies out. Knows nothing of limits or keys.
//!
//! [`Scanner`] finds requests in a buffer of received bytes, within [`RequestLimits`], and gives their
//! [`Arguments`] as ranges of that buffer. [`Reply`] writes answers in RESP2 or RESP3. Nothing here does
//! I/O, reads a clock or waits, so all of it can be tested with byte strings.
//!
//! Requests are read by hand because they come from strangers: every length is checked against a named
//! bound before anything is stored, no byte is looked at again when more arrive, and a request cannot nest.
mod arguments;
mod batch;
mod double;
mod error;
mod inline;
mod length;
pub mod limits;
mod reply;
mod request;

pub use arguments::{Arguments, OwnedArguments};
pub use batch::Batch;
pub use error::ProtocolError;
pub use limits::RequestLimits;
pub use reply::{Protocol, Reply};
pub use request::{Scan, Scanner};
