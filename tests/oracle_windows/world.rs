//! The oracle's keys: a counter and a pause.

use crate::counters::{Counter, Kind, Per, Q, whole};

pub const NEVER: i64 = -2;

pub fn ceil_ms(wait: Q) -> i64 {
    (wait / whole(1_000_000)).ceil().to_integer() as i64
}

#[derive(Clone, Copy, Debug)]
struct Pause {
    until: i128,
    /// How long it is remembered, for the bucket that might begin.
    kept_until: i128,
}

#[derive(Clone, Debug)]
pub struct Key {
    kind: Kind,
    counted: Option<(Per, Counter)>,
    pause: Option<Pause>,
}

/// A key as a call sees it.
pub struct Seen {
    pub per: Per,
    pub counter: Counter,
    /// When the key is open.
    pub start: i128,
    pub cost: i128,
}

impl Seen {
    pub fn earliest(&self) -> Option<Q> {
        self.counter.earliest(self.per, self.cost, self.start)
    }

    pub fn can(&self, t: Q) -> bool {
        t >= whole(self.start) && self.counter.can(self.per, self.cost, t)
    }

    /// Capacity, remaining and reset.
    pub fn row(&self, now: i128) -> [i64; 3] {
        let Per { count, .. } = self.per;
        let now_open = self.start == now;
        let mut costs = (1..=count).rev();
        let largest = costs.find(|cost| now_open && self.counter.can(self.per, *cost, whole(now)));
        let reset = self.counter.over_at(self.per, now).max(self.start) - now;
        [
            count as i64,
            largest.unwrap_or(0) as i64,
            ceil_ms(whole(reset)),
        ]
    }
}

impl Key {
    pub const fn new(kind: Kind) -> Self {
        Self {
            kind,
            counted: None,
            pause: None,
        }
    }

    fn start(&self, now: i128) -> i128 {
        self.pause.map_or(now, |pause| pause.until.max(now))
    }

    pub fn forget(&mut self, now: i128) {
        let start = self.start(now);
        let over =
            |(per, counter): &(Per, Counter)| start == now && counter.over_at(*per, now) == now;
        self.counted = self.counted.take().filter(|counted| !over(counted));
        self.pause = self.pause.filter(|pause| pause.kept_until > now);
    }

    pub fn see(&self, per: Per, cost: i128, now: i128) -> Seen {
        let counter = match self.counted.clone() {
            Some((old, mut counter)) => {
                counter.adopt(old, per, now);
                counter
            }
            None => Counter::new(self.kind),
        };
        let start = self.start(now);
        Seen {
            per,
            counter,
            start,
            cost,
        }
    }

    pub fn book(&mut self, per: Per, slot: i128, cost: i128, now: i128) {
        let Seen {
            mut counter, start, ..
        } = self.see(per, cost, now);
        counter.book(per, slot, start, cost);
        self.counted = Some((per, counter));
    }

    pub fn charge(&mut self, per: Per, cost: i128, now: i128) {
        let Seen { mut counter, .. } = self.see(per, cost, now);
        let slot = counter.unasked(now);
        counter.book(per, slot, now, cost);
        self.counted = Some((per, counter));
    }

    pub fn pause(&mut self, ns: i128, keep: bool, force: bool, now: i128) -> i64 {
        if force && now + ns < self.start(now) {
            self.resume(now);
        }
        if now + ns > self.start(now) {
            let until = now + ns;
            let kept_until = if keep { until } else { until + ns };
            self.pause = Some(Pause { until, kept_until });
        }
        ceil_ms(whole(self.start(now) - now))
    }

    pub fn resume(&mut self, now: i128) -> i64 {
        let Some(pause) = self.pause.filter(|pause| pause.until > now) else {
            return 0;
        };
        let kept_until = now + pause.kept_until - pause.until;
        self.pause = Some(Pause {
            until: now,
            kept_until,
        });
        1
    }

    /// Milliseconds until the key is gone, -2 if it is.
    pub fn pttl(&self, now: i128) -> i64 {
        let counted = self.counted.as_ref();
        let counted = counted.map(|(per, counter)| counter.over_at(*per, now).max(self.start(now)));
        let pause = self.pause.map(|pause| pause.kept_until);
        let ends = counted.into_iter().chain(pause).max();
        ends.map_or(-2, |end| ceil_ms(whole(end - now)))
    }
}

/// The reply to a TAKE that went or did not, or to a PEEK.
pub fn five_integers(seen: &[Seen], now: i128, goes: bool) -> Vec<i64> {
    let rows: Vec<[i64; 3]> = seen.iter().map(|seen| seen.row(now)).collect();
    let line = |[capacity, remaining, reset]: [i64; 3], retry| {
        vec![i64::from(!goes), capacity, remaining, retry, reset]
    };
    if goes {
        let least = rows.into_iter().min_by_key(|[_, remaining, _]| *remaining);
        return line(least.unwrap(), -1);
    }
    // The longest wait binds, and never is longer than any; the first of several.
    let waits: Vec<Option<Q>> = seen.iter().map(Seen::earliest).collect();
    let length = |slot: &Option<Q>| (slot.is_none(), slot.unwrap_or(whole(0)));
    let longest = waits.iter().map(length).max().unwrap();
    let binding = waits
        .iter()
        .position(|slot| length(slot) == longest)
        .unwrap();
    let retry = waits[binding].map_or(NEVER, |slot| ceil_ms(slot - whole(now)));
    line(rows[binding], retry)
}

/// The earliest whole nanosecond at which all can go; for one alone its own instant.
pub fn slot(seen: &[Seen], now: i128) -> Option<Q> {
    if let [only] = seen {
        return only.earliest();
    }
    let from = seen.iter().map(|seen| seen.start).max().unwrap();
    let possible = seen.iter().all(|seen| seen.cost <= seen.per.count);
    let all_can = |t: &Q| seen.iter().all(|seen| seen.can(*t));
    let mut candidates: Vec<Q> = seen
        .iter()
        .flat_map(|seen| seen.counter.candidates(seen.per, seen.cost, whole(from)))
        .map(|t| t.ceil())
        .collect();
    candidates.sort();
    let found = candidates.into_iter().find(|t| possible && all_can(t));
    assert_eq!(found.is_some(), possible, "at some time all is over");
    // By brute force, where there are few.
    let until = found.map_or(now, |t| t.to_integer());
    for t in (from..until).rev().take(200) {
        assert!(!all_can(&whole(t)), "the oracle has overlooked {t}");
    }
    found
}
