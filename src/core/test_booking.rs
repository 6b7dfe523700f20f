//! What the tests of windows, logs and bookings ahead ask of a [`TestKey`] besides.

use super::booked::Charge;
use super::decision::Refusal;
use super::limit::{Limit, PeriodLimit};
use super::log::Log;
use super::state::{Grant, State};
use super::test_key::TestKey;
use super::timeline::Booking;
use super::units::{MILLISECOND, Span, Wait};
use super::window::{Window, WindowLimit};

/// A span of nanoseconds.
pub fn ns(ns: u64) -> Span {
    Span::from_ns(ns).expect("a span")
}

/// A wait of nanoseconds.
pub fn wait_ns(ns: u128) -> Wait {
    Wait::from_ns(ns)
}

fn per(count: u64, period: Span) -> PeriodLimit {
    PeriodLimit::new(count, period).expect("a limit of a period")
}

/// A fixed window that begins at its first request.
pub fn window(count: u64, period: Span) -> Limit {
    Limit::Window(WindowLimit {
        per: per(count, period),
        align: false,
    })
}

/// A fixed window at multiples of its period.
pub fn aligned(count: u64, period: Span) -> Limit {
    Limit::Window(WindowLimit {
        per: per(count, period),
        align: true,
    })
}

pub fn sliding(count: u64, period: Span) -> Limit {
    Limit::Sliding(per(count, period))
}

pub fn log(count: u64, period: Span) -> Limit {
    Limit::Log(per(count, period))
}

impl TestKey {
    fn charge_by(
        &mut self,
        limit: &Limit,
        most: usize,
        f: impl FnOnce(&mut super::draft::Draft<'_>) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        self.entry.forget(self.now);
        let mut draft = self.entry.draft(limit, self.now)?.with_bookings_max(most);
        f(&mut draft)?;
        draft.commit();
        self.entry.forget(self.now);
        Ok(())
    }

    /// Books a cost as the part of a call over several rules that can go in so many nanoseconds.
    pub fn book_at_ns(&mut self, limit: &Limit, cost: u64, wait_ns: u64) {
        let booked = self.book_at_most(limit, cost, wait_ns, usize::MAX);
        booked.expect("a booking that can be held");
    }

    /// As [`Self::book_at_ns`], in milliseconds.
    pub fn book_at(&mut self, limit: &Limit, cost: u64, wait_ms: u64) {
        self.book_at_ns(limit, cost, wait_ms * MILLISECOND);
    }

    /// As [`Self::book_at_ns`], with a bound on the bookings that the key may hold.
    pub fn book_at_most(
        &mut self,
        limit: &Limit,
        cost: u64,
        wait_ns: u64,
        most: usize,
    ) -> Result<(), Refusal> {
        let wait = Wait::from_ns(u128::from(wait_ns));
        let ticket = 0;
        self.charge_by(limit, most, |draft| {
            draft.book_at(0, Charge { cost, wait, ticket })
        })
    }

    /// As [`Self::book_at_ns`], under a ticket; what it was granted.
    pub fn book_ticket(&mut self, limit: &Limit, cost: u64, wait: Wait, ticket: u64) -> Grant {
        let mut slot = None;
        let booked = self.charge_by(limit, usize::MAX, |draft| {
            slot = Some(draft.slot_after(0, wait));
            draft.book_at(0, Charge { cost, wait, ticket })
        });
        booked.expect("a booking that can be held");
        let slot = slot.expect("it was booked");
        Grant {
            ticket,
            cost,
            slot,
            limit: *limit,
            lease: 0,
        }
    }

    /// `RL.CANCEL`.
    pub fn give_back(&mut self, grant: Grant) -> u64 {
        self.entry.forget(self.now);
        let back = self.entry.give_back(0, grant, grant.cost, self.now);
        self.entry.forget(self.now);
        back
    }

    /// `RL.CHARGE`.
    pub fn charge_unasked(&mut self, limit: &Limit, cost: u64) -> Result<(), Refusal> {
        self.charge_by(limit, usize::MAX, |draft| draft.charge(0, cost))
    }

    /// Takes one by one until no more go; how many went.
    pub fn take_all(&mut self, limit: &Limit) -> u64 {
        let mut taken = 0;
        while self.take(limit, 1) {
            taken += 1;
        }
        taken
    }

    /// Nanoseconds until a cost could go, rounded up.
    pub fn wait_ns(&mut self, limit: &Limit, cost: u64) -> u128 {
        self.wait(limit, cost).ceil_ns()
    }

    /// A cost waits exactly so long: it is denied one nanosecond before and granted then.
    pub fn assert_goes_after_ns(&mut self, limit: &Limit, cost: u64, wait_ns: u64) {
        assert_eq!(self.wait_ns(limit, cost), u128::from(wait_ns));
        assert!(!self.take(limit, cost));
        self.advance_ns(wait_ns - 1);
        assert!(!self.take(limit, cost), "a nanosecond before");
        self.advance_ns(1);
        assert!(self.take(limit, cost), "at the instant");
    }

    /// The bookings ahead of a bucket.
    pub fn ahead(&self) -> Vec<Booking> {
        match self.entry.parts().0 {
            [State::Bucket(_, Some(timeline))] => timeline.ahead.iter().copied().collect(),
            _ => Vec::new(),
        }
    }

    /// True if one number says all of a bucket.
    pub fn is_one_number(&self) -> bool {
        matches!(self.entry.parts().0, [State::Bucket(_, None)])
    }

    pub fn window_state(&self) -> &Window {
        match self.entry.parts().0 {
            [State::Window(window)] => window,
            other => panic!("no window: {other:?}"),
        }
    }

    pub fn log_state(&self) -> &Log {
        match self.entry.parts().0 {
            [State::Log(log)] => log,
            other => panic!("no log: {other:?}"),
        }
    }
}
