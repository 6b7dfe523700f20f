//! Random histories of callers who wait, and of others who come in between.

use crate::exact::Rule;
use crate::model::Ask;
use num_rational::Ratio;
use proptest::prelude::*;

/// Names of keys.
pub const KEYS: [&str; 3] = ["x", "y", "z"];

/// A bucket: so many permits every so many units of time.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    pub capacity: i128,
    pub permits: i128,
    pub per: i128,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Leave {
    Disconnect,
    Kill,
    Timeout,
    Error,
}

#[derive(Clone, Debug)]
pub enum Step {
    /// Nanoseconds; by the command, or from one thing that falls due to the next.
    Advance(i128, bool),
    Acquire {
        asks: Vec<Ask>,
        max_wait: i128,
        priority: u8,
        group: u8,
    },
    /// One of those who wait leaves.
    Leave(prop::sample::Index, Leave),
    Reserve(Vec<Ask>, i128),
    Take(Vec<Ask>),
    Peek(Vec<Ask>),
    Pause {
        key: usize,
        ns: i128,
        keep: bool,
        force: bool,
    },
    Resume(usize),
    Charge(Ask),
    Delete(usize),
}

#[derive(Clone, Debug)]
pub struct History {
    /// The unit of time of all rates: nanoseconds, so that slots fall between them, or milliseconds.
    pub unit: (&'static str, i128),
    pub limits: Vec<Bucket>,
    pub steps: Vec<Step>,
}

/// Where calls name several keys, permits take whole nanoseconds: inside the nanosecond that ends at a slot of several
/// keys each has an instant of its own, which depends on what was booked before what.
fn bucket(keys: usize) -> impl Strategy<Value = Bucket> {
    let per = prop_oneof![1..=9i128, 10..=60i128];
    let permits = if keys > 1 { 1..=1 } else { 1..=5i128 };
    (1..=4i128, permits, per).prop_map(|(capacity, permits, per)| Bucket {
        capacity,
        // At most one a nanosecond.
        permits: permits.min(per),
        per,
    })
}

fn asks(most: usize) -> impl Strategy<Value = Vec<Ask>> {
    let cost = prop_oneof![8 => 1..=2i128, 2 => 3..=5i128];
    let keys = prop_oneof![
        3 => prop::sample::subsequence(vec![0, 1, 2], 1),
        1 => prop::sample::subsequence(vec![0, 1, 2], most.min(2)..=most),
    ];
    (keys.prop_shuffle(), prop::collection::vec(cost, 3)).prop_map(|(keys, costs)| {
        let of = |(key, cost)| Ask { key, cost };
        keys.into_iter().zip(costs).map(of).collect()
    })
}

fn step(unit: i128, keys: usize, groups: u8, priorities: u8) -> impl Strategy<Value = Step> {
    let span = move |units: i128| {
        (1..=units, -1..=1i128).prop_map(move |(n, beside)| (n * unit + beside).max(1))
    };
    let key = || 0..KEYS.len();
    let max_wait = prop_oneof![1 => Just(0), 2 => span(30), 6 => span(600)];
    let acquire = (asks(keys), max_wait, 0..priorities, 0..groups);
    let acquire = acquire.prop_map(|(asks, max_wait, priority, group)| Step::Acquire {
        asks,
        max_wait,
        priority,
        group,
    });
    let leave = prop::sample::select(vec![
        Leave::Disconnect,
        Leave::Kill,
        Leave::Timeout,
        Leave::Error,
    ]);
    let pause = (key(), span(60), any::<bool>(), prop::bool::weighted(0.3));
    let pause = pause.prop_map(|(key, ns, keep, force)| Step::Pause {
        key,
        ns,
        keep,
        force,
    });
    prop_oneof![
        8 => (span(20), any::<bool>()).prop_map(|(ns, by_command)| Step::Advance(ns, by_command)),
        18 => acquire,
        4 => (any::<prop::sample::Index>(), leave).prop_map(|(index, how)| Step::Leave(index, how)),
        2 => (asks(keys), prop_oneof![1 => Just(0), 3 => span(200)]).prop_map(|(asks, max_wait)| Step::Reserve(asks, max_wait)),
        2 => asks(keys).prop_map(Step::Take),
        1 => asks(keys).prop_map(Step::Peek),
        2 => pause,
        1 => key().prop_map(Step::Resume),
        1 => (key(), 1..=3i128).prop_map(|(key, cost)| Step::Charge(Ask { key, cost })),
        1 => key().prop_map(Step::Delete),
    ]
}

/// Histories of up to `steps` steps, of calls that name up to so many keys.
pub fn histories(
    steps: usize,
    keys: usize,
    groups: u8,
    priorities: u8,
) -> impl Strategy<Value = History> {
    let unit = prop::sample::select(vec![("ns", 1i128), ("ns", 1), ("ms", 1_000_000)]);
    unit.prop_flat_map(move |unit| {
        let limits = prop::collection::vec(bucket(keys), KEYS.len());
        let steps = prop::collection::vec(step(unit.1, keys, groups, priorities), 1..=steps);
        (limits, steps).prop_map(move |(limits, steps)| History {
            unit,
            limits,
            steps,
        })
    })
}

impl History {
    pub fn rules(&self) -> Vec<Rule> {
        let rule = |bucket: &Bucket| Rule {
            capacity: bucket.capacity,
            rate: Ratio::new(bucket.permits, bucket.per * self.unit.1),
        };
        self.limits.iter().map(rule).collect()
    }

    fn limit(&self, key: usize) -> String {
        let Bucket {
            capacity,
            permits,
            per,
        } = self.limits[key];
        format!("{capacity} {permits}/{per}{}", self.unit.0)
    }

    fn call(&self, verb: &str, asks: &[Ask], max_wait: Option<i128>) -> String {
        let mut max_wait = max_wait.map_or(String::new(), |ns| format!(" {ns}ns"));
        let rules: Vec<String> = asks
            .iter()
            .map(|ask| {
                let (limit, max_wait) = (self.limit(ask.key), std::mem::take(&mut max_wait));
                format!("{} {limit}{max_wait} COST {}", KEYS[ask.key], ask.cost)
            })
            .collect();
        format!("{verb} {}", rules.join(" AND "))
    }

    /// The request of a step.
    pub fn request(&self, step: &Step) -> String {
        match step {
            Step::Advance(ns, _) => format!("DEBUG CLOCK ADVANCE {ns}ns"),
            Step::Acquire {
                asks,
                max_wait,
                priority,
                group,
            } => {
                let call = self.call("RL.ACQUIRE", asks, Some(*max_wait));
                format!("{call} PRIORITY {priority} GROUP g{group}")
            }
            Step::Reserve(asks, max_wait) => self.call("RL.RESERVE", asks, Some(*max_wait)),
            Step::Take(asks) => self.call("RL.TAKE", asks, None),
            Step::Peek(asks) => self.call("RL.PEEK", asks, None),
            Step::Pause {
                key,
                ns,
                keep,
                force,
            } => {
                let keep = if *keep { " KEEP" } else { "" };
                let force = if *force { " FORCE" } else { "" };
                format!("RL.PAUSE {} {ns}ns{keep}{force}", KEYS[*key])
            }
            Step::Resume(key) => format!("RL.RESUME {}", KEYS[*key]),
            Step::Charge(ask) => format!(
                "RL.CHARGE {} {} {}",
                KEYS[ask.key],
                self.limit(ask.key),
                ask.cost
            ),
            Step::Delete(key) => format!("DEL {}", KEYS[*key]),
            Step::Leave(_, how) => format!("{how:?}"),
        }
    }
}
