//! Every reply is the oracle's, every slot the earliest there is, and after every booking each of its keys
//! lets others go as early as the contract says: a rule that is ready is not held up by one that is not.

use crate::cases::config;
use crate::exact::{Q, Rule, whole};
use crate::history::{Ask, Bucket, History, KEYS, Step, histories};
use crate::server::{Reply, Server};
use crate::slots::{bucket_of, granted, nanoseconds};
use crate::world::{Key, NEVER, Seen, ceil_ms, five_integers, slot};
use num_rational::Ratio;
use proptest::prelude::*;
use tollgate::core::decision::Earliest;
use tollgate::core::limit::Limit;

struct Play<'a> {
    history: &'a History,
    server: Server,
    keys: Vec<Key>,
    /// Nanoseconds since the start.
    now: i128,
    /// What was asked and answered so far.
    log: String,
}

impl Play<'_> {
    fn rule(&self, ask: &Ask) -> Rule {
        let bucket = self.history.limits[ask.key][0];
        let per = bucket.per * i128::from(self.history.unit.1);
        Rule {
            capacity: bucket.capacity,
            rate: Ratio::new(bucket.permits, per),
        }
    }

    fn see(&self, asks: &[Ask]) -> Vec<Seen> {
        let see = |ask: &Ask| self.keys[ask.key].see(self.rule(ask), ask.cost, self.now);
        asks.iter().map(see).collect()
    }

    /// Plays a step; the reply and the oracle's.
    fn step(&mut self, request: &str, step: &Step) -> (Reply, Reply) {
        let now = self.now;
        self.keys.iter_mut().for_each(|key| key.forget(now));
        match step {
            Step::Reserve { asks, max_wait, .. } => {
                let slot = slot(&self.see(asks));
                let most = whole(now + i128::from(*max_wait));
                let fits = slot.is_some_and(|slot| slot.ceil() <= most);
                let expected = match slot {
                    None => NEVER,
                    Some(slot) if fits => ceil_ms(slot - whole(now)),
                    Some(_) => -1,
                };
                let reply = self.book(request, asks, slot.filter(|_| fits));
                return (reply, expected.into());
            }
            Step::Take(asks) => {
                let goes = self
                    .see(asks)
                    .iter()
                    .all(|seen| seen.earliest() == Some(whole(now)));
                let reply = self.book(request, asks, goes.then_some(whole(now)));
                let expected = five_integers(&self.see(asks), now, goes);
                return (reply, Reply::Integers(expected));
            }
            _ => {}
        }
        let reply = self.server.call(request);
        let expected = match step {
            Step::Advance(ns) => {
                self.now += i128::from(*ns);
                Reply::Text("OK".into())
            }
            Step::Peek(asks) => {
                let seen = self.see(asks);
                let goes = seen.iter().all(|seen| seen.earliest() == Some(whole(now)));
                Reply::Integers(five_integers(&seen, now, goes))
            }
            Step::Pause {
                key,
                ns,
                keep,
                force,
            } => self.keys[*key]
                .pause(i128::from(*ns), *keep, *force, now)
                .into(),
            Step::Resume { key } => self.keys[*key].resume(now).into(),
            Step::Charge(ask) => {
                let rule = self.rule(ask);
                self.keys[ask.key].charge(rule, ask.cost, now);
                let next = self.keys[ask.key].see(rule, 1, now).earliest().unwrap();
                ceil_ms(next - whole(now)).into()
            }
            _ => Reply::Text("OK".into()),
        };
        (reply, expected)
    }

    /// Calls, and books in the oracle what the server has booked: at `slot`, or at a rule's own instant inside
    /// that nanosecond.
    fn book(&mut self, request: &str, asks: &[Ask], slot: Option<Q>) -> Reply {
        let before: Vec<_> = KEYS.iter().map(|key| self.server.entry(key)).collect();
        let seen = self.see(asks);
        let reply = self.server.call(request);
        let refused = match &reply {
            Reply::Integer(wait) => *wait < 0,
            Reply::Integers(five) => five[0] == 1,
            other => panic!("{request}: {other:?}"),
        };
        let Some(slot) = slot.filter(|_| !refused) else {
            return reply;
        };
        for (ask, seen) in asks.iter().zip(seen) {
            let own = granted(&before[ask.key], &self.server.entry(KEYS[ask.key]));
            let inside = asks.len() > 1 && own.ceil() == slot && seen.can(own);
            let log = &self.log;
            assert!(
                own == slot || inside,
                "{log}{request}: {} at {own}, not {slot}",
                KEYS[ask.key]
            );
            let rule = self.rule(ask);
            self.keys[ask.key].book(rule, own, ask.cost, self.now);
        }
        self.assert_nobody_is_held_up(request, asks);
        reply
    }

    /// Each key alone lets any cost go at the oracle's instant, to the fraction of a nanosecond.
    fn assert_nobody_is_held_up(&self, request: &str, asks: &[Ask]) {
        for ask in asks {
            let (rule, mut entry) = (self.rule(ask), self.server.entry(KEYS[ask.key]));
            let Some(limit) = bucket_of(&entry).map(|(bucket, _)| Limit::Bucket(bucket.limit))
            else {
                continue;
            };
            let draft = entry.draft(&limit, self.server.now()).unwrap();
            for cost in 1..=rule.capacity {
                let expected = self.keys[ask.key]
                    .see(rule, cost, self.now)
                    .earliest()
                    .unwrap();
                let Earliest::After(wait) = draft.earliest(cost as u64) else {
                    panic!("{cost} of {rule:?} can go");
                };
                let found = whole(self.now) + nanoseconds(wait);
                let log = &self.log;
                assert_eq!(
                    found, expected,
                    "{log}{request}\n{cost} on {}",
                    KEYS[ask.key]
                );
            }
        }
    }
}

fn play(history: &History) {
    let mut play = Play {
        history,
        server: Server::new(),
        keys: vec![Key::default(); KEYS.len()],
        now: 0,
        log: String::new(),
    };
    for step in &history.steps {
        let request = history.request(step);
        let (reply, expected) = play.step(&request, step);
        play.log += &format!("+{} {request} -> {reply:?}\n", play.now);
        assert_eq!(reply, expected, "the oracle says otherwise:\n{}", play.log);
    }
}

proptest! {
    #![proptest_config(config(1_000))]

    #[test]
    fn every_call_goes_at_the_earliest_instant_and_holds_nobody_up(history in histories(40, 1)) {
        play(&history);
    }
}

#[test]
fn a_slot_inside_the_last_nanosecond_of_a_pause_counts_as_its_end() {
    let bucket = |capacity, permits, per| {
        vec![Bucket {
            capacity,
            permits,
            per,
            gcra: false,
        }]
    };
    let ask = |key, cost| Ask {
        key,
        limit: 0,
        cost,
    };
    let reserve = |asks: &[Ask], max_wait| Step::Reserve {
        asks: asks.to_vec(),
        max_wait,
        ticket: false,
    };
    play(&History {
        unit: ("ns", 1),
        limits: vec![
            bucket(4, 4, 49),
            bucket(3, 1, 1),
            bucket(2, 1, 1),
            bucket(4, 4, 48),
        ],
        steps: vec![
            Step::Charge(ask(3, 7)),
            reserve(&[ask(0, 3), ask(1, 1), ask(3, 1)], 48),
            reserve(&[ask(3, 1), ask(0, 4)], 85),
            Step::Advance(38),
            Step::Pause {
                key: 0,
                ns: 47,
                keep: true,
                force: false,
            },
            reserve(&[ask(0, 4), ask(2, 1), ask(3, 1)], 382),
        ],
    });
}
