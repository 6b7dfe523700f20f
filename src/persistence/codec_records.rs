//! Policies, tickets and remembered answers as bytes; see [`super::codec`] for the whole.
//!
//! ```text
//! policy  = name n (limit)*n
//! numbers = last                                           no ticket up to it is given again
//! ticket  = database number slot ttl flags n (part)*n [id] [lease]
//! part    = key flags n (limit cost slot fraction)*n
//! answer  = database key id expires request (granted | 1 slot | 2 number)
//! granted = (0 slot ticket | 3 slot ticket lease) binding n (capacity remaining reset)*n
//! limit   = 1 keeps capacity permits per_ns | 2 align per | 3 per | 4 per | 5 (limit of leases)
//! ```
//!
//! Texts are a length and their bytes.

use super::codec::{Record, decode_bucket_limit};
use super::codec_leases;
use super::codec_windows::{decode_per, encode_per};
use super::input::{DecodeError, Input, put_instant, put_varint};
use crate::core::entry::LIMITS_MAX;
use crate::core::limit::{Keeps, Limit};
use crate::core::log::LOG_COUNT_MAX;
use crate::core::number::AMOUNT_MAX;
use crate::core::timeline::Slot;
use crate::core::units::Span;
use crate::core::window::WindowLimit;
use crate::store::{
    Answer, AnswerRow, DATABASES_MAX, KEY_BYTES_MAX, Key, POLICY_NAME_BYTES_MAX, Part,
    PolicyLimits, Remembered, Ticket,
};
use smallvec::SmallVec;

const FLAG_CONFIRMED: u8 = 1;
const FLAG_OVERTAKEN: u8 = 2;
const FLAG_ID: u8 = 4;
const FLAG_LEASE: u8 = 8;

const ANSWER_GRANTED: u8 = 0;
const ANSWER_UNTIL: u8 = 1;
const ANSWER_NUMBER: u8 = 2;
const ANSWER_LEASED: u8 = 3;

/// Rules of a call, and limits of them all: what the grammar lets through.
const PARTS_MAX: u64 = 16;
const ROWS_MAX: u64 = PARTS_MAX * LIMITS_MAX as u64;
pub(super) const ID_BYTES_MAX: usize = 64;

pub(super) fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text);
}

pub(super) fn text<'a>(input: &mut Input<'a>, most: usize) -> Result<&'a [u8], DecodeError> {
    let length = usize::try_from(input.varint()?)
        .ok()
        .filter(|&length| length <= most);
    input.take(length.ok_or(DecodeError::Invalid("a text that is too long"))?)
}

fn count(input: &mut Input<'_>, least: u64, most: u64) -> Result<u64, DecodeError> {
    let count = input.varint_u64()?;
    if (least..=most).contains(&count) {
        Ok(count)
    } else {
        Err(DecodeError::Invalid("a count out of range"))
    }
}

pub(super) fn database(input: &mut Input<'_>) -> Result<u8, DecodeError> {
    let database = input.byte()?;
    if database < DATABASES_MAX {
        Ok(database)
    } else {
        Err(DecodeError::Invalid("a database number out of range"))
    }
}

/// The number of a ticket: what a reply can tell.
pub fn ticket_number(input: &mut Input<'_>) -> Result<u64, DecodeError> {
    count(input, 0, i64::MAX as u64)
}

/// The number of a lease that there is.
pub(super) fn lease_number(input: &mut Input<'_>) -> Result<u64, DecodeError> {
    count(input, 1, i64::MAX as u64)
}

fn encode_limit(out: &mut Vec<u8>, limit: &Limit) {
    match limit {
        Limit::Bucket(limit) => {
            out.extend_from_slice(&[1, u8::from(limit.keeps() == Keeps::Time)]);
            put_varint(out, limit.capacity());
            put_varint(out, limit.rate().permits());
            put_varint(out, limit.rate().per_ns());
        }
        Limit::Window(limit) => {
            out.extend_from_slice(&[2, u8::from(limit.align)]);
            encode_per(out, limit.per);
        }
        Limit::Sliding(per) => {
            out.push(3);
            encode_per(out, *per);
        }
        Limit::Log(per) => {
            out.push(4);
            encode_per(out, *per);
        }
        Limit::Leases(limit) => {
            out.push(5);
            codec_leases::encode_limit(out, *limit);
        }
    }
}

fn decode_limit(input: &mut Input<'_>) -> Result<Limit, DecodeError> {
    let flag = |input: &mut Input<'_>| match input.byte()? {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(DecodeError::Unknown("a limit with flags", other)),
    };
    Ok(match input.byte()? {
        1 => {
            let keeps = if flag(input)? {
                Keeps::Time
            } else {
                Keeps::Permits
            };
            Limit::Bucket(decode_bucket_limit(input, keeps, false)?)
        }
        2 => {
            let align = flag(input)?;
            Limit::Window(WindowLimit {
                per: decode_per(input, AMOUNT_MAX)?,
                align,
            })
        }
        3 => Limit::Sliding(decode_per(input, AMOUNT_MAX)?),
        4 => Limit::Log(decode_per(input, LOG_COUNT_MAX)?),
        5 => Limit::Leases(codec_leases::decode_limit(input)?),
        tag => return Err(DecodeError::Unknown("a limit of kind", tag)),
    })
}

pub fn encode_policy(out: &mut Vec<u8>, name: &[u8], limits: &PolicyLimits) {
    put_text(out, name);
    put_varint(out, limits.len() as u64);
    limits.iter().for_each(|limit| encode_limit(out, limit));
}

pub fn decode_policy(input: &mut Input<'_>) -> Result<Record, DecodeError> {
    let name = text(input, POLICY_NAME_BYTES_MAX)?.into();
    let count = count(input, 1, LIMITS_MAX as u64)?;
    let limits = (0..count)
        .map(|_| decode_limit(input))
        .collect::<Result<PolicyLimits, _>>()?;
    Ok(Record::Policy { name, limits })
}

pub fn encode_ticket(out: &mut Vec<u8>, database: u8, number: u64, ticket: &Ticket) {
    out.push(database);
    put_varint(out, number);
    put_instant(out, ticket.slot);
    put_varint(out, ticket.ttl.as_ns());
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    let marks = flag(ticket.confirmed, FLAG_CONFIRMED) | flag(ticket.overtaken, FLAG_OVERTAKEN);
    let more = flag(ticket.id.is_some(), FLAG_ID) | flag(ticket.lease != 0, FLAG_LEASE);
    out.push(marks | more);
    put_varint(out, ticket.parts.len() as u64);
    for part in &ticket.parts {
        put_text(out, part.key.as_bytes());
        out.push(u8::from(part.under_policy));
        put_varint(out, part.limits.len() as u64);
        for ((limit, cost), slot) in part.limits.iter().zip(&part.costs).zip(&part.slots) {
            encode_limit(out, limit);
            put_varint(out, *cost);
            put_instant(out, slot.at);
            put_varint(out, slot.fraction);
        }
    }
    if let Some(id) = &ticket.id {
        put_text(out, id);
    }
    if ticket.lease != 0 {
        put_varint(out, ticket.lease);
    }
}

pub fn decode_ticket(input: &mut Input<'_>) -> Result<Record, DecodeError> {
    let (database, number, slot) = (database(input)?, ticket_number(input)?, input.instant()?);
    let ttl =
        Span::from_ns(input.varint_u64()?).ok_or(DecodeError::Invalid("a ttl that is too long"))?;
    let flags = input.byte()?;
    if flags & !(FLAG_CONFIRMED | FLAG_OVERTAKEN | FLAG_ID | FLAG_LEASE) != 0 {
        return Err(DecodeError::Unknown("a ticket with flags", flags));
    }
    let parts = count(input, 1, PARTS_MAX)?;
    let parts = (0..parts)
        .map(|_| decode_part(input))
        .collect::<Result<SmallVec<[Part; 1]>, _>>()?;
    let id = if flags & FLAG_ID != 0 {
        Some(text(input, ID_BYTES_MAX)?.into())
    } else {
        None
    };
    let lease = if flags & FLAG_LEASE != 0 {
        lease_number(input)?
    } else {
        0
    };
    let (confirmed, overtaken) = (flags & FLAG_CONFIRMED != 0, flags & FLAG_OVERTAKEN != 0);
    Ok(Record::Ticket {
        database,
        number,
        ticket: Ticket {
            parts,
            slot,
            ttl,
            confirmed,
            overtaken,
            id,
            lease,
        },
    })
}

fn decode_part(input: &mut Input<'_>) -> Result<Part, DecodeError> {
    let key = Key::new(text(input, KEY_BYTES_MAX)?);
    let under_policy = match input.byte()? {
        0 => false,
        1 => true,
        flags => return Err(DecodeError::Unknown("a part of a ticket with flags", flags)),
    };
    let (mut limits, mut costs, mut slots) =
        (PolicyLimits::new(), SmallVec::new(), SmallVec::new());
    for _ in 0..count(input, 1, LIMITS_MAX as u64)? {
        limits.push(decode_limit(input)?);
        costs.push(count(input, 1, AMOUNT_MAX)?);
        slots.push(Slot {
            at: input.instant()?,
            fraction: input.varint_u64()?,
        });
    }
    Ok(Part {
        key,
        limits,
        under_policy,
        costs,
        slots,
    })
}

pub fn encode_answer(
    out: &mut Vec<u8>,
    database: u8,
    key: &Key,
    id: &[u8],
    remembered: &Remembered,
) {
    out.push(database);
    put_text(out, key.as_bytes());
    put_text(out, id);
    put_instant(out, remembered.expires);
    put_varint(out, remembered.request);
    match &remembered.answer {
        Answer::Granted {
            slot,
            ticket,
            lease,
            binding,
            rows,
        } => {
            out.push(if *lease == 0 {
                ANSWER_GRANTED
            } else {
                ANSWER_LEASED
            });
            put_instant(out, *slot);
            put_varint(out, *ticket);
            if *lease != 0 {
                put_varint(out, *lease);
            }
            put_varint(out, *binding);
            put_varint(out, rows.len() as u64);
            for row in rows {
                [row.capacity, row.remaining, row.reset_after_ms]
                    .iter()
                    .for_each(|&number| put_varint(out, number));
            }
        }
        Answer::Until(slot) => {
            out.push(ANSWER_UNTIL);
            put_instant(out, *slot);
        }
        Answer::Number(number) => {
            out.push(ANSWER_NUMBER);
            put_varint(out, *number);
        }
    }
}

pub fn decode_answer(input: &mut Input<'_>) -> Result<Record, DecodeError> {
    let database = database(input)?;
    let key = Key::new(text(input, KEY_BYTES_MAX)?);
    let id = text(input, ID_BYTES_MAX)?.into();
    // Debt carried over from a faster rate may take centuries to refill, and an answer tells its end.
    let (expires, request) = (input.distant_instant()?, input.varint_u64()?);
    let answer = match input.byte()? {
        tag @ (ANSWER_GRANTED | ANSWER_LEASED) => {
            let (slot, ticket) = (input.distant_instant()?, input.varint_u64()?);
            let lease = match tag {
                ANSWER_LEASED => lease_number(input)?,
                _ => 0,
            };
            let (binding, rows) = (input.varint_u64()?, count(input, 1, ROWS_MAX)?);
            if binding >= rows {
                return Err(DecodeError::Invalid("an answer that binds no rule"));
            }
            let row = |input: &mut Input<'_>| {
                let (capacity, remaining) =
                    (count(input, 1, AMOUNT_MAX)?, count(input, 0, AMOUNT_MAX)?);
                Ok(AnswerRow {
                    capacity,
                    remaining,
                    reset_after_ms: count(input, 0, i64::MAX as u64)?,
                })
            };
            let rows = (0..rows).map(|_| row(input)).collect::<Result<_, _>>()?;
            // Below the number of rows, which is small.
            Answer::Granted {
                slot,
                ticket,
                lease,
                binding: binding as u16,
                rows,
            }
        }
        ANSWER_UNTIL => Answer::Until(input.distant_instant()?),
        ANSWER_NUMBER => Answer::Number(input.varint_u64()?),
        tag => return Err(DecodeError::Unknown("an answer of kind", tag)),
    };
    Ok(Record::Answer {
        database,
        key,
        id,
        remembered: Remembered {
            answer,
            request,
            expires,
        },
    })
}
