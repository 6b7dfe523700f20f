//! Commands: what they are called, what they take, what they do.
//!
//! A command is a [`spec::Spec`] with its function, in a file of its own or of its family, and one row
//! in [`table`]. Everything else that has to know of it reads the row.

pub mod access;
pub mod acl;
pub mod arguments;
pub mod caller;
pub mod collections;
pub mod connection;
pub mod context;
pub mod counted;
pub mod deadline;
pub mod decide;
pub mod dispatch;
pub mod error;
pub mod help;
pub mod keys;
pub mod limits;
pub mod lone;
pub mod number;
pub mod observe;
pub mod outcome;
pub mod pubsub;
pub mod ratelimit;
pub mod reference;
pub mod replay;
pub mod room;
pub mod rules;
pub mod scripting;
pub mod server;
pub mod spec;
pub mod strings;
pub mod table;
pub mod transaction;
pub mod waiters;

/// Most bytes of a reply that names what was asked for as often as it was asked. Nothing else can be sent between: a
/// thousand of the longest strings.
const REPLY_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Refuses a reply that has become too long.
fn check_reply_bytes(command: &str, bytes: usize) -> Result<(), error::Error> {
    if bytes <= REPLY_BYTES_MAX {
        return Ok(());
    }
    Err(error::Error::redis(format!(
        "ERR the reply of one {command} must be at most 64 MiB"
    )))
}
