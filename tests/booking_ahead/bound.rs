//! The bound every bucket keeps: the permits granted whose slots fall in any interval of length t are at most
//! `C + r·t`, with the larger C and the larger r where they changed.

use crate::cases::config;
use crate::exact::{Q, whole};
use crate::history::{Ask, Bucket, History, KEYS, Step, histories, histories_with_tickets};
use crate::server::{Reply, Server};
use crate::slots;
use num_rational::Ratio;
use proptest::prelude::*;
use tollgate::core::entry::Entry;

/// What was granted on a key: slots and permits.
type Grants = Vec<(Q, Q)>;

/// What a ticket was granted, by key.
struct Ticket {
    number: i64,
    /// Keys, and which of their grants.
    parts: Vec<(usize, usize)>,
}

struct Play<'a> {
    history: &'a History,
    server: Server,
    grants: Vec<Grants>,
    /// A key that is full is forgotten, and one that begins anew under a larger capacity knows nothing of the
    /// one before: where limits change, what was granted is counted by key and life.
    lives: Vec<(usize, Grants)>,
    tickets: Vec<Ticket>,
    /// What was asked and answered so far.
    log: String,
}

impl Play<'_> {
    fn entries(&self) -> Vec<Entry> {
        KEYS.iter().map(|key| self.server.entry(key)).collect()
    }

    fn rate(&self, limit: &Bucket) -> Q {
        Ratio::new(limit.permits, limit.per * i128::from(self.history.unit.1))
    }

    fn step(&mut self, step: &Step) {
        let asks: &[Ask] = match step {
            Step::Reserve { asks, .. } | Step::Take(asks) => asks,
            Step::Cancel(index) => return self.cancel(index),
            _ => &[],
        };
        let before = self.entries();
        for (key, _) in before
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.is_absent())
        {
            if self.history.limits[key].len() > 1 {
                self.lives
                    .push((key, std::mem::take(&mut self.grants[key])));
            }
        }
        let request = self.history.request(step);
        let reply = self.server.call(&request);
        self.log += &format!("{request} -> {reply:?}\n");
        let (granted, ticket) = match reply {
            Reply::Integer(wait) => (wait >= 0, 0),
            Reply::Integers(with_ticket) if with_ticket.len() == 2 => {
                (with_ticket[0] >= 0, with_ticket[1])
            }
            Reply::Integers(five) => (five[0] == 0, 0),
            Reply::Text(_) => (false, 0),
            Reply::Error(error) => panic!("{request}: {error}"),
        };
        if !granted {
            return;
        }
        let mut parts = Vec::new();
        for ask in asks {
            let slot = slots::granted(&before[ask.key], &self.server.entry(KEYS[ask.key]));
            parts.push((ask.key, self.grants[ask.key].len()));
            self.grants[ask.key].push((slot, whole(ask.cost)));
        }
        if ticket > 0 {
            self.tickets.push(Ticket {
                number: ticket,
                parts,
            });
        }
    }

    /// A slot ahead is free again; of one that has passed, at most what refill has not given back.
    fn cancel(&mut self, index: &prop::sample::Index) {
        if self.tickets.is_empty() {
            return;
        }
        let Ticket { number, parts } = self.tickets.remove(index.index(self.tickets.len()));
        let request = format!("RL.CANCEL {} {number}", KEYS[parts[0].0]);
        let Reply::Integer(back) = self.server.call(&request) else {
            panic!("{request} tells what came back");
        };
        self.log += &format!("{request} -> {back}\n");
        let now = slots::instant(self.server.now());
        let log = &self.log;
        for (index, &(key, grant)) in parts.iter().enumerate() {
            let limit = self.history.limits[key][0];
            let rate = Ratio::new(limit.permits, limit.per * i128::from(self.history.unit.1));
            let (slot, permits) = &mut self.grants[key][grant];
            let most = (*permits - rate * (now - *slot).max(whole(0))).max(whole(0));
            assert!(
                index > 0 || whole(i128::from(back)) <= most,
                "{log}of {most}"
            );
            // A slot ahead that a pause had worked in does not come back. Of one that has passed, parts may.
            if index > 0 || back > 0 || *slot <= now {
                *permits -= most;
            }
        }
    }
}

fn assert_bound(history: &History) {
    let mut play = Play {
        history,
        server: Server::new(),
        grants: vec![Vec::new(); KEYS.len()],
        lives: Vec::new(),
        tickets: Vec::new(),
        log: String::new(),
    };
    history.steps.iter().for_each(|step| play.step(step));
    let last = std::mem::take(&mut play.grants).into_iter().enumerate();
    let lives: Vec<_> = std::mem::take(&mut play.lives)
        .into_iter()
        .chain(last)
        .collect();
    let log = &play.log;
    for (key, mut grants) in lives {
        let limits = &history.limits[key];
        let rate = limits.iter().map(|limit| play.rate(limit)).max().unwrap();
        let capacity = limits.iter().map(|limit| limit.capacity).max().unwrap();
        // A slot that is booked moves to the next whole nanosecond when the rate changes.
        let moved = whole(i128::from(limits.len() > 1));
        grants.sort();
        for (first, (from, _)) in grants.iter().enumerate() {
            let mut permits = whole(0);
            for (to, cost) in &grants[first..] {
                permits += cost;
                let bound = whole(capacity) + rate * (to - from + moved);
                assert!(
                    permits <= bound,
                    "{log}{permits} permits of {} from {from} to {to}, at most {bound}: {grants:?}",
                    KEYS[key]
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(config(1_000))]

    #[test]
    fn no_interval_has_more_than_the_capacity_and_its_refill(history in histories(60, 1)) {
        assert_bound(&history);
    }

    #[test]
    fn nor_where_tickets_are_given_back(history in histories_with_tickets(60)) {
        assert_bound(&history);
    }

    #[test]
    fn nor_more_than_the_larger_ones_where_they_change(history in histories(60, 3)) {
        assert_bound(&history);
    }
}
