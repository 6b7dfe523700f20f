//! The oracles: one list entry a permit, and every instant found by trying all that come into question.
//!
//! Instants are nanoseconds since the epoch.

use num_rational::Ratio;
use num_traits::Zero;

pub type Q = Ratio<i128>;

pub fn whole(n: i128) -> Q {
    Q::from_integer(n)
}

/// A limit of a period.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Per {
    pub count: i128,
    pub period: i128,
    pub align: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Window,
    Sliding,
    Log,
}

/// What a key has counted, under the limit of the last call that changed it.
#[derive(Clone, Debug)]
pub enum Counter {
    /// Where the row begins, and for each permit the beginning of its window.
    Window { begin: i128, permits: Vec<i128> },
    /// For each permit its window, counted from the epoch.
    Sliding { windows: Vec<i128> },
    /// For each permit its instant.
    Log { instants: Vec<i128> },
}

impl Counter {
    pub fn new(kind: Kind) -> Self {
        match kind {
            Kind::Window => Self::Window {
                begin: 0,
                permits: Vec::new(),
            },
            Kind::Sliding => Self::Sliding {
                windows: Vec::new(),
            },
            Kind::Log => Self::Log {
                instants: Vec::new(),
            },
        }
    }

    /// What is still counted at `now`.
    pub fn settle(&mut self, per: Per, now: i128) {
        let Per { period, .. } = per;
        match self {
            Self::Window { begin, permits } => {
                *begin += (now - *begin).max(0) / period * period;
                permits.retain(|window| *window + period > now);
            }
            Self::Sliding { windows } => windows.retain(|window| (window + 2) * period > now),
            Self::Log { instants } => instants.retain(|instant| *instant + period > now),
        }
    }

    /// The same under other parameters: a window keeps its beginning and its counts, a log what it still
    /// holds, and a sliding window counts what the weighted count was as current.
    pub fn adopt(&mut self, old: Per, new: Per, now: i128) {
        self.settle(old, now);
        if let Self::Sliding { windows } = self
            && (old.count, old.period) != (new.count, new.period)
        {
            let load = weighted(windows, old.period, whole(now))
                .ceil()
                .to_integer();
            *windows = vec![now / new.period; load as usize];
        }
        if let Self::Window { begin, permits } = self {
            // Windows that are booked ahead keep their instants.
            let into = |window: i128| (window - *begin) / new.period * new.period;
            permits
                .iter_mut()
                .for_each(|window| *window = *begin + into(*window));
        }
        self.settle(new, now);
    }

    /// True if a cost may go at an instant, nothing else arriving.
    pub fn can(&self, per: Per, cost: i128, t: Q) -> bool {
        let Per { count, period, .. } = per;
        let counted = match self {
            Self::Window { permits, .. } if permits.is_empty() => Q::zero(),
            Self::Window { begin, .. } if t < whole(*begin) => return false,
            Self::Window { begin, permits } => {
                let window =
                    begin + ((t - whole(*begin)) / whole(period)).floor().to_integer() * period;
                whole(permits.iter().filter(|other| **other == window).count() as i128)
            }
            Self::Sliding { windows } => weighted(windows, period, t),
            Self::Log { instants } => {
                if instants.iter().any(|instant| whole(*instant) > t) {
                    return false;
                }
                let inside = |instant: &&i128| whole(**instant + period) > t;
                whole(instants.iter().filter(inside).count() as i128)
            }
        };
        counted + whole(cost) <= whole(count)
    }

    /// The instants at which it may begin to be true that a cost can go.
    pub fn candidates(&self, per: Per, cost: i128, from: Q) -> Vec<Q> {
        let period = per.period;
        let mut candidates = vec![from];
        match self {
            Self::Window { begin, permits } => {
                candidates.push(whole(*begin));
                candidates.extend(permits.iter().map(|window| whole(window + period)));
            }
            Self::Sliding { windows } => {
                for window in windows {
                    for next in [window + 1, window + 2] {
                        let start = whole(next * period);
                        candidates.push(start);
                        // In the window behind it, where the previous one has left enough.
                        let of = |window| {
                            whole(windows.iter().filter(|w| **w == window).count() as i128)
                        };
                        let (current, previous) = (of(next), of(next - 1));
                        if previous > Q::zero() {
                            let weight = (whole(per.count - cost) - current) / previous;
                            candidates.push(start + whole(period) * (whole(1) - weight));
                        }
                    }
                }
            }
            Self::Log { instants } => {
                candidates.extend(instants.iter().map(|instant| whole(*instant)));
                candidates.extend(instants.iter().map(|instant| whole(instant + period)));
            }
        }
        candidates.retain(|t| *t >= from);
        candidates.sort();
        candidates
    }

    pub fn earliest(&self, per: Per, cost: i128, from: i128) -> Option<Q> {
        let candidates = self.candidates(per, cost, whole(from)).into_iter();
        let found = candidates.clone().find(|t| self.can(per, cost, *t));
        assert_eq!(
            found.is_some(),
            cost <= per.count,
            "at some time all is over"
        );
        found
    }

    /// Counts a cost at its slot; `start` is when the key is or would be open.
    pub fn book(&mut self, per: Per, slot: i128, start: i128, cost: i128) {
        let period = per.period;
        let permits = match self {
            Self::Window { begin, permits } => {
                if permits.is_empty() {
                    *begin = if per.align {
                        start / period * period
                    } else {
                        start
                    };
                }
                let window = *begin + (slot - *begin).max(0) / period * period;
                permits.extend(vec![window; cost as usize]);
                return;
            }
            Self::Sliding { windows } => {
                windows.extend(vec![slot / period; cost as usize]);
                return;
            }
            Self::Log { instants } => instants,
        };
        permits.extend(vec![slot; cost as usize]);
    }

    /// Where a charge that does not ask is counted.
    pub fn unasked(&self, now: i128) -> i128 {
        match self {
            Self::Log { instants } => instants.iter().copied().fold(now, i128::max),
            _ => now,
        }
    }

    /// The instant from which nothing is counted any more.
    pub fn over_at(&self, per: Per, now: i128) -> i128 {
        let ends = match self {
            Self::Window { permits, .. } => permits.iter().map(|window| window + per.period).max(),
            Self::Sliding { windows } => {
                windows.iter().map(|window| (window + 2) * per.period).max()
            }
            Self::Log { instants } => instants.iter().map(|instant| instant + per.period).max(),
        };
        ends.unwrap_or(now).max(now)
    }
}

/// current + previous × the part of it still inside.
fn weighted(windows: &[i128], period: i128, t: Q) -> Q {
    let index = (t / whole(period)).floor().to_integer();
    let of = |index| whole(windows.iter().filter(|window| **window == index).count() as i128);
    let into = t - whole(index * period);
    of(index) + of(index - 1) * (whole(period) - into) / whole(period)
}
