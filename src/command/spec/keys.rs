//! Where a command's keys and channels are, and what is done to them.

use super::Flags;
use crate::acl::Touch;
use crate::protocol::Arguments;

/// Where a command's keys are among its arguments.
#[derive(Clone, Copy)]
pub enum Keys {
    /// It has none.
    None,
    /// From `first` to `last` (negative: from the end) in steps of `step`.
    Range {
        /// Index of the first key; the name is at 0.
        first: usize,
        /// Index of the last key; -1 is the last argument.
        last: i64,
        /// From one key to the next.
        step: usize,
    },
    /// The first argument, and others that only the command's grammar finds.
    Found(fn(Arguments<'_>) -> Vec<usize>),
}

impl Keys {
    /// One key, the first argument.
    pub const ONE: Self = Self::Range {
        first: 1,
        last: 1,
        step: 1,
    };
    /// One key, the argument behind a subcommand.
    pub const SECOND: Self = Self::Range {
        first: 2,
        last: 2,
        step: 1,
    };
    /// Every argument is a key.
    pub const ALL: Self = Self::Range {
        first: 1,
        last: -1,
        step: 1,
    };

    /// True if only the command's own grammar finds them all: clients then ask `COMMAND GETKEYS`.
    pub const fn are_movable(self) -> bool {
        matches!(self, Self::Found(_))
    }

    /// First, last and step as `COMMAND` gives them.
    pub fn range(self) -> (i64, i64, i64) {
        match self {
            Self::None => (0, 0, 0),
            Self::Range { first, last, step } => (first as i64, last, step as i64),
            Self::Found(_) => (1, 1, 1),
        }
    }

    /// The indexes of the keys in a request.
    pub fn positions(self, arguments: Arguments<'_>) -> Vec<usize> {
        match self {
            Self::None => Vec::new(),
            Self::Range { first, last, step } => {
                let end = if last < 0 {
                    arguments.len() as i64 + last
                } else {
                    last
                };
                (first..arguments.len())
                    .take_while(|&at| at as i64 <= end)
                    .step_by(step)
                    .collect()
            }
            Self::Found(find) => find(arguments),
        }
    }
}

/// What is done to a key.
#[derive(Clone, Copy)]
pub struct KeyUse {
    /// In Redis's words, the kind of access first.
    names: &'static [&'static str],
}

impl KeyUse {
    /// Asks whether it is there, of what kind or how large it is.
    pub const LOOK: Self = Self::new(&["RO"]);
    /// Tells what it holds.
    pub const READ: Self = Self::new(&["RO", "access"]);
    /// Changes it, and tells of what it held.
    pub const CHANGE: Self = Self::new(&["RW", "access", "update"]);
    /// Changes it.
    pub const UPDATE: Self = Self::new(&["RW", "update"]);
    /// Adds to it.
    pub const INSERT: Self = Self::new(&["RW", "insert"]);
    /// Takes from it.
    pub const TRIM: Self = Self::new(&["RW", "delete"]);
    /// Takes it away, and tells what it held.
    pub const TAKE_OUT: Self = Self::new(&["RW", "access", "delete"]);
    /// Takes it away.
    pub const REMOVE: Self = Self::new(&["RM", "delete"]);
    /// Puts something in its place.
    pub const OVERWRITE: Self = Self::new(&["OW", "update"]);
    /// Puts something there, if nothing is.
    pub const CREATE: Self = Self::new(&["OW", "insert"]);

    const fn new(names: &'static [&'static str]) -> Self {
        Self { names }
    }

    /// Redis's words for it.
    pub const fn names(self) -> &'static [&'static str] {
        self.names
    }

    /// What a user must be allowed to do.
    pub fn touch(self) -> Touch {
        let mut touch = Touch {
            reads: false,
            writes: false,
        };
        for name in self.names {
            match *name {
                "access" => touch.reads = true,
                "update" | "insert" | "delete" => touch.writes = true,
                _ => {}
            }
        }
        touch
    }
}

/// What a command does to its keys.
#[derive(Clone, Copy)]
pub enum Uses {
    /// [`KeyUse::CHANGE`] if it writes, [`KeyUse::READ`] if it reads, else [`KeyUse::LOOK`].
    ByFlags,
    /// This, to the first and to the second; the last stands for all further ones.
    Each(&'static [KeyUse]),
    /// It depends on the request.
    Varying {
        /// The most it does.
        most: KeyUse,
        /// What one request does.
        actual: fn(Arguments<'_>) -> KeyUse,
    },
}

impl Uses {
    /// What is done to the `nth` key, whatever the request.
    pub fn in_general(self, flags: Flags, nth: usize) -> KeyUse {
        let by_flags = if flags.has(Flags::WRITE) {
            KeyUse::CHANGE
        } else if flags.has(Flags::READONLY) {
            KeyUse::READ
        } else {
            KeyUse::LOOK
        };
        match self {
            Self::ByFlags => by_flags,
            Self::Each(uses) => {
                let one = uses.get(nth).or(uses.last());
                one.copied().unwrap_or(by_flags)
            }
            Self::Varying { most, .. } => most,
        }
    }

    /// How many keys have a use of their own.
    pub const fn distinct(self) -> usize {
        match self {
            Self::Each(uses) => uses.len(),
            Self::ByFlags | Self::Varying { .. } => 1,
        }
    }

    /// True if it depends on the request.
    pub const fn vary(self) -> bool {
        matches!(self, Self::Varying { .. })
    }
}

/// Where a command's channels are among its arguments. Those that a connection stops listening to are nobody's secret.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Channels {
    /// It has none.
    None,
    /// The first argument.
    First,
    /// Every argument.
    All,
    /// Every argument, and each is a pattern.
    Patterns,
}

impl Channels {
    /// The places of the channels in a request, and whether they are patterns.
    pub fn positions(self, arguments: Arguments<'_>) -> (std::ops::Range<usize>, bool) {
        let end = match self {
            Self::None => 1,
            Self::First => arguments.len().min(2),
            Self::All | Self::Patterns => arguments.len(),
        };
        (1..end, self == Self::Patterns)
    }
}
