//! Every answer is the model's, at the same instant, and after every event each key is as the model says, to the
//! fraction of a nanosecond: what was granted, and what with all who wait booked on it.

use crate::cases::config;
use crate::exact::whole;
use crate::history::{History, KEYS, Leave, Step, histories};
use crate::model::{Answer, World};
use crate::server::Server;
use crate::world::{Key, five_integers};
use num_rational::Ratio;
use proptest::prelude::*;
use std::collections::BTreeMap;
use tollgate::core::decision::Earliest;
use tollgate::core::entry::Entry;
use tollgate::core::limit::{BucketLimit, Keeps, Limit, Rate};

struct Play<'a> {
    history: &'a History,
    server: Server,
    world: World,
    log: String,
}

fn integer(n: i64) -> String {
    format!(":{n}\r\n")
}

impl<'a> Play<'a> {
    fn new(history: &'a History) -> Self {
        Self {
            history,
            server: Server::new(),
            world: World::new(history.rules()),
            log: String::new(),
        }
    }

    fn fail(&self, what: &str) -> ! {
        panic!("{}{what}", self.log)
    }

    /// The answers that have come.
    fn answers(&mut self) -> BTreeMap<usize, String> {
        self.server.fire();
        let names: Vec<usize> = (0..=self.history.steps.len()).collect();
        let answers = names.into_iter();
        answers
            .filter_map(|name| Some((name, self.server.answer(name)?)))
            .collect()
    }

    fn expect_answers(&mut self, expected: &[Answer]) {
        let found = self.answers();
        let expected: BTreeMap<usize, String> = expected
            .iter()
            .map(|answer| (answer.name, integer(answer.reply)))
            .collect();
        if found != expected {
            self.fail(&format!("answers {found:?}, the model says {expected:?}"));
        }
    }

    fn step(&mut self, step: &Step) {
        let request = self.history.request(step);
        self.log += &format!("+{} {request}\n", self.world.now);
        match step {
            Step::Advance(ns, true) => {
                self.server.boss(&request);
                let expected = self.world.advance_to(self.world.now + ns);
                self.expect_answers(&expected);
            }
            Step::Advance(ns, false) => self.advance_one_by_one(self.world.now + ns),
            Step::Acquire {
                asks,
                max_wait,
                priority,
                group,
            } => {
                let (name, mut expected) =
                    self.world
                        .arrive(asks.clone(), *priority, *group, *max_wait);
                let reply = self.server.call(name, &request);
                let own = expected.iter().position(|answer| answer.name == name);
                let own = own.map(|own| integer(expected.remove(own).reply));
                if reply != own {
                    self.fail(&format!("{name}: {reply:?}, the model says {own:?}"));
                }
                self.log += &format!("  {name}: {reply:?}\n");
                self.expect_answers(&expected);
            }
            Step::Leave(index, how) => self.leave(index, *how),
            Step::Reserve(asks, max_wait) => {
                let (_, planned) = self.world.plan();
                let before = self.slots();
                let found = self.world.earliest(&planned, asks);
                let most = self.world.now + max_wait;
                let expected = match &found {
                    None => -2,
                    Some((at, slots)) if *at <= most => {
                        let (world, now) = (self.world.clone(), self.world.now);
                        world.book(&mut self.world.keys, asks, slots, now);
                        let wait = slots.iter().max().unwrap() - whole(now);
                        let wait = if asks.len() > 1 {
                            whole(at - now)
                        } else {
                            wait
                        };
                        (wait / whole(1_000_000)).ceil().to_integer() as i64
                    }
                    Some(_) => -1,
                };
                self.expect_reply(&request, &integer(expected));
                self.nobody_is_overtaken(&before);
            }
            Step::Take(asks) | Step::Peek(asks) => {
                let (_, mut planned) = self.world.plan();
                let before = self.slots();
                let (world, now) = (self.world.clone(), self.world.now);
                let found = self.world.earliest(&planned, asks);
                let goes = found
                    .as_ref()
                    .is_some_and(|(_, slots)| slots.iter().all(|slot| *slot == whole(now)));
                if let (true, Some((_, slots)), Step::Take(_)) = (goes, &found, step) {
                    world.book(&mut self.world.keys, asks, slots, now);
                    world.book(&mut planned, asks, slots, now);
                }
                let see = |ask: &crate::model::Ask| {
                    planned[ask.key].see(self.world.rules[ask.key], ask.cost, now)
                };
                let seen: Vec<_> = asks.iter().map(see).collect();
                let five = five_integers(&seen, now, goes);
                let expected = five.iter().map(|n| integer(*n)).collect::<String>();
                self.expect_reply(&request, &format!("*5\r\n{expected}"));
                self.nobody_is_overtaken(&before);
            }
            Step::Pause {
                key,
                ns,
                keep,
                force,
            } => {
                let now = self.world.now;
                let left = self.world.keys[*key].pause(*ns, *keep, *force, now);
                self.change(&request, left);
            }
            Step::Resume(key) => {
                let now = self.world.now;
                let resumed = self.world.keys[*key].resume(now);
                self.change(&request, resumed);
            }
            Step::Charge(ask) => {
                let (rule, now) = (self.world.rules[ask.key], self.world.now);
                self.world.keys[ask.key].charge(rule, ask.cost, now);
                self.server.boss(&request);
                let expected = self.world.advance_to(now);
                self.expect_answers(&expected);
            }
            Step::Delete(key) => {
                let now = self.world.now;
                let waits =
                    |waiter: &crate::model::Waiter| waiter.asks.iter().any(|ask| ask.key == *key);
                let mut entry = self.server.kept(KEYS[*key]);
                entry.forget(self.server.engine.shared.clock.now());
                let existed = self.world.waiters.iter().any(waits) || !entry.is_absent();
                self.world.keys[*key] = Key::default();
                self.change(&request, i64::from(existed));
                self.world.now = now;
            }
        }
        self.compare();
    }

    fn expect_reply(&mut self, request: &str, expected: &str) {
        let found = self.server.boss(request);
        if found != expected {
            self.fail(&format!("{found:?}, the model says {expected:?}"));
        }
    }

    /// A key was changed in the model; so it is by the server, and whoever can go now goes.
    fn change(&mut self, request: &str, expected: i64) {
        self.expect_reply(request, &integer(expected));
        let expected = self.world.advance_to(self.world.now);
        self.expect_answers(&expected);
    }

    fn leave(&mut self, index: &prop::sample::Index, how: Leave) {
        let waiting = self.world.waiters.len();
        if waiting == 0 {
            return;
        }
        let name = self.world.waiters[index.index(waiting)].name;
        self.log += &format!("  {name}\n");
        self.world.take_out(name, false);
        let id = self.server.id(name);
        let mut answer = None;
        match how {
            Leave::Disconnect => self.server.drop_peer(name),
            Leave::Kill => self.expect_reply(&format!("CLIENT KILL ID {id}"), &integer(1)),
            Leave::Timeout => {
                self.expect_reply(&format!("CLIENT UNBLOCK {id}"), &integer(1));
                answer = Some(integer(-1));
            }
            Leave::Error => {
                self.expect_reply(&format!("CLIENT UNBLOCK {id} ERROR"), &integer(1));
                answer = Some("-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n".to_owned());
            }
        }
        if self.server.answer(name) != answer {
            self.fail(&format!("{name} has not heard {answer:?}"));
        }
        let expected = self.world.advance_to(self.world.now);
        self.expect_answers(&expected);
    }

    /// From one instant at which something falls due to the next: they are the model's.
    fn advance_one_by_one(&mut self, to: i128) {
        loop {
            let (found, expected) = (self.server.next(), self.world.next_due());
            if found != expected {
                self.fail(&format!("next at {found:?}, the model says {expected:?}"));
            }
            let at = expected.map_or(to, |at| at.min(to));
            self.server.set_clock(at);
            let expected = self.world.advance_to(at);
            self.log += &format!("  at {at}: {expected:?}\n");
            self.expect_answers(&expected);
            self.compare();
            if at == to {
                return;
            }
        }
    }

    fn slots(&self) -> BTreeMap<usize, Option<i128>> {
        let plan = self.world.plan().0.into_iter();
        plan.map(|planned| (planned.name, planned.slots.map(|(at, _)| at)))
            .collect()
    }

    /// What others book moves nobody who waits.
    fn nobody_is_overtaken(&self, before: &BTreeMap<usize, Option<i128>>) {
        let after = self.slots();
        if after != *before {
            self.fail(&format!("slots were {before:?} and are {after:?}"));
        }
    }

    /// Each key lets any cost go at the instant that the model says.
    fn compare(&mut self) {
        self.server.fire();
        let (_, planned) = self.world.plan();
        for (index, key) in KEYS.iter().enumerate() {
            let entries = [
                ("kept", self.server.kept(key), &self.world.keys[index]),
                ("seen", self.server.seen(key), &planned[index]),
            ];
            for (name, entry, model) in entries {
                self.compare_key(index, name, entry, model);
            }
        }
        if self.server.engine.shared.waiters.len() != self.world.waiters.len() {
            self.fail("another number of callers waits");
        }
    }

    fn compare_key(&self, index: usize, name: &str, mut entry: Entry, model: &Key) {
        let (rule, now) = (self.world.rules[index], self.world.now);
        let bucket = self.history.limits[index];
        let rate = format!("{}/{}{}", bucket.permits, bucket.per, self.history.unit.0);
        let rate = Rate::parse(rate.as_bytes()).unwrap();
        let limit = BucketLimit::new(bucket.capacity as u64, rate, Keeps::Permits).unwrap();
        let at = self.server.engine.shared.clock.now();
        if !entry.is_waited() {
            entry.forget(at);
        }
        let draft = entry.draft(&Limit::Bucket(limit), at).unwrap();
        for cost in 1..=rule.capacity {
            let expected = model.see(rule, cost, now).earliest().unwrap();
            let Earliest::After(wait) = draft.earliest(cost as u64) else {
                panic!("{cost} of {rule:?} can go");
            };
            let (ns, numerator, denominator) = wait.parts();
            let fraction = Ratio::new(i128::from(numerator), i128::from(denominator));
            let found = whole(now + ns as i128) + fraction;
            if found != expected {
                self.fail(&format!(
                    "{cost} on {} as {name} at {found}, the model says {expected}",
                    KEYS[index]
                ));
            }
        }
    }
}

fn play(history: &History) {
    let mut play = Play::new(history);
    history.steps.iter().for_each(|step| play.step(step));
}

proptest! {
    #![proptest_config(config(300))]

    #[test]
    fn callers_at_one_key_go_as_the_model_says(history in histories(40, 1, 1, 1)) {
        play(&history);
    }

    #[test]
    fn callers_at_several_keys_go_as_the_model_says(history in histories(40, 3, 1, 1)) {
        play(&history);
    }

    #[test]
    fn groups_and_priorities_at_one_key_take_turns_as_the_model_says(history in histories(40, 1, 3, 3)) {
        play(&history);
    }

    #[test]
    fn groups_and_priorities_take_turns_as_the_model_says(history in histories(40, 3, 3, 2)) {
        play(&history);
    }
}
