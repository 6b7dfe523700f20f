//! A slow-down as bytes; see [`super::codec`] for the whole.
//!
//! ```text
//! slow = 0 | 1 before factor begins recover seen n (full)*n     factors in 64,000,000ths
//! full = 0 | 1 keeps capacity permits per_ns                   the full limit of a bucket
//! ```

use super::codec::decode_bucket_limit;
use super::input::{DecodeError, Input, put_instant, put_varint};
use crate::core::entry::LIMITS_MAX;
use crate::core::limit::Keeps;
use crate::core::slow::{Factor, Slow};
use crate::core::units::Span;

/// The beginning and eight steps.
const CHANGES: u8 = 9;

pub fn encode(out: &mut Vec<u8>, slow: Option<&Slow>) {
    let Some(slow) = slow else {
        return out.push(0);
    };
    out.push(1);
    put_varint(out, slow.before.units());
    put_varint(out, slow.factor.units());
    put_instant(out, slow.begins);
    put_varint(out, slow.recover.as_ns());
    out.push(slow.seen);
    put_varint(out, slow.full.len() as u64);
    for full in &slow.full {
        let Some(limit) = full else {
            out.push(0);
            continue;
        };
        out.extend_from_slice(&[1, u8::from(limit.keeps() == Keeps::Time)]);
        put_varint(out, limit.capacity());
        put_varint(out, limit.rate().permits());
        put_varint(out, limit.rate().per_ns());
    }
}

pub fn decode(input: &mut Input<'_>) -> Result<Option<Slow>, DecodeError> {
    match input.byte()? {
        0 => return Ok(None),
        1 => {}
        tag => return Err(DecodeError::Unknown("a slow-down of kind", tag)),
    }
    let (before, factor) = (decode_factor(input)?, decode_factor(input)?);
    let begins = input.instant()?;
    let recover = Span::from_ns(input.varint_u64()?)
        .ok_or(DecodeError::Invalid("a slow-down that is too long"))?;
    let seen = input.byte()?;
    if seen > CHANGES {
        return Err(DecodeError::Invalid("a slow-down of too many steps"));
    }
    let count = input.varint()?;
    if count > LIMITS_MAX as u128 {
        return Err(DecodeError::Invalid("a slow-down of too many limits"));
    }
    let full = (0..count)
        .map(|_| decode_full(input))
        .collect::<Result<_, _>>()?;
    Ok(Some(Slow {
        before,
        factor,
        begins,
        recover,
        seen,
        full,
    }))
}

fn decode_factor(input: &mut Input<'_>) -> Result<Factor, DecodeError> {
    let units = u32::try_from(input.varint()?)
        .ok()
        .and_then(Factor::from_units);
    units.ok_or(DecodeError::Invalid("a factor out of range"))
}

fn decode_full(
    input: &mut Input<'_>,
) -> Result<Option<crate::core::limit::BucketLimit>, DecodeError> {
    match input.byte()? {
        0 => return Ok(None),
        1 => {}
        tag => return Err(DecodeError::Unknown("a full limit of kind", tag)),
    }
    let keeps = match input.byte()? {
        0 => Keeps::Permits,
        1 => Keeps::Time,
        flags => return Err(DecodeError::Unknown("a full limit with flags", flags)),
    };
    decode_bucket_limit(input, keeps, false).map(Some)
}
