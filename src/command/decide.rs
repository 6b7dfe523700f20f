//! Decides a call over all its rules: all or nothing, under the locks of all its keys.

use super::context::Context;
use super::error::Error;
use super::rules::Rule;
use crate::core::booked::Charge;
use crate::core::decision::{Earliest, Refusal};
use crate::core::draft::Draft;
use crate::core::entry::Entry;
use crate::core::units::{Span, Timestamp, Wait};
use crate::protocol::Reply;
use smallvec::SmallVec;

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

/// One rule's part of the answer.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// When the rule by itself would let the cost go.
    pub earliest: Earliest,
    /// Permits that can go at one instant.
    pub capacity: u64,
    /// The largest cost that could go now.
    pub remaining: u64,
    /// The time until the key is full.
    pub reset_after: Wait,
    /// The key is paused.
    pub paused: bool,
}

impl Row {
    fn fits_reply(&self) -> bool {
        let earliest_fits = match self.earliest {
            Earliest::After(wait) => wait.fits_reply(),
            Earliest::Never => true,
        };
        earliest_fits && self.reset_after.fits_reply()
    }
}

/// The answer to a call.
pub struct Outcome {
    /// It may go, now or after [`Self::earliest`].
    pub granted: bool,
    /// When it can go.
    pub earliest: Earliest,
    /// The rule that binds: of a refused call the one with the longest wait, else the one with the
    /// least remaining; the first of several.
    pub binding: usize,
    /// One a rule, in the order of the request.
    pub rows: SmallVec<[Row; 2]>,
}

/// Decides `rules`, on distinct keys, and spends if the mode says so and all of them allow it.
///
/// # Errors
/// As [`Entry::draft`]; nothing is spent then.
pub fn decide(context: &mut Context<'_>, rules: &[Rule<'_>], mode: Mode) -> Result<Outcome, Error> {
    let (store, database, now) = (
        &context.shared.store,
        context.connection.database,
        context.now,
    );
    let outcome = match rules {
        [rule] => store.with_key(database, rule.key, now, |entry| {
            on_entries(std::slice::from_mut(entry), rules, mode, now)
        }),
        _ => {
            let keys: SmallVec<[&[u8]; 4]> = rules.iter().map(|rule| rule.key).collect();
            store.with_keys(database, &keys, now, |entries| {
                on_entries(entries, rules, mode, now)
            })
        }
    }?;
    if mode != Mode::Peek {
        context.tally.granted += u64::from(outcome.granted);
        context.tally.denied += u64::from(!outcome.granted);
    }
    Ok(outcome)
}

fn on_entries(
    entries: &mut [Entry],
    rules: &[Rule<'_>],
    mode: Mode,
    now: Timestamp,
) -> Result<Outcome, Error> {
    let mut drafts: SmallVec<[Draft<'_>; 1]> = SmallVec::new();
    for (entry, rule) in entries.iter_mut().zip(rules) {
        drafts.push(entry.draft(&rule.limit, now)?);
    }
    let alone: SmallVec<[Earliest; 2]> = earliest_from(&drafts, rules, 0);
    let (earliest, slots) = match mode {
        Mode::Reserve(max_wait) => common_slot(&drafts, rules, &alone, max_wait),
        Mode::Take | Mode::Peek => (latest(&alone), SmallVec::from_elem(Wait::ZERO, rules.len())),
    };
    let granted = match (mode, earliest) {
        (_, Earliest::Never) => false,
        (Mode::Reserve(max_wait), Earliest::After(wait)) => wait.fits(max_wait),
        (Mode::Take | Mode::Peek, Earliest::After(wait)) => wait.is_zero(),
    };
    let spends = granted && mode != Mode::Peek;
    let mut rows = SmallVec::with_capacity(rules.len());
    for (index, (draft, rule)) in drafts.iter_mut().zip(rules).enumerate() {
        if spends {
            draft.book_at(
                0,
                Charge {
                    cost: rule.cost,
                    wait: slots[index],
                    ticket: 0,
                },
            )?;
        }
        let (standing, paused) = (draft.standing(), draft.is_paused());
        rows.push(Row {
            earliest: alone[index],
            capacity: rule.limit.capacity(),
            remaining: standing.remaining,
            reset_after: standing.reset_after,
            paused,
        });
    }
    let says_times = !matches!(mode, Mode::Reserve(_));
    if says_times && !rows.iter().all(Row::fits_reply) {
        return Err(Refusal::BeyondReply.into());
    }
    if spends {
        drafts.into_iter().for_each(Draft::commit);
    }
    let binding = binding(&rows, granted);
    Ok(Outcome {
        granted,
        earliest,
        binding,
        rows,
    })
}

/// When each rule by itself could go, `from` nanoseconds from now at the earliest.
fn earliest_from(drafts: &[Draft<'_>], rules: &[Rule<'_>], from: u64) -> SmallVec<[Earliest; 2]> {
    drafts
        .iter()
        .zip(rules)
        .map(|(draft, rule)| draft.earliest_from(0, rule.cost, from))
        .collect()
}

fn latest(earliest: &[Earliest]) -> Earliest {
    earliest.iter().copied().max().unwrap_or(Earliest::Never)
}

/// The earliest slot at which all rules can go, and each rule's own instant of it.
///
/// A rule that can go at an instant need not be able to go later: a booking may lie in between. So the
/// latest of all is asked for again until nobody moves. That ends: each round passes at least one booking of a
/// rule, and behind the last one a rule that can go can go ever after. The common slot is a whole
/// nanosecond; a rule whose own exact slot falls into the nanosecond before it keeps that, so that a row of
/// reservations does not drift.
fn common_slot(
    drafts: &[Draft<'_>],
    rules: &[Rule<'_>],
    alone: &[Earliest],
    max_wait: Span,
) -> (Earliest, SmallVec<[Wait; 2]>) {
    let mut slots: SmallVec<[Wait; 2]> = SmallVec::from_elem(Wait::ZERO, rules.len());
    let mut waits: SmallVec<[Earliest; 2]> = SmallVec::from_slice(alone);
    let mut from = 0u64;
    loop {
        let Earliest::After(wait) = latest(&waits) else {
            return (Earliest::Never, slots);
        };
        // Nothing is booked beyond max_wait, which fits 64 bits.
        let next = match u64::try_from(wait.ceil_ns()) {
            Ok(next) if wait.fits(max_wait) => next,
            _ => return (Earliest::After(wait), slots),
        };
        for (slot, earliest) in slots.iter_mut().zip(&waits) {
            match earliest {
                Earliest::After(own) if own.ceil_ns() == u128::from(next) => {
                    // What it said first of this nanosecond is the more exact.
                    if slot.ceil_ns() != u128::from(next) {
                        *slot = *own;
                    }
                }
                _ => *slot = Wait::from_ns(u128::from(next)),
            }
        }
        if next == from || rules.len() == 1 {
            let wait = if rules.len() == 1 {
                wait
            } else {
                Wait::from_ns(u128::from(next))
            };
            return (Earliest::After(wait), slots);
        }
        from = next;
        waits = earliest_from(drafts, rules, from);
    }
}

fn binding(rows: &[Row], granted: bool) -> usize {
    let binds_more = |row: &Row, than: &Row| {
        if granted {
            row.remaining < than.remaining
        } else {
            row.earliest > than.earliest
        }
    };
    (1..rows.len()).fold(0, |best, index| {
        if binds_more(&rows[index], &rows[best]) {
            index
        } else {
            best
        }
    })
}

/// The reply's number for a wait: milliseconds, rounded up, or -2 for never.
pub fn milliseconds(earliest: Earliest) -> i64 {
    match earliest {
        Earliest::After(wait) => wait.ceil_ms(),
        Earliest::Never => -2,
    }
}

impl Outcome {
    /// The rule that binds.
    pub fn bound(&self) -> &Row {
        &self.rows[self.binding]
    }

    /// `retry_after_ms`: -1 when granted, -2 when it can never be.
    pub fn retry_after_ms(&self) -> i64 {
        if self.granted {
            -1
        } else {
            milliseconds(self.earliest)
        }
    }

    /// Writes the reply that `INFO` asks for.
    pub fn write_info(&self, reply: &mut Reply<'_>, rules: &[Rule<'_>]) {
        let bound = self.bound();
        let number = |reply: &mut Reply<'_>, name: &str, value: i64| {
            reply.bulk(name.as_bytes());
            reply.integer(value);
        };
        reply.map(9);
        number(reply, "granted", i64::from(self.granted));
        number(reply, "wait_ms", milliseconds(self.earliest));
        number(reply, "retry_after_ms", self.retry_after_ms());
        number(reply, "remaining", bound.remaining as i64);
        number(reply, "reset_after_ms", bound.reset_after.ceil_ms());
        reply.bulk(b"limited_by");
        if self.granted {
            reply.null()
        } else {
            reply.bulk(rules[self.binding].key)
        }
        number(
            reply,
            "paused",
            i64::from(self.rows.iter().any(|row| row.paused)),
        );
        reply.bulk(b"ticket");
        reply.null();
        reply.bulk(b"rules");
        reply.array(rules.len());
        for (rule, row) in rules.iter().zip(&self.rows) {
            let retry = if self.granted || row.earliest.is_now() {
                -1
            } else {
                milliseconds(row.earliest)
            };
            reply.map(6);
            reply.bulk(b"key");
            reply.bulk(rule.key);
            reply.bulk(b"limit");
            reply.bulk(rule.limit.kind().as_bytes());
            number(reply, "capacity", row.capacity as i64);
            number(reply, "remaining", row.remaining as i64);
            number(reply, "retry_after_ms", retry);
            number(reply, "reset_after_ms", row.reset_after.ceil_ms());
        }
    }
}
