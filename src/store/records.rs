//! What a call leaves beside the keys: tickets, and the answers of requests with an id.
//!
//! Both belong to the first key of their request and are used under that key's lock, so they are never
//! older than the key. The lock of this table is taken last and held for a few map operations.

use super::key::Key;
use super::policies::PolicyLimits;
use crate::core::joint::Ask;
use crate::core::timeline::Slot;
use crate::core::units::{SECOND, Span, Timestamp};
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet, HashMap};

mod changes;

pub use changes::{AnswerName, TouchedRecords};

/// Most tickets of one key that are known at a time: as many as it may hold bookings.
pub const TICKETS_PER_KEY_MAX: usize = 100_000;
/// Most tickets known at a time in all: some hundred megabytes.
pub const TICKETS_MAX: usize = 1_000_000;
/// Most answers remembered; the oldest go first.
pub const ANSWERS_MAX: usize = 100_000;
/// Expired tickets or answers that are dropped under one hold of the lock: a fraction of a millisecond,
/// however many expire at once.
const EXPIRED_AT_A_TIME: usize = 200;
/// How long an answer is remembered after its slot.
pub const ANSWER_TTL: Span = match Span::from_ns(60 * SECOND) {
    Some(span) => span,
    None => Span::ZERO,
};

/// A request that was granted and may still be confirmed, cancelled or settled.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ticket {
    /// One a rule; the first one's key is the ticket's.
    pub parts: SmallVec<[Part; 1]>,
    /// When it may go: the latest of its slots, in whole nanoseconds.
    pub slot: Timestamp,
    /// How long it is known after that.
    pub ttl: Span,
    /// It was told to go.
    pub confirmed: bool,
    /// A pause lies or lay over its slot.
    pub overtaken: bool,
    /// The id of its request.
    pub id: Option<Box<[u8]>>,
    /// The lease that was taken with it; 0 for none.
    pub lease: u64,
}

/// What a ticket holds of one key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// The key.
    pub key: Key,
    /// The limits it was booked under.
    pub limits: PolicyLimits,
    /// They were a policy's.
    pub under_policy: bool,
    /// Permits, one number a limit.
    pub costs: SmallVec<[u64; 1]>,
    /// Slots, one a limit.
    pub slots: SmallVec<[Slot; 1]>,
}

impl Part {
    /// What it asked of its key.
    pub fn ask(&self) -> Ask<'_> {
        Ask {
            limits: &self.limits,
            under_policy: self.under_policy,
            costs: &self.costs,
        }
    }
}

impl Ticket {
    /// The latest of all slots, in whole nanoseconds.
    pub fn slot_of(parts: &[Part]) -> Timestamp {
        let slots = parts.iter().flat_map(|part| &part.slots);
        slots
            .map(|slot| slot.rounded_up())
            .max()
            .unwrap_or_default()
    }

    fn expires(&self) -> Timestamp {
        self.slot.after(self.ttl)
    }
}

/// What a request was answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// A grant.
    Granted {
        /// When it may go.
        slot: Timestamp,
        /// Its ticket; 0 for none.
        ticket: u64,
        /// Its lease; 0 for none.
        lease: u64,
        /// The row that binds.
        binding: u16,
        /// One a limit.
        rows: Vec<AnswerRow>,
    },
    /// A wait that ends then.
    Until(Timestamp),
    /// A number.
    Number(u64),
}

/// How one limit stood when a request was answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AnswerRow {
    /// Permits that can go at one instant.
    pub capacity: u64,
    /// What was left.
    pub remaining: u64,
    /// Milliseconds until it was full.
    pub reset_after_ms: u64,
}

/// An answer and the request it is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remembered {
    /// What was answered.
    pub answer: Answer,
    /// A hash of the request's words.
    pub request: u64,
    /// When it is forgotten.
    pub expires: Timestamp,
}

/// Where a key is: its database and its name.
pub type Home = (u8, Key);

/// Answers of one key: each with its place in the order in which they came.
type AnswersById = HashMap<Box<[u8]>, (u64, Remembered)>;

#[derive(Default)]
struct Tables {
    last_ticket: u64,
    tickets: HashMap<Home, BTreeMap<u64, Ticket>>,
    homes: BTreeMap<u64, Home>,
    ticket_ends: BTreeSet<(Timestamp, u64)>,
    answers: HashMap<Home, AnswersById>,
    /// In the order in which they came.
    answer_order: BTreeMap<u64, (Home, Box<[u8]>)>,
    answer_ends: BTreeSet<(Timestamp, u64)>,
    last_answer: u64,
    touched: TouchedRecords,
}

/// All tickets and answers.
#[derive(Default)]
pub struct Records(Mutex<Tables>);

impl Records {
    /// Numbers that are given from now on are above `number`.
    pub fn start_above(&self, number: u64) {
        let mut tables = self.0.lock();
        tables.last_ticket = tables.last_ticket.max(number);
    }

    /// A number that was never given before.
    pub fn next_number(&self) -> u64 {
        let mut tables = self.0.lock();
        tables.last_ticket += 1;
        tables.last_ticket
    }

    /// The last number given.
    pub fn last_number(&self) -> u64 {
        self.0.lock().last_ticket
    }

    /// True if the key may get another ticket.
    pub fn has_room(&self, database: u8, key: &[u8], now: Timestamp) -> bool {
        let mut tables = self.0.lock();
        let home = (database, Key::new(key));
        tables.expire_tickets(now, EXPIRED_AT_A_TIME);
        if !tables.has_room(&home) {
            tables.expire_tickets(now, TICKETS_MAX);
        }
        tables.has_room(&home)
    }

    /// Keeps a ticket, new or changed.
    pub fn put(&self, database: u8, number: u64, ticket: Ticket) {
        let Some(part) = ticket.parts.first() else {
            return;
        };
        let home = (database, part.key.clone());
        let mut tables = self.0.lock();
        tables.remove_ticket(&home, number);
        tables.touched.ticket(number);
        tables.homes.insert(number, home.clone());
        tables.ticket_ends.insert((ticket.expires(), number));
        tables
            .tickets
            .entry(home)
            .or_default()
            .insert(number, ticket);
    }

    /// The ticket of that number, if it is of that key and still known.
    pub fn ticket(&self, database: u8, key: &[u8], number: u64, now: Timestamp) -> Option<Ticket> {
        let mut tables = self.0.lock();
        tables.expire_tickets(now, EXPIRED_AT_A_TIME);
        let of_key = tables.tickets.get(&(database, Key::new(key)))?;
        let ticket = of_key.get(&number)?;
        (ticket.expires() > now).then(|| ticket.clone())
    }

    /// Forgets a ticket that is settled. The answer of its request stands.
    pub fn settle(&self, database: u8, key: &[u8], number: u64) {
        let home = (database, Key::new(key));
        let mut tables = self.0.lock();
        tables.touched.ticket(number);
        drop(tables.remove_ticket(&home, number));
    }

    /// Forgets a ticket that is given back, and the answer of its request.
    pub fn remove(&self, database: u8, key: &[u8], number: u64) {
        let home = (database, Key::new(key));
        let mut tables = self.0.lock();
        tables.touched.ticket(number);
        let Some(id) = tables
            .remove_ticket(&home, number)
            .and_then(|ticket| ticket.id)
        else {
            return;
        };
        // The id may be another request's by now.
        let answer = tables.answers.get(&home).and_then(|of_key| of_key.get(&id));
        let is_of =
            |answer: &Answer| matches!(answer, Answer::Granted { ticket, .. } if *ticket == number);
        if answer.is_some_and(|(_, remembered)| is_of(&remembered.answer)) {
            tables.touched.answer(&home, &id);
            tables.remove_answer(&home, &id);
        }
    }

    /// A pause was set or ended: these tickets have slots ahead, which now lie in a pause or do not.
    pub fn overtake(&self, tickets: &[(u64, bool)]) {
        if tickets.is_empty() {
            return;
        }
        let mut tables = self.0.lock();
        for (number, in_pause) in tickets {
            if let Some(home) = tables.homes.get(number).cloned()
                && let Some(ticket) = tables
                    .tickets
                    .get_mut(&home)
                    .and_then(|tickets| tickets.get_mut(number))
            {
                ticket.overtaken = *in_pause;
                tables.touched.ticket(*number);
            }
        }
    }

    /// What was answered to that id.
    pub fn answer(
        &self,
        database: u8,
        key: &[u8],
        id: &[u8],
        now: Timestamp,
    ) -> Option<Remembered> {
        let mut tables = self.0.lock();
        tables.expire_answers(now, EXPIRED_AT_A_TIME);
        let of_key = tables.answers.get(&(database, Key::new(key)))?;
        let (_, remembered) = of_key.get(id)?;
        (remembered.expires > now).then(|| remembered.clone())
    }

    /// Remembers an answer; the oldest makes room if there are too many.
    pub fn remember(&self, database: u8, key: &[u8], id: &[u8], remembered: Remembered) {
        let home = (database, Key::new(key));
        let mut tables = self.0.lock();
        tables.touched.answer(&home, id);
        tables.remove_answer(&home, id);
        if tables.answer_order.len() >= ANSWERS_MAX
            && let Some((_, (home, id))) = tables
                .answer_order
                .first_key_value()
                .map(|(at, what)| (*at, what.clone()))
        {
            tables.remove_answer(&home, &id);
        }
        tables.last_answer += 1;
        let order = tables.last_answer;
        tables.answer_order.insert(order, (home.clone(), id.into()));
        tables.answer_ends.insert((remembered.expires, order));
        tables
            .answers
            .entry(home)
            .or_default()
            .insert(id.into(), (order, remembered));
    }

    /// Forgets all of a key: it was deleted.
    pub fn forget_key(&self, database: u8, key: &[u8]) {
        self.0.lock().forget_home(&(database, Key::new(key)));
    }

    /// Forgets all, but not which numbers were given.
    pub fn clear_all(&self) {
        let mut tables = self.0.lock();
        let tables = &mut *tables;
        *tables = Tables {
            last_ticket: tables.last_ticket,
            last_answer: tables.last_answer,
            touched: std::mem::take(&mut tables.touched),
            ..Tables::default()
        };
    }

    /// Forgets all of a database.
    pub fn clear(&self, database: u8) {
        let mut tables = self.0.lock();
        let homes = tables.tickets.keys().chain(tables.answers.keys());
        let homes: Vec<Home> = homes.filter(|(of, _)| *of == database).cloned().collect();
        homes.iter().for_each(|home| tables.forget_home(home));
    }

    /// Forgets what has expired.
    pub fn sweep(&self, now: Timestamp) {
        let some_tickets = || self.0.lock().expire_tickets(now, EXPIRED_AT_A_TIME);
        while some_tickets() {}
        let some_answers = || self.0.lock().expire_answers(now, EXPIRED_AT_A_TIME);
        while some_answers() {}
    }

    /// True if any ticket or answer is known.
    pub fn any(&self) -> bool {
        self.counts() != (0, 0)
    }

    /// True if a ticket or an answer of the key is known, expired ones included that were not swept.
    pub fn knows(&self, database: u8, key: &[u8]) -> bool {
        let home = (database, Key::new(key));
        let tables = self.0.lock();
        tables.tickets.contains_key(&home) || tables.answers.contains_key(&home)
    }

    /// Tickets and answers known.
    pub fn counts(&self) -> (usize, usize) {
        let tables = self.0.lock();
        (tables.homes.len(), tables.answer_order.len())
    }

    /// Up to `count` tickets with numbers above `number`, by number.
    pub fn tickets_after(
        &self,
        number: u64,
        count: usize,
        now: Timestamp,
    ) -> Vec<(u8, u64, Ticket)> {
        let tables = self.0.lock();
        let homes = tables.homes.range(number.saturating_add(1)..);
        homes
            .filter_map(|(number, home)| {
                let ticket = tables.tickets.get(home)?.get(number)?;
                (ticket.expires() > now).then(|| (home.0, *number, ticket.clone()))
            })
            .take(count)
            .collect()
    }

    /// Up to `count` answers that came after the `order`-th, in the order in which they came.
    pub fn answers_after(
        &self,
        order: u64,
        count: usize,
        now: Timestamp,
    ) -> Vec<(u64, Home, Box<[u8]>, Remembered)> {
        let tables = self.0.lock();
        let order = tables.answer_order.range(order.saturating_add(1)..);
        order
            .filter_map(|(order, (home, id))| {
                let (_, remembered) = tables.answers.get(home)?.get(id)?;
                (remembered.expires > now)
                    .then(|| (*order, home.clone(), id.clone(), remembered.clone()))
            })
            .take(count)
            .collect()
    }
}

impl Tables {
    fn forget_home(&mut self, home: &Home) {
        let tickets = self.tickets.get(home);
        let numbers: Vec<u64> =
            tickets.map_or_else(Vec::new, |of_key| of_key.keys().copied().collect());
        for number in numbers {
            self.touched.ticket(number);
            drop(self.remove_ticket(home, number));
        }
        let answers = self.answers.get(home);
        let ids: Vec<Box<[u8]>> =
            answers.map_or_else(Vec::new, |of_key| of_key.keys().cloned().collect());
        for id in ids {
            self.touched.answer(home, &id);
            self.remove_answer(home, &id);
        }
    }

    fn remove_ticket(&mut self, home: &Home, number: u64) -> Option<Ticket> {
        let tickets = self.tickets.get_mut(home)?;
        let ticket = tickets.remove(&number)?;
        if tickets.is_empty() {
            self.tickets.remove(home);
        }
        self.homes.remove(&number);
        self.ticket_ends.remove(&(ticket.expires(), number));
        Some(ticket)
    }

    fn remove_answer(&mut self, home: &Home, id: &[u8]) {
        let Some(answers) = self.answers.get_mut(home) else {
            return;
        };
        if let Some((order, remembered)) = answers.remove(id) {
            self.answer_order.remove(&order);
            self.answer_ends.remove(&(remembered.expires, order));
        }
        if answers.is_empty() {
            self.answers.remove(home);
        }
    }

    fn has_room(&self, home: &Home) -> bool {
        let of_key = self.tickets.get(home).map_or(0, BTreeMap::len);
        of_key < TICKETS_PER_KEY_MAX && self.homes.len() < TICKETS_MAX
    }

    /// Drops up to `most` tickets that have expired; true if there may be more.
    fn expire_tickets(&mut self, now: Timestamp, most: usize) -> bool {
        for _ in 0..most {
            let Some(&(ends, number)) = self.ticket_ends.first().filter(|(ends, _)| *ends <= now)
            else {
                return false;
            };
            self.ticket_ends.remove(&(ends, number));
            if let Some(home) = self.homes.get(&number).cloned() {
                self.remove_ticket(&home, number);
            }
        }
        true
    }

    /// As [`Self::expire_tickets`] for answers.
    fn expire_answers(&mut self, now: Timestamp, most: usize) -> bool {
        for _ in 0..most {
            let Some(&(ends, order)) = self.answer_ends.first().filter(|(ends, _)| *ends <= now)
            else {
                return false;
            };
            self.answer_ends.remove(&(ends, order));
            if let Some((home, id)) = self.answer_order.get(&order).cloned() {
                self.remove_answer(&home, &id);
            }
        }
        true
    }
}

#[cfg(test)]
#[path = "records_tests.rs"]
mod tests;
