//! Windows and logs as bytes; see [`super::codec`] for the whole.
//!
//! ```text
//! per     = count period
//! window  = align per begin n (gap used)*n      gaps of places from one to the next
//! sliding = per index current previous
//! log     = per dropped n (gap permits)*n       gaps of slots, the first since the epoch
//! ```

use super::input::{DecodeError, Input, put_instant, put_varint};
use crate::core::limit::PeriodLimit;
use crate::core::log::{Booking, LOG_COUNT_MAX, Log};
use crate::core::number::AMOUNT_MAX;
use crate::core::sliding::Sliding;
use crate::core::units::{Span, Timestamp};
use crate::core::window::{Used, Window, WindowLimit};
use std::collections::VecDeque;

pub fn encode_per(out: &mut Vec<u8>, per: PeriodLimit) {
    put_varint(out, per.count());
    put_varint(out, per.period().as_ns());
}

pub fn decode_per(input: &mut Input<'_>, most: u64) -> Result<PeriodLimit, DecodeError> {
    let count = input.varint_u64()?;
    if !(1..=most).contains(&count) {
        return Err(DecodeError::Invalid("a count out of range"));
    }
    let period = Span::from_ns(input.varint_u64()?);
    period
        .and_then(|period| PeriodLimit::new(count, period))
        .ok_or(DecodeError::Invalid("a period out of range"))
}

pub fn encode_window(out: &mut Vec<u8>, window: &Window) {
    out.push(u8::from(window.limit.align));
    encode_per(out, window.limit.per);
    put_instant(out, window.begin);
    put_varint(out, window.used.len() as u64);
    let mut last = 0;
    for (place, used) in &window.used {
        put_varint(out, place - last);
        put_varint(out, *used);
        last = *place;
    }
}

pub fn decode_window(input: &mut Input<'_>) -> Result<Window, DecodeError> {
    let align = match input.byte()? {
        0 => false,
        1 => true,
        flags => return Err(DecodeError::Unknown("a window with flags", flags)),
    };
    let limit = WindowLimit {
        per: decode_per(input, AMOUNT_MAX)?,
        align,
    };
    let begin = input.instant()?;
    let (mut used, mut last) = (Used::new(), None);
    for _ in 0..input.varint_u64()? {
        let place = ascending(last, input.varint_u64()?)?;
        used.push((place, input.varint_u64()?));
        last = Some(place);
    }
    Ok(Window { limit, begin, used })
}

pub fn encode_sliding(out: &mut Vec<u8>, sliding: &Sliding) {
    encode_per(out, sliding.limit);
    put_varint(out, sliding.index);
    put_varint(out, sliding.current);
    put_varint(out, sliding.previous);
}

pub fn decode_sliding(input: &mut Input<'_>) -> Result<Sliding, DecodeError> {
    let limit = decode_per(input, AMOUNT_MAX)?;
    let index = input.varint_u64()?;
    let start = index.checked_mul(limit.period().as_ns());
    if start.and_then(Timestamp::from_ns).is_none() {
        return Err(DecodeError::Invalid("a window beyond the last instant"));
    }
    Ok(Sliding {
        limit,
        index,
        current: input.varint_u64()?,
        previous: input.varint_u64()?,
    })
}

pub fn encode_log(out: &mut Vec<u8>, log: &Log) {
    encode_per(out, log.limit);
    put_varint(out, log.dropped);
    put_varint(out, log.bookings.len() as u64);
    let (mut slot, mut total) = (0, log.dropped);
    for booking in &log.bookings {
        put_varint(out, booking.slot.as_ns() - slot);
        put_varint(out, booking.total - total);
        (slot, total) = (booking.slot.as_ns(), booking.total);
    }
}

pub fn decode_log(input: &mut Input<'_>) -> Result<Log, DecodeError> {
    let limit = decode_per(input, LOG_COUNT_MAX)?;
    let dropped = input.varint_u64()?;
    let (mut bookings, mut last, mut total) = (VecDeque::new(), None, dropped);
    for _ in 0..input.varint_u64()? {
        let ns = ascending(last, input.varint_u64()?)?;
        let permits = input.varint_u64()?;
        let sum = total.checked_add(permits).filter(|_| permits > 0);
        total = sum.ok_or(DecodeError::Invalid(
            "a booking of no permits, or of too many",
        ))?;
        let slot =
            Timestamp::from_ns(ns).ok_or(DecodeError::Invalid("a slot beyond the last instant"))?;
        bookings.push_back(Booking { slot, total });
        last = Some(ns);
    }
    Ok(Log {
        limit,
        dropped,
        bookings,
    })
}

/// The next of a strictly ascending row, from its distance to the last.
pub(super) fn ascending(last: Option<u64>, gap: u64) -> Result<u64, DecodeError> {
    let next = match last {
        None => Some(gap),
        Some(last) => last.checked_add(gap).filter(|_| gap > 0),
    };
    next.ok_or(DecodeError::Invalid("a row that does not ascend"))
}
