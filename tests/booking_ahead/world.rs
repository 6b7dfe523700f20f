//! The oracle's keys: what the contract says of the verbs and of pauses, one after another.

use crate::exact::{Line, Q, Rule, common, whole};
use num_traits::Zero;

pub const NEVER: i64 = -2;
const MILLISECOND: i128 = 1_000_000;

/// A wait as replies give it.
pub fn ceil_ms(wait: Q) -> i64 {
    (wait / whole(MILLISECOND)).ceil().to_integer() as i64
}

/// A pause, or the mark that it leaves for the bucket that begins next.
#[derive(Clone, Copy, Debug)]
struct Pause {
    until: i128,
    drains: bool,
    kept_until: i128,
}

#[derive(Clone, Debug, Default)]
pub struct Key {
    line: Option<Line>,
    pause: Option<Pause>,
    /// Slots were promised during a pause; what comes later queues behind its end.
    promised: bool,
    /// The line as it would be without the pause that drained it.
    undrained: Option<Line>,
}

/// One rule's part of a call, and the key as that sees it.
pub struct Seen {
    pub line: Line,
    pub start: Q,
    pub cost: i128,
}

impl Seen {
    pub fn earliest(&self) -> Option<Q> {
        self.line.earliest(self.cost, self.start)
    }

    /// True if the cost may go at an instant.
    pub fn can(&self, t: Q) -> bool {
        t >= self.start && self.line.can(self.cost, t)
    }

    /// Capacity, remaining and reset.
    fn row(&self, now: i128) -> [i64; 3] {
        let (now, capacity) = (whole(now), self.line.rule.capacity);
        let largest = (1..=capacity).rev().find(|cost| self.line.can(*cost, now));
        let remaining = if self.start > now {
            0
        } else {
            largest.unwrap_or(0)
        };
        let reset = self.line.full_at(self.start) - now;
        [capacity as i64, remaining as i64, ceil_ms(reset)]
    }
}

impl Key {
    fn pause_until(&self) -> i128 {
        self.pause.map_or(0, |pause| pause.until)
    }

    fn start(&self, now: i128) -> Q {
        let at = whole(now.max(self.pause_until()));
        match &self.line {
            Some(line) if self.promised => at.max(line.base),
            _ => at,
        }
    }

    /// Drops what can no longer be told from a key that never was.
    pub fn forget(&mut self, now: i128) {
        let start = self.start(now);
        if let Some(line) = &mut self.line {
            line.settle(whole(now));
            if start == whole(now) && line.full_at(start) == start {
                (self.line, self.undrained, self.promised) = (None, None, false);
            }
        }
        let over = |pause: Pause| {
            now >= if pause.drains {
                pause.kept_until
            } else {
                pause.until
            }
        };
        self.pause = self.pause.filter(|pause| !over(*pause));
    }

    /// The key under a rule; parameters do not change.
    pub fn see(&self, rule: Rule, cost: i128, now: i128) -> Seen {
        let line = self.line.clone().unwrap_or_else(|| self.begin(rule, now).0);
        let start = self.start(now);
        Seen { line, start, cost }
    }

    /// A bucket that begins now, and the same without the drain of a pause.
    fn begin(&self, rule: Rule, now: i128) -> (Line, Option<Line>) {
        let full = Line::new(rule, whole(now));
        match self.pause.filter(|pause| pause.drains) {
            Some(pause) => {
                // It would have been full before the pause, too.
                let mut line = Line::new(rule, whole(pause.until));
                drain(&mut line, whole(pause.until));
                (line, Some(full))
            }
            None => (full, None),
        }
    }

    /// The bucket, which begins if there is none.
    pub fn line_mut(&mut self, rule: Rule, now: i128) -> &mut Line {
        if self.line.is_none() {
            let (line, undrained) = self.begin(rule, now);
            (self.line, self.undrained) = (Some(line), undrained);
            // The drain is in the bucket now.
            if let Some(pause) = &mut self.pause {
                pause.drains = false;
            }
        }
        self.line.as_mut().expect("it is there now")
    }

    /// Books a cost at a slot; `in_line` where the deficit alone says the same.
    pub fn book(&mut self, rule: Rule, slot: Q, cost: i128, now: i128) {
        self.line_mut(rule, now);
        let (start, paused) = (self.start(now), self.pause_until() > now);
        let line = self.line.as_mut().expect("it is there now");
        let alone = Line {
            booked: Vec::new(),
            ..line.clone()
        };
        let first = line.booked.first().is_none_or(|(other, _)| *other > slot);
        if first && alone.earliest(cost, start) == Some(slot) {
            self.charge(rule, cost, now);
            return;
        }
        if paused {
            line.settle_before(start);
            self.undrained = None;
        }
        line.book(slot, cost);
        self.promised = start > whole(now) && (self.promised || paused);
    }

    /// Charges without asking.
    pub fn charge(&mut self, rule: Rule, cost: i128, now: i128) {
        self.line_mut(rule, now);
        let (start, paused) = (self.start(now), self.pause_until() > now);
        let line = self.line.as_mut().expect("it is there now");
        line.settle_before(start);
        line.deficit += whole(cost);
        self.undrained = None;
        self.promised = start > whole(now) && (self.promised || paused);
    }

    pub fn pause(&mut self, ns: i128, keep: bool, force: bool, now: i128) -> i64 {
        if force && now + ns < self.pause_until() {
            self.resume(now);
            self.forget(now);
        }
        if self.pause_until() <= now {
            self.undrained = None;
        }
        if now + ns > self.pause_until() {
            let until = now + ns;
            let mut drains = !keep;
            let promised = self.promised;
            if let Some(line) = self.line.as_mut().filter(|_| !keep) {
                // A longer pause takes the place of the one before, which has then drained nothing.
                let before = self.undrained.get_or_insert_with(|| line.clone()).clone();
                let base = line.base;
                *line = before;
                let until = whole(until);
                drain(line, if promised { until.max(base) } else { until });
                drains = false;
            }
            self.pause = Some(Pause {
                until,
                drains,
                kept_until: until + ns,
            });
        }
        ceil_ms(whole(self.pause_until() - now))
    }

    pub fn resume(&mut self, now: i128) -> i64 {
        if self.pause_until() <= now {
            return 0;
        }
        let Some(pause) = self.pause.take() else {
            return 0;
        };
        if pause.drains {
            // Not in a bucket yet: the mark moves to now.
            let kept_until = now + pause.kept_until - pause.until;
            self.pause = Some(Pause {
                until: now,
                drains: true,
                kept_until,
            });
        }
        if let Some(line) = self.line.as_mut().filter(|_| !self.promised) {
            if let Some(undrained) = self.undrained.take() {
                *line = undrained;
            }
            drain(line, whole(now));
        }
        1
    }
}

/// At most one permit is there at an instant.
fn drain(line: &mut Line, at: Q) {
    line.settle(at);
    line.deficit = line.deficit.max(whole(line.rule.capacity - 1));
}

/// The reply to a TAKE that went or did not, or to a PEEK.
pub fn five_integers(seen: &[Seen], now: i128, goes: bool) -> Vec<i64> {
    let rows = seen.iter().map(|seen| seen.row(now));
    if goes {
        let least = rows.min_by_key(|[_, remaining, _]| *remaining);
        let [capacity, remaining, reset] = least.expect("a rule");
        return vec![0, capacity, remaining, -1, reset];
    }
    // The longest wait binds, and never is longer than any; the first of several.
    let wait = |seen: &Seen| match seen.earliest() {
        Some(slot) => (0, slot - whole(now)),
        None => (1, Q::zero()),
    };
    let waits: Vec<_> = seen.iter().map(wait).collect();
    let longest = waits.iter().max().expect("a rule");
    let mut of_longest = waits.iter().zip(rows).filter(|(wait, _)| *wait == longest);
    let (wait, [capacity, remaining, reset]) = of_longest.next().expect("a rule");
    let retry = if wait.0 == 1 { NEVER } else { ceil_ms(wait.1) };
    vec![1, capacity, remaining, retry, reset]
}

/// The slot of a RESERVE, from the rules together; `None` if there is none.
pub fn slot(seen: &[Seen]) -> Option<Q> {
    match seen {
        [only] => only.earliest(),
        _ => {
            let rules: Vec<_> = seen
                .iter()
                .map(|seen| (&seen.line, seen.cost, seen.start))
                .collect();
            common(&rules)
        }
    }
}
