//! The oracle: what a token bucket or GCRA does, in plain rational arithmetic.
//!
//! Times are nanoseconds, amounts permits, rates permits per nanosecond; all exact. Written to be
//! obviously right, one rule of the contract after another.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::{One, Signed, Zero};

pub type Q = BigRational;

pub fn whole(n: impl Into<BigInt>) -> Q {
    Q::from_integer(n.into())
}

pub fn at_least_zero(q: Q) -> Q {
    if q.is_negative() { Q::zero() } else { q }
}

/// The longest span that a command may name: 3650 days.
pub fn span_max() -> Q {
    whole(3650u64 * 86_400) * whole(1_000_000_000)
}

fn ns_of_unit(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => return None,
    })
}

fn decimal(text: &str) -> Q {
    let (whole_part, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits: BigInt = format!("{whole_part}{fraction}").parse().unwrap();
    Q::new(digits, BigInt::from(10).pow(fraction.len() as u32))
}

/// `80`, `0.5`, `100/m`, `1/5m`, as permits per nanosecond.
pub fn rate(text: &str) -> Q {
    let (permits, period) = text.split_once('/').unwrap_or((text, "1s"));
    let unit_at = period.find(|c: char| c.is_alphabetic()).unwrap();
    let (number, unit) = period.split_at(unit_at);
    let number = if number.is_empty() { "1" } else { number };
    decimal(permits) / (decimal(number) * whole(ns_of_unit(unit).unwrap()))
}

/// True if the rate is one that may be asked for: 1 per 10 years to 10^9 per second.
pub fn rate_in_range(rate: &Q) -> bool {
    *rate <= Q::one() && rate * span_max() >= Q::one()
}

/// Parameters of a bucket, or of a GCRA, which keeps its time when they change.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    pub capacity: Q,
    pub rate: Q,
    pub keeps_time: bool,
}

impl Rule {
    /// `None` if what 128 bits hold is not enough.
    pub fn new(capacity: u64, rate: Q, keeps_time: bool) -> Option<Self> {
        let capacity = whole(capacity);
        let fine = &capacity * whole(rate.denom().clone()) < whole(BigInt::from(1) << 120);
        let slow = &capacity / &rate >= whole(BigInt::from(1) << 53) * whole(1_000_000);
        (fine && !slow).then_some(Self {
            capacity,
            rate,
            keeps_time,
        })
    }
}

/// A refusal that is an error, not a denial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TooLarge {
    Debt,
    Carry,
}

/// A deficit, and since when it falls.
#[derive(Clone, Debug)]
pub struct Level {
    deficit: Q,
    since: Q,
}

#[derive(Clone, Debug)]
pub struct Bucket {
    pub rule: Rule,
    level: Level,
    /// Slots were promised for the end of a pause: nothing new goes before them.
    promised: bool,
    /// The level without the pause that drained it.
    pub undrained: Option<Level>,
}

impl Bucket {
    pub fn full(rule: &Rule, now: &Q) -> Self {
        let level = Level {
            deficit: Q::zero(),
            since: now.clone(),
        };
        Self {
            rule: rule.clone(),
            level,
            promised: false,
            undrained: None,
        }
    }

    /// D(t) = max(0, D − r·Δt).
    fn deficit(&self, t: &Q) -> Q {
        let passed = at_least_zero(t - &self.level.since);
        at_least_zero(&self.level.deficit - &self.rule.rate * passed)
    }

    /// The first instant that is open to something new.
    fn opens(&self, now: &Q, pause_end: &Q) -> Q {
        let opens = now.max(pause_end);
        if self.promised {
            opens.max(&self.level.since).clone()
        } else {
            opens.clone()
        }
    }

    /// The wait of a cost; `None` for never.
    pub fn wait(&self, cost: &Q, now: &Q, pause_end: &Q) -> Option<Q> {
        if *cost > self.rule.capacity {
            return None;
        }
        let opens = self.opens(now, pause_end);
        let missing = self.deficit(&opens) + cost - &self.rule.capacity;
        Some(opens - now + at_least_zero(missing) / &self.rule.rate)
    }

    pub fn charge(&mut self, cost: &Q, now: &Q, pause_end: &Q) -> Result<(), TooLarge> {
        let opens = self.opens(now, pause_end);
        let before = self.deficit(&opens);
        let deficit = &before + cost;
        // Debt carried over from other parameters may be more already; then the charge alone counts.
        let most = span_max() * &self.rule.rate;
        let charged = if &before - &self.rule.capacity > most {
            cost.clone()
        } else {
            &deficit - &self.rule.capacity
        };
        let held =
            &deficit * whole(self.rule.rate.denom().clone()) <= whole(BigInt::from(1) << 127);
        if charged > most || !held {
            return Err(TooLarge::Debt);
        }
        self.promised = opens > *now;
        self.undrained = None;
        self.level = Level {
            deficit,
            since: opens,
        };
        Ok(())
    }

    /// Permits of the largest cost that could go now.
    pub fn remaining(&self, now: &Q, pause_end: &Q) -> Q {
        if self.opens(now, pause_end) > *now {
            return Q::zero();
        }
        at_least_zero(&self.rule.capacity - self.deficit(now)).floor()
    }

    /// The time until the key is full, nothing booked.
    pub fn reset_after(&self, now: &Q, pause_end: &Q) -> Q {
        let opens = self.opens(now, pause_end);
        &opens - now + self.deficit(&opens) / &self.rule.rate
    }

    /// Permits of the capacity that are gone when the key opens, and permits promised beyond it.
    pub fn used_and_booked(&self, now: &Q, pause_end: &Q) -> (Q, Q) {
        let deficit = self.deficit(&self.opens(now, pause_end));
        let booked = at_least_zero(&deficit - &self.rule.capacity).ceil();
        (deficit.ceil().min(self.rule.capacity.clone()), booked)
    }

    /// At most one permit is there at the end of a pause.
    pub fn drain(&mut self, pause_end: &Q) {
        let end = if self.promised {
            pause_end.max(&self.level.since).clone()
        } else {
            pause_end.clone()
        };
        let drained = self.deficit(&end).max(&self.rule.capacity - whole(1));
        let before = std::mem::replace(
            &mut self.level,
            Level {
                deficit: drained,
                since: end,
            },
        );
        self.undrained.get_or_insert(before);
    }

    /// As if the pause had never drained it, and then at most one permit.
    pub fn resume(&mut self, now: &Q) {
        if self.promised {
            return;
        }
        if let Some(level) = self.undrained.take() {
            self.level = level;
        }
        let deficit = self.deficit(now).max(&self.rule.capacity - whole(1));
        self.level = Level {
            deficit,
            since: now.clone(),
        };
    }

    pub fn refund(&mut self, cost: &Q, now: &Q, pause_end: &Q) -> Q {
        let opens = self.opens(now, pause_end);
        let deficit = self.deficit(&opens);
        if deficit > self.rule.capacity {
            return Q::zero();
        }
        let drained = self.undrained.is_some() && pause_end > now;
        let floor = if drained {
            &self.rule.capacity - whole(1)
        } else {
            Q::zero()
        };
        let back = at_least_zero((&deficit - floor).min(cost.clone()));
        self.level = Level {
            deficit: deficit - &back,
            since: opens,
        };
        back.floor()
    }

    /// Other parameters: settled at the old rate up to now, then carried.
    pub fn under(&self, rule: &Rule, now: &Q) -> Result<Self, TooLarge> {
        let mut carried = self.clone();
        carried.rule = rule.clone();
        if rule.capacity == self.rule.capacity && rule.rate == self.rule.rate {
            return Ok(carried);
        }
        let at = now.max(&self.level.since).clone();
        let before = self.deficit(&at);
        let faster = &rule.rate / &self.rule.rate;
        let mut deficit = if before > self.rule.capacity {
            let debt = &before - &self.rule.capacity;
            &rule.capacity + debt * faster.clone().max(Q::one())
        } else {
            let available = &self.rule.capacity - &before;
            &rule.capacity - available.min(rule.capacity.clone())
        };
        if rule.keeps_time || self.rule.keeps_time {
            deficit = deficit.max(before * faster);
        }
        let unit = whole(rule.rate.denom().clone());
        let units = (deficit * &unit).ceil();
        if units > whole(BigInt::from(1) << 127) {
            return Err(TooLarge::Carry);
        }
        carried.level = Level {
            deficit: units / unit,
            since: at,
        };
        Ok(carried)
    }
}
