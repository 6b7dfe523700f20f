//! The token bucket: one number, the deficit, that refill works off.
//!
//! With capacity `C` and rate `r`, a deficit `D` falls as `D(t) = max(0, D − r·Δt)`. A cost `n` goes
//! now iff `D + n ≤ C`, and then `D` grows by `n`; otherwise it could go after `(D + n − C) / r`.
//! A slot booked ahead is a deficit beyond the capacity: the same number says it all.
//!
//! **How it stays exact.** The rate is a fraction `permits / per_ns` in lowest terms, and the deficit
//! is held as a whole number of `1 / per_ns` permits. A nanosecond then takes off exactly `permits` of
//! those units and a permit costs exactly `per_ns` of them; there is nothing to round. Bounds:
//! `C · per_ns < 2^120`, `permits < 2^60`, elapsed time `< 2^64 ns`, so no product below exceeds 2^124,
//! and what could (costs beyond the capacity, carried debt) is checked.
//!
//! **Pauses.** While a key is paused the deficit is held as of the end of the pause, `base`, which then
//! lies ahead of the clock. See [`super::pause`] for the rules.

use super::decision::{Earliest, Refusal, Standing};
use super::gcra;
use super::limit::{BucketLimit, Keeps, Limit, Rate};
use super::state::Grant;
use super::units::{Span, Timestamp, Wait};
use super::wide::{compare_products, multiply_divide_ceil, multiply_divide_floor};
use std::cmp::Ordering;

/// The largest deficit that a bucket holds: a charge of a whole capacity (below 2^120) on top of it stays
/// below 2^128. [`Bucket::book`] ends well before it; only debt carried over to a finer rate comes near.
pub const DEFICIT_MAX: u128 = 1 << 127;

/// A deficit and the instant it is true of.
///
/// Packed to 8 bytes, as [`Rate`] is: a key of a million is smaller by a sixth than with 128-bit alignment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, packed(8))]
pub struct Level {
    /// In units of `1 / per_ns` permits of the rate in force.
    pub deficit: u128,
    /// The deficit does not fall before this instant.
    pub base: Timestamp,
}

/// The state of one token bucket or GCRA.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bucket {
    /// The limit of the last call that changed the key.
    pub limit: BucketLimit,
    /// How much is gone.
    pub level: Level,
    /// Slots were promised during a pause; what comes later queues behind them.
    pub promised_after_pause: bool,
    /// Part of a deficit beyond the capacity are slots that were promised, and not only debt. Says nothing
    /// of a smaller deficit.
    pub promised_ahead: bool,
    /// The level as it would be without the pause that drained the bucket.
    pub undrained: Option<Level>,
}

impl Bucket {
    /// A full bucket.
    pub const fn new(limit: BucketLimit, now: Timestamp) -> Self {
        let level = Level {
            deficit: 0,
            base: now,
        };
        Self {
            limit,
            level,
            promised_after_pause: false,
            promised_ahead: false,
            undrained: None,
        }
    }

    /// When `cost` could go, with the key paused until `pause_until`.
    pub fn earliest(&self, cost: u64, now: Timestamp, pause_until: Timestamp) -> Earliest {
        self.earliest_from(cost, now, self.start(now, pause_until))
    }

    /// When `cost` could go, as a wait from `now`, if it may not go before `from`.
    pub fn earliest_from(&self, cost: u64, now: Timestamp, from: Timestamp) -> Earliest {
        if cost > self.limit.capacity() {
            return Earliest::Never;
        }
        let rate = self.limit.rate();
        let asked = self.deficit_at(from) + u128::from(cost) * rate.per_ns();
        let over = asked.saturating_sub(self.limit.scaled_capacity());
        let refill = if over == 0 {
            Wait::ZERO
        } else {
            Wait::quotient(over, rate.permits())
        };
        Earliest::After(refill.plus_ns(from.since(now)))
    }

    /// Charges `cost` at its earliest slot, into debt if need be.
    ///
    /// # Errors
    /// [`Refusal::DebtTooLarge`] if more than 3650 days' worth would be owed beyond the capacity.
    pub fn book(
        &mut self,
        cost: u64,
        now: Timestamp,
        pause_until: Timestamp,
    ) -> Result<(), Refusal> {
        let at = self.start(now, pause_until);
        let rate = self.limit.rate();
        let charge = u128::from(cost)
            .checked_mul(rate.per_ns())
            .ok_or(Refusal::DebtTooLarge)?;
        let before = self.deficit_at(at);
        let deficit = before
            .checked_add(charge)
            .filter(|deficit| *deficit <= DEFICIT_MAX);
        let deficit = deficit.ok_or(Refusal::DebtTooLarge)?;
        // Debt that was carried over from other parameters may be more already; then this charge alone counts.
        let debt_max = u128::from(Span::MAX.as_ns()) * u128::from(rate.permits());
        let debt = |deficit: u128| deficit.saturating_sub(self.limit.scaled_capacity());
        let charged = if debt(before) > debt_max {
            charge
        } else {
            debt(deficit)
        };
        if charged > debt_max {
            return Err(Refusal::DebtTooLarge);
        }
        self.undrained = None;
        self.promised_ahead &= debt(before) > 0;
        self.settle(deficit, at);
        self.promised_after_pause = at > now && (self.promised_after_pause || pause_until > now);
        Ok(())
    }

    /// A slot is promised beside the bucket's own number: if the key is paused, what comes later queues
    /// behind the pause even if that ends early.
    pub fn promise(&mut self, now: Timestamp, pause_until: Timestamp) {
        let at = self.start(now, pause_until);
        if pause_until > now {
            self.settle(self.deficit_at(at), at);
        }
        self.undrained = None;
        self.promised_after_pause = at > now && (self.promised_after_pause || pause_until > now);
    }

    /// How the bucket stands.
    pub fn standing(&self, now: Timestamp, pause_until: Timestamp) -> Standing {
        let at = self.start(now, pause_until);
        let deficit = self.deficit_at(at);
        let remaining = if at > now {
            0
        } else {
            self.whole_permits_left(deficit)
        };
        let refill = Wait::quotient(deficit, self.limit.rate().permits());
        Standing {
            remaining,
            reset_after: refill.plus_ns(at.since(now)),
        }
    }

    /// Permits of the capacity that are gone, and permits promised beyond it, both rounded up.
    pub fn used_and_booked(&self, now: Timestamp, pause_until: Timestamp) -> (u64, u64) {
        let deficit = self.deficit_at(self.start(now, pause_until));
        let beyond = deficit.saturating_sub(self.limit.scaled_capacity());
        let booked = beyond.div_ceil(self.limit.rate().per_ns());
        let used = self.limit.capacity() - self.whole_permits_left(deficit);
        (used, u64::try_from(booked).unwrap_or(u64::MAX))
    }

    /// True once the bucket cannot be told from one that was never used.
    pub fn is_full(&self, now: Timestamp, pause_until: Timestamp) -> bool {
        self.start(now, pause_until) <= now && self.deficit_at(now) == 0
    }

    /// Gives back up to `cost` permits that were not used; the whole permits that came back.
    ///
    /// Nothing comes back while slots are booked ahead: a promised slot is not promised twice. A drain
    /// by a pause that still runs stays.
    pub fn refund(&mut self, cost: u64, now: Timestamp, pause_until: Timestamp) -> u64 {
        let at = self.start(now, pause_until);
        let deficit = self.deficit_at(at);
        if deficit > self.limit.scaled_capacity() {
            return 0;
        }
        let per_ns = self.limit.rate().per_ns();
        let drained = self.undrained.is_some() && pause_until > now;
        let kept = if drained { self.drained_deficit() } else { 0 };
        let back = u128::from(cost)
            .saturating_mul(per_ns)
            .min(deficit.saturating_sub(kept));
        // As of the pause's end, also if it keeps the burst: a refund is the caller's word, and stands outside of
        // the bound if the pause then ends early (see docs/algorithms.md, Choices).
        self.settle(deficit - back, at);
        // At most the capacity, which is below 2^40.
        (back / per_ns) as u64
    }

    /// Gives back `amount` of a grant whose slot has passed: at most what refill has not given back
    /// already. The whole permits that came back.
    ///
    /// Nothing comes back while promised slots are part of the number, as in [`Self::refund`]: they are
    /// charged already, so the bucket would fill up before them and let others go beside them.
    pub fn give_back(
        &mut self,
        grant: &Grant,
        amount: u64,
        now: Timestamp,
        pause_until: Timestamp,
    ) -> u64 {
        // As of now where no pause has drained it and nothing is promised behind one: a pause may end early.
        let at = now.max(self.level.base);
        let deficit = self.deficit_at(at);
        if self.promised_ahead && deficit > self.limit.scaled_capacity() {
            return 0;
        }
        let per_ns = self.limit.rate().per_ns();
        let left = u128::from(grant.cost)
            .saturating_mul(per_ns)
            .saturating_sub(self.refilled_since(grant, at));
        let drained = self.undrained.is_some() && pause_until > now;
        let kept = if drained { self.drained_deficit() } else { 0 };
        let back = u128::from(amount)
            .saturating_mul(per_ns)
            .min(left)
            .min(deficit.saturating_sub(kept));
        self.settle(deficit - back, at);
        u64::try_from(back / per_ns).unwrap_or(u64::MAX)
    }

    /// True if a pause may have drained it behind whose end slots are promised. Nobody knows any more what was missing
    /// before that: what it took from one who is not there after all it would have taken anyway.
    pub fn may_be_drained(&self) -> bool {
        let drained = self.drained_deficit();
        drained > 0 && self.level.deficit >= drained
    }

    /// What has refilled since a grant's slot: at the rate in force, or at the one it was granted under if
    /// that was faster. Which of the two it was, and since when, is not known.
    fn refilled_since(&self, grant: &Grant, at: Timestamp) -> u128 {
        let elapsed = u128::from(at.since(grant.slot.at));
        let rate = self.limit.rate();
        let now = elapsed * u128::from(rate.permits());
        match grant.limit {
            Limit::Bucket(limit) if limit.rate() != rate => {
                let then = elapsed * u128::from(limit.rate().permits());
                multiply_divide_ceil(then, rate.per_ns(), limit.rate().per_ns())
                    .map_or(u128::MAX, |then| then.max(now))
            }
            _ => now,
        }
    }

    /// A pause ends at `at`: at most one permit is there then.
    pub fn drain_to(&mut self, at: Timestamp) {
        self.undrained.get_or_insert(self.level);
        let at = if self.promised_after_pause {
            at.max(self.level.base)
        } else {
            at
        };
        self.level = Level {
            deficit: self.deficit_at(at).max(self.drained_deficit()),
            base: at,
        };
    }

    /// A pause ended early. With nothing promised the bucket is settled to now as if it had never been
    /// drained, and then holds at most one permit; promised slots stand.
    pub fn resume(&mut self, now: Timestamp) {
        if self.promised_after_pause {
            return;
        }
        if let Some(undrained) = self.undrained.take() {
            self.level = undrained;
        }
        // A refund during the pause may have settled the level to the pause's end: unlike elsewhere the
        // base moves back, or nothing would refill until then.
        self.level = Level {
            deficit: self.deficit_at(now).max(self.drained_deficit()),
            base: now,
        };
    }

    /// This bucket under other parameters: settled at the old rate, then carried over.
    ///
    /// A bucket keeps its available permits, GCRA at least its time. Debt beyond the capacity keeps its
    /// time if the rate rises and its permits if it falls. Rounded up to a unit of the new rate.
    ///
    /// # Errors
    /// [`Refusal::CarryTooLarge`] if the result cannot be held.
    pub fn adopt(&self, limit: BucketLimit, now: Timestamp) -> Result<Self, Refusal> {
        if self.limit.same_numbers(&limit) {
            return Ok(Self { limit, ..*self });
        }
        let at = now.max(self.level.base);
        let deficit = self
            .carried(self.deficit_at(at), &limit)
            .ok_or(Refusal::CarryTooLarge)?;
        Ok(Self {
            limit,
            level: Level { deficit, base: at },
            undrained: self.undrained_under(limit, now),
            ..*self
        })
    }

    /// What comes back when a pause ends early, under other parameters; nothing if that cannot be held.
    fn undrained_under(&self, limit: BucketLimit, now: Timestamp) -> Option<Level> {
        let before = Self {
            level: self.undrained?,
            undrained: None,
            ..*self
        };
        before.adopt(limit, now).ok().map(|before| before.level)
    }

    fn carried(&self, deficit: u128, new: &BucketLimit) -> Option<u128> {
        let (old_rate, new_rate) = (self.limit.rate(), new.rate());
        let capacity = new.scaled_capacity();
        let mut carried = match self.limit.scaled_capacity().checked_sub(deficit) {
            Some(available) => capacity - same_permits_at_most(available, old_rate, new),
            None => {
                let debt = deficit - self.limit.scaled_capacity();
                let debt = if rises(old_rate, new_rate) {
                    gcra::same_time(debt, old_rate, new_rate)?
                } else {
                    multiply_divide_ceil(debt, new_rate.per_ns(), old_rate.per_ns())?
                };
                capacity.checked_add(debt)?
            }
        };
        if self.limit.keeps() == Keeps::Time || new.keeps() == Keeps::Time {
            carried = carried.max(gcra::same_time(deficit, old_rate, new_rate)?);
        }
        Some(carried).filter(|carried| *carried <= DEFICIT_MAX)
    }

    /// The deficit as of `at`. The base never moves back: of two threads that read the clock one after
    /// the other, the later may come first, and what has refilled must not refill again.
    fn settle(&mut self, deficit: u128, at: Timestamp) {
        let base = at.max(self.level.base);
        self.level = Level { deficit, base };
    }

    /// The earliest instant at which anything new can go.
    pub fn start(&self, now: Timestamp, pause_until: Timestamp) -> Timestamp {
        let at = now.max(pause_until);
        if self.promised_after_pause {
            at.max(self.level.base)
        } else {
            at
        }
    }

    fn deficit_at(&self, at: Timestamp) -> u128 {
        let refilled =
            u128::from(at.since(self.level.base)) * u128::from(self.limit.rate().permits());
        self.level.deficit.saturating_sub(refilled)
    }

    fn whole_permits_left(&self, deficit: u128) -> u64 {
        let left = self.limit.scaled_capacity().saturating_sub(deficit);
        let per_ns = self.limit.rate().per_ns();
        // As in [`Wait::quotient`]. At most the capacity, which is below 2^40.
        match (u64::try_from(left), u64::try_from(per_ns)) {
            (Ok(left), Ok(per_ns)) => left / per_ns,
            _ => (left / per_ns) as u64,
        }
    }

    fn drained_deficit(&self) -> u128 {
        self.limit.scaled_capacity() - self.limit.rate().per_ns()
    }
}

/// `available` units of the old rate as units of the new one, at most the new capacity, rounded down.
fn same_permits_at_most(available: u128, old: Rate, new: &BucketLimit) -> u128 {
    let kept = multiply_divide_floor(available, new.rate().per_ns(), old.per_ns());
    // What does not fit 128 bits is above any capacity.
    kept.map_or(new.scaled_capacity(), |kept| {
        kept.min(new.scaled_capacity())
    })
}

fn rises(old: Rate, new: Rate) -> bool {
    let order = compare_products(
        u128::from(new.permits()),
        old.per_ns(),
        u128::from(old.permits()),
        new.per_ns(),
    );
    order != Ordering::Less
}

#[cfg(test)]
#[path = "bucket_tests.rs"]
mod tests;
