//! Plays histories on the server and on the oracle, reply by reply, and after every call asks each of its
//! keys when any cost could go, to the fraction of a nanosecond.

use crate::cases::config;
use crate::counters::{Kind, Q, whole};
use crate::history::{Ask, History, KEYS, Step, histories};
use crate::server::{Reply, START, Server};
use crate::world::{Key, NEVER, Seen, ceil_ms, five_integers, slot};
use num_rational::Ratio;
use proptest::prelude::*;
use tollgate::core::decision::Earliest;
use tollgate::core::entry::State;
use tollgate::core::limit::Limit;

struct Play<'a> {
    history: &'a History,
    server: Server,
    keys: Vec<Key>,
    now: i128,
    log: String,
}

impl Play<'_> {
    fn see(&self, asks: &[Ask]) -> Vec<Seen> {
        let see = |ask: &Ask| self.keys[ask.key].see(self.history.per(ask), ask.cost, self.now);
        asks.iter().map(see).collect()
    }

    fn book(&mut self, asks: &[Ask], slot: Option<Q>) {
        for ask in asks {
            let per = self.history.per(ask);
            if let Some(slot) = slot {
                assert!(
                    slot.is_integer(),
                    "only instants of whole nanoseconds are booked"
                );
                self.keys[ask.key].book(per, slot.to_integer(), ask.cost, self.now);
            }
        }
    }

    /// What the oracle replies to a step.
    fn expect(&mut self, step: &Step) -> Reply {
        let now = self.now;
        self.keys.iter_mut().for_each(|key| key.forget(now));
        match step {
            Step::Advance(ns) => {
                self.now += i128::from(*ns);
                Reply::Text("OK".into())
            }
            Step::Reserve { asks, max_wait } => {
                let slides = asks.iter().any(|ask| KEYS[ask.key].1 == Kind::Sliding);
                if slides && *max_wait > 0 {
                    return Reply::Error(String::new());
                }
                let slot = slot(&self.see(asks), now);
                let most = whole(now + i128::from(*max_wait));
                let within = slot.filter(|slot| *slot <= most);
                self.book(asks, within);
                match (slot, within) {
                    (None, _) => NEVER,
                    (_, None) => -1,
                    (_, Some(slot)) => ceil_ms(slot - whole(now)),
                }
                .into()
            }
            Step::Take(asks) => {
                let goes = self.see(asks).iter().all(|seen| seen.can(whole(now)));
                self.book(asks, goes.then_some(whole(now)));
                Reply::Integers(five_integers(&self.see(asks), now, goes))
            }
            Step::Peek(asks) => {
                let seen = self.see(asks);
                let goes = seen.iter().all(|seen| seen.can(whole(now)));
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
                let per = self.history.per(ask);
                self.keys[ask.key].charge(per, ask.cost, now);
                let next = self.keys[ask.key].see(per, 1, now).earliest().unwrap();
                ceil_ms(next - whole(now)).into()
            }
            Step::Refund { .. } => 0.into(),
            Step::Pttl { key } => self.keys[*key].pttl(now).into(),
        }
    }

    fn assert_exact(&self, asks: &[Ask]) {
        for ask in asks {
            let (per, mut entry) = (self.history.per(ask), self.server.entry(KEYS[ask.key].0));
            let limit = match entry.parts().0 {
                [State::Window(window)] => Limit::Window(window.limit),
                [State::Sliding(sliding)] => Limit::Sliding(sliding.limit),
                [State::Log(log)] => Limit::Log(log.limit),
                _ => continue,
            };
            // Of a call that was refused the limit in force is another.
            if limit.capacity() as i128 != per.count
                || limit.period().unwrap().as_ns() as i128 != per.period
            {
                continue;
            }
            let draft = entry.draft(&limit, self.server.now()).unwrap();
            for cost in 1..=per.count {
                let expected = self.keys[ask.key].see(per, cost, self.now).earliest();
                let Earliest::After(wait) = draft.earliest(cost as u64) else {
                    panic!("{cost} of {per:?} can go");
                };
                let (ns, numerator, denominator) = wait.parts();
                let fraction = Ratio::new(i128::from(numerator), i128::from(denominator));
                let found = whole(self.now + ns as i128) + fraction;
                let (log, key) = (&self.log, KEYS[ask.key].0);
                assert_eq!(Some(found), expected, "{log}{cost} on {key}");
            }
        }
    }
}

fn play(history: &History) {
    let mut play = Play {
        history,
        server: Server::new(),
        keys: KEYS.map(|(_, kind)| Key::new(kind)).to_vec(),
        now: i128::from(START),
        log: String::new(),
    };
    for step in &history.steps {
        let request = history.request(step);
        let reply = match play.server.call(&request) {
            Reply::Error(error) if error.contains("SLIDING") => Reply::Error(String::new()),
            reply => reply,
        };
        let expected = play.expect(step);
        let since = play.now - i128::from(START);
        play.log += &format!("+{since} {request} -> {reply:?}\n");
        assert_eq!(reply, expected, "the oracle says otherwise:\n{}", play.log);
        if let Step::Reserve { asks, .. } | Step::Take(asks) | Step::Peek(asks) = step {
            play.assert_exact(asks);
        }
    }
}

proptest! {
    #![proptest_config(config(1_000))]

    #[test]
    fn every_reply_is_what_the_lists_of_permits_say(history in histories(50)) {
        play(&history);
    }
}
