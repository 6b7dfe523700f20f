//! Patterns of keys, each for reading, writing or both.

use crate::glob;

/// What is done to a key: whether what it holds is told, and whether it is changed. A command that only asks whether
/// a key is there does neither.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    /// What it holds is told.
    pub reads: bool,
    /// It is changed.
    pub writes: bool,
}

impl Touch {
    pub(super) const BOTH: Self = Self {
        reads: true,
        writes: true,
    };

    /// True if all of `other` is in it.
    fn covers(self, other: Self) -> bool {
        self.reads >= other.reads && self.writes >= other.writes
    }

    pub(super) fn joined(self, other: Self) -> Self {
        Self {
            reads: self.reads | other.reads,
            writes: self.writes | other.writes,
        }
    }
}

/// Keys whose names match, and what may be done to them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct KeyPattern {
    pub(super) pattern: Box<[u8]>,
    pub(super) allows: Touch,
}

impl KeyPattern {
    pub(super) fn allows(&self, key: &[u8], touch: Touch) -> bool {
        self.allows.covers(touch) && glob::matches(&self.pattern, key)
    }

    /// Writes it as a rule: `~pattern`, `%R~pattern`, `%W~pattern`.
    pub(super) fn write(&self, text: &mut Vec<u8>) {
        let mark: &[u8] = match (self.allows.reads, self.allows.writes) {
            (true, false) => b"%R~",
            (false, true) => b"%W~",
            _ => b"~",
        };
        text.extend_from_slice(mark);
        text.extend_from_slice(&self.pattern);
    }
}
