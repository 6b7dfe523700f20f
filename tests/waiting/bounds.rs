//! What holds whatever is sent: every limit keeps its bound, nobody who could go is left waiting, and those of a
//! group go in the order in which they came. Limits of every kind, parameters that change, tickets given back.

use crate::cases::config;
use crate::server::Server;
use proptest::prelude::*;
use tollgate::core::limit::Limit;

const MS: i128 = 1_000_000;

/// What the keys are limited by. Of those of one kind a history uses one, or changes between them.
const LIMITS: [(&str, &[&str]); 6] = [
    ("bucket", &["2 1/20ms", "3 1/10ms", "1 1/35ms"]),
    ("gcra", &["GCRA 1 1 20ms", "GCRA 3 2 50ms", "PACE 1/30ms"]),
    (
        "window",
        &["WINDOW 2 50ms", "WINDOW 3 80ms", "WINDOW 1 20ms ALIGN"],
    ),
    (
        "sliding",
        &["SLIDING 2 50ms", "SLIDING 3 80ms", "SLIDING 1 20ms"],
    ),
    ("log", &["LOG 2 50ms", "LOG 3 80ms", "LOG 1 20ms"]),
    (
        "leases",
        &["LEASES 2 60ms", "LEASES 3 60ms", "LEASES 1 60ms"],
    ),
];
const KEYS: [&str; 2] = ["x", "y"];

#[derive(Clone, Debug)]
enum Step {
    Advance(u32),
    Acquire {
        /// Keys, and which of the limits and the cost.
        asks: Vec<(usize, usize, u32)>,
        max_wait: u32,
        group: u8,
        ticket: bool,
    },
    Take(usize, usize, u32),
    Leave(prop::sample::Index),
    Pause(usize, u32, bool),
    Resume(usize),
    /// Gives a ticket back, or releases a lease.
    GiveBack(prop::sample::Index),
}

fn steps(changes: bool) -> impl Strategy<Value = Vec<Step>> {
    let which = move || if changes { 0..3usize } else { 0..1 };
    let asks = prop::sample::subsequence(vec![0, 1], 1..=2).prop_shuffle();
    let asks = (asks, prop::collection::vec((which(), 1..=2u32), 2));
    let asks = asks.prop_map(|(keys, asks)| {
        let of = |(key, (which, cost))| (key, which, cost);
        keys.into_iter().zip(asks).map(of).collect::<Vec<_>>()
    });
    let acquire = (asks, 0..400u32, 0..3u8, any::<bool>());
    let acquire = acquire.prop_map(|(asks, max_wait, group, ticket)| Step::Acquire {
        asks,
        max_wait,
        group,
        ticket,
    });
    let step = prop_oneof![
        8 => (1..40u32).prop_map(Step::Advance),
        10 => acquire,
        2 => (0..2usize, which(), 1..=2u32).prop_map(|(key, which, cost)| Step::Take(key, which, cost)),
        2 => any::<prop::sample::Index>().prop_map(Step::Leave),
        1 => (0..2usize, 1..60u32, any::<bool>()).prop_map(|(key, ms, keep)| Step::Pause(key, ms, keep)),
        1 => (0..2usize).prop_map(Step::Resume),
        2 => any::<prop::sample::Index>().prop_map(Step::GiveBack),
    ];
    prop::collection::vec(step, 1..60)
}

/// One who waits.
struct Waiter {
    name: usize,
    asks: Vec<(usize, u32)>,
    group: u8,
}

/// Something that went: when, and what of which key.
#[derive(Clone, Copy, Debug)]
struct Grant {
    at: i128,
    key: usize,
    cost: u32,
    /// Until when it counts, if it was given back.
    until: i128,
}

struct Play {
    kinds: [usize; 2],
    server: Server,
    waiting: Vec<Waiter>,
    grants: Vec<Grant>,
    /// Key, ticket and lease of what went.
    papers: Vec<(usize, i64, i64, Vec<usize>)>,
    names: usize,
    log: String,
}

fn numbers(reply: &str) -> Vec<i64> {
    let lines = reply.lines().filter(|line| !line.starts_with('*'));
    lines
        .filter_map(|line| line.trim_start_matches(':').parse().ok())
        .collect()
}

impl Play {
    fn limit(&self, key: usize, which: usize) -> &'static str {
        LIMITS[self.kinds[key]].1[which]
    }

    /// A lease costs one.
    fn cost(&self, key: usize, cost: u32) -> u32 {
        if LIMITS[self.kinds[key]].0 == "leases" {
            1
        } else {
            cost
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Advance(ms) => self.advance(i128::from(*ms) * MS),
            Step::Acquire {
                asks,
                max_wait,
                group,
                ticket,
            } => self.acquire(asks, *max_wait, *group, *ticket),
            Step::Take(key, which, cost) => {
                let cost = self.cost(*key, *cost);
                let limit = self.limit(*key, *which);
                let request = format!("RL.TAKE {} {limit} COST {cost}", KEYS[*key]);
                let reply = self.boss(&request);
                if numbers(&reply).first() == Some(&0) {
                    self.went(&[(*key, cost)], 0, *numbers(&reply).get(5).unwrap_or(&0));
                }
            }
            Step::Leave(index) => {
                if !self.waiting.is_empty() {
                    let waiter = self.waiting.remove(index.index(self.waiting.len()));
                    self.log += &format!("{} leaves\n", waiter.name);
                    self.server.drop_peer(waiter.name);
                }
            }
            Step::Pause(key, ms, keep) => {
                let keep = if *keep { " KEEP" } else { "" };
                self.boss(&format!("RL.PAUSE {} {ms}{keep}", KEYS[*key]));
            }
            Step::Resume(key) => drop(self.boss(&format!("RL.RESUME {}", KEYS[*key]))),
            Step::GiveBack(index) => self.give_back(index),
        }
        self.server.fire();
        self.collect();
        self.nobody_could_go();
    }

    fn boss(&mut self, request: &str) -> String {
        let reply = self.server.boss(request);
        self.log += &format!("+{} {request} -> {reply:?}\n", self.server.now() / MS);
        reply
    }

    fn acquire(&mut self, asks: &[(usize, usize, u32)], max_wait: u32, group: u8, ticket: bool) {
        self.names += 1;
        let name = self.names;
        let mut asks = asks.to_vec();
        // A call takes one lease.
        if asks.len() == 2 && self.kinds.iter().all(|kind| LIMITS[*kind].0 == "leases") {
            asks.pop();
        }
        let mut max = format!(" {max_wait}");
        let rules: Vec<String> = asks
            .iter()
            .map(|(key, which, cost)| {
                let (limit, cost) = (self.limit(*key, *which), self.cost(*key, *cost));
                let max = std::mem::take(&mut max);
                format!("{} {limit}{max} COST {cost}", KEYS[*key])
            })
            .collect();
        let ticket = if ticket { " TICKET" } else { "" };
        let request = format!("RL.ACQUIRE {} GROUP g{group}{ticket}", rules.join(" AND "));
        let asks: Vec<(usize, u32)> = asks
            .iter()
            .map(|(key, _, cost)| (*key, self.cost(*key, *cost)))
            .collect();
        let reply = self.server.call(name, &request);
        self.log += &format!(
            "+{} {name}: {request} -> {reply:?}\n",
            self.server.now() / MS
        );
        match reply {
            None => self.waiting.push(Waiter { name, asks, group }),
            Some(reply) => self.answered(&asks, &reply, !ticket.is_empty()),
        }
    }

    fn answered(&mut self, asks: &[(usize, u32)], reply: &str, ticket: bool) {
        let found = numbers(reply);
        if found.first().is_some_and(|wait| *wait >= 0) {
            let ticket_number = if ticket { found[1] } else { 0 };
            let leases = asks
                .iter()
                .any(|(key, _)| LIMITS[self.kinds[*key]].0 == "leases");
            let lease = if leases { *found.last().unwrap() } else { 0 };
            self.went(asks, ticket_number, lease);
        } else if !reply.starts_with(':') && !reply.starts_with('*') {
            // Parameters of others under which this one cannot be held: an error, nothing charged.
            assert!(reply.starts_with("-ERR"), "{}{reply}", self.log);
        }
    }

    fn went(&mut self, asks: &[(usize, u32)], ticket: i64, lease: i64) {
        let at = self.server.now();
        let first = self.grants.len();
        self.grants.extend(asks.iter().map(|&(key, cost)| Grant {
            at,
            key,
            cost,
            until: i128::MAX,
        }));
        if ticket != 0 || lease != 0 {
            let grants = (first..self.grants.len()).collect();
            self.papers.push((asks[0].0, ticket, lease, grants));
        }
    }

    fn give_back(&mut self, index: &prop::sample::Index) {
        if self.papers.is_empty() {
            return;
        }
        let paper = self.papers.remove(index.index(self.papers.len()));
        let (key, ticket, lease, grants) = paper;
        let now = self.server.now();
        if ticket != 0 {
            self.boss(&format!("RL.CANCEL {} {ticket}", KEYS[key]));
        } else {
            for key in KEYS {
                self.boss(&format!("RL.RELEASE {key} {lease}"));
            }
        }
        for grant in grants {
            let leases = LIMITS[self.kinds[self.grants[grant].key]].0 == "leases";
            if ticket != 0 || leases {
                self.grants[grant].until = now;
            }
        }
    }

    /// From one instant at which something falls due to the next.
    fn advance(&mut self, ns: i128) {
        let to = self.server.now() + ns;
        while let Some(at) = self.server.next().filter(|at| *at <= to) {
            self.server.set_clock(at.max(self.server.now()));
            self.server.fire();
            self.collect();
            self.nobody_could_go();
        }
        self.server.set_clock(to);
    }

    /// The answers that have come, each caller's behind those who came before it in its group at the same keys.
    fn collect(&mut self) {
        let mut went: Vec<usize> = Vec::new();
        let mut index = 0;
        while index < self.waiting.len() {
            let name = self.waiting[index].name;
            let Some(reply) = self.server.answer(name) else {
                index += 1;
                continue;
            };
            let waiter = self.waiting.remove(index);
            self.log += &format!("+{} {name}: {reply:?}\n", self.server.now());
            let ticket = reply.starts_with('*') && self.has_ticket(&waiter, &reply);
            let goes = numbers(&reply).first().is_some_and(|wait| *wait >= 0);
            self.answered(&waiter.asks, &reply, ticket);
            if goes {
                went.push(name);
                let earlier = self.waiting.iter().take(index);
                let overtaken = earlier.filter(|other| {
                    other.group == waiter.group
                        && other.asks == waiter.asks
                        && waiter.asks.len() == 1
                });
                // A smaller cost may go where a larger one before it does not fit; the same one may not.
                let names: Vec<usize> = overtaken.map(|other| other.name).collect();
                assert!(
                    names.is_empty(),
                    "{}{name} has overtaken {names:?}",
                    self.log
                );
            }
        }
    }

    fn has_ticket(&self, waiter: &Waiter, reply: &str) -> bool {
        let leases = waiter
            .asks
            .iter()
            .any(|(key, _)| LIMITS[self.kinds[*key]].0 == "leases");
        numbers(reply).len() == 2 + usize::from(leases)
    }

    /// Nobody who is alone at its keys could go at once.
    fn nobody_could_go(&self) {
        let at = self.server.engine.shared.clock.now();
        for waiter in &self.waiting {
            let at_key = |key: usize| {
                let asks = self.waiting.iter().flat_map(|other| &other.asks);
                asks.filter(|(other, _)| *other == key).count()
            };
            let can = waiter.asks.iter().all(|&(key, cost)| {
                let mut entry = self.server.kept(KEYS[key]);
                let limit: Limit = entry.limits_or(&[])[0];
                let draft = entry.draft(&limit, at).unwrap();
                at_key(key) == 1 && draft.earliest(u64::from(cost)).is_now()
            });
            assert!(!can, "{}{} could go", self.log, waiter.name);
        }
    }

    /// Every limit kept its bound: that of the most generous of the parameters that it had.
    fn check_bounds(&self, changes: bool) {
        for (key, kind) in self.kinds.into_iter().enumerate() {
            let grants: Vec<Grant> = self
                .grants
                .iter()
                .copied()
                .filter(|grant| grant.key == key)
                .collect();
            let which = if changes { 0..3 } else { 0..1 };
            let bounds = which.map(|which| bound(LIMITS[kind].1[which]));
            let bound = bounds.reduce(Bound::larger).unwrap();
            for (first, from) in grants.iter().enumerate() {
                let mut permits = 0;
                for to in &grants[first..] {
                    // What was given back counts as long as it was there.
                    permits += i128::from(to.cost);
                    let counted = match LIMITS[kind].0 {
                        "leases" => grants
                            .iter()
                            .filter(|grant| {
                                grant.at <= to.at && to.at < grant.until.min(grant.at + 60 * MS)
                            })
                            .count() as i128,
                        _ => permits,
                    };
                    let given_back = grants.iter().any(|grant| grant.until < i128::MAX);
                    if given_back && LIMITS[kind].0 != "leases" {
                        continue;
                    }
                    let most = bound.most(to.at - from.at);
                    assert!(
                        counted <= most,
                        "{}{counted} of {} from {} to {}, at most {most}",
                        self.log,
                        KEYS[key],
                        from.at,
                        to.at
                    );
                }
            }
        }
    }
}

/// How much may go in an interval.
enum Bound {
    /// Capacity, and nanoseconds for a permit.
    Rate(i128, i128),
    /// So many in each of a row of periods: two of them in an interval that is shorter.
    Periods(i128, i128),
    /// So many in any period.
    Any(i128, i128),
    /// So many at any instant.
    Held(i128),
}

impl Bound {
    /// The more generous in each of its numbers.
    fn larger(self, other: Self) -> Self {
        match (self, other) {
            (Self::Rate(a, b), Self::Rate(c, d)) => Self::Rate(a.max(c), b.min(d)),
            (Self::Periods(a, b), Self::Periods(c, d)) => Self::Periods(a.max(c), b.min(d)),
            (Self::Any(a, b), Self::Any(c, d)) => Self::Any(a.max(c), b.min(d)),
            (Self::Held(a), Self::Held(b)) => Self::Held(a.max(b)),
            _ => panic!("one kind"),
        }
    }

    fn most(&self, ns: i128) -> i128 {
        match *self {
            Self::Rate(capacity, per) => capacity + ns / per,
            Self::Periods(count, period) => count * (ns / period + 2),
            Self::Any(count, period) => count * (ns / period + 1),
            Self::Held(max) => max,
        }
    }
}

fn bound(limit: &str) -> Bound {
    let words: Vec<&str> = limit.split(' ').collect();
    let ms = |word: &str| word.trim_end_matches("ms").parse::<i128>().unwrap() * MS;
    let number = |word: &str| word.parse::<i128>().unwrap();
    match words[0] {
        "GCRA" => Bound::Rate(number(words[1]) + 1, ms(words[3]) / number(words[2])),
        "PACE" => Bound::Rate(1, ms(words[1].trim_start_matches("1/"))),
        "WINDOW" | "SLIDING" => Bound::Periods(number(words[1]), ms(words[2])),
        "LOG" => Bound::Any(number(words[1]), ms(words[2])),
        "LEASES" => Bound::Held(number(words[1])),
        capacity => Bound::Rate(number(capacity), ms(words[1].trim_start_matches("1/"))),
    }
}

fn play(kinds: [usize; 2], steps: &[Step], changes: bool) {
    let mut play = Play {
        kinds,
        server: Server::new(),
        waiting: Vec::new(),
        grants: Vec::new(),
        papers: Vec::new(),
        names: 0,
        log: String::new(),
    };
    steps.iter().for_each(|step| play.step(step));
    // In the end nobody is left, and nothing is kept.
    play.advance(2_000 * MS);
    play.server.fire();
    play.collect();
    assert!(play.waiting.is_empty(), "{}somebody still waits", play.log);
    let shared = &play.server.engine.shared;
    assert_eq!(
        (shared.waiters.len(), shared.waiters.keys()),
        (0, 0),
        "{}",
        play.log
    );
    play.check_bounds(changes);
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn limits_of_every_kind_keep_their_bounds(first in 0..6usize, second in 0..6usize, steps in steps(false)) {
        play([first, second], &steps, false);
    }

    #[test]
    fn parameters_that_change_keep_the_larger_bounds(first in 0..6usize, second in 0..6usize, steps in steps(true)) {
        play([first, second], &steps, true);
    }
}
