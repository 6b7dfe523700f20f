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

    /// Bytes that it takes outside of its key's place.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.heap_bytes(),
            Self::Hash(hash) => hash.heap_bytes(),
            Self::List(list) => list.heap_bytes(),
            Self::SortedSet(set) => size_of::<SortedSet>() + set.heap_bytes(),
        }
    }

    /// The name that `OBJECT ENCODING` gives to how it is kept: Redis's for the like.
    pub const fn encoding(&self) -> &'static str {
        match self {
            Self::Text(text) if text.as_integer().is_some() => "int",
            Self::Text(_) => "raw",
            Self::Hash(_) => "hashtable",
            Self::List(_) => "quicklist",
            Self::SortedSet(_) => "skiplist",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_value_holds_elsewhere_is_counted() {
        let text = |bytes: &[u8]| Text::new(bytes).unwrap();
        assert_eq!(Data::Text(text(b"123456789")).heap_bytes(), 0);
        assert_eq!(Data::Text(text(b"0123456789")).heap_bytes(), 10);
        let mut hash = Hash::default();
        hash.set(b"field", text(b"text")).unwrap();
        let one = hash.heap_bytes();
        hash.set(b"other", text(b"more")).unwrap();
        assert!(one > 9 && hash.heap_bytes() == 2 * one);
        let mut list = List::default();
        list.push_front(text(b"text")).unwrap();
        let one = list.heap_bytes();
        list.push_front(text(b"longer")).unwrap();
        assert_eq!(list.heap_bytes(), 2 * one + 2);
    }
}
