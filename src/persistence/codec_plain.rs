//! Plain values as bytes; see [`super::codec`] for the whole.
//!
//! ```text
//! plain = (0 | 1 expires) 1 text            a string
//! text  = length bytes
//! ```

use super::input::{DecodeError, Input, put_instant, put_varint};
use crate::plain::{Data, Plain};

const STAYS: u8 = 0;
const EXPIRES: u8 = 1;

const DATA_TEXT: u8 = 1;

/// Longest string, in bytes: what one request may carry.
const TEXT_BYTES_MAX: u64 = 64 * 1024;

pub fn encode(out: &mut Vec<u8>, plain: &Plain) {
    match plain.expires {
        None => out.push(STAYS),
        Some(expires) => {
            out.push(EXPIRES);
            put_instant(out, expires);
        }
    }
    match &plain.data {
        Data::Text(text) => {
            out.push(DATA_TEXT);
            put_text(out, text);
        }
    }
}

pub fn decode(input: &mut Input<'_>) -> Result<Plain, DecodeError> {
    let expires = match input.byte()? {
        STAYS => None,
        EXPIRES => Some(input.instant()?),
        tag => return Err(DecodeError::Unknown("an expiry of kind", tag)),
    };
    let data = match input.byte()? {
        DATA_TEXT => Data::Text(text(input)?.into()),
        tag => return Err(DecodeError::Unknown("a plain value of kind", tag)),
    };
    Ok(Plain { data, expires })
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text);
}

fn text<'a>(input: &mut Input<'a>) -> Result<&'a [u8], DecodeError> {
    let length = input.varint_u64()?;
    if length > TEXT_BYTES_MAX {
        return Err(DecodeError::Invalid("a string that is too long"));
    }
    input.take(length as usize)
}
