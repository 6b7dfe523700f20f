//! Random histories over a few keys, each of one kind and with several limits.

use crate::counters::{Kind, Per};
use proptest::prelude::*;

/// Names and kinds of keys.
pub const KEYS: [(&str, Kind); 4] = [
    ("window", Kind::Window),
    ("row", Kind::Window),
    ("sliding", Kind::Sliding),
    ("log", Kind::Log),
];

#[derive(Clone, Copy, Debug)]
pub struct Ask {
    pub key: usize,
    /// Which of the key's limits.
    pub limit: usize,
    pub cost: i128,
}

#[derive(Clone, Debug)]
pub enum Step {
    /// Nanoseconds.
    Advance(u64),
    Reserve {
        asks: Vec<Ask>,
        max_wait: u64,
    },
    Take(Vec<Ask>),
    Peek(Vec<Ask>),
    Pause {
        key: usize,
        ns: u64,
        keep: bool,
        force: bool,
    },
    Resume {
        key: usize,
    },
    Charge(Ask),
    Refund {
        key: usize,
    },
    Pttl {
        key: usize,
    },
}

#[derive(Clone, Debug)]
pub struct History {
    /// Limits of each key.
    pub limits: Vec<Vec<Per>>,
    pub steps: Vec<Step>,
}

fn per(unit: i128) -> impl Strategy<Value = Per> {
    let period = prop_oneof![1 => Just(1i128), 6 => 2..=12i128, 1 => 13..=60i128];
    (1..=6i128, period, any::<bool>()).prop_map(move |(count, period, align)| Per {
        count,
        period: period * unit,
        align,
    })
}

fn asks(limits: usize) -> impl Strategy<Value = Vec<Ask>> {
    // Mostly the first limit, so that parameters do not change at every call.
    let limit = prop_oneof![5 => Just(0), 1 => 0..limits];
    let cost = prop_oneof![6 => 1..=2i128, 3 => 3..=6i128, 1 => Just(7i128)];
    let keys = prop::sample::subsequence(vec![0, 1, 2, 3], 1..=3).prop_shuffle();
    (keys, prop::collection::vec((limit, cost), KEYS.len())).prop_map(|(keys, asks)| {
        let of = |(key, (limit, cost))| Ask { key, limit, cost };
        keys.into_iter().zip(asks).map(of).collect()
    })
}

fn step(unit: u64, limits: usize) -> impl Strategy<Value = Step> {
    let key = || 0..KEYS.len();
    // Whole units, and a nanosecond beside them.
    let span = move |units: u64| {
        (1..=units, -1..=1i64)
            .prop_map(move |(n, beside)| (n * unit).saturating_add_signed(beside).max(1))
    };
    let advance = prop_oneof![8 => span(6), 1 => span(60), 1 => 1..=unit, 1 => span(100_000)];
    let max_wait = prop_oneof![1 => Just(0), 2 => span(10), 5 => span(400)];
    let pause = (key(), span(40), any::<bool>(), any::<bool>());
    let charge = (key(), 0..limits, 1..=9i128);
    prop_oneof![
        6 => advance.prop_map(Step::Advance),
        8 => (asks(limits), max_wait).prop_map(|(asks, max_wait)| Step::Reserve { asks, max_wait }),
        6 => asks(limits).prop_map(Step::Take),
        1 => asks(limits).prop_map(Step::Peek),
        1 => pause.prop_map(|(key, ns, keep, force)| Step::Pause { key, ns, keep, force }),
        1 => key().prop_map(|key| Step::Resume { key }),
        1 => charge.prop_map(|(key, limit, cost)| Step::Charge(Ask { key, limit, cost })),
        1 => key().prop_map(|key| Step::Refund { key }),
        2 => key().prop_map(|key| Step::Pttl { key }),
    ]
}

pub fn histories(steps: usize) -> impl Strategy<Value = History> {
    const LIMITS: usize = 3;
    let unit = prop::sample::select(vec![1, 1, 1_000_000u64]);
    unit.prop_flat_map(move |unit| {
        let of_key = prop::collection::vec(per(i128::from(unit)), LIMITS);
        let limits = prop::collection::vec(of_key, KEYS.len());
        let steps = prop::collection::vec(step(unit, LIMITS), 1..=steps);
        (limits, steps).prop_map(|(limits, steps)| History { limits, steps })
    })
}

impl History {
    pub fn per(&self, ask: &Ask) -> Per {
        self.limits[ask.key][ask.limit]
    }

    fn limit(&self, ask: &Ask) -> String {
        let Per {
            count,
            period,
            align,
        } = self.per(ask);
        let (kind, align) = match KEYS[ask.key].1 {
            Kind::Window => ("WINDOW", if align { " ALIGN" } else { "" }),
            Kind::Sliding => ("SLIDING", ""),
            Kind::Log => ("LOG", ""),
        };
        format!("{kind} {count} {period}ns{align}")
    }

    fn call(&self, verb: &str, asks: &[Ask], max_wait: Option<u64>) -> String {
        let mut max_wait = max_wait.map_or(String::new(), |ns| format!(" {ns}ns"));
        let rules: Vec<String> = asks
            .iter()
            .map(|ask| {
                let (limit, max_wait) = (self.limit(ask), std::mem::take(&mut max_wait));
                format!("{} {limit}{max_wait} COST {}", KEYS[ask.key].0, ask.cost)
            })
            .collect();
        format!("{verb} {}", rules.join(" AND "))
    }

    /// The request of a step.
    pub fn request(&self, step: &Step) -> String {
        match step {
            Step::Advance(ns) => format!("DEBUG CLOCK ADVANCE {ns}ns"),
            Step::Reserve { asks, max_wait } => self.call("RL.RESERVE", asks, Some(*max_wait)),
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
                format!("RL.PAUSE {} {ns}ns{keep}{force}", KEYS[*key].0)
            }
            Step::Resume { key } => format!("RL.RESUME {}", KEYS[*key].0),
            Step::Charge(ask) => {
                format!(
                    "RL.CHARGE {} {} {}",
                    KEYS[ask.key].0,
                    self.limit(ask),
                    ask.cost
                )
            }
            Step::Refund { key } => format!("RL.REFUND {} 1", KEYS[*key].0),
            Step::Pttl { key } => format!("PTTL {}", KEYS[*key].0),
        }
    }
}
