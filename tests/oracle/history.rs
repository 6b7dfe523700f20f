//! Random histories: parameters near every bound, and what callers may do with them.

use crate::exact::{Rule, rate, rate_in_range};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngSeed};
use tollgate::core::limit::{BucketLimit, Keeps, Limit, Rate};

const SECOND: u64 = 1_000_000_000;
const DAY: u64 = 86_400 * SECOND;
const AMOUNT_MAX: u64 = 1_000_000_000_000;

/// The same cases in each run, unless the environment asks for others or for more.
pub fn config(cases: u32) -> Config {
    let given = Config::default();
    let set = |name| std::env::var_os(name).is_some();
    Config {
        cases: if set("PROPTEST_CASES") {
            given.cases
        } else {
            cases
        },
        rng_seed: if set("PROPTEST_RNG_SEED") {
            given.rng_seed
        } else {
            RngSeed::Fixed(0x70_11)
        },
        failure_persistence: None,
        max_global_rejects: 1_000_000,
        ..given
    }
}

/// The parameters of a limit, as a caller would write them.
#[derive(Clone, Debug)]
pub struct Parameters {
    pub capacity: u64,
    pub rate: String,
    pub keeps_time: bool,
}

impl Parameters {
    /// For the oracle.
    pub fn exact(&self) -> Option<Rule> {
        Some(rate(&self.rate))
            .filter(rate_in_range)
            .and_then(|rate| Rule::new(self.capacity, rate, self.keeps_time))
    }

    /// For the crate.
    pub fn limit(&self) -> Option<Limit> {
        let keeps = if self.keeps_time {
            Keeps::Time
        } else {
            Keeps::Permits
        };
        let rate = Rate::parse(self.rate.as_bytes())?;
        Some(Limit::Bucket(
            BucketLimit::new(self.capacity, rate, keeps).ok()?,
        ))
    }
}

/// A cost, seen from the capacity of the limit it is asked of.
#[derive(Clone, Copy, Debug)]
pub enum Cost {
    One,
    AllButOne,
    Capacity,
    OneTooMany,
    Number(u64),
}

impl Cost {
    pub fn of(self, capacity: u64) -> u64 {
        match self {
            Self::One => 1,
            Self::AllButOne => (capacity - 1).max(1),
            Self::Capacity => capacity,
            Self::OneTooMany => capacity + 1,
            Self::Number(n) => n,
        }
    }
}

/// One call, on key `key`, with the parameters `limit` of those of the history.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub key: usize,
    pub limit: usize,
    pub cost: Cost,
}

#[derive(Clone, Copy, Debug)]
pub enum Step {
    Advance(u64),
    /// To the end of the last wait that a caller was told, or to the nanosecond before.
    AdvanceToLastWait {
        too_short: bool,
    },
    Reserve(Call, u64),
    Take(Call),
    Peek(Call),
    Charge(Call),
    Refund {
        key: usize,
        cost: u64,
    },
    Pause {
        key: usize,
        ns: u64,
        keep: bool,
        force: bool,
    },
    Resume {
        key: usize,
    },
    /// All keys in one call, from this one on.
    TakeAll(Call),
}

fn rate_text() -> impl Strategy<Value = String> {
    let known = select(vec![
        "80",
        "1",
        "3",
        "0.5",
        "0.1",
        "1/3s",
        "7/2s",
        "150/60s",
        "1/5m",
        "1000000",
        "999999/h",
        "0.0002777777777777778",
        "1000000000",
        "333333333",
        "1/3650d",
        "7/3650d",
        "1/ns",
        "2/3ns",
        "0.00000001234567890123",
        "999999999.99999999",
        "0.12345678901234567/7m",
        "1/7ms",
        "0.00000003170979198377",
        "123456789012345/1234567891ms",
        "9999999999999997/9999999999ms",
    ])
    .prop_map(str::to_owned);
    let period = select(vec![
        "",
        "/s",
        "/7ns",
        "/333us",
        "/m",
        "/1.5h",
        "/3650d",
        "/86399999999937ns",
    ]);
    let decimal = (1u64..100_000_000_000_000_000, 0u32..17, 0usize..=20, period).prop_map(
        |(digits, fewer, decimals, period)| {
            let digits = format!("{:0>21}", (digits / 10u64.pow(fewer)).max(1));
            let (whole, fraction) = digits.split_at(21 - decimals);
            let whole = whole.trim_start_matches('0');
            let whole = if whole.is_empty() { "0" } else { whole };
            let point = if fraction.is_empty() { "" } else { "." };
            format!("{whole}{point}{fraction}{period}")
        },
    );
    prop_oneof![3 => known, 2 => decimal]
}

fn capacity() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => select(vec![1, 2, 3, 5, 10, 80]),
        2 => select(vec![1_000, 999_983, 1_000_000, AMOUNT_MAX - 1, AMOUNT_MAX]),
        1 => 1..=AMOUNT_MAX,
    ]
}

/// Any parameters that can be written, also such as cannot be held.
pub fn any_parameters() -> impl Strategy<Value = Parameters> {
    (capacity(), rate_text(), any::<bool>()).prop_map(|(capacity, rate, keeps_time)| Parameters {
        capacity,
        rate,
        keeps_time,
    })
}

/// Parameters that can be held.
pub fn parameters() -> impl Strategy<Value = Parameters> {
    any_parameters().prop_filter("can be held", |parameters| parameters.exact().is_some())
}

/// Nanoseconds, from one to ten years.
fn nanoseconds() -> impl Strategy<Value = u64> {
    prop_oneof![
        2 => select(vec![1, 2, 999, 1_000_000, 12_500_000, 333_333_333, 333_333_334, SECOND - 1, SECOND]),
        3 => 1..10 * SECOND,
        1 => 1..100 * DAY,
        1 => select(vec![3600 * SECOND, DAY, 3650 * DAY]),
    ]
}

fn cost() -> impl Strategy<Value = Cost> {
    prop_oneof![
        4 => Just(Cost::One),
        1 => Just(Cost::AllButOne),
        2 => Just(Cost::Capacity),
        1 => Just(Cost::OneTooMany),
        2 => (1u64..100).prop_map(Cost::Number),
        1 => (1..=AMOUNT_MAX).prop_map(Cost::Number),
    ]
}

/// What only grants: nothing that stands outside of the bound.
fn bounded_step(keys: usize, limits: usize) -> BoxedStrategy<Step> {
    let call = (0..keys, 0..limits, cost())
        .prop_map(|(key, limit, cost)| Call { key, limit, cost })
        .boxed();
    let max_wait = prop_oneof![1 => Just(0), 2 => nanoseconds(), 2 => Just(3650 * DAY)];
    // Pauses last as long as waits do, so that they end and overlap with what is promised.
    let pause = (0..keys, nanoseconds(), any::<bool>(), any::<bool>());
    prop_oneof![
        3 => nanoseconds().prop_map(Step::Advance),
        3 => any::<bool>().prop_map(|too_short| Step::AdvanceToLastWait { too_short }),
        5 => (call.clone(), max_wait).prop_map(|(call, ns)| Step::Reserve(call, ns)),
        4 => call.clone().prop_map(Step::Take),
        1 => call.clone().prop_map(Step::Peek),
        2 => call.prop_map(Step::TakeAll),
        2 => pause.prop_map(|(key, ns, keep, force)| Step::Pause { key, ns, keep, force }),
        1 => (0..keys).prop_map(|key| Step::Resume { key }),
    ]
    .boxed()
}

fn step(keys: usize, limits: usize) -> BoxedStrategy<Step> {
    let call =
        (0..keys, 0..limits, cost()).prop_map(|(key, limit, cost)| Call { key, limit, cost });
    let refund = (0..keys, prop_oneof![1u64..10, 1..=AMOUNT_MAX]);
    prop_oneof![
        20 => bounded_step(keys, limits),
        1 => call.prop_map(Step::Charge),
        2 => refund.prop_map(|(key, cost)| Step::Refund { key, cost }),
    ]
    .boxed()
}

/// What happens to some keys, under some parameters.
#[derive(Clone, Debug)]
pub struct History {
    pub keys: usize,
    pub limits: Vec<Parameters>,
    pub steps: Vec<Step>,
}

fn history_of(
    keys: usize,
    length: usize,
    step: fn(usize, usize) -> BoxedStrategy<Step>,
) -> impl Strategy<Value = History> {
    prop::collection::vec(parameters(), 1..=3).prop_flat_map(move |limits| {
        prop::collection::vec(step(keys, limits.len()), 1..=length).prop_map(move |steps| History {
            keys,
            limits: limits.clone(),
            steps,
        })
    })
}

/// Anything that callers may do.
pub fn history(keys: usize, length: usize) -> impl Strategy<Value = History> {
    history_of(keys, length, step)
}

/// Grants, pauses, resumes and changes of parameters only.
pub fn bounded_history(length: usize) -> impl Strategy<Value = History> {
    history_of(1, length, bounded_step)
}
