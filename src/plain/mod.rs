//! Plain values: what a key holds that is no limit. Pure: no clock, no lock, no I/O.
//!
//! An operation works on a slot, `&mut Option<Plain>`: what the key holds at `now`, `None` if it does not exist.
//! It leaves nothing behind whose time is over, and nothing changed when it fails.

mod big;
pub mod collection;
pub mod counter;
pub mod deadline;
pub mod error;
pub mod expiry;
pub mod extended;
pub mod hash;
pub mod increx;
pub mod list;
pub mod sorted_set;
pub mod text;

pub use deadline::Deadline;
pub use error::PlainError;
pub use expiry::Expiry;
pub use hash::Hash;
pub use list::List;
pub use sorted_set::SortedSet;
pub use text::Text;

use crate::core::units::{Timestamp, Wait};

/// A plain value and when it goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plain {
    /// The value.
    pub data: Data,
    /// When the key is gone; `None`: it stays.
    pub expires: Option<Deadline>,
}

/// A value, by type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Data {
    /// A string: any bytes.
    Text(Text),
    /// A hash.
    Hash(Hash),
    /// A list.
    List(List),
    /// A sorted set.
    SortedSet(Box<SortedSet>),
}

impl Plain {
    /// A value that stays.
    pub const fn new(data: Data) -> Self {
        Self {
            data,
            expires: None,
        }
    }

    /// The string that it is.
    ///
    /// # Errors
    /// [`PlainError::WrongType`].
    pub fn text(&self) -> Result<&Text, PlainError> {
        match &self.data {
            Data::Text(text) => Ok(text),
            _ => Err(PlainError::WrongType),
        }
    }

    /// True once its time is over.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires.is_past(now))
    }

    /// The time until it is gone; `None` if it stays.
    pub fn gone_after(&self, now: Timestamp) -> Option<Wait> {
        self.expires.map(|expires| expires.left(now))
    }
}

impl Data {
    /// The name that `TYPE` gives it.
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
            Self::Hash(_) => "hash",
            Self::List(_) => "list",
            Self::SortedSet(_) => "zset",
        }
    }
}
