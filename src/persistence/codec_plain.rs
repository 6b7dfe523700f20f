//! Plain values as bytes; see [`super::codec`] for the whole.
//!
//! ```text
//! plain = (0 | 1 ms ns) 1 text              when it goes, and a string
//! text  = length bytes
//! ```
//!
//! `ms` are milliseconds since the epoch, which are past where they are negative and so never kept.

use super::input::{DecodeError, Input, put_varint};
use crate::plain::text::TEXT_BYTES_MAX;
use crate::plain::{Data, Deadline, Plain, Text};

const STAYS: u8 = 0;
const EXPIRES: u8 = 1;

const DATA_TEXT: u8 = 1;

pub fn encode(out: &mut Vec<u8>, plain: &Plain) {
    match plain.expires {
        None => out.push(STAYS),
        Some(expires) => {
            let (ms, ns) = expires.parts();
            out.push(EXPIRES);
            put_varint(out, ms.max(0) as u64);
            put_varint(out, ns);
        }
    }
    match &plain.data {
        Data::Text(text) => {
            out.push(DATA_TEXT);
            text.with_bytes(|bytes| put_text(out, bytes));
        }
    }
}

pub fn decode(input: &mut Input<'_>) -> Result<Plain, DecodeError> {
    let expires = match input.byte()? {
        STAYS => None,
        EXPIRES => Some(deadline(input)?),
        tag => return Err(DecodeError::Unknown("an expiry of kind", tag)),
    };
    let data = match input.byte()? {
        DATA_TEXT => Data::Text(text(input)?),
        tag => return Err(DecodeError::Unknown("a plain value of kind", tag)),
    };
    Ok(Plain { data, expires })
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text);
}

fn deadline(input: &mut Input<'_>) -> Result<Deadline, DecodeError> {
    let (ms, ns) = (input.varint()?, input.varint()?);
    let parts = i64::try_from(ms).ok().zip(u32::try_from(ns).ok());
    let deadline = parts.and_then(|(ms, ns)| Deadline::from_parts(ms, ns));
    deadline.ok_or(DecodeError::Invalid("an expiry beyond the last one"))
}

fn text(input: &mut Input<'_>) -> Result<Text, DecodeError> {
    const TOO_LONG: DecodeError = DecodeError::Invalid("a string that is too long");
    let length = usize::try_from(input.varint()?).map_err(|_| TOO_LONG)?;
    if length > TEXT_BYTES_MAX {
        return Err(TOO_LONG);
    }
    Text::new(input.take(length)?).map_err(|_| TOO_LONG)
}
