//! Plays a history to a server, and keeps the ledger of what was granted.

use crate::history::{Act, History, PARTS};
use crate::ledger::Bucket;
use crate::server::Server;
use proptest::sample::Index;
use tollgate::core::timeline::Slot;
use tollgate::core::units::{MILLISECOND, Span, Timestamp};
use tollgate::store::Ticket;

pub struct Play {
    server: Server,
    pub buckets: Vec<Bucket>,
    requests: usize,
    tickets: Vec<Held>,
}

/// A ticket that was given.
#[derive(Clone)]
struct Held {
    number: i64,
    request: usize,
    /// Buckets and costs.
    rules: Vec<(usize, u64)>,
    given_back: bool,
    confirmed: bool,
}

impl Play {
    pub fn of(history: &History) -> Self {
        let bucket = |(index, (capacity, rate)): (usize, &(u64, &'static str))| {
            Bucket::new(format!("k{index}"), *capacity, rate)
        };
        let mut play = Self {
            server: Server::new(),
            buckets: history.buckets.iter().enumerate().map(bucket).collect(),
            requests: 0,
            tickets: Vec::new(),
        };
        history.acts.iter().for_each(|act| play.act(act));
        play
    }

    fn act(&mut self, act: &Act) {
        match act {
            Act::Ask {
                rules,
                max_wait,
                ticket,
            } => self.ask(rules, *max_wait, *ticket),
            Act::Confirm(index) => self.confirm(index),
            Act::Cancel(index) => self.cancel(index),
            Act::Settle(index, part) => self.settle(index, *part),
            Act::Pause {
                bucket,
                ms,
                keep,
                force,
                slow,
            } => {
                let bucket = &mut self.buckets[*bucket];
                bucket.was_paused = true;
                let (keep, force) = (word(*keep, "KEEP"), word(*force, "FORCE"));
                let slow = word(*slow, "SLOW 0.3 5s");
                let request = format!("RL.PAUSE {} {ms} {keep} {force} {slow}", bucket.name);
                let left = self.server.call(&request)[0];
                let until = self.server.now().after(milliseconds(left));
                // What is left is rounded up.
                if force == "FORCE" || until > bucket.paused_until.after(milliseconds(1)) {
                    bucket.paused_until = self.server.now().after(milliseconds(*ms as i64));
                }
            }
            Act::Resume(bucket) => {
                let bucket = &mut self.buckets[*bucket];
                self.server.call(&format!("RL.RESUME {}", bucket.name));
                bucket.paused_until = Timestamp::ZERO;
            }
            Act::Advance(ns) => {
                self.server.call(&format!("DEBUG CLOCK ADVANCE {ns}ns"));
            }
        }
    }

    fn ask(&mut self, rules: &[(usize, u64)], max_wait: Option<u64>, ticket: bool) {
        let rules: Vec<(usize, u64)> = rules
            .iter()
            .map(|&(bucket, part)| {
                let cost = self.buckets[bucket].capacity * part / PARTS;
                (bucket, cost.max(1))
            })
            .collect();
        let request = self.request(&rules, max_wait, word(ticket, "TICKET 1h"));
        let reply = self.server.call(&request);
        let (granted, wait) = match max_wait {
            Some(_) => (reply[0] >= 0, reply[0]),
            None => (reply[0] == 0, 0),
        };
        if !granted {
            return;
        }
        let request = self.requests;
        self.requests += 1;
        let mut slots = vec![
            Slot {
                at: self.server.now().after(milliseconds(wait)),
                fraction: 0,
            };
            rules.len()
        ];
        if ticket {
            let held = Held {
                number: reply[reply.len() - 1],
                request,
                rules: rules.clone(),
                given_back: false,
                confirmed: false,
            };
            slots = self.slots(&held);
            self.tickets.push(held);
        }
        for ((bucket, cost), slot) in rules.into_iter().zip(slots) {
            self.buckets[bucket].grant(request, cost, slot);
        }
    }

    fn request(&self, rules: &[(usize, u64)], max_wait: Option<u64>, options: &str) -> String {
        let mut words = Vec::new();
        for (index, &(bucket, cost)) in rules.iter().enumerate() {
            let bucket = &self.buckets[bucket];
            let max_wait = max_wait.filter(|_| index == 0);
            let max_wait = max_wait.map_or(String::new(), |ms| ms.to_string());
            let (name, limit) = (&bucket.name, bucket.limit());
            words.push(format!("{name} {limit} {max_wait} COST {cost}"));
        }
        let verb = if max_wait.is_some() {
            "RESERVE"
        } else {
            "TAKE"
        };
        format!("RL.{verb} {} {options}", words.join(" AND "))
    }

    fn held(&self, index: &Index) -> Option<usize> {
        (!self.tickets.is_empty()).then(|| index.index(self.tickets.len()))
    }

    fn ticket(&self, held: &Held) -> Ticket {
        let key = &self.buckets[held.rules[0].0].name;
        let records = &self.server.engine.shared.store.records;
        let found = records.ticket(0, key.as_bytes(), held.number as u64, self.server.now());
        found.expect("a ticket that is known")
    }

    fn slots(&self, held: &Held) -> Vec<Slot> {
        let parts = self.ticket(held).parts;
        for (part, &(bucket, _)) in parts.iter().zip(&held.rules) {
            assert!(self.buckets[bucket].is_of(&part.limits[0]));
        }
        parts.iter().map(|part| part.slots[0]).collect()
    }

    fn command(&mut self, verb: &str, held: &Held, rest: &str) -> i64 {
        let key = &self.buckets[held.rules[0].0].name;
        let request = format!("RL.{verb} {key} {} {rest}", held.number);
        self.server.call(&request)[0]
    }

    fn confirm(&mut self, index: &Index) {
        let Some(index) = self.held(index) else {
            return;
        };
        let held = self.tickets[index].clone();
        let reply = self.command("CONFIRM", &held, "");
        if held.given_back {
            assert_eq!(reply, -1);
            return;
        }
        assert!(reply >= 0, "its limits have not changed");
        if held.confirmed {
            assert_eq!(reply, 0, "asked again, 0 again");
            return;
        }
        let now = self.server.now();
        for (&(bucket, _), slot) in held.rules.iter().zip(self.slots(&held)) {
            self.buckets[bucket].move_to(held.request, slot);
            let is_paused = self.buckets[bucket].paused_until > now;
            assert!(reply > 0 || !is_paused, "told to go in a pause");
        }
        let wait = self.ticket(&held).slot.since(now).div_ceil(MILLISECOND);
        assert_eq!(reply as u64, wait);
        self.tickets[index].confirmed = reply == 0;
    }

    fn cancel(&mut self, index: &Index) {
        let Some(index) = self.held(index) else {
            return;
        };
        let held = self.tickets[index].clone();
        let slot = match held.given_back {
            true => Timestamp::ZERO,
            false => self.ticket(&held).slot,
        };
        let back = self.command("CANCEL", &held, "");
        if held.given_back {
            assert_eq!(back, 0);
        }
        assert!((0..=held.rules[0].1 as i64).contains(&back));
        self.give_back(index, |_| 0);
        if !held.given_back {
            self.book_the_hole(&held, slot, back);
        }
    }

    /// What was ahead is free again: the same request gets the same slot, or an earlier one.
    fn book_the_hole(&mut self, held: &Held, slot: Timestamp, back: i64) {
        let now = self.server.now();
        let paused = |&(bucket, _): &(usize, u64)| self.buckets[bucket].was_paused;
        if slot <= now || held.rules.iter().any(paused) {
            return;
        }
        assert_eq!(back, held.rules[0].1 as i64);
        let request = self.request(&held.rules, Some(1_000_000_000), "TICKET");
        let reply = self.server.call(&request);
        assert!((0..=slot.since(now).div_ceil(MILLISECOND) as i64).contains(&reply[0]));
        let again = Held {
            number: reply[1],
            ..held.clone()
        };
        let ahead = self.ticket(&again).slot > now;
        let back = self.command("CANCEL", &again, "");
        assert!(!ahead || back == held.rules[0].1 as i64);
    }

    fn settle(&mut self, index: &Index, part: u64) {
        let Some(index) = self.held(index) else {
            return;
        };
        let held = self.tickets[index].clone();
        let actual = |cost: u64| cost * part / PARTS;
        let list: Vec<String> = held
            .rules
            .iter()
            .map(|&(_, cost)| actual(cost).to_string())
            .collect();
        let reply = self.command("SETTLE", &held, &list.join(","));
        assert_eq!(reply, i64::from(!held.given_back));
        self.give_back(index, actual);
    }

    fn give_back(&mut self, index: usize, actual: impl Fn(u64) -> u64) {
        let held = &mut self.tickets[index];
        if std::mem::replace(&mut held.given_back, true) {
            return;
        }
        let now = self.server.now();
        for &(bucket, cost) in &held.rules {
            self.buckets[bucket].give_back(held.request, actual(cost), now);
        }
    }
}

fn milliseconds(ms: i64) -> Span {
    Span::from_ns(ms as u64 * MILLISECOND).unwrap()
}

fn word(set: bool, word: &'static str) -> &'static str {
    if set { word } else { "" }
}
