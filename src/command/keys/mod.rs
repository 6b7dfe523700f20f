//! Keys of any kind: there or not, for how long, which, and away with them.

pub mod delete;
pub mod exists;
pub mod expire;
pub mod flush;
pub mod object;
pub mod rename;
pub mod scan;
pub mod ttl;
