//! Plain values as bytes; see [`super::codec`] for the whole.
//!
//! ```text
//! plain = (0 | 1 ms ns) data                when it goes, and what it is
//! data  = 1 text                            a string
//!       | 2 n (text text)*n                 a hash: fields with texts
//!       | 3 n (text)*n                      a list, from the head
//!       | 4 n (score text)*n                a sorted set, in order; a score is a float of 8 bytes
//! text  = length bytes
//! ```
//!
//! `ms` are milliseconds since the epoch, which are past where they are negative and so never kept.

use super::input::{DecodeError, Input, put_varint};
use crate::plain::collection::ELEMENTS_MAX;
use crate::plain::sorted_set::Score;
use crate::plain::text::TEXT_BYTES_MAX;
use crate::plain::{Data, Deadline, Hash, List, Plain, SortedSet, Text};

const STAYS: u8 = 0;
const EXPIRES: u8 = 1;

const DATA_TEXT: u8 = 1;
const DATA_HASH: u8 = 2;
const DATA_LIST: u8 = 3;
const DATA_SORTED_SET: u8 = 4;

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
        Data::Hash(hash) => {
            out.push(DATA_HASH);
            put_varint(out, hash.len() as u64);
            for (field, text) in hash.iter() {
                put_text(out, field);
                text.with_bytes(|bytes| put_text(out, bytes));
            }
        }
        Data::List(list) => {
            out.push(DATA_LIST);
            put_varint(out, list.len() as u64);
            for text in list.range(0, -1) {
                text.with_bytes(|bytes| put_text(out, bytes));
            }
        }
        Data::SortedSet(set) => {
            out.push(DATA_SORTED_SET);
            put_varint(out, set.len() as u64);
            for (member, score) in set.iter() {
                out.extend_from_slice(&score.value().to_le_bytes());
                put_text(out, member);
            }
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
        DATA_HASH => Data::Hash(hash(input)?),
        DATA_LIST => Data::List(list(input)?),
        DATA_SORTED_SET => Data::SortedSet(Box::new(sorted_set(input)?)),
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

const TOO_LARGE: DecodeError = DecodeError::Invalid("a value that is too large");

/// How many elements there are: at least one, since an empty value is no key.
fn count(input: &mut Input<'_>) -> Result<usize, DecodeError> {
    let count = usize::try_from(input.varint()?).ok();
    let count = count.filter(|count| (1..=ELEMENTS_MAX).contains(count));
    count.ok_or(DecodeError::Invalid("a count out of range"))
}

fn hash(input: &mut Input<'_>) -> Result<Hash, DecodeError> {
    let (mut hash, mut last) = (Hash::default(), None);
    for _ in 0..count(input)? {
        let field = bytes(input)?;
        if last.replace(field).is_some_and(|last| last >= field) {
            return Err(DecodeError::Invalid(
                "a field that is there twice, or out of order",
            ));
        }
        hash.set(field, text(input)?).map_err(|_| TOO_LARGE)?;
    }
    Ok(hash)
}

fn list(input: &mut Input<'_>) -> Result<List, DecodeError> {
    let mut list = List::default();
    for _ in 0..count(input)? {
        list.push_back(text(input)?).map_err(|_| TOO_LARGE)?;
    }
    Ok(list)
}

fn sorted_set(input: &mut Input<'_>) -> Result<SortedSet, DecodeError> {
    let (mut set, mut last) = (SortedSet::default(), None);
    for _ in 0..count(input)? {
        let score = input.take(8)?.try_into().map_err(|_| DecodeError::Short)?;
        let score = Score::new(f64::from_le_bytes(score));
        let score = score.ok_or(DecodeError::Invalid("a score that is no number"))?;
        let member = bytes(input)?;
        let place = (score, member);
        let ascends = last.replace(place).is_none_or(|last| last < place);
        let old = set.set(member, score).map_err(|_| TOO_LARGE)?;
        if old.is_some() || !ascends {
            return Err(DecodeError::Invalid(
                "a member that is there twice, or out of order",
            ));
        }
    }
    Ok(set)
}

fn text(input: &mut Input<'_>) -> Result<Text, DecodeError> {
    Text::new(bytes(input)?).map_err(|_| TOO_LONG)
}

const TOO_LONG: DecodeError = DecodeError::Invalid("a string that is too long");

fn bytes<'a>(input: &mut Input<'a>) -> Result<&'a [u8], DecodeError> {
    let length = usize::try_from(input.varint()?).map_err(|_| TOO_LONG)?;
    if length > TEXT_BYTES_MAX {
        return Err(TOO_LONG);
    }
    input.take(length)
}
