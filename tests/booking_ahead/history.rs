//! Random histories over a few keys that calls share.

use proptest::prelude::*;

/// Names of keys.
pub const KEYS: [&str; 4] = ["a", "b", "c", "d"];

/// A bucket's parameters: `permits` every `per` units of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bucket {
    pub capacity: i128,
    pub permits: i128,
    pub per: i128,
    pub gcra: bool,
}

/// What one rule of a call asks.
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
    ClockBack,
    Reserve {
        asks: Vec<Ask>,
        max_wait: u64,
        ticket: bool,
    },
    /// Gives one of the tickets back that were handed out so far.
    Cancel(prop::sample::Index),
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
}

#[derive(Clone, Debug)]
pub struct History {
    /// The unit of time of all rates: nanoseconds, so that slots fall between them, or milliseconds.
    pub unit: (&'static str, u64),
    /// Limits of each key; the first is the only one where parameters do not change.
    pub limits: Vec<Vec<Bucket>>,
    pub steps: Vec<Step>,
}

fn bucket(changes: bool) -> impl Strategy<Value = Bucket> {
    let (permits, per) = (1..=7i128, prop_oneof![1..=9i128, 10..=60i128]);
    let numbers = (1..=6i128, permits, per, prop::bool::weighted(0.2));
    numbers.prop_map(move |(capacity, permits, per, gcra)| Bucket {
        capacity,
        // At most one a nanosecond.
        permits: permits.min(per),
        per,
        gcra: changes && gcra,
    })
}

fn asks(limits: usize) -> impl Strategy<Value = Vec<Ask>> {
    let cost = prop_oneof![6 => 1..=2i128, 3 => 3..=6i128, 1 => Just(7i128)];
    let ask = (0..limits, cost);
    let keys = prop::sample::subsequence(vec![0, 1, 2, 3], 1..=KEYS.len()).prop_shuffle();
    (keys, prop::collection::vec(ask, KEYS.len())).prop_map(|(keys, asks)| {
        let of = |(key, (limit, cost))| Ask { key, limit, cost };
        keys.into_iter().zip(asks).map(of).collect()
    })
}

fn step(unit: u64, limits: usize, tickets: bool) -> impl Strategy<Value = Step> {
    let key = || 0..KEYS.len();
    // Whole units, and a nanosecond beside them.
    let span = move |units: u64| {
        (1..=units, -1..=1i64)
            .prop_map(move |(n, beside)| (n * unit).saturating_add_signed(beside).max(1))
    };
    let max_wait = prop_oneof![1 => Just(0), 2 => span(20), 5 => span(400)];
    let charge = (key(), 0..limits, 1..=9i128);
    let pause = (
        key(),
        span(60),
        prop::bool::weighted(0.4),
        prop::bool::weighted(0.4),
    );
    prop_oneof![
        5 => prop_oneof![4 => span(9), 1 => span(60), 1 => 1..=unit].prop_map(Step::Advance),
        1 => Just(Step::ClockBack),
        9 => (asks(limits), max_wait, prop::bool::weighted(if tickets { 0.5 } else { 0.0 }))
            .prop_map(|(asks, max_wait, ticket)| Step::Reserve { asks, max_wait, ticket }),
        if tickets { 4 } else { 0 } => any::<prop::sample::Index>().prop_map(Step::Cancel),
        4 => asks(limits).prop_map(Step::Take),
        1 => asks(limits).prop_map(Step::Peek),
        2 => pause.prop_map(|(key, ns, keep, force)| Step::Pause { key, ns, keep, force }),
        1 => key().prop_map(|key| Step::Resume { key }),
        1 => charge.prop_map(|(key, limit, cost)| Step::Charge(Ask { key, limit, cost })),
    ]
}

/// Histories of up to `steps` steps; each key has `limits` limits.
pub fn histories(steps: usize, limits: usize) -> impl Strategy<Value = History> {
    histories_of(steps, limits, false)
}

/// The same with tickets, some of which are given back.
pub fn histories_with_tickets(steps: usize) -> impl Strategy<Value = History> {
    histories_of(steps, 1, true)
}

fn histories_of(steps: usize, limits: usize, tickets: bool) -> impl Strategy<Value = History> {
    let unit = prop::sample::select(vec![("ns", 1u64), ("ns", 1), ("ms", 1_000_000)]);
    unit.prop_flat_map(move |unit| {
        let of_key = prop::collection::vec(bucket(limits > 1), limits);
        let of_all = prop::collection::vec(of_key, KEYS.len());
        let steps = prop::collection::vec(step(unit.1, limits, tickets), 1..=steps);
        (of_all, steps).prop_map(move |(limits, steps)| History {
            unit,
            limits,
            steps,
        })
    })
}

impl History {
    /// The `<limit>` of an ask, as a request says it.
    pub fn limit(&self, ask: &Ask) -> String {
        let Bucket {
            capacity,
            permits,
            per,
            gcra,
        } = self.limits[ask.key][ask.limit];
        let unit = self.unit.0;
        match gcra {
            true => format!("GCRA {} {permits} {per}{unit}", capacity - 1),
            false => format!("{capacity} {permits}/{per}{unit}"),
        }
    }

    /// A request with the rules of a call.
    fn call(&self, verb: &str, asks: &[Ask], max_wait: Option<u64>) -> String {
        let mut max_wait = max_wait.map_or(String::new(), |ns| format!(" {ns}ns"));
        let rules: Vec<String> = asks
            .iter()
            .map(|ask| {
                let (limit, max_wait) = (self.limit(ask), std::mem::take(&mut max_wait));
                format!("{} {limit}{max_wait} COST {}", KEYS[ask.key], ask.cost)
            })
            .collect();
        format!("{verb} {}", rules.join(" AND "))
    }

    /// The request of a step.
    pub fn request(&self, step: &Step) -> String {
        match step {
            Step::Advance(ns) => format!("DEBUG CLOCK ADVANCE {ns}ns"),
            Step::ClockBack => "DEBUG CLOCK SET 1000".to_owned(),
            Step::Reserve {
                asks,
                max_wait,
                ticket,
            } => {
                let ticket = if *ticket { " TICKET" } else { "" };
                self.call("RL.RESERVE", asks, Some(*max_wait)) + ticket
            }
            Step::Cancel(_) => panic!("a ticket is cancelled by its number"),
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
            Step::Resume { key } => format!("RL.RESUME {}", KEYS[*key]),
            Step::Charge(ask) => {
                format!(
                    "RL.CHARGE {} {} {}",
                    KEYS[ask.key],
                    self.limit(ask),
                    ask.cost
                )
            }
        }
    }
}
