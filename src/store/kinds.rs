//! How many keys of each kind there are, as the sweep has found them: it looks at every key anyway, so that nobody walks
//! over millions of them to answer a question.

use super::value::Value;
use crate::core::units::Timestamp;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The kinds, by the names that `RL.USAGE` and `TYPE` give them; `pause` is a key that is paused and nothing else,
/// `policy` one of several limits.
pub const KINDS: [&str; 12] = [
    "bucket", "gcra", "window", "sliding", "log", "leases", "policy", "pause", "string", "hash",
    "list", "zset",
];

/// What the sweep has counted so far in its round.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Census {
    /// By kind, in the order of [`KINDS`].
    pub keys: [u64; KINDS.len()],
    /// Keys that are paused.
    pub paused: u64,
}

impl Census {
    /// Counts a key; false, and not counted, if it has gone by itself.
    pub(super) fn stays(&mut self, value: &Value, now: Timestamp) -> bool {
        if value.is_forgettable(now) {
            return false;
        }
        let name = match value {
            Value::Limit(entry) => {
                self.paused += u64::from(!entry.paused(now).is_zero());
                value.encoding()
            }
            Value::Plain(_) => value.type_name(),
        };
        if let Some(kind) = KINDS.iter().position(|kind| *kind == name) {
            self.keys[kind] += 1;
        }
        true
    }
}

/// What the last whole round has counted.
#[derive(Default)]
pub struct LastCensus {
    keys: [AtomicU64; KINDS.len()],
    paused: AtomicU64,
}

impl LastCensus {
    /// A round has ended.
    pub(super) fn publish(&self, census: &Census) {
        for (last, keys) in self.keys.iter().zip(census.keys) {
            last.store(keys, Relaxed);
        }
        self.paused.store(census.paused, Relaxed);
    }

    /// What it has counted: a round over some thousand keys takes less than a second, one over ten million about a minute.
    pub fn census(&self) -> Census {
        Census {
            keys: std::array::from_fn(|kind| self.keys[kind].load(Relaxed)),
            paused: self.paused.load(Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_entries::{SECOND, at, spend, store_with};
    use super::super::{Store, Sweep};
    use super::*;
    use crate::core::units::Span;
    use crate::plain::{Data, Plain, Text};

    fn sweep_round(store: &Store, now: Timestamp) {
        let mut sweep = Sweep::default();
        while sweep.rounds == 0 {
            sweep = store.sweep(sweep, 100, now);
        }
    }

    fn of(store: &Store, kind: &str) -> u64 {
        let place = KINDS.iter().position(|name| *name == kind).unwrap();
        store.kinds.census().keys[place]
    }

    #[test]
    fn a_round_counts_what_is_there() {
        let store = store_with(1_000, 1, at(0));
        spend(&store, b"long", 2, at(0));
        for database in [0, 3] {
            let plain = Plain::new(Data::Text(Text::from(7)));
            store
                .with_plain(database, b"s", at(0), |slot| *slot = Some(plain))
                .unwrap();
        }
        let span = Span::from_ns(3 * SECOND).unwrap();
        store
            .with_limit(0, b"p", at(0), |entry| {
                entry.pause_then_slow(span, false, false, None, at(0))
            })
            .unwrap();
        assert_eq!(of(&store, "bucket"), 0);
        sweep_round(&store, at(0));
        assert_eq!((of(&store, "bucket"), of(&store, "string")), (1_001, 2));
        assert_eq!((of(&store, "pause"), store.kinds.census().paused), (1, 1));
        sweep_round(&store, at(SECOND));
        assert_eq!(of(&store, "bucket"), 1);
        assert_eq!(store.kinds.census().paused, 1);
    }
}
