//! Booked slots as bytes; see [`super::codec`] for the whole.
//!
//! ```text
//! timeline = bookings bookings                       those ahead, those shelved by a pause
//! bookings = n (gap fraction cost ticket)*n          gaps of whole nanoseconds, the first since the epoch
//! ```

use super::input::{DecodeError, Input, put_varint};
use crate::core::limit::Rate;
use crate::core::line::Line;
use crate::core::number::AMOUNT_MAX;
use crate::core::timeline::{Booking, Slot, Timeline};
use crate::core::units::Timestamp;

pub fn encode(out: &mut Vec<u8>, timeline: &Timeline) {
    encode_bookings(out, timeline.ahead.len(), timeline.ahead.iter());
    encode_bookings(out, timeline.shelved.len(), timeline.shelved.iter());
}

fn encode_bookings<'a>(
    out: &mut Vec<u8>,
    count: usize,
    bookings: impl Iterator<Item = &'a Booking>,
) {
    put_varint(out, count as u64);
    let mut last = 0;
    for booking in bookings {
        put_varint(out, booking.slot.at.as_ns() - last);
        put_varint(out, booking.slot.fraction);
        put_varint(out, booking.cost);
        put_varint(out, booking.ticket);
        last = booking.slot.at.as_ns();
    }
}

/// Reads the bookings of a bucket of this rate.
pub fn decode(input: &mut Input<'_>, rate: Rate) -> Result<Timeline, DecodeError> {
    let ahead = Line::of(rate, decode_bookings(input, rate.permits())?);
    let shelved = decode_bookings(input, rate.permits())?;
    if !ahead.holds() || !Line::of(rate, shelved.iter().copied()).holds() {
        return Err(DecodeError::Invalid("bookings that no bucket holds"));
    }
    Ok(Timeline { ahead, shelved })
}

fn decode_bookings(input: &mut Input<'_>, permits: u64) -> Result<Vec<Booking>, DecodeError> {
    let (mut bookings, mut last) = (Vec::new(), 0u64);
    for _ in 0..input.varint_u64()? {
        let at = last
            .checked_add(input.varint_u64()?)
            .and_then(Timestamp::from_ns);
        let at = at.ok_or(DecodeError::Invalid("a slot beyond the last instant"))?;
        let slot = Slot {
            at,
            fraction: input.varint_u64()?,
        };
        let (cost, ticket) = (input.varint_u64()?, input.varint_u64()?);
        let ascends = bookings
            .last()
            .is_none_or(|before: &Booking| before.slot <= slot);
        if slot.fraction >= permits || !(1..=AMOUNT_MAX).contains(&cost) || !ascends {
            return Err(DecodeError::Invalid(
                "a booking out of range or out of order",
            ));
        }
        bookings.push(Booking { slot, cost, ticket });
        last = at.as_ns();
    }
    Ok(bookings)
}
