//! What one thread still has to send, and when. Told the time.

const SECOND_NS: u128 = 1_000_000_000;

/// When the calls end.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// After so many that count.
    Calls(u64),
    /// At this instant.
    At(u64),
}

/// The spacing of an open loop: this thread's calls are every `threads`-th of `rate` a second.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Calls a second of all threads.
    pub rate: u64,
    /// How many threads share them.
    pub threads: u64,
    /// Which of them this is, from 0.
    pub thread: u64,
}

/// The calls that a thread is to send. Instants in nanoseconds of one clock.
#[derive(Clone, Debug)]
pub struct Supply {
    start_ns: u64,
    /// Calls meant to be sent before do not count.
    counts_from_ns: u64,
    end: End,
    pace: Option<Pace>,
    issued: u64,
}

impl Supply {
    /// From `start_ns` on, counting after `warmup_ns`; without a pace, as fast as answers come.
    pub fn new(start_ns: u64, warmup_ns: u64, end: End, pace: Option<Pace>) -> Self {
        Self {
            start_ns,
            counts_from_ns: start_ns + warmup_ns,
            end,
            pace,
            issued: 0,
        }
    }

    /// When the first calls may go.
    pub fn start_ns(&self) -> u64 {
        self.start_ns
    }

    /// When calls begin to count.
    pub fn counts_from_ns(&self) -> u64 {
        self.counts_from_ns
    }

    /// True if replies open the way for the next calls, and time does not.
    pub fn is_closed(&self) -> bool {
        self.pace.is_none()
    }

    /// When the next call of an open loop is meant to be sent; `None` if there is none, or the loop is closed.
    pub fn due_ns(&self) -> Option<u64> {
        let at = self.intended_ns(self.pace?, self.issued);
        self.allows(at).then_some(at)
    }

    /// Takes up to `most` calls that may go now: the instant from which their latency counts, and how many. An
    /// open loop gives one at a time, with the instant at which it was meant to go.
    pub fn take(&mut self, now_ns: u64, most: u64) -> Option<(u64, u64)> {
        let (at, most) = match self.pace {
            None => (now_ns, most),
            Some(_) => (self.due_ns().filter(|&due| due <= now_ns)?, most.min(1)),
        };
        if !self.allows(at) || most == 0 {
            return None;
        }
        let mut count = most;
        if at >= self.counts_from_ns
            && let End::Calls(left) = &mut self.end
        {
            count = count.min(*left);
            *left -= count;
        }
        self.issued += count;
        Some((at, count))
    }

    /// True if no more calls come.
    pub fn is_over(&self, now_ns: u64) -> bool {
        match self.pace {
            None => !self.allows(now_ns),
            Some(_) => self.due_ns().is_none(),
        }
    }

    /// How many calls of an open loop were to be sent until `now_ns` and were not.
    pub fn overdue(&self, now_ns: u64) -> u64 {
        let Some(pace) = self.pace else { return 0 };
        let until = match self.end {
            End::At(end) => now_ns.min(end),
            End::Calls(_) => now_ns,
        };
        // The first k whose instant lies behind.
        let elapsed = u128::from(until.saturating_sub(self.start_ns));
        let slots = (elapsed * u128::from(pace.rate)).div_ceil(SECOND_NS);
        let mine = slots
            .saturating_sub(u128::from(pace.thread))
            .div_ceil(u128::from(pace.threads));
        let behind = u64::try_from(mine)
            .unwrap_or(u64::MAX)
            .saturating_sub(self.issued);
        match self.end {
            End::At(_) => behind,
            End::Calls(left) => behind.min(left),
        }
    }

    /// True if the time is over, and as much again: what was not sent and answered by then is not waited for.
    pub fn gives_up(&self, now_ns: u64) -> bool {
        match self.end {
            End::At(end) => now_ns >= end.saturating_add(end.saturating_sub(self.start_ns)),
            End::Calls(_) => false,
        }
    }

    fn intended_ns(&self, pace: Pace, call: u64) -> u64 {
        let slot = u128::from(call) * u128::from(pace.threads) + u128::from(pace.thread);
        let after = slot * SECOND_NS / u128::from(pace.rate);
        u64::try_from(u128::from(self.start_ns) + after).unwrap_or(u64::MAX)
    }

    /// True if a call may be sent whose instant is this.
    fn allows(&self, at_ns: u64) -> bool {
        match self.end {
            End::At(end) => at_ns < end,
            End::Calls(left) => left > 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn open(end: End, warmup_ns: u64) -> Supply {
        let pace = Pace {
            rate: 1_000,
            threads: 1,
            thread: 0,
        };
        Supply::new(10 * MS, warmup_ns, end, Some(pace))
    }

    #[test]
    fn a_closed_loop_sends_what_it_is_asked_for_until_its_calls_are_used() {
        let mut supply = Supply::new(0, 0, End::Calls(40), None);
        assert_eq!(supply.take(5, 16), Some((5, 16)));
        assert_eq!(supply.take(6, 16), Some((6, 16)));
        assert!(!supply.is_over(7));
        assert_eq!(supply.take(7, 16), Some((7, 8)));
        assert_eq!(supply.take(8, 16), None);
        assert!(supply.is_over(8));
        assert_eq!(supply.overdue(9), 0);
    }

    #[test]
    fn calls_of_the_warm_up_are_not_taken_from_the_calls() {
        let mut supply = Supply::new(0, 10, End::Calls(1), None);
        assert_eq!(supply.take(9, 5), Some((9, 5)));
        assert_eq!(supply.take(10, 5), Some((10, 1)));
        assert!(supply.is_over(10));
    }

    #[test]
    fn an_open_loop_keeps_to_its_schedule_when_it_is_late() {
        let mut supply = open(End::Calls(4), 0);
        assert_eq!(supply.due_ns(), Some(10 * MS));
        assert_eq!(supply.take(10 * MS - 1, 9), None);
        assert_eq!(supply.take(10 * MS, 9), Some((10 * MS, 1)));
        assert_eq!(supply.take(10 * MS, 9), None);
        // A second later all are due; each counts from when it was to go.
        assert_eq!(supply.overdue(1_010 * MS), 3);
        assert_eq!(supply.take(1_010 * MS, 9), Some((11 * MS, 1)));
        assert_eq!(supply.take(1_010 * MS, 9), Some((12 * MS, 1)));
        assert_eq!(supply.overdue(1_010 * MS), 1);
        assert_eq!(supply.take(1_010 * MS, 9), Some((13 * MS, 1)));
        assert_eq!(supply.due_ns(), None);
        assert!(supply.is_over(0));
    }

    #[test]
    fn threads_share_one_schedule() {
        let mut all = Vec::new();
        for thread in 0..3 {
            let pace = Pace {
                rate: 7,
                threads: 3,
                thread,
            };
            let mut supply = Supply::new(0, 0, End::At(2_000_000_000), Some(pace));
            assert_eq!(supply.overdue(2_000_000_000), [5, 5, 4][thread as usize]);
            while let Some((at, _)) = supply.take(u64::MAX, 1) {
                all.push(at);
            }
            assert_eq!(supply.overdue(u64::MAX), 0);
        }
        all.sort_unstable();
        let expected: Vec<u64> = (0..14).map(|call| call * 1_000_000_000 / 7).collect();
        assert_eq!(all, expected);
    }

    #[test]
    fn what_is_left_when_the_time_is_over_is_waited_for_as_long_again() {
        let supply = open(End::At(33 * MS), 0);
        assert_eq!(supply.overdue(90 * MS), 23);
        assert!(!supply.gives_up(56 * MS - 1) && supply.gives_up(56 * MS));
        assert!(!open(End::Calls(1), 0).gives_up(u64::MAX));
    }
}
