//! The usual call: one key, one bucket, nothing else asked for.
//!
//! It takes the same decision as any other call ([`super::decide`], [`super::access`]), without the room that others
//! need for many keys, policies, bookings and those who wait. Whatever is not usual about a call or its key is seen
//! under the key's lock, and then nothing has happened yet and the call goes the way of all.

use super::arguments::Cursor;
use super::context::Context;
use super::counted;
use super::limits::{self, Term};
use crate::core::bucket::Bucket;
use crate::core::limit::{BucketLimit, Limit};
use crate::core::lone::Verdict;
use crate::core::units::Span;
use crate::hot::Told;
use crate::protocol::Arguments;
use crate::store::KEY_BYTES_MAX;
use smallvec::SmallVec;

/// Books `cost` on the bucket of a key, if that is all there is to it; `f` is told the verdict and the bucket
/// afterwards.
pub fn decide<R>(
    context: &mut Context<'_>,
    key: &[u8],
    limit: &BucketLimit,
    cost: u64,
    max_wait: Span,
    f: impl FnOnce(Verdict, &Bucket) -> R,
) -> Option<R> {
    if key.len() > KEY_BYTES_MAX || context.is_full {
        return None;
    }
    let (database, now) = (context.connection.database, context.now);
    let store = &context.shared.store;
    let (told, result) = store.with_bucket(database, key, limit, now, |bucket| {
        let verdict = bucket.decide_alone(limit, cost, now, max_wait)?;
        Some((told(verdict), f(verdict, bucket)))
    })?;
    counted::decision(context.tally, told);
    let hot = &context.shared.hot;
    let weight = context.connection.sampler.weigh(told, &hot.periods);
    if weight > 0 {
        hot.count(database, key, told, weight, now);
    }
    counted::in_groups(context.shared, key, None, told);
    Some(result)
}

/// What is counted of a verdict. A key that is paused is none of those that are decided here.
fn told(verdict: Verdict) -> Told {
    match verdict.granted {
        false => Told::Denied { paused: false },
        true if verdict.wait.is_zero() => Told::AT_ONCE,
        true => Told::Granted {
            wait_ms: counted::ms(verdict.wait),
            paused: false,
        },
    }
}

/// What a call as `VERB key capacity rate`, with `max_wait` behind it if the verb waits, asks for, if it is such and can be
/// read; remembered for the next one.
pub fn asked(context: &mut Context<'_>, arguments: Arguments<'_>, waits: bool) -> Option<Asked> {
    let form = if waits { Form::Reserve } else { Form::Take };
    if arguments.len() != BEGIN + form.words() {
        return None;
    }
    if let Some(asked) = context.connection.memo.find(form, arguments) {
        return Some(asked);
    }
    let mut cursor = Cursor::new(arguments);
    cursor.key().ok()?;
    let Ok(Term::Plain(Limit::Bucket(limit))) = limits::limit(&mut cursor) else {
        return None;
    };
    let max_wait = match waits {
        true => cursor.duration_or_zero("max_wait").ok()?,
        false => Span::ZERO,
    };
    cursor.finish().ok()?;
    let asked = Asked { limit, max_wait };
    context.connection.memo.keep(form, arguments, asked);
    Some(asked)
}

/// What a call asks for, but for its key and its cost.
#[derive(Clone, Copy)]
pub struct Asked {
    /// The limit.
    pub limit: BucketLimit,
    /// How long it would wait.
    pub max_wait: Span,
}

/// How the words behind the key are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `capacity rate max_wait`.
    Reserve,
    /// `capacity rate`.
    Take,
    /// `max_burst count period_s`.
    Cell,
}

/// Where the words stand that are remembered: behind the command and its key.
const BEGIN: usize = 2;

impl Form {
    const fn words(self) -> usize {
        match self {
            Self::Take => 2,
            Self::Reserve | Self::Cell => 3,
        }
    }
}

/// What a connection asked for last, and in which words: it asks for few things, and to read them takes longer than a
/// decision.
#[derive(Default)]
pub struct Memo {
    known: Option<Remembered>,
    /// These are the words of the last request.
    pub is_of_last: bool,
}

struct Remembered {
    form: Form,
    /// The words, in one piece.
    text: SmallVec<[u8; 48]>,
    /// Where each of them ends.
    ends: [usize; 3],
    asked: Asked,
}

impl Memo {
    /// What was asked for in these words.
    pub fn find(&mut self, form: Form, arguments: Arguments<'_>) -> Option<Asked> {
        let known = self.known.as_ref().filter(|known| known.form == form)?;
        if !(self.is_of_last && arguments.repeats()) {
            let mut begin = 0;
            for (at, &end) in known.ends[..form.words()].iter().enumerate() {
                if arguments.get(BEGIN + at)? != &known.text[begin..end] {
                    return None;
                }
                begin = end;
            }
            self.is_of_last = true;
        }
        Some(known.asked)
    }

    /// Remembers what was asked for, if that is not in uncommonly many words.
    pub fn keep(&mut self, form: Form, arguments: Arguments<'_>, asked: Asked) {
        let (mut text, mut ends) = (SmallVec::new(), [0; 3]);
        for (word, end) in arguments.iter().skip(BEGIN).zip(&mut ends) {
            text.extend_from_slice(word);
            *end = text.len();
        }
        let known = Remembered {
            form,
            text,
            ends,
            asked,
        };
        self.known = (!known.text.spilled()).then_some(known);
        self.is_of_last = true;
    }
}
