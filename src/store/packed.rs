//! What a key holds, as it stands in the table: 24 bytes.
//!
//! Nearly every key is one bucket, window or counter with nothing beside it, which needs a few numbers and the
//! parameters that it shares with others ([`super::limits`]). Such a value is packed when a call ends and unpacked for
//! the next; everything else (pauses, bookings, several limits, texts, parameters that cannot be shared) is a whole
//! [`Value`] elsewhere. Nothing is lost: what is packed comes out as it was, and what would not is not packed.

use super::limits::Shared;
use super::value::Value;
use crate::core::bucket::{Bucket, Level};
use crate::core::entry::{Entry, State};
use crate::core::limit::{BucketLimit, PeriodLimit};
use crate::core::sliding::Sliding;
use crate::core::units::Timestamp;
use crate::core::window::{Used, Window, WindowLimit};
use crate::plain::{Data, Deadline, Plain, Text};

/// What a key holds, in the form in which it is kept.
pub struct Packed(Form);

/// Each form has at least one of the bytes behind its tag to spare.
enum Form {
    /// A bucket or GCRA, of one number.
    Bucket {
        limit: Shared<BucketLimit>,
        promised: Promised,
        /// The deficit, below 2^96: parts of a permit as fine as rates of 17 digits make them fit.
        deficit_high: u32,
        deficit_low: u64,
        base: Timestamp,
    },
    /// A row of windows of which at most one holds something.
    Window {
        limit: Shared<WindowLimit>,
        begin: Timestamp,
        place: u32,
        /// Zero if there is none.
        used: u64,
    },
    /// A sliding window counter.
    Sliding {
        limit: Shared<PeriodLimit>,
        index: u64,
        current: u64,
        previous: u32,
    },
    /// An integer that goes by itself: at `ns` nanoseconds after the millisecond `ms`.
    Counter { integer: i64, ms: i64, ns: u32 },
    /// An integer that stays.
    Integer(i64),
    /// Anything else.
    Whole(Box<Value>),
}

/// What a bucket knows of slots that it has promised; see [`Bucket`].
#[derive(Clone, Copy)]
struct Promised(u8);

impl Promised {
    const AFTER_PAUSE: u8 = 1;
    const AHEAD: u8 = 2;
    /// Beside the two: the journal knows that the bucket has changed. See [`Packed::untouch`].
    const TOUCHED: u8 = 4;

    fn of(bucket: &Bucket) -> Self {
        let after_pause = Self::AFTER_PAUSE * u8::from(bucket.promised_after_pause);
        let ahead = Self::AHEAD * u8::from(bucket.promised_ahead);
        Self(after_pause | ahead)
    }

    const fn is(self, promised: u8) -> bool {
        self.0 & promised != 0
    }
}

impl Packed {
    /// Packs a value.
    pub fn new(value: Value) -> Self {
        Self(Form::new(&value).unwrap_or_else(|| Form::Whole(Box::new(value))))
    }

    /// Packs a bucket.
    pub fn of_bucket(bucket: Bucket) -> Self {
        let level = bucket.level;
        match (
            Shared::new(bucket.limit),
            u32::try_from(level.deficit >> 64),
        ) {
            (Some(limit), Ok(deficit_high)) if bucket.undrained.is_none() => Self(Form::Bucket {
                limit,
                promised: Promised::of(&bucket),
                deficit_high,
                deficit_low: level.deficit as u64,
                base: level.base,
            }),
            _ => Self(Form::Whole(Box::new(bucket.into()))),
        }
    }

    /// Calls `f` with the value.
    pub fn read<R>(&self, f: impl FnOnce(&Value) -> R) -> R {
        match &self.0 {
            Form::Whole(value) => f(value),
            form => f(&form.unpacked()),
        }
    }

    /// Takes the value out, which has to be [put back](Self::put).
    pub fn take(&mut self) -> Value {
        match &mut self.0 {
            Form::Whole(value) => std::mem::take(value),
            form => form.unpacked(),
        }
    }

    /// Puts a value in the place of the one that was taken out.
    pub fn put(&mut self, value: Value) {
        if self.0.take_over(&value) {
            return;
        }
        match (Form::new(&value), &mut self.0) {
            (Some(form), place) => *place = form,
            (None, Form::Whole(place)) => **place = value,
            (None, place) => *place = Form::Whole(Box::new(value)),
        }
    }

    /// Gives `f` the bucket, if it is nothing else, and keeps what it leaves there. A change is told to `touch`, which
    /// says whether it need not be told again until [`Self::untouch`].
    pub fn with_bucket<R>(
        &mut self,
        f: impl FnOnce(&mut Bucket) -> R,
        touch: impl FnOnce() -> bool,
    ) -> Option<R> {
        let Form::Bucket {
            limit,
            promised,
            deficit_high,
            deficit_low,
            base,
        } = &mut self.0
        else {
            return None;
        };
        let mut bucket = unpacked_bucket(limit, *promised, *deficit_high, *deficit_low, *base);
        let before = bucket;
        let result = f(&mut bucket);
        if bucket == before {
            return Some(result);
        }
        let touched = promised.0 & Promised::TOUCHED;
        let deficit = bucket.level.deficit;
        match u32::try_from(deficit >> 64) {
            Ok(high) if bucket.limit == before.limit && bucket.undrained.is_none() => {
                (*deficit_high, *deficit_low, *base) = (high, deficit as u64, bucket.level.base);
                let touched = match touched == 0 && touch() {
                    true => Promised::TOUCHED,
                    false => touched,
                };
                *promised = Promised(Promised::of(&bucket).0 | touched);
            }
            _ => {
                touch();
                self.put(bucket.into());
            }
        }
        Some(result)
    }

    /// With its changes told already, or not.
    #[must_use]
    pub const fn touched(mut self, is_touched: bool) -> Self {
        if is_touched && let Form::Bucket { promised, .. } = &mut self.0 {
            promised.0 |= Promised::TOUCHED;
        }
        self
    }

    /// The next change is told again. Whoever forgets that a key was touched has to call this, under the key's lock, before
    /// it reads the key for the last time.
    pub const fn untouch(&mut self) {
        if let Form::Bucket { promised, .. } = &mut self.0 {
            promised.0 &= !Promised::TOUCHED;
        }
    }

    /// True if nobody would miss it at `now`: it has gone by itself, and left no lease that somebody has to notice.
    pub fn is_dead(&self, now: Timestamp) -> bool {
        match &self.0 {
            // Asked of nearly all keys when a table is full.
            Form::Bucket {
                limit,
                promised,
                deficit_high,
                deficit_low,
                base,
            } => unpacked_bucket(limit, *promised, *deficit_high, *deficit_low, *base)
                .is_full(now, Timestamp::ZERO),
            _ => self.read(|value| value.leases() == 0 && value.is_forgettable(now)),
        }
    }

    /// Bytes that it takes outside of itself.
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Form::Whole(value) => size_of::<Value>() + value.heap_bytes(),
            _ => 0,
        }
    }
}

impl Form {
    /// The value in a few numbers; `None` if it does not fit.
    fn new(value: &Value) -> Option<Self> {
        let nothing = Promised(0);
        let mut form = match value {
            Value::Plain(plain) => match plain.expires {
                Some(_) => Self::Counter {
                    integer: 0,
                    ms: 0,
                    ns: 0,
                },
                None => Self::Integer(0),
            },
            Value::Limit(entry) => match entry.only_state()? {
                State::Bucket(bucket, None) => Self::Bucket {
                    limit: Shared::new(bucket.limit)?,
                    promised: nothing,
                    deficit_high: 0,
                    deficit_low: 0,
                    base: Timestamp::ZERO,
                },
                State::Window(window) => Self::Window {
                    limit: Shared::new(window.limit)?,
                    begin: Timestamp::ZERO,
                    place: 0,
                    used: 0,
                },
                State::Sliding(sliding) => Self::Sliding {
                    limit: Shared::new(sliding.limit)?,
                    index: 0,
                    current: 0,
                    previous: 0,
                },
                State::Empty | State::Bucket(..) | State::Log(_) | State::Leases(_) => return None,
            },
        };
        form.take_over(value).then_some(form)
    }

    /// Takes over the numbers of a value of the same form and under the same limit; false, and nothing changed, if it is
    /// another or they do not fit.
    fn take_over(&mut self, value: &Value) -> bool {
        match value {
            Value::Limit(entry) => entry
                .only_state()
                .is_some_and(|state| self.take_over_state(state)),
            Value::Plain(plain) => self.take_over_plain(plain),
        }
    }

    fn take_over_state(&mut self, state: &State) -> bool {
        match (self, state) {
            (
                Self::Bucket {
                    limit,
                    promised,
                    deficit_high,
                    deficit_low,
                    base,
                },
                State::Bucket(bucket, None),
            ) => {
                let level = bucket.level;
                let fits = bucket.undrained.is_none() && limit.is(bucket.limit);
                let (true, Ok(high)) = (fits, u32::try_from(level.deficit >> 64)) else {
                    return false;
                };
                (*deficit_high, *deficit_low) = (high, level.deficit as u64);
                (*base, *promised) = (level.base, Promised::of(bucket));
            }
            (
                Self::Window {
                    limit,
                    begin,
                    place,
                    used,
                },
                State::Window(window),
            ) => {
                let (at, count) = match window.used[..] {
                    [] => (0, 0),
                    [(at, count)] if count > 0 => (at, count),
                    _ => return false,
                };
                let (true, Ok(at)) = (limit.is(window.limit), u32::try_from(at)) else {
                    return false;
                };
                (*begin, *place, *used) = (window.begin, at, count);
            }
            (
                Self::Sliding {
                    limit,
                    index,
                    current,
                    previous,
                },
                State::Sliding(sliding),
            ) => {
                let is_same = limit.is(sliding.limit);
                let (true, Ok(before)) = (is_same, u32::try_from(sliding.previous)) else {
                    return false;
                };
                (*index, *current, *previous) = (sliding.index, sliding.current, before);
            }
            _ => return false,
        }
        true
    }

    fn take_over_plain(&mut self, plain: &Plain) -> bool {
        let number = match &plain.data {
            Data::Text(text) => text.as_integer(),
            _ => None,
        };
        match (self, number, plain.expires.map(Deadline::parts)) {
            (Self::Counter { integer, ms, ns }, Some(number), Some(expires)) => {
                (*integer, (*ms, *ns)) = (number, expires);
            }
            (Self::Integer(integer), Some(number), None) => *integer = number,
            _ => return false,
        }
        true
    }

    /// The value of a form that is not [`Form::Whole`].
    fn unpacked(&self) -> Value {
        let state = match self {
            Self::Bucket {
                limit,
                promised,
                deficit_high,
                deficit_low,
                base,
            } => {
                let bucket = unpacked_bucket(limit, *promised, *deficit_high, *deficit_low, *base);
                State::Bucket(bucket, None)
            }
            Self::Window {
                limit,
                begin,
                place,
                used,
            } => State::Window(Window {
                limit: limit.limit(),
                begin: *begin,
                used: match used {
                    0 => Used::new(),
                    _ => Used::from_buf([(u64::from(*place), *used)]),
                },
            }),
            Self::Sliding {
                limit,
                index,
                current,
                previous,
            } => State::Sliding(Sliding {
                limit: limit.limit(),
                index: *index,
                current: *current,
                previous: u64::from(*previous),
            }),
            Self::Counter { integer, ms, ns } => {
                return plain(*integer, Deadline::from_parts(*ms, *ns));
            }
            Self::Integer(integer) => return plain(*integer, None),
            Self::Whole(value) => return (**value).clone(),
        };
        Value::Limit(Entry::from(state))
    }
}

fn unpacked_bucket(
    limit: &Shared<BucketLimit>,
    promised: Promised,
    deficit_high: u32,
    deficit_low: u64,
    base: Timestamp,
) -> Bucket {
    Bucket {
        limit: limit.limit(),
        level: Level {
            deficit: u128::from(deficit_high) << 64 | u128::from(deficit_low),
            base,
        },
        promised_after_pause: promised.is(Promised::AFTER_PAUSE),
        promised_ahead: promised.is(Promised::AHEAD),
        undrained: None,
    }
}

fn plain(integer: i64, expires: Option<Deadline>) -> Value {
    Value::Plain(Plain {
        data: Data::Text(Text::from(integer)),
        expires,
    })
}

#[cfg(test)]
#[path = "packed_tests.rs"]
mod tests;
