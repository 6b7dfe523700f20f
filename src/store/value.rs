//! What a key holds.

use crate::core::bucket::Bucket;
use crate::core::decision::Refusal;
use crate::core::entry::{Entry, State};
use crate::core::leases::{Lapsed, Leases};
use crate::core::loss::Loss;
use crate::core::units::{Timestamp, Wait};
use crate::plain::{Deadline, Plain};

/// What a key holds: limits and pauses, or a plain value. A key that does not exist and a default value are the
/// same thing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// Limits, pauses.
    Limit(Entry),
    /// A string or a collection.
    Plain(Plain),
}

impl Default for Value {
    fn default() -> Self {
        Self::Limit(Entry::default())
    }
}

impl Value {
    /// True for a key that does not exist.
    pub fn is_absent(&self) -> bool {
        match self {
            Self::Limit(entry) => entry.is_absent(),
            Self::Plain(_) => false,
        }
    }

    /// Works in what has come due and drops what has gone by itself.
    pub fn forget(&mut self, now: Timestamp) {
        match self {
            // Those slots that have come are booked first, each at its instant.
            Self::Limit(entry) if entry.is_waited() => {}
            Self::Limit(entry) => entry.forget(now),
            Self::Plain(plain) if plain.is_expired(now) => *self = Self::default(),
            Self::Plain(_) => {}
        }
    }

    /// Takes out the leases that have lapsed; see [`Entry::lapse`].
    pub fn lapse(&mut self, now: Timestamp) -> Lapsed {
        match self {
            Self::Limit(entry) => entry.lapse(now),
            Self::Plain(_) => Lapsed::new(),
        }
    }

    /// The instant at which the next lease in it lapses.
    pub fn next_lapse(&self) -> Option<Timestamp> {
        match self {
            Self::Limit(entry) => entry.next_lapse(),
            Self::Plain(_) => None,
        }
    }

    /// Leases in it, those included that have lapsed and were not taken out.
    pub fn leases(&self) -> usize {
        match self {
            Self::Limit(entry) => entry.leases().map_or(0, Leases::len),
            Self::Plain(_) => 0,
        }
    }

    /// True if [`Self::forget`] would leave nothing.
    pub fn is_forgettable(&self, now: Timestamp) -> bool {
        match self {
            Self::Limit(entry) => entry.is_forgettable(now),
            Self::Plain(plain) => plain.is_expired(now),
        }
    }

    /// What would be lost if the key had to go for others; `None` if it must stay, as every plain value must whose
    /// time is not over: it may be somebody's counter.
    pub fn loss(&self, now: Timestamp) -> Option<Loss> {
        match self {
            Self::Limit(entry) => entry.loss(now),
            Self::Plain(plain) => plain.is_expired(now).then_some(Loss::NONE),
        }
    }

    /// The time until the key goes by itself; `None` if it stays.
    pub fn gone_after(&self, now: Timestamp) -> Option<Wait> {
        match self {
            Self::Limit(entry) => Some(entry.forgotten_after(now)),
            Self::Plain(plain) => plain.gone_after(now),
        }
    }

    /// When a plain value goes by itself; `None` for one that stays, and for limits, which change all the while.
    pub fn deadline(&self) -> Option<Deadline> {
        match self {
            Self::Limit(_) => None,
            Self::Plain(plain) => plain.expires,
        }
    }

    /// True for a value that does not go by itself.
    pub fn stays(&self) -> bool {
        matches!(self, Self::Plain(plain) if plain.expires.is_none())
    }

    /// The name that `TYPE` gives it.
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Limit(_) => "ratelimit",
            Self::Plain(plain) => plain.data.type_name(),
        }
    }

    /// Bytes that it takes outside of the table.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::Limit(entry) => entry.heap_bytes(),
            Self::Plain(plain) => plain.data.heap_bytes(),
        }
    }

    /// The name that `OBJECT ENCODING` gives to how it is kept.
    pub fn encoding(&self) -> &'static str {
        match self {
            Self::Limit(entry) => match entry.parts().0 {
                [] => "pause",
                [state] => state.limit().map_or("pause", |limit| limit.kind()),
                _ => "policy",
            },
            Self::Plain(plain) => plain.data.encoding(),
        }
    }

    /// The limits of the key.
    ///
    /// # Errors
    /// [`Refusal::WrongKind`] if it holds a plain value.
    pub fn limit(&self) -> Result<&Entry, Refusal> {
        match self {
            Self::Limit(entry) => Ok(entry),
            Self::Plain(_) => Err(Refusal::WrongKind),
        }
    }

    /// As [`Self::limit`], to change.
    ///
    /// # Errors
    /// As [`Self::limit`].
    pub fn limit_mut(&mut self) -> Result<&mut Entry, Refusal> {
        match self {
            Self::Limit(entry) => Ok(entry),
            Self::Plain(_) => Err(Refusal::WrongKind),
        }
    }

    /// Takes the plain value out, `None` if the key does not exist.
    ///
    /// # Errors
    /// [`Refusal::WrongKind`] if it holds limits, which stay.
    pub fn take_plain(&mut self) -> Result<Option<Plain>, Refusal> {
        self.plain()?;
        match std::mem::take(self) {
            Self::Plain(plain) => Ok(Some(plain)),
            Self::Limit(_) => Ok(None),
        }
    }

    /// The plain value of the key, `None` if it does not exist.
    ///
    /// # Errors
    /// [`Refusal::WrongKind`] if it holds limits.
    pub fn plain(&self) -> Result<Option<&Plain>, Refusal> {
        match self {
            Self::Plain(plain) => Ok(Some(plain)),
            Self::Limit(entry) if entry.is_absent() => Ok(None),
            Self::Limit(_) => Err(Refusal::WrongKind),
        }
    }
}

/// A key that holds a bucket and nothing else.
impl From<Bucket> for Value {
    fn from(bucket: Bucket) -> Self {
        Self::Limit(Entry::from(State::Bucket(bucket, None)))
    }
}

impl From<Option<Plain>> for Value {
    fn from(slot: Option<Plain>) -> Self {
        slot.map_or_else(Self::default, Self::Plain)
    }
}
