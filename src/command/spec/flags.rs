//! How a command may be run.

/// How a command may be run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flags(u16);

impl Flags {
    /// Nothing special.
    pub const NONE: Self = Self(0);
    /// May change keys.
    pub const WRITE: Self = Self(1);
    /// Reads keys and changes none.
    pub const READONLY: Self = Self(1 << 1);
    /// Takes time that does not grow with the data.
    pub const FAST: Self = Self(1 << 2);
    /// For administrators.
    pub const ADMIN: Self = Self(1 << 3);
    /// Can do harm or take long.
    pub const DANGEROUS: Self = Self(1 << 4);
    /// Allowed before AUTH.
    pub const NO_AUTH: Self = Self(1 << 5);
    /// Refused inside MULTI.
    pub const NO_MULTI: Self = Self(1 << 6);
    /// Runs at once inside MULTI instead of being queued.
    pub const IN_MULTI: Self = Self(1 << 7);
    /// Runs while no other command does.
    pub const EXCLUSIVE: Self = Self(1 << 8);
    /// Not let through to scripts (there are none; clients ask).
    pub const NOSCRIPT: Self = Self(1 << 9);
    /// Belongs to Pub/Sub.
    pub const PUBSUB: Self = Self(1 << 10);
    /// Allowed on a RESP2 connection that is subscribed.
    pub const WHILE_SUBSCRIBED: Self = Self(1 << 11);

    /// Kept out of the slow log: what it runs is there.
    pub const SKIP_SLOWLOG: Self = Self(1 << 12);
    /// May wait for something.
    pub const BLOCKING: Self = Self(1 << 13);

    /// May add to what is in memory: refused while that is full.
    pub const DENYOOM: Self = Self(1 << 14);
    /// Is told whether memory is full, runs all the same, and refuses by itself what would take more.
    pub const CHECKS_MEMORY: Self = Self(1 << 15);

    const NAMES: [(Self, &'static str); 11] = [
        (Self::WRITE, "write"),
        (Self::READONLY, "readonly"),
        (Self::DENYOOM, "denyoom"),
        (Self::ADMIN, "admin"),
        (Self::PUBSUB, "pubsub"),
        (Self::NOSCRIPT, "noscript"),
        (Self::BLOCKING, "blocking"),
        (Self::FAST, "fast"),
        (Self::NO_AUTH, "no_auth"),
        (Self::NO_MULTI, "no_multi"),
        (Self::SKIP_SLOWLOG, "skip_slowlog"),
    ];

    /// A call of a limit that may book: it may make a key, or a key larger.
    pub const BOOKS: Self = Self::WRITE.and(Self::DENYOOM).and(Self::CHECKS_MEMORY);

    /// Both.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True if all of `other` is set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The flags that `COMMAND` shows, by Redis's names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES
            .into_iter()
            .filter(move |(flag, _)| self.has(*flag))
            .map(|(_, name)| name)
    }
}
