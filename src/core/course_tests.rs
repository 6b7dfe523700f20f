//! Courses over random histories: what the sums say is what a walk over every booking says.

use super::*;
use crate::core::booked::Charge;
use crate::core::decision::Earliest;
use crate::core::draft::Draft;
use crate::core::entry::State;
use crate::core::limit::{BucketLimit, Keeps, Limit, Rate};
use crate::core::number::AMOUNT_MAX;
use crate::core::state::Grant;
use crate::core::test_key::*;
use crate::core::test_walk::Walk;
use crate::core::units::{MILLISECOND, Span};
use proptest::prelude::*;
use proptest::sample::{Index, select};

#[derive(Clone, Debug)]
enum Act {
    /// Part of the time that a permit takes, in tenths.
    Advance(u64),
    /// As one rule of several, at a part of a permit's time from now at the earliest.
    Reserve {
        limit: usize,
        cost: u64,
        from: u64,
        ticket: bool,
    },
    /// Many at once, behind each other.
    Queue {
        limit: usize,
        cost: u64,
        count: usize,
    },
    Cancel(Index, u64),
    Charge(usize, u64),
    Refund(u64),
    Pause {
        tenths: u64,
        keep: bool,
        force: bool,
        slow: bool,
    },
    Resume,
}

#[derive(Clone, Debug)]
struct History {
    limits: Vec<Limit>,
    /// Nanoseconds that a permit takes, about.
    unit: u64,
    acts: Vec<Act>,
}

struct Play {
    key: TestKey,
    unit: u64,
    limits: Vec<Limit>,
    grants: Vec<Grant>,
    tickets: u64,
}

impl Play {
    fn draft<R>(&mut self, limit: usize, f: impl FnOnce(&Draft<'_>) -> R) -> Option<R> {
        let now = self.key.now;
        let draft = self.key.entry.draft(&self.limits[limit], now).ok()?;
        Some(f(&draft))
    }

    fn act(&mut self, act: &Act) {
        let now = self.key.now;
        self.key.entry.forget(now);
        match *act {
            Act::Advance(tenths) => self.key.advance_ns(tenths * self.unit / 10),
            Act::Reserve {
                limit,
                cost,
                from,
                ticket,
            } => self.reserve(limit, cost, from * self.unit / 10, ticket),
            Act::Queue { limit, cost, count } => {
                (0..count).for_each(|_| self.reserve(limit, cost, 0, true));
            }
            Act::Cancel(index, amount) => {
                if !self.grants.is_empty() {
                    self.cancel(index.index(self.grants.len()), amount);
                }
            }
            Act::Charge(limit, cost) => {
                if let Ok(mut draft) = self.key.entry.draft(&self.limits[limit], now)
                    && draft.charge(0, cost).is_ok()
                {
                    draft.commit();
                }
            }
            Act::Refund(cost) => drop(self.key.entry.refund(cost, now)),
            Act::Pause {
                tenths,
                keep,
                force,
                slow,
            } => {
                let span = |tenths: u64| Span::from_ns(tenths * self.unit / 10 + 1);
                let span = |tenths| span(tenths).expect("a span");
                let slow = slow.then(|| crate::core::pause::SlowDown {
                    factor: crate::core::slow::Factor::from_thousandths(300).expect("a factor"),
                    recover: span(tenths * 3 + 80),
                });
                self.key
                    .entry
                    .pause_then_slow(span(tenths), keep, force, slow, now);
            }
            Act::Resume => drop(self.key.entry.resume(now)),
        }
        self.key.entry.forget(self.key.now);
    }

    fn cancel(&mut self, at: usize, amount: u64) {
        let grant = self.grants[at];
        let amount = amount.min(grant.cost);
        let listed = self
            .key
            .ahead()
            .iter()
            .any(|one| one.ticket == grant.ticket);
        let back = self.key.entry.give_back(0, grant, amount, self.key.now);
        assert!(!listed || back == amount, "what is listed comes back");
        self.grants[at].cost -= amount;
        if self.grants[at].cost == 0 {
            self.grants.swap_remove(at);
        }
    }

    fn reserve(&mut self, limit: usize, cost: u64, from: u64, ticket: bool) {
        let now = self.key.now;
        let Ok(mut draft) = self.key.entry.draft(&self.limits[limit], now) else {
            return;
        };
        let Earliest::After(wait) = draft.earliest_from(0, cost, from) else {
            return;
        };
        self.tickets += u64::from(ticket);
        let number = if ticket { self.tickets } else { 0 };
        let slot = draft.slot_after(0, wait);
        let charge = Charge {
            cost,
            wait,
            ticket: number,
        };
        if draft.book_at(0, charge).is_err() {
            return;
        }
        let told = (
            draft.standing(),
            [1, 2, cost].map(|cost| draft.earliest(cost)),
        );
        draft.commit();
        // What is told before the commit is what is told behind it.
        let again = self.draft(limit, |draft| {
            (
                draft.standing(),
                [1, 2, cost].map(|cost| draft.earliest(cost)),
            )
        });
        if !self.is_slowed() {
            assert_eq!(Some(told), again);
        }
        if ticket {
            self.grants.push(Grant {
                ticket: number,
                cost,
                slot,
                limit: self.limits[limit],
                lease: 0,
            });
        }
    }

    fn is_slowed(&self) -> bool {
        self.key.entry.parts().2.is_some()
    }

    /// Under every limit, every answer is the walk's.
    fn check(&mut self) {
        let now = self.key.now;
        let (states, pause, slow) = self.key.entry.parts();
        let [State::Bucket(bucket, timeline)] = states else {
            return;
        };
        let (bucket, pause_until) = (*bucket, pause.map_or(Timestamp::ZERO, |pause| pause.until));
        let ahead = self.key.ahead();
        if let Some(timeline) = timeline {
            let again = Line::of(bucket.limit.rate(), ahead.iter().copied());
            assert_eq!(timeline.ahead, again);
            let permits = bucket.limit.rate().permits();
            let mut listed = timeline.shelved.iter().chain(&ahead);
            assert!(listed.all(|booking| booking.slot.fraction < permits));
            let walk = Walk::new(&bucket, &ahead);
            for slot in ahead.iter().map(|booking| booking.slot.at) {
                let at = slot.max(bucket.level.base);
                let level = Course::new(&bucket, &timeline.ahead).level(at, at);
                assert_eq!(level, walk.level(at));
            }
        }
        if slow.is_some() {
            return;
        }
        for index in 0..self.limits.len() {
            let Limit::Bucket(limit) = self.limits[index] else {
                continue;
            };
            let Ok(seen) = bucket.adopt(limit, now) else {
                continue;
            };
            let changed = limit.rate() != bucket.limit.rate();
            let moved = ahead.iter().map(|booking| {
                if changed {
                    booking.rounded_up()
                } else {
                    *booking
                }
            });
            let walk = Walk::new(&seen, &moved.collect::<Vec<_>>());
            let start = seen.start(now, pause_until);
            let (unit, costs) = (self.unit, limit.capacity() + 1);
            let told = self.draft(index, |draft| {
                assert_eq!(draft.standing(), walk.standing(now, start));
                for from in (0..6).map(|n| n * n * unit * 7 / 10) {
                    for cost in 1..=costs {
                        let expected = walk.earliest(cost, now, start.max(now.after_ns(from)));
                        assert_eq!(draft.earliest_from(0, cost, from), expected);
                    }
                }
            });
            assert!(told.is_some(), "small numbers can be held");
        }
    }
}

fn limits() -> impl Strategy<Value = (Vec<Limit>, u64)> {
    let rates = [
        (vec!["3/7ns", "1/2ns", "2/61ns", "0.99999999999999999"], 3),
        (vec!["1/1ms", "7/2ms", "300", "17/33ms"], MILLISECOND),
        (vec!["0.7", "1/3s", "11/13s"], 1_000 * MILLISECOND),
    ];
    select(rates.to_vec()).prop_flat_map(|(rates, unit)| {
        let one = (1..=6u64, select(rates), prop::bool::weighted(0.2));
        let one = one.prop_map(|(capacity, rate, time)| match time {
            true => gcra(capacity, rate),
            false => bucket(capacity, rate),
        });
        (prop::collection::vec(one, 1..=2), Just(unit))
    })
}

fn act() -> impl Strategy<Value = Act> {
    let (limit, cost) = (|| prop_oneof![9 => Just(0usize), 1 => Just(1)], || 1..=6u64);
    let reserve = (
        limit(),
        cost(),
        prop_oneof![2 => Just(0), 3 => 0..300u64],
        any::<bool>(),
    );
    let pause = (
        0..60u64,
        any::<bool>(),
        any::<bool>(),
        prop::bool::weighted(0.2),
    );
    prop_oneof![
        4 => (0..40u64).prop_map(Act::Advance),
        8 => reserve.prop_map(|(limit, cost, from, ticket)| Act::Reserve { limit, cost, from, ticket }),
        2 => (limit(), cost(), 1..20usize)
            .prop_map(|(limit, cost, count)| Act::Queue { limit, cost, count }),
        3 => (any::<Index>(), cost()).prop_map(|(index, amount)| Act::Cancel(index, amount)),
        1 => (limit(), cost()).prop_map(|(limit, cost)| Act::Charge(limit, cost)),
        1 => cost().prop_map(Act::Refund),
        1 => pause.prop_map(|(tenths, keep, force, slow)| Act::Pause { tenths, keep, force, slow }),
        1 => Just(Act::Resume),
    ]
}

fn histories() -> impl Strategy<Value = History> {
    (limits(), prop::collection::vec(act(), 1..60)).prop_map(|((limits, unit), acts)| {
        let fits = |act: &Act| match act {
            Act::Reserve { limit, .. } | Act::Queue { limit, .. } | Act::Charge(limit, _) => {
                *limit < limits.len()
            }
            _ => true,
        };
        let acts = acts.into_iter().filter(fits).collect();
        History { limits, unit, acts }
    })
}

/// Of any size, small ones as likely as large ones.
fn number(bits: u32) -> impl Strategy<Value = u128> {
    (any::<u128>(), 128 - bits..128).prop_map(|(number, shift)| number >> shift)
}

/// The largest and the smallest numbers that can be held.
fn extremes() -> impl Strategy<Value = (Bucket, Vec<Booking>)> {
    let limit = (number(40), number(60), number(120)).prop_filter_map(
        "a limit that exists",
        |(capacity, permits, per_ns)| {
            let rate = Rate::from_fraction(permits.min(per_ns), permits.max(per_ns))?;
            let capacity = (capacity as u64).clamp(1, AMOUNT_MAX);
            BucketLimit::new(capacity, rate, Keeps::Permits).ok()
        },
    );
    let booking = (number(63), number(60), number(40));
    let bookings = prop::collection::vec(booking, 0..24);
    (limit, number(63), number(127), bookings).prop_map(|(limit, base, deficit, bookings)| {
        let instant = |ns: u128| Timestamp::from_ns(ns as u64).expect("a time");
        let level = Level {
            deficit,
            base: instant(base),
        };
        let booking = |(ns, fraction, cost): (u128, u128, u128)| Booking {
            slot: Slot {
                at: instant(base.saturating_add(ns).min(1 << 63)),
                fraction: fraction as u64 % limit.rate().permits(),
            },
            cost: cost as u64 % limit.capacity() + 1,
            ticket: 0,
        };
        let mut bookings: Vec<Booking> = bookings.into_iter().map(booking).collect();
        bookings.sort_by_key(|booking| booking.slot);
        let bucket = Bucket {
            level,
            ..Bucket::new(limit, level.base)
        };
        (bucket, bookings)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(3_000) })]

    #[test]
    fn the_largest_numbers_are_as_exact((bucket, bookings) in extremes(), after in number(62), cost in number(40)) {
        let line = Line::of(bucket.limit.rate(), bookings.iter().copied());
        prop_assume!(line.holds());
        let course = Course::new(&bucket, &line);
        let cost = (cost as u64).clamp(1, bucket.limit.capacity());
        let base = bucket.level.base;
        let from = base.after_ns(after as u64).min(Timestamp::MAX);
        let told = |from| course.wait(course.earliest(cost, from), base);
        let standing = [base, from].map(|at| course.standing(at, Timestamp::ZERO));
        // The walk cannot count further.
        if bucket.level.deficit >> 125 == 0 {
            let walk = Walk::new(&bucket, &bookings);
            for at in [base, from] {
                prop_assert_eq!(Earliest::After(told(at)), walk.earliest(cost, base, at));
            }
            prop_assert_eq!(standing[0], walk.standing(base, base));
            let level = course.level(from, from);
            prop_assert_eq!(level, walk.level(from));
        } else {
            // Debt that outlasts all bookings runs on to its end.
            let ends = |cost: u64| {
                let booked: u128 = bookings.iter().map(|one| u128::from(one.cost)).sum();
                let rate = bucket.limit.rate();
                let owed = (booked + u128::from(cost)) * rate.per_ns() + bucket.level.deficit;
                Wait::quotient(owed - bucket.limit.scaled_capacity(), rate.permits())
            };
            prop_assert_eq!(told(base), ends(cost));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    #[test]
    fn sums_say_what_a_walk_over_every_booking_says(history in histories()) {
        let mut play = Play {
            key: TestKey::new(),
            unit: history.unit,
            limits: history.limits,
            grants: Vec::new(),
            tickets: 0,
        };
        for act in &history.acts {
            play.act(act);
            play.check();
        }
    }
}
