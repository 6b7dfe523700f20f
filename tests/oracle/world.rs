//! Plays a history to the store and to the oracle, and compares all that either tells.

use crate::exact::{self, Q, Rule, TooLarge, whole};
use crate::history::{Call, History, Step};
use crate::key::Key;
use num_traits::{ToPrimitive, Zero};
use tollgate::core::decision::{Earliest, Refusal, Standing};
use tollgate::core::draft::Draft;
use tollgate::core::entry::Entry;
use tollgate::core::limit::Limit;
use tollgate::core::units::{Span, Timestamp, Wait};
use tollgate::store::Store;

const START: u64 = 1_700_000_000_000_000_000;

/// Permits that were granted, and their slot.
#[derive(Clone, Debug)]
pub struct Grant {
    pub slot: Q,
    pub permits: u64,
    /// How often the key had begun anew.
    pub life: u32,
}

/// The crate and the oracle side by side.
pub struct World {
    store: Store,
    oracle: Vec<Key>,
    limits: Vec<(Limit, Rule)>,
    now: Timestamp,
    last_wait_ns: u64,
    lives: u32,
    pub grants: Vec<Grant>,
}

/// Compares a wait with the exact one: as replies round it, and to the fraction of a nanosecond.
pub fn assert_wait(wait: Wait, exact: &Q) {
    let ceil = |unit: u64| (exact / whole(unit)).ceil().to_integer();
    assert_eq!(wait.ceil_ns(), ceil(1).to_u128().unwrap());
    assert_eq!(wait.ceil_ms(), ceil(1_000_000).to_i64().unwrap_or(i64::MAX));
    assert_eq!(
        wait.ceil_seconds(),
        ceil(1_000_000_000).to_i64().unwrap_or(i64::MAX)
    );
    assert_eq!(wait.is_zero(), exact.is_zero());
    if let (Some(ns), Some(per)) = (exact.numer().to_u128(), exact.denom().to_u64()) {
        assert_eq!(wait, Wait::quotient(ns, per));
    }
}

fn same_refusal<T, U>(ours: Result<T, Refusal>, exact: Result<U, TooLarge>) -> Option<(T, U)> {
    match (ours, exact) {
        (Ok(ours), Ok(exact)) => Some((ours, exact)),
        (Err(Refusal::DebtTooLarge), Err(TooLarge::Debt))
        | (Err(Refusal::CarryTooLarge), Err(TooLarge::Carry)) => None,
        (ours, exact) => panic!("refusals differ: {:?}, {:?}", ours.err(), exact.err()),
    }
}

/// What a key would let go, and how it stands.
fn look(draft: &Draft<'_>, cost: u64) -> (Earliest, Standing) {
    (draft.earliest(cost), draft.standing())
}

impl World {
    pub fn new(history: &History) -> Self {
        let limits = history.limits.iter();
        Self {
            store: Store::new(),
            oracle: vec![Key::default(); history.keys],
            limits: limits
                .map(|parameters| (parameters.limit().unwrap(), parameters.exact().unwrap()))
                .collect(),
            now: Timestamp::from_ns(START).unwrap(),
            last_wait_ns: 0,
            lives: 0,
            grants: Vec::new(),
        }
    }

    pub fn play(history: &History) -> Self {
        let mut world = Self::new(history);
        for step in &history.steps {
            world.step(*step);
            (0..history.keys).for_each(|key| world.compare(key));
        }
        world
    }

    fn exact_now(&self) -> Q {
        whole(self.now.as_ns())
    }

    fn with_key<R>(&self, key: usize, f: impl FnOnce(&mut Entry) -> R) -> R {
        let name = [key as u8];
        self.store.with_limit(0, &name, self.now, f).unwrap()
    }

    fn step(&mut self, step: Step) {
        let now = self.exact_now();
        match step {
            Step::Advance(ns) => self.advance(ns),
            Step::AdvanceToLastWait { too_short } => {
                let ns = self.last_wait_ns.saturating_sub(u64::from(too_short));
                self.advance(ns);
                self.last_wait_ns = 0;
            }
            Step::Reserve(call, max_wait_ns) => self.ask(&[call], Some(max_wait_ns)),
            Step::Take(call) => self.ask(&[call], Some(0)),
            Step::Peek(call) => self.ask(&[call], None),
            Step::TakeAll(first) => {
                let keys = self.oracle.len();
                let calls: Vec<Call> = (0..keys)
                    .map(|n| Call {
                        key: (first.key + n) % keys,
                        ..first
                    })
                    .collect();
                self.ask(&calls, Some(0));
            }
            Step::Charge(call) => {
                let (limit, rule) = self.limits[call.limit].clone();
                let cost = call.cost.of(limit.capacity());
                let ours = self.with_key(call.key, |entry| {
                    let mut draft = entry.draft(&limit, self.now)?;
                    draft.book(cost)?;
                    draft.commit();
                    Ok(())
                });
                same_refusal(
                    ours,
                    self.oracle[call.key].charge(&rule, &whole(cost), &now),
                );
            }
            Step::Refund { key, cost } => {
                let ours = self.with_key(key, |entry| entry.refund(cost, self.now));
                assert_eq!(whole(ours), self.oracle[key].refund(&whole(cost), &now));
            }
            Step::Pause {
                key,
                ns,
                keep,
                force,
            } => {
                let span = Span::from_ns(ns).unwrap();
                let ours = self.with_key(key, |entry| entry.pause(span, keep, force, self.now));
                assert_wait(ours, &self.oracle[key].pause(&whole(ns), keep, force, &now));
            }
            Step::Resume { key } => {
                let ours = self.with_key(key, |entry| entry.resume(self.now));
                assert_eq!(ours, self.oracle[key].resume(&now));
            }
        }
    }

    fn advance(&mut self, ns: u64) {
        let ns = self
            .now
            .as_ns()
            .saturating_add(ns)
            .min(Timestamp::MAX.as_ns());
        self.now = Timestamp::from_ns(ns).unwrap();
    }

    /// One call over distinct keys: all or nothing, if the longest wait is at most `max_wait_ns`;
    /// without one nothing is spent.
    fn ask(&mut self, calls: &[Call], max_wait_ns: Option<u64>) {
        let now = self.exact_now();
        let rules: Vec<(Limit, Rule, u64)> = calls
            .iter()
            .map(|call| {
                let (limit, rule) = self.limits[call.limit].clone();
                (limit, rule, call.cost.of(limit.capacity()))
            })
            .collect();
        let max_wait = max_wait_ns.map(|ns| Span::from_ns(ns).unwrap());
        let names: Vec<[u8; 1]> = calls.iter().map(|call| [call.key as u8]).collect();
        let names: Vec<&[u8]> = names.iter().map(|name| &name[..]).collect();
        let decide = |entries: &mut [&mut Entry]| decide(entries, &rules, max_wait, self.now);
        let ours = match calls {
            [call] => self.with_key(call.key, |entry| decide(&mut [entry])),
            _ => self.store.with_limits(0, &names, self.now, decide).unwrap(),
        };
        let seen: Result<Vec<exact::Bucket>, TooLarge> = calls
            .iter()
            .zip(&rules)
            .map(|(call, (_, rule, _))| self.oracle[call.key].seen(rule, &now))
            .collect();
        let Some(((granted, looks), seen)) = same_refusal(ours, seen) else {
            return;
        };

        let mut longest = Some(Q::zero());
        for (((call, (_, _, cost)), bucket), (earliest, standing)) in
            calls.iter().zip(&rules).zip(&seen).zip(looks)
        {
            let end = self.oracle[call.key].pause_end();
            let wait = bucket.wait(&whole(*cost), &now, &end);
            match (earliest, &wait) {
                (Earliest::After(ours), Some(wait)) => assert_wait(ours, wait),
                (Earliest::Never, None) => {}
                (ours, wait) => panic!("{ours:?}, exactly {wait:?}"),
            }
            assert_eq!(whole(standing.remaining), bucket.remaining(&now, &end));
            assert_wait(standing.reset_after, &bucket.reset_after(&now, &end));
            longest = longest.zip(wait).map(|(longest, wait)| longest.max(wait));
        }
        let goes = longest
            .as_ref()
            .zip(max_wait_ns)
            .is_some_and(|(longest, ns)| *longest <= whole(ns));
        assert_eq!(granted, goes);
        if let Some(wait) = &longest {
            self.last_wait_ns = wait.ceil().to_integer().to_u64().unwrap_or(u64::MAX);
        }
        if !goes {
            return;
        }
        for (call, (_, rule, cost)) in calls.iter().zip(&rules) {
            self.lives += u32::from(!self.oracle[call.key].exists(&now));
            let charged = self.oracle[call.key].charge(rule, &whole(*cost), &now);
            assert_eq!(charged, Ok(()), "a grant is never refused");
            self.grants.push(Grant {
                slot: &now + longest.as_ref().unwrap(),
                permits: *cost,
                life: self.lives,
            });
        }
    }

    /// What anybody may see of a key.
    fn compare(&mut self, key: usize) {
        let now = self.exact_now();
        let oracle = &mut self.oracle[key];
        let forgotten_after = oracle.forgotten_after(&now);
        let exists = oracle.exists(&now);
        let end = oracle.pause_end();
        self.store.read(0, &[key as u8], self.now, |value| {
            assert_eq!(value.is_some(), exists);
            let Some(entry) = value.map(|value| value.limit().unwrap()) else {
                return;
            };
            assert_wait(entry.forgotten_after(self.now), &forgotten_after);
            let usage = entry.usage(self.now).unwrap();
            let paused = (&end - &now).max(Q::zero());
            assert_wait(usage.paused, &paused);
            assert_eq!(usage.limits.len(), usize::from(oracle.bucket().is_some()));
            let Some(bucket) = oracle.bucket() else {
                return;
            };
            let usage = usage.limits[0];
            let (used, booked) = bucket.used_and_booked(&now, &end);
            // More than 64 bits is shown as their end.
            let booked = booked.min(whole(u64::MAX));
            assert_eq!((whole(usage.used), whole(usage.booked)), (used, booked));
            assert_wait(usage.wait, &bucket.wait(&whole(1), &now, &end).unwrap());
            assert_eq!(
                whole(usage.standing.remaining),
                bucket.remaining(&now, &end)
            );
            assert_wait(usage.standing.reset_after, &bucket.reset_after(&now, &end));
        });
    }
}

/// The crate's side of [`World::ask`]: granted or not, and what every rule showed before.
fn decide(
    entries: &mut [&mut Entry],
    rules: &[(Limit, Rule, u64)],
    max_wait: Option<Span>,
    now: Timestamp,
) -> Result<(bool, Vec<(Earliest, Standing)>), Refusal> {
    let mut drafts = Vec::new();
    for (entry, (limit, _, _)) in entries.iter_mut().zip(rules) {
        let draft = entry.draft(limit, now)?;
        // What it owes cannot be held under this limit.
        if draft.standing().reset_after == Wait::from_ns(u128::MAX) {
            return Err(Refusal::CarryTooLarge);
        }
        drafts.push(draft);
    }
    let looks: Vec<(Earliest, Standing)> = drafts
        .iter()
        .zip(rules)
        .map(|(draft, (_, _, cost))| look(draft, *cost))
        .collect();
    let granted = match (looks.iter().map(|look| look.0).max(), max_wait) {
        (Some(Earliest::After(wait)), Some(max_wait)) => wait.fits(max_wait),
        _ => false,
    };
    if granted {
        for (draft, (_, _, cost)) in drafts.iter_mut().zip(rules) {
            draft.book(*cost)?;
        }
        drafts.into_iter().for_each(Draft::commit);
    }
    Ok((granted, looks))
}
