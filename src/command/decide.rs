//! Decides a call over all its rules: all or nothing, under the locks of all its keys.

use super::context::Context;
use super::error::Error;
use super::rules::{Call, Rule};
use crate::core::booked::Charge;
use crate::core::decision::{Earliest, Refusal};
use crate::core::draft::Draft;
use crate::core::entry::Entry;
use crate::core::leases::Lease;
use crate::core::limit::Limit;
use crate::core::units::{Span, Timestamp, Wait};
use crate::protocol::Arguments;
use crate::store::{Part, Store, Ticket};
use smallvec::SmallVec;

use super::outcome::{Outcome, Row};
use super::replay;

/// How far a call goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// Spends if nothing has to wait.
    Take,
    /// Books if nothing has to wait for longer than this.
    Reserve(Span),
    /// Only looks.
    Peek,
}

/// Decides a call and spends if the mode says so and all its rules allow it.
///
/// # Errors
/// As [`Entry::draft`]; a ticket too many; an id of another request. Nothing is spent then.
pub fn decide(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    call: &Call<'_>,
    mode: Mode,
) -> Result<Outcome, Error> {
    let (store, database, now) = (
        &context.shared.store,
        context.connection.database,
        context.now,
    );
    let bookings_max = context.shared.settings.max_bookings();
    let run = |entries: &mut [&mut Entry]| -> Result<Outcome, Error> {
        let first = call.rules[0].key;
        if let Some(id) = call.options.id
            && let Some(mut outcome) =
                replay::outcome(store, database, first, id, arguments, call, now)?
        {
            for row in &mut outcome.rows {
                row.paused = !entries[row.rule].paused(now).is_zero();
            }
            return Ok(outcome);
        }
        let outcome = on_entries(entries, call, mode, now, bookings_max, store, database)?;
        if let Some(id) = call.options.id.filter(|_| outcome.granted) {
            replay::remember(store, database, first, id, arguments, &outcome, now);
        }
        Ok(outcome)
    };
    let outcome = match &call.rules[..] {
        [rule] => store.with_limit(database, rule.key, now, |entry| run(&mut [entry])),
        rules => {
            let keys: SmallVec<[&[u8]; 4]> = rules.iter().map(|rule| rule.key).collect();
            store.with_limits(database, &keys, now, run)
        }
    }??;
    if mode != Mode::Peek {
        context.tally.granted += u64::from(outcome.granted);
        context.tally.denied += u64::from(!outcome.granted);
    }
    Ok(outcome)
}

fn on_entries(
    entries: &mut [&mut Entry],
    call: &Call<'_>,
    mode: Mode,
    now: Timestamp,
    bookings_max: usize,
    store: &Store,
    database: u8,
) -> Result<Outcome, Error> {
    let entries = entries.iter_mut().map(|entry| &mut **entry);
    let mut drafts = drafts(entries, &call.rules, now, bookings_max)?;
    let alone = match mode {
        Mode::Reserve(_) => earliest_from(&drafts, &call.rules, 0),
        Mode::Take | Mode::Peek => each(&drafts, &call.rules, Draft::retry_after),
    };
    let (earliest, slots) = match mode {
        Mode::Reserve(max_wait) => common_slot(&drafts, &call.rules, &alone, max_wait),
        Mode::Take | Mode::Peek => (latest(&alone), SmallVec::from_elem(Wait::ZERO, alone.len())),
    };
    let granted = match (mode, earliest) {
        (_, Earliest::Never) => false,
        (Mode::Reserve(max_wait), Earliest::After(wait)) => wait.fits(max_wait),
        (Mode::Take | Mode::Peek, Earliest::After(wait)) => wait.is_zero(),
    };
    let spends = granted && mode != Mode::Peek;
    let first = call.rules[0].key;
    let mut ticket = 0;
    if spends && call.options.ticket.is_some() {
        if !store.records.has_room(database, first, now) {
            return Err(Error::argument(
                "TICKET",
                "one of at most 100000 known tickets of a key and 1000000 in all",
            ));
        }
        ticket = store.records.next_number();
    }
    let mut lease = 0;
    if spends {
        let taken = call.leases.map(|limit| {
            lease = store.records.next_number();
            (lease, Lease::new(limit, now))
        });
        book(&mut drafts, &call.rules, &slots, ticket, taken)?;
    }
    let rows: SmallVec<[Row; 1]> = rows(&drafts, &call.rules, &alone);
    let outcome = Outcome::new(granted, earliest, ticket, lease, rows);
    let says_times = match (call.options.info, mode) {
        (true, _) => outcome.rows.iter().all(Row::fits_reply),
        (false, Mode::Reserve(_)) => true,
        (false, Mode::Take | Mode::Peek) => outcome.bound().fits_reply(),
    };
    if !says_times {
        return Err(Refusal::BeyondReply.into());
    }
    if let Some(ttl) = call.options.ticket.filter(|_| spends) {
        let parts = parts(&drafts, &call.rules, &slots);
        let slot = Ticket::slot_of(&parts);
        let id = call.options.id.map(Box::from);
        let confirmed = false;
        store.records.put(
            database,
            ticket,
            Ticket {
                parts,
                slot,
                ttl,
                confirmed,
                overtaken: false,
                id,
                lease,
            },
        );
    }
    // What a policy has put in another's place begins with the call, granted or not.
    let changes = |draft: &Draft<'_>| spends || (mode != Mode::Peek && draft.converts());
    drafts.into_iter().filter(changes).for_each(Draft::commit);
    Ok(outcome)
}

/// The keys as their rules see them.
///
/// # Errors
/// As [`Entry::draft`].
pub fn drafts<'a>(
    entries: impl IntoIterator<Item = &'a mut Entry>,
    rules: &[Rule<'_>],
    now: Timestamp,
    bookings_max: usize,
) -> Result<SmallVec<[Draft<'a>; 1]>, Error> {
    let mut drafts = SmallVec::new();
    for (entry, rule) in entries.into_iter().zip(rules) {
        let draft = match &rule.limits[..] {
            [limit] if !rule.under_policy => entry.draft(limit, now)?,
            limits => entry.draft_under_policy(limits, now)?,
        };
        drafts.push(draft.with_bookings_max(bookings_max));
    }
    Ok(drafts)
}

/// Books every limit of every rule at its slot, and takes the lease where one of them is of leases.
///
/// # Errors
/// As [`Draft::book_at`].
pub fn book(
    drafts: &mut [Draft<'_>],
    rules: &[Rule<'_>],
    slots: &[Wait],
    ticket: u64,
    mut lease: Option<(u64, Lease)>,
) -> Result<(), Error> {
    let mut slots = slots.iter();
    for (draft, rule) in drafts.iter_mut().zip(rules) {
        let costs = rule.limits.iter().zip(&rule.costs).enumerate();
        for ((index, (limit, &cost)), &wait) in costs.zip(&mut slots) {
            if !matches!(limit, Limit::Leases(_)) {
                draft.book_at(index, Charge { cost, wait, ticket })?;
            } else if let Some((number, lease)) = lease.take() {
                draft.hold(index, number, lease);
            }
        }
    }
    Ok(())
}

/// What a ticket keeps of a booking.
pub fn parts(drafts: &[Draft<'_>], rules: &[Rule<'_>], slots: &[Wait]) -> SmallVec<[Part; 1]> {
    let mut slots = slots.iter();
    let part = |(draft, rule): (&Draft<'_>, &Rule<'_>)| Part {
        key: crate::store::Key::new(rule.key),
        limits: rule.limits.clone(),
        under_policy: rule.under_policy,
        costs: rule.costs.clone(),
        slots: (0..rule.costs.len())
            .zip(&mut slots)
            .map(|(index, &wait)| draft.slot_after(index, wait))
            .collect(),
    };
    drafts.iter().zip(rules).map(part).collect()
}

fn rows(drafts: &[Draft<'_>], rules: &[Rule<'_>], alone: &[Earliest]) -> SmallVec<[Row; 1]> {
    let mut alone = alone.iter();
    let mut rows = SmallVec::new();
    for (rule_index, (draft, rule)) in drafts.iter().zip(rules).enumerate() {
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

/// When each limit by itself could go, `from` nanoseconds from now at the earliest.
pub fn earliest_from(
    drafts: &[Draft<'_>],
    rules: &[Rule<'_>],
    from: u64,
) -> SmallVec<[Earliest; 1]> {
    each(drafts, rules, |draft, index, cost| {
        draft.earliest_from(index, cost, from)
    })
}

/// Asks every limit of every rule.
fn each<'a>(
    drafts: &[Draft<'a>],
    rules: &[Rule<'_>],
    ask: impl Fn(&Draft<'a>, usize, u64) -> Earliest,
) -> SmallVec<[Earliest; 1]> {
    let mut all = SmallVec::new();
    for (draft, rule) in drafts.iter().zip(rules) {
        all.extend(
            rule.costs
                .iter()
                .enumerate()
                .map(|(index, &cost)| ask(draft, index, cost)),
        );
    }
    all
}

fn latest(earliest: &[Earliest]) -> Earliest {
    earliest.iter().copied().max().unwrap_or(Earliest::Never)
}

/// The earliest slot at which all limits can go, and each limit's own instant of it.
///
/// A limit that can go at an instant need not be able to go later: a booking may lie in between. So those that
/// could go before the latest of all are asked again from there on, until nobody moves. That ends: each round
/// passes at least one booking of a limit, and behind the last one a limit that can go can go ever after. The
/// common slot is a whole nanosecond; a limit whose own exact slot falls into the nanosecond before it keeps
/// that, so that a row of reservations does not drift, and a hole that is just wide enough is found again.
pub fn common_slot(
    drafts: &[Draft<'_>],
    rules: &[Rule<'_>],
    alone: &[Earliest],
    max_wait: Span,
) -> (Earliest, SmallVec<[Wait; 1]>) {
    let mut slots: SmallVec<[Wait; 1]> = SmallVec::from_elem(Wait::ZERO, alone.len());
    let mut waits: SmallVec<[Earliest; 1]> = SmallVec::from_slice(alone);
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
        let costs = drafts.iter().zip(rules).flat_map(|(draft, rule)| {
            let costs = rule.costs.iter().enumerate();
            costs.map(move |(index, &cost)| (draft, index, cost))
        });
        for ((draft, index, cost), (earliest, slot)) in costs.zip(waits.iter_mut().zip(&mut slots))
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

/// When a limit could go, in the nanosecond that ends `next` nanoseconds from now at the earliest.
fn earliest_in(draft: &Draft<'_>, index: usize, cost: u64, next: u64) -> Earliest {
    match draft.earliest_from(index, cost, next.saturating_sub(1)) {
        Earliest::After(wait) if wait.ceil_ns() < u128::from(next) => {
            draft.earliest_from(index, cost, next)
        }
        earliest => earliest,
    }
}
