//! The answer to a call, and how it is written.

use super::rules::{Call, Rule};
use crate::core::decision::Earliest;
use crate::core::units::Wait;
use crate::protocol::Reply;
use smallvec::SmallVec;

/// One limit's part of the answer.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The rule it belongs to.
    pub rule: usize,
    /// When the limit by itself would let the cost go.
    pub earliest: Earliest,
    /// Permits that can go at one instant.
    pub capacity: u64,
    /// The largest cost that could go now.
    pub remaining: u64,
    /// The time until it is full.
    pub reset_after: Wait,
    /// The key is paused.
    pub paused: bool,
}

impl Row {
    /// True if its times fit the 64 bits of a reply.
    pub fn fits_reply(&self) -> bool {
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
    /// The row that binds: of a refused call the one with the longest wait, else the one with the
    /// least remaining; the first of several.
    pub binding: usize,
    /// The ticket; 0 for none.
    pub ticket: u64,
    /// The lease; 0 for none.
    pub lease: u64,
    /// One a limit, in the order of the request.
    pub rows: SmallVec<[Row; 1]>,
}

impl Outcome {
    /// An answer, with the row that binds found among `rows`, of which there is at least one.
    pub fn new(
        granted: bool,
        earliest: Earliest,
        ticket: u64,
        lease: u64,
        rows: SmallVec<[Row; 1]>,
    ) -> Self {
        let binding = binding(&rows, granted);
        Self {
            granted,
            earliest,
            binding,
            ticket,
            lease,
            rows,
        }
    }

    /// The row that binds.
    pub fn bound(&self) -> &Row {
        &self.rows[self.binding]
    }

    /// The rule that could go last by itself; the first of several.
    pub fn last_to_go(&self) -> Option<usize> {
        // Of equals the last is taken, so from behind.
        let last = self.rows.iter().rev().max_by_key(|row| row.earliest);
        last.map(|row| row.rule)
    }

    /// `retry_after_ms`: -1 when granted, -2 when it can never be.
    pub fn retry_after_ms(&self) -> i64 {
        if self.granted {
            -1
        } else {
            milliseconds(self.earliest)
        }
    }

    /// The numbers of an answer without `INFO`: behind `answer` the ticket, if one was asked for, and the lease,
    /// if the call takes one; 0 where it was refused.
    pub fn numbers(&self, answer: &[i64], call: &Call<'_>) -> SmallVec<[i64; 7]> {
        let mut numbers = SmallVec::from_slice(answer);
        numbers.extend(call.options.ticket.map(|_| self.ticket as i64));
        numbers.extend(call.leases.map(|_| self.lease as i64));
        numbers
    }

    /// Writes the reply of a verb that tells a wait: -1 if it is refused, -2 if it can never be granted, with ticket
    /// and lease behind it; or with `INFO` a map.
    pub fn write_wait(&self, reply: &mut Reply<'_>, call: &Call<'_>) {
        if call.options.info {
            return self.write_info(reply, call);
        }
        let refused = !self.granted && self.earliest != Earliest::Never;
        let wait = match refused {
            true => -1,
            false => milliseconds(self.earliest),
        };
        write_numbers(reply, &self.numbers(&[wait], call));
    }

    /// Writes the reply that `INFO` asks for.
    pub fn write_info(&self, reply: &mut Reply<'_>, call: &Call<'_>) {
        let (bound, rules) = (self.bound(), &call.rules);
        let shadow = call.options.shadow;
        reply.map(9 + usize::from(call.leases.is_some()) + usize::from(shadow));
        number(reply, "granted", i64::from(self.granted || shadow));
        if shadow {
            number(reply, "shadow_limited", i64::from(!self.granted));
        }
        number(reply, "wait_ms", milliseconds(self.earliest));
        number(reply, "retry_after_ms", self.retry_after_ms());
        number(reply, "remaining", bound.remaining as i64);
        number(reply, "reset_after_ms", bound.reset_after.ceil_ms());
        reply.bulk(b"limited_by");
        if self.granted {
            reply.null()
        } else {
            reply.bulk(rules[bound.rule].key)
        }
        number(
            reply,
            "paused",
            i64::from(self.rows.iter().any(|row| row.paused)),
        );
        number_or_null(reply, "ticket", self.ticket);
        if call.leases.is_some() {
            number_or_null(reply, "lease", self.lease);
        }
        reply.bulk(b"rules");
        reply.array(rules.len());
        for (index, rule) in rules.iter().enumerate() {
            self.write_rule(reply, index, rule);
        }
    }

    /// Of a policy's limits the one that binds.
    fn write_rule(&self, reply: &mut Reply<'_>, index: usize, rule: &Rule<'_>) {
        let rows: SmallVec<[Row; 1]> = self
            .rows
            .iter()
            .filter(|row| row.rule == index)
            .copied()
            .collect();
        // A rule that is ready binds by what is left, also where another one refuses.
        let ready = rows.iter().all(|row| row.earliest.is_now());
        let bound = binding(&rows, self.granted || ready);
        let row = &rows[bound];
        let retry = if self.granted || row.earliest.is_now() {
            -1
        } else {
            milliseconds(row.earliest)
        };
        reply.map(6);
        reply.bulk(b"key");
        reply.bulk(rule.key);
        reply.bulk(b"limit");
        reply.bulk(rule.limits[bound].kind().as_bytes());
        number(reply, "capacity", row.capacity as i64);
        number(reply, "remaining", row.remaining as i64);
        number(reply, "retry_after_ms", retry);
        number(reply, "reset_after_ms", row.reset_after.ceil_ms());
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

/// Writes one number by itself, and several as an array.
pub fn write_numbers(reply: &mut Reply<'_>, numbers: &[i64]) {
    match numbers {
        [number] => reply.integer(*number),
        numbers => reply.integers(numbers),
    }
}

/// The reply's number for a wait: milliseconds, rounded up, or -2 for never.
fn milliseconds(earliest: Earliest) -> i64 {
    match earliest {
        Earliest::After(wait) => wait.ceil_ms(),
        Earliest::Never => -2,
    }
}

/// A ticket or a lease; null for none.
fn number_or_null(reply: &mut Reply<'_>, name: &str, value: u64) {
    reply.bulk(name.as_bytes());
    match value {
        0 => reply.null(),
        _ => reply.integer(value as i64),
    }
}

fn number(reply: &mut Reply<'_>, name: &str, value: i64) {
    reply.bulk(name.as_bytes());
    reply.integer(value);
}
