//! What a key holds: the state of its limits as the snapshot's bytes, and the tickets and answers that belong to it.
//!
//! Bytes, since that is what goes to disk, to replicas and to other nodes; a call decodes the one state it is about. What
//! has changed is a list of the journal's records, and the primary changes its keys by them as its replicas do: so
//! all hold the same. A key's own name is left out (it stands as an empty one), so that RENAME and COPY need no help.

use crate::host::Words;
use std::collections::{BTreeMap, BTreeSet};
use tollgate::core::units::{Timestamp, Wait};
use tollgate::persistence::change::{self, Change, DATABASE, own_name, without_name};
use tollgate::persistence::codec::{self, Record};
use tollgate::persistence::input::{DecodeError, Input};
use tollgate::store::{Answer, Key, Remembered, Store, Ticket, Value};

/// Most tickets and answers of one key: what a key of the server may have.
pub const RECORDS_MAX: usize = 100_000;
/// Tickets and answers among which it is not worth to look for those that have expired.
const FEW: usize = 64;

/// What a key holds.
#[derive(Clone, Default)]
pub struct Held {
    /// A record of the snapshot; empty if nothing is left of the state.
    state: Box<[u8]>,
    records: Option<Box<Records>>,
}

/// The tickets and answers of a key.
#[derive(Clone, Default)]
struct Records {
    tickets: BTreeMap<u64, Kept>,
    answers: BTreeMap<Box<[u8]>, Kept>,
    /// When the last of them is forgotten, or one that was taken out.
    latest: Timestamp,
    /// Those that have expired are looked for when there are more than so many.
    crowded: usize,
}

/// A ticket or an answer.
#[derive(Clone)]
struct Kept {
    /// When it is forgotten.
    ends: Timestamp,
    /// A record of the snapshot.
    bytes: Box<[u8]>,
}

/// Which tickets and answers were put into a store.
#[derive(Default)]
pub struct PutIn {
    /// Numbers of tickets.
    pub tickets: BTreeSet<u64>,
    /// Ids of answers.
    pub answers: BTreeSet<Box<[u8]>>,
}

/// A word that may be the number of a ticket.
fn number(word: &[u8]) -> Option<u64> {
    std::str::from_utf8(word).ok()?.parse().ok()
}

impl Held {
    /// Takes changes over.
    pub fn apply(&mut self, changes: &[Change], now: Timestamp) {
        for change in changes {
            let mut bytes = Vec::new();
            change::encode(&mut bytes, std::slice::from_ref(change));
            match change {
                Change::State(state) => {
                    self.state = state.as_ref().map_or_else(Box::default, |_| bytes.into());
                }
                Change::Ticket(number, Some(ticket)) => {
                    let ends = ticket.slot.after(ticket.ttl);
                    let kept = Kept {
                        ends,
                        bytes: bytes.into(),
                    };
                    let records = self.records.get_or_insert_default();
                    records.latest = records.latest.max(ends);
                    records.tickets.insert(*number, kept);
                }
                Change::Answer(id, Some(answer)) => {
                    let kept = Kept {
                        ends: answer.expires,
                        bytes: bytes.into(),
                    };
                    let records = self.records.get_or_insert_default();
                    records.latest = records.latest.max(kept.ends);
                    records.answers.insert(id.clone(), kept);
                }
                Change::Ticket(number, None) => {
                    if let Some(records) = &mut self.records {
                        records.tickets.remove(number);
                    }
                }
                Change::Answer(id, None) => {
                    if let Some(records) = &mut self.records {
                        records.answers.remove(id);
                    }
                }
            }
        }
        if let Some(records) = &mut self.records {
            records.forget(now);
            if records.len() == 0 {
                self.records = None;
            }
        }
    }

    /// All that it holds, as records.
    pub fn to_bytes(&self) -> Vec<u8> {
        let records = self.records.iter().flat_map(|records| {
            let (tickets, answers) = (records.tickets.values(), records.answers.values());
            tickets.chain(answers).map(|kept| &kept.bytes)
        });
        let all = std::iter::once(&self.state).chain(records);
        all.flat_map(|bytes| bytes.iter().copied()).collect()
    }

    /// What [`Self::to_bytes`] gave.
    ///
    /// # Errors
    /// As [`change::decode`].
    pub fn from_bytes(bytes: &[u8], now: Timestamp) -> Result<Self, DecodeError> {
        let mut held = Self::default();
        held.apply(&change::decode(bytes)?, now);
        Ok(held)
    }

    /// True if `value` is its state.
    pub fn is_state(&self, value: &Value) -> bool {
        let mut bytes = Vec::with_capacity(self.state.len() + 16);
        codec::encode_key(&mut bytes, DATABASE, &own_name(), value);
        *self.state == *bytes
    }

    /// True if nothing is left of its state.
    pub fn has_no_state(&self) -> bool {
        self.state.is_empty()
    }

    fn value(&self) -> Option<Value> {
        match codec::decode(&mut Input::new(&self.state)) {
            Ok(Record::Key { value, .. }) => Some(value),
            _ => None,
        }
    }

    /// Puts its state into a store under a name, with those of its tickets and answers that a request can reach: those
    /// that it names, or all if it is about all.
    pub fn put_into(&self, store: &Store, name: &[u8], words: Words<'_>) -> PutIn {
        let key = Key::new(name);
        if let Some(value) = self.value() {
            store.restore(DATABASE, &key, value);
        }
        let mut put_in = PutIn::default();
        let Some(records) = &self.records else {
            return put_in;
        };
        if words.all {
            put_in.tickets.extend(records.tickets.keys());
        } else {
            for word in words.of_request.iter() {
                let number = std::str::from_utf8(word)
                    .ok()
                    .and_then(|word| word.parse().ok());
                put_in
                    .tickets
                    .extend(number.filter(|number| records.tickets.contains_key(number)));
                if let Some((id, _)) = records.answers.get_key_value(word) {
                    put_in.answers.insert(id.clone());
                }
            }
        }
        // An answer names its ticket, and a ticket the id of its request.
        let answers = put_in.answers.iter().filter_map(|id| records.answer(id));
        let named = answers.filter_map(|answer| match answer.answer {
            Answer::Granted { ticket, .. } => Some(ticket),
            _ => None,
        });
        let named: Vec<u64> = named
            .filter(|number| records.tickets.contains_key(number))
            .collect();
        put_in.tickets.extend(named);
        let ids = put_in
            .tickets
            .iter()
            .filter_map(|number| records.ticket(*number)?.id);
        let ids: Vec<Box<[u8]>> = ids.filter(|id| records.answers.contains_key(id)).collect();
        put_in.answers.extend(ids);
        for number in &put_in.tickets {
            if let Some(mut ticket) = records.ticket(*number) {
                if let Some(part) = ticket.parts.first_mut() {
                    part.key = key.clone();
                }
                store.records.put(DATABASE, *number, ticket);
            }
        }
        for id in &put_in.answers {
            if let Some(answer) = records.answer(id) {
                store.records.remember(DATABASE, name, id, answer);
            }
        }
        put_in
    }

    /// The further keys of the tickets that a request names: what is given back is given back at all of them.
    pub fn further_keys(&self, words: Words<'_>) -> Vec<Key> {
        let Some(records) = &self.records else {
            return Vec::new();
        };
        let numbers = words.of_request.iter().filter_map(number);
        let parts = numbers
            .filter_map(|number| records.ticket(number))
            .flat_map(|ticket| {
                let further = ticket.parts.into_iter().skip(1);
                further.map(|part| part.key)
            });
        parts.collect()
    }

    /// True if that ticket is held as it is.
    pub fn is_ticket(&self, number: u64, ticket: &Ticket) -> bool {
        let kept = self
            .records
            .as_ref()
            .and_then(|records| records.tickets.get(&number));
        kept.is_some_and(|kept| {
            let mut bytes = Vec::with_capacity(kept.bytes.len());
            codec::encode_ticket(&mut bytes, DATABASE, number, &without_name(ticket));
            *kept.bytes == *bytes
        })
    }

    /// True if that answer is held as it is.
    pub fn is_answer(&self, id: &[u8], answer: &Remembered) -> bool {
        let kept = self
            .records
            .as_ref()
            .and_then(|records| records.answers.get(id));
        kept.is_some_and(|kept| {
            let mut bytes = Vec::with_capacity(kept.bytes.len());
            codec::encode_answer(&mut bytes, DATABASE, &own_name(), id, answer);
            *kept.bytes == *bytes
        })
    }

    /// True for a ticket or an answer that it does not have yet.
    pub fn gets_more_by(&self, change: &Change) -> bool {
        let records = self.records.as_ref();
        match change {
            Change::Ticket(number, Some(_)) => {
                !records.is_some_and(|known| known.tickets.contains_key(number))
            }
            Change::Answer(id, Some(_)) => {
                !records.is_some_and(|known| known.answers.contains_key(id))
            }
            _ => false,
        }
    }

    /// True if it may get another ticket or answer.
    pub fn has_room(&mut self, now: Timestamp) -> bool {
        let Some(records) = &mut self.records else {
            return true;
        };
        if records.len() >= RECORDS_MAX {
            records.crowded = 0;
            records.forget(now);
        }
        records.len() < RECORDS_MAX
    }

    /// The time until nothing of it can be told from nothing.
    pub fn gone_after(&self, now: Timestamp) -> Wait {
        let state = self.value().and_then(|value| value.gone_after(now));
        let records = self
            .records
            .as_ref()
            .map(|records| records.latest.since(now));
        let records = records.map(|ns| Wait::from_ns(u128::from(ns)));
        state.into_iter().chain(records).max().unwrap_or(Wait::ZERO)
    }

    /// The highest number that a ticket of it has, 0 for none.
    pub fn last_number(&self) -> u64 {
        let last = self
            .records
            .as_ref()
            .and_then(|records| records.tickets.last_key_value());
        last.map_or(0, |(number, _)| *number)
    }

    /// Bytes that it takes outside of itself.
    pub fn heap_bytes(&self) -> usize {
        /// What a node of a tree takes for an entry, in the mean.
        const ENTRY: usize = 48;
        let records = self.records.as_ref().map_or(0, |records| {
            let tickets = records
                .tickets
                .values()
                .map(|kept| ENTRY + kept.bytes.len());
            let answers = records
                .answers
                .iter()
                .map(|(id, kept)| ENTRY + id.len() + kept.bytes.len());
            size_of::<Records>() + tickets.sum::<usize>() + answers.sum::<usize>()
        });
        self.state.len() + records
    }
}

impl Records {
    fn len(&self) -> usize {
        self.tickets.len() + self.answers.len()
    }

    fn ticket(&self, number: u64) -> Option<Ticket> {
        match codec::decode(&mut Input::new(&self.tickets.get(&number)?.bytes)) {
            Ok(Record::Ticket { ticket, .. }) => Some(ticket),
            _ => None,
        }
    }

    fn answer(&self, id: &[u8]) -> Option<Remembered> {
        match codec::decode(&mut Input::new(&self.answers.get(id)?.bytes)) {
            Ok(Record::Answer { remembered, .. }) => Some(remembered),
            _ => None,
        }
    }

    /// Forgets those that have expired, each time there are twice as many as were left the last time.
    fn forget(&mut self, now: Timestamp) {
        if self.len() > self.crowded.max(FEW) {
            self.tickets.retain(|_, kept| kept.ends > now);
            self.answers.retain(|_, kept| kept.ends > now);
            self.crowded = 2 * self.len();
            let all = self.tickets.values().chain(self.answers.values());
            self.latest = all.map(|kept| kept.ends).max().unwrap_or_default();
        }
    }
}
