//! Commands: what they are called, what they take, what they do.
//!
//! A command is a [`spec::Spec`] with its function, in a file of its own or of its family, and one row
//! in [`table`]. Everything else that has to know of it reads the row.

pub mod arguments;
pub mod collections;
pub mod connection;
pub mod context;
pub mod deadline;
pub mod decide;
pub mod dispatch;
pub mod error;
pub mod help;
pub mod keys;
pub mod limits;
pub mod number;
pub mod observe;
pub mod outcome;
pub mod pubsub;
pub mod ratelimit;
pub mod reference;
pub mod replay;
pub mod rules;
pub mod scripting;
pub mod server;
pub mod spec;
pub mod strings;
pub mod table;
pub mod transaction;
