//! Leases as bytes; see [`super::codec`] for the whole.
//!
//! ```text
//! limit  = max ttl
//! leases = limit n (gap lapses owner)*n       gaps of numbers from one to the next; owner: its length and its bytes
//! ```
//!
//! To which connection a lease is bound is not told: that connection is gone when it is read.

use super::codec_records::{put_text, text};
use super::codec_windows::ascending;
use super::input::{DecodeError, Input, put_instant, put_varint};
use crate::core::leases::{LEASES_MAX, Lease, Leases, LeasesLimit, OWNER_BYTES_MAX};
use crate::core::units::Span;

pub fn encode_limit(out: &mut Vec<u8>, limit: LeasesLimit) {
    put_varint(out, limit.max());
    put_varint(out, limit.ttl().as_ns());
}

pub fn decode_limit(input: &mut Input<'_>) -> Result<LeasesLimit, DecodeError> {
    let (max, ttl) = (input.varint_u64()?, Span::from_ns(input.varint_u64()?));
    ttl.and_then(|ttl| LeasesLimit::new(max, ttl))
        .ok_or(DecodeError::Invalid("a limit of leases out of range"))
}

pub fn encode(out: &mut Vec<u8>, leases: &Leases) {
    encode_limit(out, leases.limit);
    put_varint(out, leases.len() as u64);
    let mut last = 0;
    for (number, lease) in leases.all() {
        put_varint(out, number - last);
        put_instant(out, lease.lapses);
        put_text(out, lease.owner.as_deref().unwrap_or_default());
        last = number;
    }
}

pub fn decode(input: &mut Input<'_>) -> Result<Leases, DecodeError> {
    let mut leases = Leases::new(decode_limit(input)?);
    let count = input.varint_u64()?;
    if count > LEASES_MAX {
        return Err(DecodeError::Invalid("a key of too many leases"));
    }
    let mut last = None;
    for _ in 0..count {
        let number = ascending(last, input.varint_u64()?)?;
        if number == 0 || number > i64::MAX as u64 {
            return Err(DecodeError::Invalid("the number of a lease out of range"));
        }
        let lapses = input.instant()?;
        let owner = text(input, OWNER_BYTES_MAX)?;
        let lease = Lease {
            lapses,
            owner: (!owner.is_empty()).then(|| owner.into()),
            bound_to: 0,
        };
        leases.hold(number, lease);
        last = Some(number);
    }
    Ok(leases)
}

#[cfg(test)]
#[path = "codec_leases_tests.rs"]
mod tests;
