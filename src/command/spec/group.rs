//! What belongs together in the documentation.

use crate::acl::Categories;

/// What belongs together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Group {
    /// Limits: Tollgate's own commands and the dialects.
    RateLimit,
    /// Keys of any kind.
    Generic,
    /// Plain strings and counters.
    String,
    /// The connection itself.
    Connection,
    /// The server.
    Server,
    /// MULTI and what goes with it.
    Transactions,
    /// Publish and subscribe.
    PubSub,
    /// Hashes.
    Hash,
    /// Lists.
    List,
    /// Sorted sets.
    SortedSet,
    /// Known scripts.
    Scripting,
}

impl Group {
    /// Every group, in the order of the documentation.
    pub const ALL: [Self; 11] = [
        Self::RateLimit,
        Self::Generic,
        Self::String,
        Self::Hash,
        Self::List,
        Self::SortedSet,
        Self::Connection,
        Self::Transactions,
        Self::PubSub,
        Self::Scripting,
        Self::Server,
    ];

    /// The heading in the documentation.
    pub const fn title(self) -> &'static str {
        match self {
            Self::RateLimit => "Limits",
            Self::Generic => "Keys",
            Self::String => "Plain strings and counters",
            Self::Connection => "The connection",
            Self::Transactions => "Transactions",
            Self::PubSub => "Publish and subscribe",
            Self::Hash => "Hashes",
            Self::List => "Lists",
            Self::SortedSet => "Sorted sets",
            Self::Scripting => "Scripts",
            Self::Server => "The server",
        }
    }

    /// The ACL categories of its commands, those aside that follow from their flags.
    pub(super) const fn categories(self) -> Categories {
        match self {
            Self::RateLimit => Categories::RATELIMIT,
            Self::Generic => Categories::KEYSPACE,
            Self::String => Categories::STRING,
            Self::Connection => Categories::CONNECTION,
            Self::Transactions => Categories::TRANSACTION,
            Self::Hash => Categories::HASH,
            Self::List => Categories::LIST,
            Self::SortedSet => Categories::SORTEDSET,
            Self::Scripting => Categories::SCRIPTING,
            Self::PubSub | Self::Server => Categories::NONE,
        }
    }

    /// The name that `COMMAND DOCS` gives.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RateLimit => "ratelimit",
            Self::Generic => "generic",
            Self::String => "string",
            Self::Connection => "connection",
            Self::Server => "server",
            Self::Transactions => "transactions",
            Self::PubSub => "pubsub",
            Self::Hash => "hash",
            Self::List => "list",
            Self::SortedSet => "sorted-set",
            Self::Scripting => "scripting",
        }
    }
}
