//! Where a command's keys are.

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
