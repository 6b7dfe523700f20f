//! One key as bytes: exact, compact, and the same bytes for the same state.
//!
//! ```text
//! record = 1 database key_length key n (state)*n pause slow       one state a limit
//!        | 2 policy | 3 numbers | 4 ticket | 5 answer           see codec_records.rs
//!        | 6 database key_length key plain                    see codec_plain.rs
//!        | 7 generation                     in a snapshot: the first of the journal that is not in it
//!        | 8 gone                           in a journal: see codec_gone.rs
//! state  = 0                                                 nothing
//!        | 1 flags capacity permits per_ns level [undrained] [timeline]   bucket, GCRA, PACE
//!        | 2 window | 3 sliding | 4 log                     see codec_windows.rs
//!        | 5 leases                                         see codec_leases.rs
//! level  = deficit base
//! timeline: see codec_timeline.rs; slow: see codec_slow.rs
//! pause  = 0 | 1 until kept_for | 2 until kept_for           none, plain, draining
//! ```
//!
//! Tags, flags and the database are one byte each, `base` and `until` are instants, the rest are varints (see
//! [`super::input`]). A new kind of record or state takes the next tag; what older servers wrote is
//! read for ever, and what they cannot read they refuse by its tag.
//!
//! Whatever is decoded has been checked: limits are built by the constructors that commands use, and
//! every number is in the range in which the arithmetic of [`crate::core`] holds. No bytes panic.

use super::codec_gone::{self, Gone};
use super::input::{DecodeError, Input, put_instant, put_varint};
use super::{codec_leases, codec_plain, codec_records, codec_slow, codec_timeline, codec_windows};
use crate::core::bucket::{Bucket, DEFICIT_MAX, Level};
use crate::core::entry::{Entry, LIMITS_MAX, State, States};
use crate::core::limit::{BucketLimit, Keeps, Rate};
use crate::core::number::AMOUNT_MAX;
use crate::core::pause::Pause;
use crate::core::timeline::Timeline;
use crate::core::units::{Span, Timestamp};
use crate::store::{DATABASES_MAX, KEY_BYTES_MAX, Key, PolicyLimits, Remembered, Ticket, Value};

const RECORD_KEY: u8 = 1;
const RECORD_POLICY: u8 = 2;
const RECORD_LAST_NUMBER: u8 = 3;
const RECORD_TICKET: u8 = 4;
const RECORD_ANSWER: u8 = 5;
const RECORD_PLAIN: u8 = 6;
const RECORD_JOURNAL: u8 = 7;
const RECORD_GONE: u8 = 8;

const STATE_EMPTY: u8 = 0;
const STATE_BUCKET: u8 = 1;
const STATE_WINDOW: u8 = 2;
const STATE_SLIDING: u8 = 3;
const STATE_LOG: u8 = 4;
const STATE_LEASES: u8 = 5;

const PAUSE_NONE: u8 = 0;
const PAUSE_PLAIN: u8 = 1;
const PAUSE_DRAINING: u8 = 2;

const FLAG_KEEPS_TIME: u8 = 1;
const FLAG_PROMISED: u8 = 2;
const FLAG_UNDRAINED: u8 = 4;
const FLAG_BOOKED: u8 = 8;
/// The rate may be as low as a slow-down makes it.
const FLAG_SLOWED: u8 = 16;
const FLAG_PROMISED_AHEAD: u8 = 32;
const FLAGS_KNOWN: u8 = FLAG_KEEPS_TIME
    | FLAG_PROMISED
    | FLAG_UNDRAINED
    | FLAG_BOOKED
    | FLAG_SLOWED
    | FLAG_PROMISED_AHEAD;

/// One thing that a snapshot or a journal holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Record {
    /// A key with its state.
    Key {
        /// Its database, below [`DATABASES_MAX`].
        database: u8,
        /// Its name, at most [`KEY_BYTES_MAX`] bytes.
        key: Key,
        /// What it holds; never an absent value.
        value: Value,
    },
    /// A policy.
    Policy {
        /// Its name.
        name: Box<[u8]>,
        /// Its limits.
        limits: PolicyLimits,
    },
    /// The last ticket number that was given.
    LastNumber(u64),
    /// A ticket.
    Ticket {
        /// The database of its keys.
        database: u8,
        /// Its number.
        number: u64,
        /// What it holds.
        ticket: Ticket,
    },
    /// A remembered answer.
    Answer {
        /// The database of its key.
        database: u8,
        /// The first key of its request.
        key: Key,
        /// The request's id.
        id: Box<[u8]>,
        /// The answer.
        remembered: Remembered,
    },
    /// The first generation of the journal that a snapshot does not hold.
    JournalFrom(u64),
    /// Something that is there no longer; only in a journal.
    Gone(Gone),
}

/// Appends a policy.
pub fn encode_policy(out: &mut Vec<u8>, name: &[u8], limits: &PolicyLimits) {
    out.push(RECORD_POLICY);
    codec_records::encode_policy(out, name, limits);
}

/// Appends the last ticket number that was given.
pub fn encode_last_number(out: &mut Vec<u8>, number: u64) {
    out.push(RECORD_LAST_NUMBER);
    put_varint(out, number);
}

/// Appends the first generation of the journal that a snapshot does not hold.
pub fn encode_journal_from(out: &mut Vec<u8>, generation: u64) {
    out.push(RECORD_JOURNAL);
    put_varint(out, generation);
}

/// Appends that something is gone.
pub fn encode_gone(out: &mut Vec<u8>, gone: &Gone) {
    out.push(RECORD_GONE);
    codec_gone::encode(out, gone);
}

/// Appends a ticket.
pub fn encode_ticket(out: &mut Vec<u8>, database: u8, number: u64, ticket: &Ticket) {
    out.push(RECORD_TICKET);
    codec_records::encode_ticket(out, database, number, ticket);
}

/// Appends a remembered answer.
pub fn encode_answer(
    out: &mut Vec<u8>,
    database: u8,
    key: &Key,
    id: &[u8],
    remembered: &Remembered,
) {
    out.push(RECORD_ANSWER);
    codec_records::encode_answer(out, database, key, id, remembered);
}

/// Appends a key. Its value must not be absent, since a snapshot holds no such keys.
pub fn encode_key(out: &mut Vec<u8>, database: u8, key: &Key, value: &Value) {
    let name = key.as_bytes();
    let tag = match value {
        Value::Limit(_) => RECORD_KEY,
        Value::Plain(_) => RECORD_PLAIN,
    };
    out.extend_from_slice(&[tag, database]);
    put_varint(out, name.len() as u64);
    out.extend_from_slice(name);
    match value {
        Value::Limit(entry) => encode_entry(out, entry),
        Value::Plain(plain) => codec_plain::encode(out, plain),
    }
}

/// True for a value that can be encoded. A key that holds nothing but that somebody waits at it is not kept: nobody
/// waits over a restart.
pub fn is_kept(value: &Value) -> bool {
    match value {
        Value::Limit(entry) => entry.parts() != (&[][..], None, None),
        Value::Plain(_) => true,
    }
}

fn encode_entry(out: &mut Vec<u8>, entry: &Entry) {
    let (states, pause, slow) = entry.parts();
    put_varint(out, states.len() as u64);
    states
        .iter()
        .for_each(|state| encode_state(out, state, slow.is_some()));
    encode_pause(out, pause);
    codec_slow::encode(out, slow);
}

fn encode_state(out: &mut Vec<u8>, state: &State, slowed: bool) {
    match state {
        State::Empty => out.push(STATE_EMPTY),
        State::Bucket(bucket, timeline) => {
            out.push(STATE_BUCKET);
            encode_bucket(out, bucket, timeline.as_deref(), slowed);
        }
        State::Window(window) => {
            out.push(STATE_WINDOW);
            codec_windows::encode_window(out, window);
        }
        State::Sliding(sliding) => {
            out.push(STATE_SLIDING);
            codec_windows::encode_sliding(out, sliding);
        }
        State::Log(log) => {
            out.push(STATE_LOG);
            codec_windows::encode_log(out, log);
        }
        State::Leases(leases) => {
            out.push(STATE_LEASES);
            codec_leases::encode(out, leases);
        }
    }
}

/// Reads the next record.
///
/// # Errors
/// [`DecodeError`] for bytes that no server of this version or an earlier one writes.
pub fn decode(input: &mut Input<'_>) -> Result<Record, DecodeError> {
    match input.byte()? {
        RECORD_KEY => {
            let (database, key) = decode_name(input)?;
            let value = Value::Limit(decode_entry(input)?);
            Ok(Record::Key {
                database,
                key,
                value,
            })
        }
        RECORD_PLAIN => {
            let (database, key) = decode_name(input)?;
            let value = Value::Plain(codec_plain::decode(input)?);
            Ok(Record::Key {
                database,
                key,
                value,
            })
        }
        RECORD_POLICY => codec_records::decode_policy(input),
        RECORD_LAST_NUMBER => Ok(Record::LastNumber(codec_records::ticket_number(input)?)),
        RECORD_TICKET => codec_records::decode_ticket(input),
        RECORD_ANSWER => codec_records::decode_answer(input),
        RECORD_JOURNAL => Ok(Record::JournalFrom(input.varint_u64()?)),
        RECORD_GONE => Ok(Record::Gone(codec_gone::decode(input)?)),
        tag => Err(DecodeError::Unknown("a record of kind", tag)),
    }
}

pub(super) fn decode_name(input: &mut Input<'_>) -> Result<(u8, Key), DecodeError> {
    let database = input.byte()?;
    if database >= DATABASES_MAX {
        return Err(DecodeError::Invalid("a database number out of range"));
    }
    let length = usize::try_from(input.varint()?)
        .ok()
        .filter(|&length| length <= KEY_BYTES_MAX);
    let key = Key::new(input.take(length.ok_or(DecodeError::Invalid("a key that is too long"))?)?);
    Ok((database, key))
}

fn decode_entry(input: &mut Input<'_>) -> Result<Entry, DecodeError> {
    let count = input.varint()?;
    if count > LIMITS_MAX as u128 {
        return Err(DecodeError::Invalid("a key of too many limits"));
    }
    let mut slowed = None;
    let states = (0..count)
        .map(|_| decode_state(input, &mut slowed))
        .collect::<Result<States, _>>()?;
    let of_leases = |state: &&State| matches!(state, State::Leases(_));
    if states.iter().filter(of_leases).count() > 1 {
        return Err(DecodeError::Invalid("a key of several limits of leases"));
    }
    let (pause, slow) = (decode_pause(input)?, codec_slow::decode(input)?);
    if slowed.is_some_and(|slowed| slowed != slow.is_some()) {
        return Err(NOT_ALL_SLOWED);
    }
    let entry = Entry::from_parts(states, pause, slow);
    if entry.is_absent() {
        return Err(DecodeError::Invalid("a key that holds nothing"));
    }
    Ok(entry)
}

const NOT_ALL_SLOWED: DecodeError =
    DecodeError::Invalid("a slow-down that is not told of every bucket");

/// Reads a state; `slowed` is what the buckets before it say of a slow-down.
fn decode_state(input: &mut Input<'_>, slowed: &mut Option<bool>) -> Result<State, DecodeError> {
    Ok(match input.byte()? {
        STATE_EMPTY => State::Empty,
        STATE_BUCKET => {
            let (bucket, timeline) = decode_bucket(input, slowed)?;
            State::Bucket(bucket, timeline.map(Box::new))
        }
        STATE_WINDOW => State::Window(codec_windows::decode_window(input)?),
        STATE_SLIDING => State::Sliding(codec_windows::decode_sliding(input)?),
        STATE_LOG => State::Log(codec_windows::decode_log(input)?),
        STATE_LEASES => State::Leases(Box::new(codec_leases::decode(input)?)),
        tag => return Err(DecodeError::Unknown("a key of kind", tag)),
    })
}

fn encode_bucket(out: &mut Vec<u8>, bucket: &Bucket, timeline: Option<&Timeline>, slowed: bool) {
    let flag = |set: bool, flag: u8| if set { flag } else { 0 };
    let keeps_time = match bucket.limit.keeps() {
        Keeps::Permits => false,
        Keeps::Time => true,
    };
    out.push(
        flag(keeps_time, FLAG_KEEPS_TIME)
            | flag(bucket.promised_after_pause, FLAG_PROMISED)
            | flag(bucket.promised_ahead, FLAG_PROMISED_AHEAD)
            | flag(bucket.undrained.is_some(), FLAG_UNDRAINED)
            | flag(timeline.is_some(), FLAG_BOOKED)
            | flag(slowed, FLAG_SLOWED),
    );
    put_varint(out, bucket.limit.capacity());
    put_varint(out, bucket.limit.rate().permits());
    put_varint(out, bucket.limit.rate().per_ns());
    encode_level(out, &bucket.level);
    if let Some(undrained) = &bucket.undrained {
        encode_level(out, undrained);
    }
    if let Some(timeline) = timeline {
        codec_timeline::encode(out, timeline);
    }
}

fn decode_bucket(
    input: &mut Input<'_>,
    slowed: &mut Option<bool>,
) -> Result<(Bucket, Option<Timeline>), DecodeError> {
    let flags = input.byte()?;
    if flags & !FLAGS_KNOWN != 0 {
        return Err(DecodeError::Unknown("a bucket with flags", flags));
    }
    let is_set = |flag| flags & flag != 0;
    if *slowed.get_or_insert(is_set(FLAG_SLOWED)) != is_set(FLAG_SLOWED) {
        return Err(NOT_ALL_SLOWED);
    }
    let keeps = if is_set(FLAG_KEEPS_TIME) {
        Keeps::Time
    } else {
        Keeps::Permits
    };
    let bucket = Bucket {
        limit: decode_bucket_limit(input, keeps, is_set(FLAG_SLOWED))?,
        level: decode_level(input)?,
        promised_after_pause: is_set(FLAG_PROMISED),
        promised_ahead: is_set(FLAG_PROMISED_AHEAD),
        undrained: is_set(FLAG_UNDRAINED)
            .then(|| decode_level(input))
            .transpose()?,
    };
    let timeline = is_set(FLAG_BOOKED)
        .then(|| codec_timeline::decode(input, bucket.limit.rate()))
        .transpose()?;
    Ok((bucket, timeline))
}

/// Reads a limit; `slowed` lets its rate be as low as a slow-down makes it.
pub(super) fn decode_bucket_limit(
    input: &mut Input<'_>,
    keeps: Keeps,
    slowed: bool,
) -> Result<BucketLimit, DecodeError> {
    let capacity = input.varint_u64()?;
    if !(1..=AMOUNT_MAX).contains(&capacity) {
        return Err(DecodeError::Invalid("a capacity out of range"));
    }
    let (permits, per_ns) = (input.varint()?, input.varint()?);
    let read = if slowed {
        Rate::slowed_from_fraction
    } else {
        Rate::from_fraction
    };
    let rate = read(permits, per_ns).ok_or(DecodeError::Invalid("a rate out of range"))?;
    if u128::from(rate.permits()) != permits || rate.per_ns() != per_ns {
        // The deficit is counted in parts of this very denominator.
        return Err(DecodeError::Invalid("a rate that is not in lowest terms"));
    }
    let build = if slowed {
        BucketLimit::slowed
    } else {
        BucketLimit::new
    };
    build(capacity, rate, keeps)
        .map_err(|_| DecodeError::Invalid("a capacity and a rate that do not go together"))
}

fn encode_level(out: &mut Vec<u8>, level: &Level) {
    put_varint(out, level.deficit);
    put_instant(out, level.base);
}

fn decode_level(input: &mut Input<'_>) -> Result<Level, DecodeError> {
    let deficit = input.varint()?;
    if deficit > DEFICIT_MAX {
        return Err(DecodeError::Invalid("a deficit out of range"));
    }
    Ok(Level {
        deficit,
        base: input.instant()?,
    })
}

fn encode_pause(out: &mut Vec<u8>, pause: Option<&Pause>) {
    let Some(pause) = pause else {
        return out.push(PAUSE_NONE);
    };
    out.push(if pause.drains {
        PAUSE_DRAINING
    } else {
        PAUSE_PLAIN
    });
    put_instant(out, pause.until);
    put_varint(out, pause.kept_until.since(pause.until));
}

fn decode_pause(input: &mut Input<'_>) -> Result<Option<Pause>, DecodeError> {
    let drains = match input.byte()? {
        PAUSE_NONE => return Ok(None),
        PAUSE_PLAIN => false,
        PAUSE_DRAINING => true,
        tag => return Err(DecodeError::Unknown("a pause of kind", tag)),
    };
    let until = input.instant()?;
    let kept = Span::from_ns(input.varint_u64()?)
        .ok_or(DecodeError::Invalid("a pause that is too long"))?;
    let kept_until = Timestamp::from_ns(until.after(kept).as_ns())
        .ok_or(DecodeError::Invalid("a pause beyond the last instant"))?;
    Ok(Some(Pause {
        until,
        drains,
        kept_until,
    }))
}

#[cfg(test)]
#[path = "codec_tests.rs"]
mod tests;
