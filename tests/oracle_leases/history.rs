//! Random histories: what may be done with leases on two keys, and with a log that goes with them.

use crate::server::CONNECTIONS;
use proptest::prelude::*;

/// The keys of leases.
pub const KEYS: [&str; 2] = ["a", "b"];
/// The key of the log.
pub const LOG: &str = "log";

/// A limit of leases; times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    pub max: usize,
    pub ttl: u64,
}

/// A call of a verb on leases, on a log, or on both.
#[derive(Clone, Debug)]
pub struct Ask {
    /// A key of leases and its limit.
    pub leases: Option<(usize, Limit)>,
    /// A cost on the log.
    pub cost: Option<usize>,
    /// The log is named first.
    pub log_first: bool,
    pub ticket: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verb {
    Take,
    Reserve,
    Peek,
}

#[derive(Clone, Debug)]
pub enum Step {
    /// Nanoseconds; `swept`: everybody's lapses are noticed at once.
    Advance {
        ns: u64,
        swept: bool,
    },
    Lease {
        connection: usize,
        key: usize,
        limit: Limit,
        owner: Option<&'static str>,
        id: Option<&'static str>,
        bound: bool,
    },
    /// One of the requests for a lease with an id, once more.
    Again {
        connection: usize,
        back: usize,
    },
    /// `back`: which of the leases that were ever taken, the last one first.
    Renew {
        key: usize,
        back: usize,
        ttl: u64,
    },
    Release {
        key: usize,
        back: usize,
    },
    List {
        key: usize,
    },
    Call(Verb, Ask),
    /// `back`: which of the tickets that were ever given.
    Cancel {
        back: usize,
    },
    Pause {
        key: &'static str,
        ns: u64,
    },
    Resume {
        key: &'static str,
    },
    Delete {
        key: &'static str,
    },
    Pttl {
        key: &'static str,
    },
    Disconnect(usize),
    /// Nanoseconds for which the server is down.
    Restart(u64),
}

#[derive(Clone, Debug)]
pub struct History {
    /// The count and the period of the log.
    pub log: (usize, u64),
    pub steps: Vec<Step>,
}

fn span(unit: u64, most: u64) -> impl Strategy<Value = u64> {
    // Whole units, and a nanosecond beside them.
    (1..=most, -1..=1i64)
        .prop_map(move |(n, beside)| (n * unit).saturating_add_signed(beside).max(1))
}

fn limit(unit: u64) -> impl Strategy<Value = Limit> {
    let max = prop_oneof![4 => 1..=4usize, 1 => Just(100_000)];
    (max, span(unit, 12)).prop_map(|(max, ttl)| Limit { max, ttl })
}

fn ask(unit: u64) -> impl Strategy<Value = Ask> {
    let leases = || (0..KEYS.len(), limit(unit));
    let asked = prop_oneof![
        6 => (leases(), 1..=5usize).prop_map(|(leases, cost)| (Some(leases), Some(cost))),
        2 => leases().prop_map(|leases| (Some(leases), None)),
        1 => (1..=5usize).prop_map(|cost| (None, Some(cost))),
    ];
    (asked, any::<bool>(), any::<bool>()).prop_map(|((leases, cost), log_first, ticket)| Ask {
        leases,
        cost,
        log_first,
        ticket,
    })
}

fn step(unit: u64) -> impl Strategy<Value = Step> {
    let any_key = || prop::sample::select(vec![KEYS[0], KEYS[1], LOG]);
    let key = || 0..KEYS.len();
    let options = (
        prop::option::of(prop::sample::select(vec!["me", "you"])),
        prop::option::weighted(0.3, prop::sample::select(vec!["x", "y"])),
        prop::bool::weighted(0.3),
    );
    let lease = (0..CONNECTIONS, key(), limit(unit), options);
    let verb = prop::sample::select(vec![Verb::Take, Verb::Take, Verb::Reserve, Verb::Peek]);
    let advance = prop_oneof![6 => span(unit, 6), 1 => span(unit, 60), 1 => 1..=unit];
    prop_oneof![
        8 => (advance, any::<bool>()).prop_map(|(ns, swept)| Step::Advance { ns, swept }),
        8 => lease.prop_map(|(connection, key, limit, (owner, id, bound))| Step::Lease {
            connection, key, limit, owner, id, bound,
        }),
        3 => (0..CONNECTIONS, 0..3usize).prop_map(|(connection, back)| Step::Again { connection, back }),
        4 => (key(), 0..6usize, span(unit, 12)).prop_map(|(key, back, ttl)| Step::Renew { key, back, ttl }),
        4 => (key(), 0..6usize).prop_map(|(key, back)| Step::Release { key, back }),
        3 => key().prop_map(|key| Step::List { key }),
        8 => (verb, ask(unit)).prop_map(|(verb, ask)| Step::Call(verb, ask)),
        2 => (0..4usize).prop_map(|back| Step::Cancel { back }),
        1 => (any_key(), span(unit, 20)).prop_map(|(key, ns)| Step::Pause { key, ns }),
        1 => any_key().prop_map(|key| Step::Resume { key }),
        1 => any_key().prop_map(|key| Step::Delete { key }),
        2 => any_key().prop_map(|key| Step::Pttl { key }),
        2 => (0..CONNECTIONS).prop_map(Step::Disconnect),
        1 => prop_oneof![Just(0), span(unit, 10)].prop_map(Step::Restart),
    ]
}

pub fn histories(steps: usize) -> impl Strategy<Value = History> {
    let unit = prop::sample::select(vec![1, 1_000_000u64]);
    unit.prop_flat_map(move |unit| {
        let log = (1..=4usize, span(unit, 12));
        let steps = prop::collection::vec(step(unit), 1..=steps);
        (log, steps).prop_map(|(log, steps)| History { log, steps })
    })
}
