//! One call over several keys, and over several limits of each: all or nothing, at one instant.

use super::booked::Charge;
use super::decision::{Earliest, Refusal, Standing};
use super::draft::Draft;
use super::entry::Entry;
use super::leases::{Lease, LeasesLimit};
use super::limit::Limit;
use super::timeline::Slot;
use super::units::{Span, Timestamp, Wait};
use smallvec::SmallVec;

/// What a call asks of one key.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The limits it counts under; at least one.
    pub limits: &'a [Limit],
    /// They are a policy's.
    pub under_policy: bool,
    /// Permits, one number a limit.
    pub costs: &'a [u64],
}

impl Ask<'_> {
    /// The limit of leases among its limits, of which there is at most one.
    pub fn leases(&self) -> Option<LeasesLimit> {
        self.limits.iter().find_map(|limit| match limit {
            Limit::Leases(leases) => Some(*leases),
            _ => None,
        })
    }
}

/// One instant a limit, in the order of the keys and of their limits.
pub type Each<T> = SmallVec<[T; 1]>;

/// The keys of a call as it sees them. Ask it, book, and [`commit`](Self::commit), or drop it.
pub struct Joint<'a, 'c> {
    drafts: SmallVec<[Draft<'a>; 1]>,
    asks: &'c [Ask<'c>],
}

impl<'a, 'c> Joint<'a, 'c> {
    /// The keys, of which there are as many as `asks`, at `now`; each may hold `bookings_max` bookings ahead.
    ///
    /// # Errors
    /// As [`Entry::draft`].
    pub fn new(
        entries: impl IntoIterator<Item = &'a mut Entry>,
        asks: &'c [Ask<'c>],
        now: Timestamp,
        bookings_max: usize,
    ) -> Result<Self, Refusal> {
        let mut drafts = SmallVec::new();
        for (entry, ask) in entries.into_iter().zip(asks) {
            let draft = match ask.limits {
                [limit] if !ask.under_policy => entry.draft(limit, now)?,
                limits => entry.draft_under_policy(limits, now)?,
            };
            drafts.push(draft.with_bookings_max(bookings_max));
        }
        Ok(Self { drafts, asks })
    }

    /// True if the commit would make a key, or one that takes more memory.
    pub fn grows(&self) -> bool {
        self.drafts.iter().any(Draft::grows)
    }

    /// The keys, one after the other.
    pub fn drafts(&self) -> &[Draft<'a>] {
        &self.drafts
    }

    /// When each limit by itself could go, `from` nanoseconds from now at the earliest.
    pub fn earliest_from(&self, from: u64) -> Each<Earliest> {
        self.each(|draft, index, cost| draft.earliest_from(index, cost, from))
    }

    /// As [`Draft::retry_after`], of each limit.
    pub fn retry_after(&self) -> Each<Earliest> {
        self.each(Draft::retry_after)
    }

    fn limits(&self) -> impl Iterator<Item = (&Draft<'a>, usize, u64)> {
        let keys = self.drafts.iter().zip(self.asks);
        keys.flat_map(|(draft, ask)| {
            let costs = ask.costs.iter().enumerate();
            costs.map(move |(index, &cost)| (draft, index, cost))
        })
    }

    fn each(&self, ask: impl Fn(&Draft<'a>, usize, u64) -> Earliest) -> Each<Earliest> {
        self.limits()
            .map(|(draft, index, cost)| ask(draft, index, cost))
            .collect()
    }

    /// The earliest slot at which all limits can go, and each limit's own instant of it; `alone` is when each
    /// could by itself.
    ///
    /// A limit that can go at an instant need not be able to go later: a booking may lie in between. So those
    /// that could go before the latest of all are asked again from there on, until nobody moves. That ends: each
    /// round passes at least one booking of a limit, and behind the last one a limit that can go can go ever
    /// after. The common slot is a whole nanosecond; a limit whose own exact slot falls into the nanosecond before
    /// it keeps that, so that a row of reservations does not drift, and a hole that is just wide enough is found
    /// again.
    pub fn common_slot(&self, alone: &[Earliest], max_wait: Span) -> (Earliest, Each<Wait>) {
        let mut slots: Each<Wait> = SmallVec::from_elem(Wait::ZERO, alone.len());
        let mut waits: Each<Earliest> = SmallVec::from_slice(alone);
        loop {
            let Earliest::After(wait) = latest(&waits) else {
                return (Earliest::Never, slots);
            };
            // Nothing is booked beyond max_wait, which fits 64 bits.
            let next = match u64::try_from(wait.ceil_ns()) {
                Ok(next) if wait.fits(max_wait) => next,
                _ => return (Earliest::After(wait), slots),
            };
            if let [slot] = &mut slots[..] {
                *slot = wait;
                return (Earliest::After(wait), slots);
            }
            let mut moved = false;
            for ((draft, index, cost), (earliest, slot)) in
                self.limits().zip(waits.iter_mut().zip(&mut slots))
            {
                match earliest {
                    Earliest::After(own) if own.ceil_ns() == u128::from(next) => *slot = *own,
                    _ => {
                        *earliest = earliest_in(draft, index, cost, next);
                        moved = true;
                    }
                }
            }
            if !moved {
                return (Earliest::After(Wait::from_ns(u128::from(next))), slots);
            }
        }
    }

    /// Books every limit at its slot, and takes the lease where one of them is of leases; with none it is promised.
    ///
    /// # Errors
    /// As [`Draft::book_at`].
    pub fn book(
        &mut self,
        slots: &[Wait],
        ticket: u64,
        mut lease: Option<(u64, Lease)>,
    ) -> Result<(), Refusal> {
        let mut slots = slots.iter();
        for (draft, ask) in self.drafts.iter_mut().zip(self.asks) {
            let costs = ask.limits.iter().zip(ask.costs).enumerate();
            for ((index, (limit, &cost)), &wait) in costs.zip(&mut slots) {
                // Nothing asked, nothing booked.
                if cost == 0 {
                    continue;
                }
                let held = lease.take_if(|_| matches!(limit, Limit::Leases(_)));
                match held {
                    Some((number, lease)) => draft.hold(index, number, lease),
                    None => draft.book_at(index, Charge { cost, wait, ticket })?,
                }
            }
        }
        Ok(())
    }

    /// The slots that lie so far from now, as exact as each limit knows them.
    pub fn slots_after(&self, waits: &[Wait]) -> Each<Slot> {
        self.limits()
            .zip(waits)
            .map(|((draft, index, _), &wait)| draft.slot_after(index, wait))
            .collect()
    }

    /// The waits until slots that [`Self::slots_after`] told; zero for one that has passed.
    pub fn waits_until(&self, slots: &[Slot]) -> Each<Wait> {
        self.limits()
            .zip(slots)
            .map(|((draft, index, _), &slot)| draft.wait_until(index, slot))
            .collect()
    }

    /// True if a key that cannot be booked ahead has promised an earlier slot than this one of it.
    pub fn is_behind_promises(&self, slots: &[Slot]) -> bool {
        let mut slots = self.limits().zip(slots);
        slots.any(|((draft, index, _), slot)| {
            let promised = draft.promises(index).first();
            promised.is_some_and(|promised| promised.slot < slot.rounded_up())
        })
    }

    /// Charges every cost without asking.
    ///
    /// # Errors
    /// As [`Draft::charge`].
    pub fn charge(&mut self) -> Result<(), Refusal> {
        for (draft, ask) in self.drafts.iter_mut().zip(self.asks) {
            for (index, &cost) in ask.costs.iter().enumerate() {
                draft.charge(index, cost)?;
            }
        }
        Ok(())
    }

    /// How each limit stands.
    pub fn standings(&self) -> Each<Standing> {
        self.limits()
            .map(|(draft, index, _)| draft.standing_of(index))
            .collect()
    }

    /// Makes the drafts the states of their keys.
    pub fn commit(self) {
        self.drafts.into_iter().for_each(Draft::commit);
    }

    /// As [`Self::commit`], but only of those that must begin now, granted or not; see [`Draft::converts`].
    pub fn commit_conversions(self) {
        let converting = self.drafts.into_iter().filter(Draft::converts);
        converting.for_each(Draft::commit);
    }
}

/// When the last of them can go.
pub fn latest(earliest: &[Earliest]) -> Earliest {
    earliest.iter().copied().max().unwrap_or(Earliest::Never)
}

/// When a limit could go, in the nanosecond that ends `next` nanoseconds from now at the earliest.
fn earliest_in(draft: &Draft<'_>, index: usize, cost: u64, next: u64) -> Earliest {
    match draft.earliest_from(index, cost, next.saturating_sub(1)) {
        Earliest::After(wait) if wait.ceil_ns() < u128::from(next) => {
            draft.earliest_from(index, cost, next)
        }
        earliest => earliest,
    }
}
