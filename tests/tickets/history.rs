//! Random histories.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};

/// The buckets of a history, and what is done to them.
#[derive(Clone, Debug)]
pub struct History {
    pub buckets: Vec<(u64, &'static str)>,
    pub acts: Vec<Act>,
}

/// One thing that is done.
#[derive(Clone, Debug)]
pub enum Act {
    Ask {
        /// Buckets and the parts of their capacities that it costs.
        rules: Vec<(usize, u64)>,
        /// Milliseconds; `None` takes.
        max_wait: Option<u64>,
        ticket: bool,
    },
    Confirm(Index),
    Cancel(Index),
    /// The actual cost, as a part of what is held.
    Settle(Index, u64),
    Pause {
        bucket: usize,
        ms: u64,
        keep: bool,
        force: bool,
        slow: bool,
    },
    Resume(usize),
    /// Nanoseconds.
    Advance(u64),
}

const MILLISECOND: u64 = 1_000_000;
/// Parts of a capacity.
pub const PARTS: u64 = 12;

/// Buckets whose permits take whole milliseconds, on a clock of whole milliseconds: every slot is one, and a
/// reply is exact.
pub fn in_milliseconds() -> impl Strategy<Value = History> {
    histories(
        &["1/10ms", "1/7ms", "1/100ms", "1", "1/3s", "1/1ms"],
        MILLISECOND,
        any::<bool>().boxed(),
        Just(false).boxed(),
    )
}

/// Buckets whose slots are fractions of nanoseconds. Only a ticket tells them exactly.
pub fn in_fractions() -> impl Strategy<Value = History> {
    histories(FRACTIONS, 1, Just(true).boxed(), Just(false).boxed())
}

/// The same with pauses that slow down.
pub fn slowed_down() -> impl Strategy<Value = History> {
    histories(FRACTIONS, 1, Just(true).boxed(), any::<bool>().boxed())
}

const FRACTIONS: &[&str] = &["3", "7", "0.7", "7/3s", "99.9", "3/7ms", "1/3s", "11/13ms"];

fn histories(
    rates: &'static [&'static str],
    tick: u64,
    ticket: BoxedStrategy<bool>,
    slow: BoxedStrategy<bool>,
) -> impl Strategy<Value = History> {
    let capacity = select(vec![1u64, 2, 3, 5, 10, 80]);
    (1..=4usize).prop_flat_map(move |count| {
        let buckets = vec((capacity.clone(), select(rates)), count);
        let acts = vec(acts(count, tick, ticket.clone(), slow.clone()), 1..40);
        (buckets, acts).prop_map(|(buckets, acts)| History { buckets, acts })
    })
}

fn acts(
    buckets: usize,
    tick: u64,
    ticket: BoxedStrategy<bool>,
    slow: BoxedStrategy<bool>,
) -> impl Strategy<Value = Act> {
    let part = || prop_oneof![3 => Just(1u64), 2 => 1..=PARTS, 1 => Just(PARTS)];
    let rules = subsequence((0..buckets).collect::<Vec<_>>(), 1..=buckets)
        .prop_shuffle()
        .prop_flat_map(move |keys| {
            let parts = vec(part(), keys.len());
            parts.prop_map(move |parts| keys.iter().copied().zip(parts).collect::<Vec<_>>())
        });
    let max_wait = prop_oneof![
        2 => Just(None),
        5 => select(vec![0u64, 20, 500, 5000, 60_000]).prop_map(Some)
    ];
    let ask = (rules, max_wait, ticket).prop_map(|(rules, max_wait, ticket)| Act::Ask {
        rules,
        max_wait,
        ticket,
    });
    let pause = (
        0..buckets,
        select(vec![1u64, 10, 100, 1000, 10_000]),
        any::<bool>(),
        any::<bool>(),
        slow,
    );
    let pause = pause.prop_map(|(bucket, ms, keep, force, slow)| Act::Pause {
        bucket,
        ms,
        keep,
        force,
        slow,
    });
    let advance = prop_oneof![0..20 * MILLISECOND, 0..2000 * MILLISECOND]
        .prop_map(move |ns| Act::Advance(ns / tick * tick));
    prop_oneof![
        10 => ask,
        3 => any::<Index>().prop_map(Act::Confirm),
        3 => any::<Index>().prop_map(Act::Cancel),
        2 => (any::<Index>(), 0..=PARTS).prop_map(|(index, part)| Act::Settle(index, part)),
        1 => pause,
        1 => (0..buckets).prop_map(Act::Resume),
        5 => advance,
    ]
}
