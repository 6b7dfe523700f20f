//! Decides a call over all its rules: all or nothing, under the locks of all its keys.

use super::context::Context;
use super::error::Error;
use super::rules::{Call, Rule};
use crate::core::decision::{Earliest, Refusal};
use crate::core::entry::Entry;
use crate::core::joint::{Ask, Joint, latest};
use crate::core::timeline::Slot;
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
    let asks = asks(&call.rules);
    let mut joint = Joint::new(entries, &asks, now, bookings_max)?;
    let alone = match mode {
        Mode::Reserve(_) => joint.earliest_from(0),
        Mode::Take | Mode::Peek => joint.retry_after(),
    };
    let (earliest, slots) = match mode {
        Mode::Reserve(max_wait) => joint.common_slot(&alone, max_wait),
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
    if spends {
        joint.book(&slots, ticket)?;
    }
    let outcome = Outcome::new(granted, earliest, ticket, rows(&joint, &call.rules, &alone));
    let says_times = match (call.options.info, mode) {
        (true, _) => outcome.rows.iter().all(Row::fits_reply),
        (false, Mode::Reserve(_)) => true,
        (false, Mode::Take | Mode::Peek) => outcome.bound().fits_reply(),
    };
    if !says_times {
        return Err(Refusal::BeyondReply.into());
    }
    if let Some(ttl) = call.options.ticket.filter(|_| spends) {
        let parts = parts(&call.rules, joint.slots_after(&slots));
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
            },
        );
    }
    if spends {
        joint.commit();
    } else if mode != Mode::Peek {
        joint.commit_conversions();
    }
    Ok(outcome)
}

/// What rules ask, key by key.
pub fn asks<'c>(rules: &'c [Rule<'_>]) -> SmallVec<[Ask<'c>; 1]> {
    rules.iter().map(Rule::ask).collect()
}

/// What a ticket keeps of a booking.
pub fn parts(rules: &[Rule<'_>], slots: impl IntoIterator<Item = Slot>) -> SmallVec<[Part; 1]> {
    let mut slots = slots.into_iter();
    let part = |rule: &Rule<'_>| Part {
        key: crate::store::Key::new(rule.key),
        limits: rule.limits.clone(),
        under_policy: rule.under_policy,
        costs: rule.costs.clone(),
        slots: slots.by_ref().take(rule.costs.len()).collect(),
    };
    rules.iter().map(part).collect()
}

fn rows(joint: &Joint<'_, '_>, rules: &[Rule<'_>], alone: &[Earliest]) -> SmallVec<[Row; 1]> {
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
