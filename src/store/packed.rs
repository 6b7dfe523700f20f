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
use smallvec::smallvec;

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
        Self(Form::new(value, NOTHING))
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
        // Its parameters go from one to the other without being counted.
        let before = std::mem::replace(&mut self.0, NOTHING);
        self.0 = Form::new(value, before);
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

    /// The next change is told again. Whoever forgets that a key was touched has to call this, under the key's lock, before
    /// it reads the key for the last time.
    pub const fn untouch(&mut self) {
        if let Form::Bucket { promised, .. } = &mut self.0 {
            promised.0 &= !Promised::TOUCHED;
        }
    }

    /// True if nobody would miss it at `now`: it has gone by itself, and left no lease that somebody has to notice.
    pub fn is_dead(&self, now: Timestamp) -> bool {
        self.read(|value| value.leases() == 0 && value.is_forgettable(now))
    }

    /// Bytes that it takes outside of itself.
    pub fn heap_bytes(&self) -> usize {
        match &self.0 {
            Form::Whole(value) => size_of::<Value>() + value.heap_bytes(),
            _ => 0,
        }
    }
}

/// Stands for a form that is yet to come.
const NOTHING: Form = Form::Integer(0);

impl Form {
    /// Packs a value, which comes after the one in `before`.
    fn new(value: Value, before: Self) -> Self {
        match before {
            Self::Whole(mut place) => Self::of(&value, NOTHING).unwrap_or_else(|| {
                *place = value;
                Self::Whole(place)
            }),
            before => Self::of(&value, before).unwrap_or_else(|| Self::Whole(Box::new(value))),
        }
    }

    /// The value in a few numbers; `None` if it does not fit.
    fn of(value: &Value, before: Self) -> Option<Self> {
        match value {
            Value::Plain(plain) => Self::of_plain(plain),
            Value::Limit(entry) => match (entry.parts(), entry.is_waited()) {
                (([state], None, None), false) => Self::of_state(state, before),
                _ => None,
            },
        }
    }

    fn of_plain(plain: &Plain) -> Option<Self> {
        let Data::Text(text) = &plain.data else {
            return None;
        };
        let integer = text.as_integer()?;
        Some(match plain.expires.map(Deadline::parts) {
            Some((ms, ns)) => Self::Counter { integer, ms, ns },
            None => Self::Integer(integer),
        })
    }

    fn of_state(state: &State, before: Self) -> Option<Self> {
        Some(match state {
            State::Bucket(bucket, None) if bucket.undrained.is_none() => {
                let Level { deficit, base } = bucket.level;
                Self::Bucket {
                    deficit_high: u32::try_from(deficit >> 64).ok()?,
                    deficit_low: deficit as u64,
                    base,
                    promised: Promised::of(bucket),
                    limit: match before {
                        Self::Bucket { limit, .. } => limit.or_other(bucket.limit)?,
                        _ => Shared::new(bucket.limit)?,
                    },
                }
            }
            State::Window(window) => {
                let (place, used) = match window.used[..] {
                    [] => (0, 0),
                    [(place, used)] if used > 0 => (u32::try_from(place).ok()?, used),
                    _ => return None,
                };
                Self::Window {
                    begin: window.begin,
                    place,
                    used,
                    limit: match before {
                        Self::Window { limit, .. } => limit.or_other(window.limit)?,
                        _ => Shared::new(window.limit)?,
                    },
                }
            }
            State::Sliding(sliding) => Self::Sliding {
                index: sliding.index,
                current: sliding.current,
                previous: u32::try_from(sliding.previous).ok()?,
                limit: match before {
                    Self::Sliding { limit, .. } => limit.or_other(sliding.limit)?,
                    _ => Shared::new(sliding.limit)?,
                },
            },
            State::Empty | State::Bucket(..) | State::Log(_) | State::Leases(_) => return None,
        })
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
        Value::Limit(Entry::from_parts(smallvec![state], None, None))
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
