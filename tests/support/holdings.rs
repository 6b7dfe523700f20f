//! What a store holds, to be compared with what another does.

use tollgate::core::units::Timestamp;
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
    /// Without what a journal does not keep exactly: the last number given is ahead, and answers of one batch come
    /// in any order.
    #[allow(dead_code, reason = "not every test compares journals")]
    pub fn journaled(mut self) -> Self {
        self.last_number = 0;
        self.answers.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        self
    }

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
