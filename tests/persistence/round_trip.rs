//! Whatever a history leaves behind is loaded exactly as it was saved.

use crate::histories::{about, begin};
use crate::server::{Memory, Server};
use proptest::prelude::*;
use std::io::Cursor;
use tollgate::core::units::Timestamp;
use tollgate::persistence::snapshot;
use tollgate::store::{DATABASES_MAX, Home, Key, PolicyLimits, Remembered, Store, Ticket, Value};

/// Everything that a store holds and a snapshot carries.
#[derive(Default, PartialEq, Debug)]
pub struct Holdings {
    keys: Vec<(u8, Key, Value)>,
    policies: Vec<(Box<[u8]>, PolicyLimits)>,
    last_number: u64,
    tickets: Vec<(u8, u64, Ticket)>,
    /// In the order in which they came.
    answers: Vec<(Home, Box<[u8]>, Remembered)>,
}

impl Holdings {
    pub fn of(store: &Store, now: Timestamp) -> Self {
        let mut keys = Vec::new();
        for database in 0..DATABASES_MAX {
            for shard in 0..store.shards() {
                store.for_each_in(database, shard, |key, value| {
                    if !value.is_forgettable(now) {
                        keys.push((database, key.clone(), value.clone()));
                    }
                });
            }
        }
        keys.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        let answers = store.records.answers_after(0, usize::MAX, now);
        Self {
            keys,
            policies: store.policies.all(),
            last_number: store.records.last_number(),
            tickets: store.records.tickets_after(0, usize::MAX, now),
            answers: answers
                .into_iter()
                .map(|(_, home, id, remembered)| (home, id, remembered))
                .collect(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_a_history_leaves_is_loaded_as_it_was(
        steps in about().prop_flat_map(|about| begin(about, 50)),
        later in prop_oneof![Just(0), 0..=3_000_000_000u64],
        damage in (any::<prop::sample::Index>(), 1..=255u8),
    ) {
        let mut server = Server::new();
        server.play(&steps, &mut Memory::default());
        server.advance(later);
        let (store, now) = (&server.engine.shared.store, server.now());
        let mut bytes = Vec::new();
        let saved = snapshot::write(store, now, 1, &mut bytes).expect("memory takes it");
        let other = Store::new();
        let loaded = snapshot::fill(&other, Cursor::new(&bytes)).expect("it was just written");
        prop_assert_eq!((loaded.taken_at, loaded.keys), (now, saved.keys));
        prop_assert_eq!(Holdings::of(&other, now), Holdings::of(store, now));

        let (at, flip) = (damage.0.index(bytes.len()), damage.1);
        let empty = Store::new();
        prop_assert!(snapshot::fill(&empty, Cursor::new(&bytes[..at])).is_err());
        bytes[at] ^= flip;
        prop_assert!(snapshot::fill(&empty, Cursor::new(&bytes)).is_err());
        prop_assert_eq!(Holdings::of(&empty, now), Holdings::default());
    }
}
