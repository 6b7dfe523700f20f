//! The categories of commands.

/// Some of the categories.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Categories(u32);

impl Categories {
    /// None.
    pub const NONE: Self = Self(0);
    /// Keys of any kind.
    pub const KEYSPACE: Self = Self(1);
    /// Reads keys.
    pub const READ: Self = Self(1 << 1);
    /// Changes keys.
    pub const WRITE: Self = Self(1 << 2);
    /// Sorted sets.
    pub const SORTEDSET: Self = Self(1 << 4);
    /// Lists.
    pub const LIST: Self = Self(1 << 5);
    /// Hashes.
    pub const HASH: Self = Self(1 << 6);
    /// Strings.
    pub const STRING: Self = Self(1 << 7);
    /// Publish and subscribe.
    pub const PUBSUB: Self = Self(1 << 12);
    /// For administrators.
    pub const ADMIN: Self = Self(1 << 13);
    /// Takes time that does not grow with the data.
    pub const FAST: Self = Self(1 << 14);
    /// All others.
    pub const SLOW: Self = Self(1 << 15);
    /// May wait.
    pub const BLOCKING: Self = Self(1 << 16);
    /// Can do harm.
    pub const DANGEROUS: Self = Self(1 << 17);
    /// The connection itself.
    pub const CONNECTION: Self = Self(1 << 18);
    /// MULTI and what goes with it.
    pub const TRANSACTION: Self = Self(1 << 19);
    /// Scripts.
    pub const SCRIPTING: Self = Self(1 << 20);
    /// Limits: Tollgate's own commands and the dialects.
    pub const RATELIMIT: Self = Self(1 << 21);

    /// Their names, bit by bit: Redis's in its order, those included that have no command here, so that its files of
    /// users can be read, and then ours.
    const NAMES: [&'static str; 22] = [
        "keyspace",
        "read",
        "write",
        "set",
        "sortedset",
        "list",
        "hash",
        "string",
        "bitmap",
        "hyperloglog",
        "geo",
        "stream",
        "pubsub",
        "admin",
        "fast",
        "slow",
        "blocking",
        "dangerous",
        "connection",
        "transaction",
        "scripting",
        "ratelimit",
    ];

    /// Both.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Both if `condition`, else as it is.
    pub const fn and_if(self, condition: bool, other: Self) -> Self {
        if condition { self.and(other) } else { self }
    }

    /// True if they have one in common.
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The category of that name, in any case, without its `@`.
    pub fn named(name: &[u8]) -> Option<Self> {
        let mut names = Self::NAMES.iter();
        let bit = names.position(|known| known.as_bytes().eq_ignore_ascii_case(name))?;
        Some(Self(1 << bit))
    }

    /// Their names, without `@`.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let names = Self::NAMES.into_iter().enumerate();
        names
            .filter(move |(bit, _)| self.0 & 1 << bit != 0)
            .map(|(_, name)| name)
    }

    /// The names of all there are.
    pub fn all_names() -> &'static [&'static str] {
        &Self::NAMES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_have_their_names() {
        for (category, name) in [
            (Categories::KEYSPACE, "keyspace"),
            (Categories::WRITE, "write"),
            (Categories::SORTEDSET, "sortedset"),
            (Categories::STRING, "string"),
            (Categories::PUBSUB, "pubsub"),
            (Categories::SLOW, "slow"),
            (Categories::DANGEROUS, "dangerous"),
            (Categories::SCRIPTING, "scripting"),
            (Categories::RATELIMIT, "ratelimit"),
        ] {
            assert_eq!(category.names().collect::<Vec<_>>(), [name]);
            assert_eq!(
                Categories::named(name.to_uppercase().as_bytes()),
                Some(category)
            );
        }
        assert_eq!(Categories::named(b"all"), None);
        assert!(Categories::all_names().contains(&"geo"));
    }
}
