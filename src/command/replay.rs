//! Requests that may be sent again: the same `ID` on the same key gets the answer of the first time.
//!
//! Many clients send again by themselves what was in flight when a connection broke. Only grants are
//! remembered, since a refusal has spent nothing.

use super::error::Error;
use super::outcome::{Outcome, Row};
use super::rules::Call;
use crate::core::decision::Earliest;
use crate::core::units::{MILLISECOND, Timestamp, Wait};
use crate::protocol::Arguments;
use crate::store::{ANSWER_TTL, Answer, AnswerRow, Remembered, Store};
use smallvec::SmallVec;

/// An id that stands for another request.
pub const ANOTHER_REQUEST: Error = Error::argument(
    "ID",
    "another one for another request: this one was used with other arguments",
);

/// What was answered to `id`, if it was used before.
///
/// # Errors
/// It was used with other arguments.
pub fn recall(
    store: &Store,
    database: u8,
    key: &[u8],
    id: &[u8],
    arguments: Arguments<'_>,
    now: Timestamp,
) -> Result<Option<Answer>, Error> {
    let Some(remembered) = store.records.answer(database, key, id, now) else {
        return Ok(None);
    };
    if remembered.request != fingerprint(arguments) {
        return Err(ANOTHER_REQUEST);
    }
    Ok(Some(remembered.answer))
}

/// Remembers an answer whose slot is `slot`, to the request of that [`fingerprint`].
pub fn keep(
    store: &Store,
    database: u8,
    key: &[u8],
    id: &[u8],
    request: u64,
    answer: Answer,
    slot: Timestamp,
) {
    let remembered = Remembered {
        answer,
        request,
        expires: slot.after(ANSWER_TTL),
    };
    store.records.remember(database, key, id, remembered);
}

/// The outcome that was answered to `id`, its wait counted down.
///
/// # Errors
/// As [`recall`].
pub fn outcome(
    store: &Store,
    database: u8,
    key: &[u8],
    id: &[u8],
    arguments: Arguments<'_>,
    call: &Call<'_>,
    now: Timestamp,
) -> Result<Option<Outcome>, Error> {
    let Some(Answer::Granted {
        slot,
        ticket,
        lease,
        binding,
        rows,
    }) = recall(store, database, key, id, arguments, now)?
    else {
        return Ok(None);
    };
    let Some(last) = rows.last() else {
        return Ok(None);
    };
    let rules = call
        .rules
        .iter()
        .enumerate()
        .flat_map(|(index, rule)| rule.limits.iter().map(move |_| index));
    // A policy may hold more limits or fewer by now: those it did not have read as the last it had.
    let rows = rows.iter().chain(std::iter::repeat(last));
    let row = |(rule, row): (usize, &AnswerRow)| Row {
        rule,
        earliest: Earliest::After(Wait::ZERO),
        capacity: row.capacity,
        remaining: row.remaining,
        reset_after: Wait::from_ns(u128::from(row.reset_after_ms) * u128::from(MILLISECOND)),
        paused: false,
    };
    let rows: SmallVec<[Row; 1]> = rules.zip(rows).map(row).collect();
    let earliest = Earliest::After(Wait::from_ns(u128::from(slot.since(now))));
    Ok(Some(Outcome {
        granted: true,
        earliest,
        binding: usize::from(binding).min(rows.len() - 1),
        ticket,
        lease,
        rows,
    }))
}

/// Remembers a grant.
pub fn remember(
    store: &Store,
    database: u8,
    key: &[u8],
    id: &[u8],
    request: u64,
    outcome: &Outcome,
    now: Timestamp,
) {
    let Earliest::After(wait) = outcome.earliest else {
        return;
    };
    let slot = now.after_ns(u64::try_from(wait.ceil_ns()).unwrap_or(u64::MAX));
    let row = |row: &Row| AnswerRow {
        capacity: row.capacity,
        remaining: row.remaining,
        reset_after_ms: row.reset_after.ceil_ms().unsigned_abs(),
    };
    let rows = outcome.rows.iter().map(row).collect();
    let binding = u16::try_from(outcome.binding).unwrap_or(0);
    let answer = Answer::Granted {
        slot,
        ticket: outcome.ticket,
        lease: outcome.lease,
        binding,
        rows,
    };
    keep(store, database, key, id, request, answer, slot);
}

/// The words of a request as a number that is the same after a restart: FNV-1a, 64 bits. It tells a wrong
/// use of an id, and keeps nothing safe.
pub fn fingerprint(arguments: Arguments<'_>) -> u64 {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    arguments.iter().fold(0xcbf2_9ce4_8422_2325, |hash, word| {
        let length = (word.len() as u32).to_le_bytes();
        length
            .iter()
            .chain(word)
            .fold(hash, |hash, &byte| step(hash, byte))
    })
}
