//! The oracle: a list of all leases that are held, a list of the instants that the log has counted, and pauses.
//! Everything is found by looking at all of them.

use crate::history::{Ask, LOG, Limit, Verb};
use std::collections::BTreeMap;

/// Milliseconds, rounded up.
pub fn ceil_ms(ns: u64) -> u64 {
    ns.div_ceil(1_000_000)
}

#[derive(Clone, Debug)]
pub struct Lease {
    pub key: &'static str,
    pub number: u64,
    pub lapses: u64,
    pub owner: Option<&'static str>,
    pub bound_to: Option<usize>,
}

/// A ticket that was given: the first key, its lease, and what it has on the log.
#[derive(Clone, Debug)]
pub struct Ticket {
    pub key: &'static str,
    pub number: u64,
    pub lease: u64,
    /// When and how much.
    pub counted: Option<(u64, usize)>,
    pub lease_is_first: bool,
}

/// What a call found of one of its rules.
struct Row {
    capacity: usize,
    remaining: usize,
    /// Nanoseconds from now; `None` for never.
    wait: Option<u64>,
    reset: u64,
}

pub struct World {
    pub now: u64,
    pub leases: Vec<Lease>,
    pub lapsed: u64,
    pub log: (usize, u64),
    /// An instant a permit.
    pub counted: Vec<u64>,
    pub paused_until: BTreeMap<&'static str, u64>,
    pub tickets: Vec<Ticket>,
    pub last_number: u64,
    /// By key and id: the request, the lease it took, and until when it is remembered.
    pub answers: BTreeMap<(&'static str, &'static str), (String, u64, u64)>,
}

impl World {
    pub fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// Time passes.
    pub fn advance(&mut self, ns: u64) {
        self.now += ns;
        let (now, before) = (self.now, self.leases.len());
        self.leases.retain(|lease| lease.lapses > now);
        self.lapsed += (before - self.leases.len()) as u64;
        let period = self.log.1;
        self.counted.retain(|instant| instant + period > now);
        self.paused_until.retain(|_, until| *until > now);
        self.answers.retain(|_, (_, _, expires)| *expires > now);
    }

    fn start(&self, key: &str) -> u64 {
        self.paused_until.get(key).copied().unwrap_or(self.now)
    }

    pub fn of<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a Lease> {
        self.leases.iter().filter(move |lease| lease.key == key)
    }

    /// The first instant at which fewer than `max` of those that are held now are left.
    fn place_at(&self, key: &'static str, max: usize) -> u64 {
        let held = self.of(key).count();
        let mut ends: Vec<u64> = self.of(key).map(|lease| lease.lapses).collect();
        ends.sort_unstable();
        let too_many = (held + 1).saturating_sub(max);
        let free = too_many
            .checked_sub(1)
            .map_or(self.now, |index| ends[index]);
        free.max(self.start(key))
    }

    pub fn has_place(&self, key: &'static str, max: usize) -> bool {
        self.place_at(key, max) == self.now
    }

    fn row_of_leases(&self, key: &'static str, limit: Limit) -> Row {
        let paused = self.start(key) > self.now;
        let left = limit.max.saturating_sub(self.of(key).count());
        let last = self.of(key).map(|lease| lease.lapses).max();
        Row {
            capacity: limit.max,
            remaining: if paused { 0 } else { left },
            wait: Some(self.place_at(key, limit.max) - self.now),
            reset: last.unwrap_or(self.now).max(self.start(key)) - self.now,
        }
    }

    fn row_of_log(&self, cost: usize) -> Row {
        let (count, period) = self.log;
        let start = self.start(LOG);
        let fits = |at: u64| {
            let inside = self.counted.iter().filter(|instant| *instant + period > at);
            inside.count() + cost <= count
        };
        let ends = self.counted.iter().map(|instant| instant + period);
        let mut instants: Vec<u64> = ends.clone().filter(|end| *end > start).collect();
        instants.push(start);
        instants.sort_unstable();
        let first = instants.into_iter().find(|at| fits(*at));
        let left = count.saturating_sub(self.counted.len());
        Row {
            capacity: count,
            remaining: if start > self.now { 0 } else { left },
            wait: first.map(|at| at - self.now),
            reset: ends.max().unwrap_or(self.now).max(start) - self.now,
        }
    }

    fn rows(&self, ask: &Ask, keys: &[&'static str; 2]) -> Vec<Row> {
        let mut rows = Vec::new();
        rows.extend(
            ask.leases
                .map(|(key, limit)| self.row_of_leases(keys[key], limit)),
        );
        rows.extend(ask.cost.map(|cost| self.row_of_log(cost)));
        if ask.log_first {
            rows.reverse();
        }
        rows
    }

    /// The reply to a verb.
    pub fn call(&mut self, verb: Verb, ask: &Ask, keys: &[&'static str; 2]) -> String {
        let before = self.rows(ask, keys);
        let granted = before.iter().all(|row| row.wait == Some(0));
        let (mut ticket, mut lease) = (0, 0);
        if granted && verb != Verb::Peek {
            if ask.ticket {
                ticket = self.next_number();
            }
            if let Some((key, limit)) = ask.leases {
                lease = self.next_number();
                self.leases.push(Lease {
                    key: keys[key],
                    number: lease,
                    lapses: self.now + limit.ttl,
                    owner: None,
                    bound_to: None,
                });
            }
            let cost = ask.cost.unwrap_or(0);
            self.counted.extend(vec![self.now; cost]);
            if ask.ticket {
                let first = ask.leases.filter(|_| !ask.log_first || ask.cost.is_none());
                self.tickets.push(Ticket {
                    key: first.map_or(LOG, |(key, _)| keys[key]),
                    number: ticket,
                    lease,
                    counted: ask.cost.map(|cost| (self.now, cost)),
                    lease_is_first: first.is_some(),
                });
            }
        }
        let mut numbers: Vec<i64> = Vec::new();
        // Of a refused call the rule that waits longest, else the one with the least left; the first of several.
        let length = |wait: Option<u64>| wait.map_or(u128::MAX, u128::from);
        let after = self.rows(ask, keys);
        let mut bound = 0;
        for index in 1..after.len() {
            let more = match granted {
                true => after[index].remaining < after[bound].remaining,
                false => length(before[index].wait) > length(before[bound].wait),
            };
            if more {
                bound = index;
            }
        }
        let wait = before[bound].wait.map_or(-2, |wait| ceil_ms(wait) as i64);
        if verb == Verb::Reserve {
            numbers.push(match (granted, wait) {
                (true, _) => 0,
                (false, -2) => -2,
                (false, _) => -1,
            });
        } else {
            numbers.push(i64::from(!granted));
            numbers.push(after[bound].capacity as i64);
            numbers.push(after[bound].remaining as i64);
            numbers.push(if granted { -1 } else { wait });
            numbers.push(ceil_ms(after[bound].reset) as i64);
        }
        if verb != Verb::Peek {
            numbers.extend(ask.ticket.then_some(ticket as i64));
            numbers.extend(ask.leases.map(|_| lease as i64));
        }
        let numbers: Vec<String> = numbers.iter().map(|number| format!(":{number}")).collect();
        match numbers.as_slice() {
            [only] => only.clone(),
            _ => format!("[{}]", numbers.join(" ")),
        }
    }

    /// Gives a lease up; true if it was held.
    pub fn release(&mut self, key: &str, number: u64) -> bool {
        let before = self.leases.len();
        self.leases
            .retain(|lease| lease.key != key || lease.number != number);
        self.leases.len() < before
    }

    /// Gives a ticket back; how much of its first rule that was.
    pub fn cancel(&mut self, index: usize) -> usize {
        let ticket = self.tickets.remove(index);
        let released = self.leases.len();
        self.leases.retain(|lease| lease.number != ticket.lease);
        let released = released - self.leases.len();
        let mut back = 0;
        if let Some((at, cost)) = ticket.counted {
            for _ in 0..cost {
                if let Some(place) = self.counted.iter().position(|instant| *instant == at) {
                    self.counted.remove(place);
                    back += 1;
                }
            }
        }
        if ticket.lease_is_first {
            released
        } else {
            back
        }
    }

    /// Nanoseconds until a key is gone; `None` if it is.
    pub fn gone_after(&self, key: &str) -> Option<u64> {
        let ends = self.of(key).map(|lease| lease.lapses);
        let counted = self.counted.iter().filter(|_| key == LOG);
        let counted = counted.map(|instant| instant + self.log.1);
        let paused = self.paused_until.get(key).copied();
        ends.chain(counted)
            .chain(paused)
            .max()
            .map(|end| end - self.now)
    }
}
