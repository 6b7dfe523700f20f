//! Plain values: what a key holds that is no limit. Pure: no clock, no lock, no I/O.

use crate::core::units::{Timestamp, Wait};

/// A plain value and when it goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plain {
    /// The value.
    pub data: Data,
    /// The instant at which the key is gone; `None`: it stays.
    pub expires: Option<Timestamp>,
}

/// A value, by type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Data {
    /// A string: any bytes.
    Text(Box<[u8]>),
}

impl Plain {
    /// True once its time is over.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }

    /// The time until it is gone; `None` if it stays.
    pub fn gone_after(&self, now: Timestamp) -> Option<Wait> {
        let expires = self.expires?;
        Some(Wait::from_ns(u128::from(expires.since(now))))
    }
}

impl Data {
    /// The name that `TYPE` gives it.
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "string",
        }
    }

    /// Bytes that it takes outside of its key's place.
    pub const fn heap_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
        }
    }

    /// The name that `OBJECT ENCODING` gives to how it is kept.
    pub const fn encoding(&self) -> &'static str {
        match self {
            Self::Text(_) => "raw",
        }
    }
}
