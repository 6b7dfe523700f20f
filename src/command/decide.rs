//! Decides a call over all its rules: all or nothing, under the locks of all its keys.

use super::access::{self, KeyNames};
use super::context::{Context, Shared};
use super::counted;
use super::error::Error;
use super::outcome::{Outcome, Row};
use super::replay;
use super::rules::{Call, Rule};
use crate::core::decision::{Earliest, Refusal};
use crate::core::joint::{Ask, Joint, latest};
use crate::core::leases::Lease;
use crate::core::timeline::Slot;
use crate::core::units::{Span, Timestamp, Wait};
use crate::protocol::Arguments;
use crate::store::{Key, Part, Ticket};
use crate::waiting::Keys;
use smallvec::SmallVec;

/// How far a call goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Spends if nothing has to wait.
    Take,
    /// Books if nothing has to wait for longer than this.
    Reserve(Span),
    /// As [`Mode::Take`], but looks so far ahead for when it could go.
    Acquire(Span),
    /// Only looks.
    Peek,
}

/// What an error says of a ticket that cannot be given.
pub const NO_TICKET: Error = Error::argument(
    "TICKET",
    "one of at most 100000 known tickets of a key and 1000000 in all",
);

/// Decides a call and spends if the mode says so and all its rules allow it.
///
/// # Errors
/// As [`Joint::new`]; a ticket too many; an id of another request; memory is full, and it would take more. Nothing is
/// spent then.
pub fn decide(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    call: &Call<'_>,
    mode: Mode,
) -> Result<Outcome, Error> {
    let decision = Decision::new(context, arguments, call, mode);
    let outcome = access::decide(&*context, &call.keys(), |keys| decision.on(keys))?;
    count(context, call, mode, &outcome);
    Ok(outcome)
}

/// As [`decide`], if nobody waits at the keys; else `None`.
///
/// # Errors
/// As [`decide`].
pub fn decide_unless_waited(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    call: &Call<'_>,
    mode: Mode,
) -> Result<Option<Outcome>, Error> {
    let decision = Decision::new(context, arguments, call, mode);
    access::decide_unless_waited(context, &call.keys(), |keys| decision.on(keys))
}

/// Counts what was decided.
pub fn count(context: &mut Context<'_>, call: &Call<'_>, mode: Mode, outcome: &Outcome) {
    if mode != Mode::Peek {
        counted::call(context.shared, context.tally, call, outcome);
    }
}

struct Decision<'a, 'c> {
    shared: &'a Shared,
    database: u8,
    now: Timestamp,
    arguments: Arguments<'a>,
    call: &'a Call<'c>,
    mode: Mode,
    is_full: bool,
}

impl<'a, 'c> Decision<'a, 'c> {
    fn new(
        context: &Context<'a>,
        arguments: Arguments<'a>,
        call: &'a Call<'c>,
        mode: Mode,
    ) -> Self {
        Self {
            shared: context.shared,
            database: context.connection.database,
            now: context.now,
            arguments,
            call,
            mode,
            is_full: context.is_full,
        }
    }

    /// Decides, or says again what was decided of the same request.
    fn on(&self, keys: Keys<'_, '_>) -> Result<Outcome, Error> {
        let Self {
            database,
            now,
            arguments,
            call,
            ..
        } = *self;
        let (store, first) = (&self.shared.store, call.rules[0].key);
        if let Some(id) = call.options.id
            && let Some(mut outcome) =
                replay::outcome(store, database, first, id, arguments, call, now)?
        {
            for row in &mut outcome.rows {
                row.paused = !keys.seen[row.rule].paused(now).is_zero();
            }
            return Ok(outcome);
        }
        let outcome = self.judge(keys)?;
        if let Some(id) = call.options.id.filter(|_| outcome.granted) {
            let request = replay::fingerprint(arguments);
            replay::remember(store, database, first, id, request, &outcome, now);
        }
        Ok(outcome)
    }

    fn judge(&self, keys: Keys<'_, '_>) -> Result<Outcome, Error> {
        let Self {
            now, call, mode, ..
        } = *self;
        let bookings_max = self.shared.settings.max_bookings();
        let asks = asks(&call.rules);
        let seen = keys.seen.iter_mut().map(|entry| &mut **entry);
        // What is seen besides the keys themselves is not theirs to hold.
        let seen_max = if keys.kept.is_some() {
            usize::MAX
        } else {
            bookings_max
        };
        let mut joint = Joint::new(seen, &asks, now, seen_max)?;
        let alone = match mode {
            Mode::Reserve(_) | Mode::Acquire(_) => joint.earliest_from(0),
            Mode::Take | Mode::Peek => joint.retry_after(),
        };
        let (earliest, slots) = match mode {
            Mode::Reserve(max_wait) | Mode::Acquire(max_wait) => {
                joint.common_slot(&alone, max_wait)
            }
            Mode::Take | Mode::Peek => {
                (latest(&alone), SmallVec::from_elem(Wait::ZERO, alone.len()))
            }
        };
        let granted = match (mode, earliest) {
            (_, Earliest::Never) => false,
            (Mode::Reserve(max_wait), Earliest::After(wait)) => wait.fits(max_wait),
            (_, Earliest::After(wait)) => wait.is_zero(),
        };
        let spends = granted && mode != Mode::Peek;
        let ticket = self.ticket_number(spends)?;
        let lease = call.leases.filter(|_| spends).map(|limit| {
            let number = self.shared.store.records.next_number();
            (number, Lease::new(limit, now))
        });
        let mut kept = None;
        if spends {
            joint.book(&slots, ticket, lease.clone())?;
            if let Some(entries) = keys.kept {
                let entries = entries.iter_mut().map(|entry| &mut **entry);
                let mut joint = Joint::new(entries, &asks, now, bookings_max)?;
                joint.book(&slots, ticket, lease.clone())?;
                kept = Some(joint);
            }
        }
        let keeps = ticket != 0 || call.options.id.is_some();
        if spends && self.is_full && (keeps || joint.grows()) {
            return Err(Error::OUT_OF_MEMORY);
        }
        let lease = lease.map_or(0, |(number, _)| number);
        let rows = rows(&joint, &call.rules, &alone);
        let outcome = Outcome::new(granted, earliest, ticket, lease, rows);
        let says_times = match (call.options.info, mode) {
            (true, _) => outcome.rows.iter().all(Row::fits_reply),
            (false, Mode::Reserve(_) | Mode::Acquire(_)) => true,
            (false, Mode::Take | Mode::Peek) => outcome.bound().fits_reply(),
        };
        if !says_times {
            return Err(Refusal::BeyondReply.into());
        }
        if ticket != 0 {
            self.put_ticket(ticket, lease, &asks, &joint.slots_after(&slots));
        }
        for joint in [Some(joint), kept].into_iter().flatten() {
            if spends {
                joint.commit();
            } else if mode != Mode::Peek {
                joint.commit_conversions();
            }
        }
        Ok(outcome)
    }

    /// Draws a ticket, if one is wanted and the call spends; else 0.
    fn ticket_number(&self, spends: bool) -> Result<u64, Error> {
        if !spends || self.call.options.ticket.is_none() {
            return Ok(0);
        }
        let records = &self.shared.store.records;
        if !records.has_room(self.database, self.call.rules[0].key, self.now) {
            return Err(NO_TICKET);
        }
        Ok(records.next_number())
    }

    fn put_ticket(&self, number: u64, lease: u64, asks: &[Ask<'_>], slots: &[Slot]) {
        let options = &self.call.options;
        let Some(ttl) = options.ticket else {
            return;
        };
        let parts = parts(self.call.keys(), asks, slots);
        let ticket = Ticket {
            slot: Ticket::slot_of(&parts),
            parts,
            ttl,
            confirmed: false,
            overtaken: false,
            id: options.id.map(Box::from),
            lease,
        };
        let records = &self.shared.store.records;
        records.put(self.database, number, ticket);
    }
}

impl<'a> Call<'a> {
    /// Its keys.
    pub fn keys(&self) -> KeyNames<'a> {
        self.rules.iter().map(|rule| rule.key).collect()
    }
}

/// What rules ask, key by key.
pub fn asks<'c>(rules: &'c [Rule<'_>]) -> SmallVec<[Ask<'c>; 1]> {
    rules.iter().map(Rule::ask).collect()
}

/// What a ticket keeps of a booking.
pub fn parts<'k>(
    keys: impl IntoIterator<Item = &'k [u8]>,
    asks: &[Ask<'_>],
    slots: &[Slot],
) -> SmallVec<[Part; 1]> {
    let mut slots = slots.iter().copied();
    let part = |(key, ask): (&[u8], &Ask<'_>)| Part {
        key: Key::new(key),
        limits: ask.limits.into(),
        under_policy: ask.under_policy,
        costs: ask.costs.into(),
        slots: slots.by_ref().take(ask.costs.len()).collect(),
    };
    keys.into_iter().zip(asks).map(part).collect()
}

/// How each limit of a call stands; `alone` is when each could go by itself.
pub fn rows(joint: &Joint<'_, '_>, rules: &[Rule<'_>], alone: &[Earliest]) -> SmallVec<[Row; 1]> {
    let mut alone = alone.iter();
    let mut rows = SmallVec::new();
    for (rule_index, (draft, rule)) in joint.drafts().iter().zip(rules).enumerate() {
        let paused = draft.is_paused();
        for ((index, limit), &earliest) in rule.limits.iter().enumerate().zip(&mut alone) {
            let standing = draft.standing_of(index);
            let (remaining, reset_after) = (standing.remaining, standing.reset_after);
            rows.push(Row {
                rule: rule_index,
                earliest,
                capacity: limit.capacity(),
                remaining,
                reset_after,
                paused,
            });
        }
    }
    rows
}
