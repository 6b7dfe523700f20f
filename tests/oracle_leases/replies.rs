//! Plays histories on the server and on the oracle, reply by reply.

use crate::cases::config;
use crate::history::{Ask, History, KEYS, LOG, Limit, Step, Verb, histories};
use crate::server::Server;
use crate::world::{Lease, World, ceil_ms};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// 60 s, for which the answer to an id is remembered.
const ANSWER_TTL: u64 = 60_000_000_000;

struct Play {
    server: Server,
    world: World,
    /// Every lease that was ever taken, with its key.
    taken: Vec<(&'static str, u64)>,
    /// Requests with an id.
    sent: Vec<(&'static str, Limit, Rest)>,
    log: String,
}

impl Play {
    fn new(history: &History) -> Self {
        let server = Server::new();
        let now = server.engine.shared.clock.now().as_ns();
        Self {
            world: World {
                now,
                leases: Vec::new(),
                lapsed: 0,
                log: history.log,
                counted: Vec::new(),
                paused_until: BTreeMap::new(),
                tickets: Vec::new(),
                last_number: server.first_number(),
                answers: BTreeMap::new(),
            },
            server,
            taken: Vec::new(),
            sent: Vec::new(),
            log: String::new(),
        }
    }

    fn nth(&self, back: usize) -> u64 {
        let index = self.taken.len().checked_sub(1 + back);
        index.map_or(1, |index| self.taken[index].1)
    }

    /// Sends a request on a connection, and compares its reply.
    fn check(&mut self, connection: usize, request: &str, expected: &str) {
        let reply = self.server.call(connection, request);
        self.log += &format!("+{} {request} -> {reply}\n", self.world.now);
        assert_eq!(reply, expected, "the oracle says otherwise:\n{}", self.log);
    }

    fn lease(&mut self, connection: usize, key: &'static str, limit: Limit, rest: &Rest) {
        let mut request = format!("RL.LEASE {key} {} {}ns", limit.max, limit.ttl);
        let words = [("OWNER", rest.owner), ("ID", rest.id)];
        for (name, word) in words {
            request += &word.map_or(String::new(), |word| format!(" {name} {word}"));
        }
        request += if rest.bound { " BOUND" } else { "" };
        let expected = self.lease_reply(connection, key, limit, rest, &request);
        self.check(connection, &request, &expected);
    }

    fn lease_reply(
        &mut self,
        connection: usize,
        key: &'static str,
        limit: Limit,
        rest: &Rest,
        request: &str,
    ) -> String {
        let bound_to = rest.bound.then_some(connection);
        let now = self.world.now;
        let before = rest.id.and_then(|id| self.world.answers.get(&(key, id)));
        if let Some((before, number, _)) = before {
            if before != request {
                return "-ERR ID must be another one for another request: this one was used with other arguments".into();
            }
            let number = *number;
            let held = self
                .world
                .leases
                .iter_mut()
                .find(|lease| lease.number == number);
            let left = held.map_or(0, |lease| {
                lease.bound_to = bound_to;
                lease.lapses - now
            });
            return format!("[:{number} :{}]", ceil_ms(left));
        }
        if !self.world.has_place(key, limit.max) {
            return "$-1".into();
        }
        let number = self.world.next_number();
        self.taken.push((key, number));
        self.world.leases.push(Lease {
            key,
            number,
            lapses: now + limit.ttl,
            owner: rest.owner,
            bound_to,
        });
        if let Some(id) = rest.id {
            let answer = (request.to_owned(), number, now + ANSWER_TTL);
            self.world.answers.insert((key, id), answer);
        }
        format!("[:{number} :{}]", ceil_ms(limit.ttl))
    }

    fn call(&mut self, verb: Verb, ask: &Ask) {
        let (count, period) = self.world.log;
        let zero = if verb == Verb::Reserve { " 0" } else { "" };
        let leases = ask.leases.map(|(key, limit)| {
            let key = KEYS[key];
            (format!("{key} LEASES {} {}ns", limit.max, limit.ttl), "")
        });
        let log = ask
            .cost
            .map(|cost| (format!("{LOG} LOG {count} {period}ns"), cost));
        let log = log.map(|(rule, cost)| (rule, format!(" COST {cost}")));
        let leases = leases.map(|(rule, cost)| (rule, cost.to_owned()));
        let mut rules: Vec<(String, String)> = leases.into_iter().chain(log).collect();
        if ask.log_first {
            rules.reverse();
        }
        // `max_wait` stands behind the first limit.
        rules[0].0 += zero;
        let rules: Vec<String> = rules
            .iter()
            .map(|(rule, cost)| format!("{rule}{cost}"))
            .collect();
        let name = match verb {
            Verb::Take => "RL.TAKE",
            Verb::Reserve => "RL.RESERVE",
            Verb::Peek => "RL.PEEK",
        };
        let ticket = if ask.ticket && verb != Verb::Peek {
            " TICKET 10s"
        } else {
            ""
        };
        let request = format!("{name} {}{ticket}", rules.join(" AND "));
        let held = self.world.leases.len();
        let expected = self.world.call(verb, ask, &KEYS);
        let new = self.world.leases.get(held);
        self.taken
            .extend(new.map(|lease| (lease.key, lease.number)));
        self.check(0, &request, &expected);
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Advance { ns, swept } => {
                self.world.advance(*ns);
                self.server.advance(*ns);
                if *swept {
                    self.sweep();
                }
            }
            Step::Lease {
                connection,
                key,
                limit,
                owner,
                id,
                bound,
            } => {
                let rest = Rest {
                    owner: *owner,
                    id: *id,
                    bound: *bound,
                };
                self.lease(*connection, KEYS[*key], *limit, &rest);
                self.sent.extend(id.map(|_| (KEYS[*key], *limit, rest)));
            }
            Step::Again { connection, back } => {
                if let Some(index) = self.sent.len().checked_sub(1 + back) {
                    let (key, limit, rest) = self.sent[index];
                    self.lease(*connection, key, limit, &rest);
                }
            }
            Step::Renew { key, back, ttl } => {
                let (key, number, now) = (KEYS[*key], self.nth(*back), self.world.now);
                let mut leases = self.world.leases.iter_mut();
                let held = leases.find(|lease| lease.key == key && lease.number == number);
                let renewed = held.map(|lease| lease.lapses = now + ttl).is_some();
                let request = format!("RL.RENEW {key} {number} {ttl}ns");
                self.check(0, &request, &format!(":{}", u8::from(renewed)));
            }
            Step::Release { key, back } => {
                let (key, number) = (KEYS[*key], self.nth(*back));
                let released = self.world.release(key, number);
                let request = format!("RL.RELEASE {key} {number}");
                self.check(0, &request, &format!(":{}", u8::from(released)));
            }
            Step::List { key } => self.list(KEYS[*key]),
            Step::Call(verb, ask) => self.call(*verb, ask),
            Step::Cancel { back } => {
                let Some(index) = self.world.tickets.len().checked_sub(1 + back) else {
                    return;
                };
                let ticket = &self.world.tickets[index];
                let request = format!("RL.CANCEL {} {}", ticket.key, ticket.number);
                let back = self.world.cancel(index);
                self.check(0, &request, &format!(":{back}"));
                self.check(0, &request, ":0");
            }
            Step::Pause { key, ns } => {
                let until = self.world.paused_until.entry(key).or_insert(0);
                *until = (*until).max(self.world.now + ns);
                let left = ceil_ms(*until - self.world.now);
                self.check(
                    0,
                    &format!("RL.PAUSE {key} {ns}ns KEEP"),
                    &format!(":{left}"),
                );
            }
            Step::Resume { key } => {
                let was = self.world.paused_until.remove(key).is_some();
                self.check(
                    0,
                    &format!("RL.RESUME {key}"),
                    &format!(":{}", u8::from(was)),
                );
            }
            Step::Delete { key } => {
                let was = self.world.gone_after(key).is_some();
                self.world.paused_until.remove(key);
                self.world.leases.retain(|lease| lease.key != *key);
                self.world.tickets.retain(|ticket| ticket.key != *key);
                self.world.answers.retain(|(of, _), _| of != key);
                if *key == LOG {
                    self.world.counted.clear();
                }
                self.check(0, &format!("DEL {key}"), &format!(":{}", u8::from(was)));
            }
            Step::Pttl { key } => {
                let left = self
                    .world
                    .gone_after(key)
                    .map_or(-2, |ns| ceil_ms(ns) as i64);
                self.check(0, &format!("PTTL {key}"), &format!(":{left}"));
            }
            Step::Disconnect(connection) => {
                self.server.reconnect(*connection);
                let bound = |lease: &Lease| lease.bound_to == Some(*connection);
                self.world.leases.retain(|lease| !bound(lease));
                self.log += &format!("connection {connection} ends\n");
            }
            Step::Restart(down) => self.restart(*down),
        }
    }

    fn list(&mut self, key: &'static str) {
        let mut held: Vec<&Lease> = self.world.of(key).collect();
        held.sort_by_key(|lease| lease.number);
        let line = |lease: &&Lease| {
            let owner = lease
                .owner
                .map_or("$-1".to_owned(), |owner| format!("\"{owner}\""));
            let left = ceil_ms(lease.lapses - self.world.now);
            format!("[:{} :{left} {owner}]", lease.number)
        };
        let lines: Vec<String> = held.iter().map(line).collect();
        self.check(
            0,
            &format!("RL.LEASES {key}"),
            &format!("[{}]", lines.join(" ")),
        );
    }

    fn restart(&mut self, down: u64) {
        let server = std::mem::replace(&mut self.server, Server::new());
        self.server = server.restarted(down);
        self.world.advance(down);
        // What had lapsed unnoticed on a key that lives on is in the snapshot, and counts when it is noticed.
        let restored = self.server.engine.shared.store.counts.leases();
        self.world.lapsed = restored - self.world.leases.len() as u64;
        self.world
            .leases
            .iter_mut()
            .for_each(|lease| lease.bound_to = None);
        self.world.last_number = self.world.last_number.max(self.server.first_number());
        self.log += &format!("restarted after {down} ns\n");
    }

    /// All that have lapsed are noticed.
    fn sweep(&mut self) {
        self.check(0, "DEBUG CLOCK ADVANCE 0", "+OK");
        self.assert_counts();
        let counts = &self.server.engine.shared.store.counts;
        assert_eq!(counts.lapsed_leases(), self.world.lapsed, "{}", self.log);
    }

    /// Each that is held or has lapsed is counted once, whoever has noticed.
    fn assert_counts(&self) {
        let counts = &self.server.engine.shared.store.counts;
        let counted = counts.leases() + counts.lapsed_leases();
        let expected = self.world.leases.len() as u64 + self.world.lapsed;
        assert_eq!(counted, expected, "held and lapsed:\n{}", self.log);
        assert!(counts.lapsed_leases() <= self.world.lapsed, "{}", self.log);
    }
}

/// What stands behind a lease's limit.
#[derive(Clone, Copy)]
struct Rest {
    owner: Option<&'static str>,
    id: Option<&'static str>,
    bound: bool,
}

proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn every_reply_is_what_the_list_of_leases_says(history in histories(60)) {
        let mut play = Play::new(&history);
        for step in &history.steps {
            play.step(step);
            play.assert_counts();
        }
        KEYS.into_iter().for_each(|key| play.list(key));
        play.sweep();
    }
}
