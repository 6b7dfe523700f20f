//! The usual call: one key, one bucket, nothing else asked for.
//!
//! It takes the same decision as any other call ([`super::decide`], [`super::access`]), without the room that others
//! need for many keys, policies, bookings and those who wait. Whatever is not usual about a call or its key is seen
//! under the key's lock, and then nothing has happened yet and the call goes the way of all.

use super::arguments::Cursor;
use super::context::Context;
use super::limits;
use crate::core::bucket::Bucket;
use crate::core::limit::{BucketLimit, Limit};
use crate::core::lone::Verdict;
use crate::core::units::Span;
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
    let (granted, result) = store.with_bucket(database, key, limit, now, |bucket| {
        let verdict = bucket.decide_alone(limit, cost, now, max_wait)?;
        Some((verdict.granted, f(verdict, bucket)))
    })?;
    context.tally.granted += u64::from(granted);
    context.tally.denied += u64::from(!granted);
    Some(result)
}

/// The limit of a call as `VERB key capacity rate`, if it is such and can be read; remembered for the next one.
pub fn bucket_limit(context: &mut Context<'_>, arguments: Arguments<'_>) -> Option<BucketLimit> {
    let memo = &mut context.connection.memo;
    if let Some(limit) = memo.find(arguments, 2) {
        return Some(limit);
    }
    let mut cursor = Cursor::new(arguments);
    cursor.key().ok()?;
    match limits::limit(&mut cursor) {
        Ok(limits::Term::Plain(Limit::Bucket(limit))) if cursor.index() == 4 => {
            memo.keep(arguments, 2, limit);
            Some(limit)
        }
        _ => None,
    }
}

/// The parameters that a connection named last, and the words in which it did: it names few, and reading them takes
/// longer than a decision.
#[derive(Default)]
pub struct Memo {
    words: SmallVec<[Word; 3]>,
    limit: Option<BucketLimit>,
}

/// As long as the words of most limits are.
type Word = SmallVec<[u8; 16]>;

/// Where the parameters stand: behind the command and its key.
const BEGIN: usize = 2;

impl Memo {
    /// The limit, if the `count` words of it are those.
    pub fn find(&self, arguments: Arguments<'_>, count: usize) -> Option<BucketLimit> {
        let same = |(at, word): (usize, &Word)| arguments.get(BEGIN + at) == Some(word);
        if self.words.len() == count && self.words.iter().enumerate().all(same) {
            self.limit
        } else {
            None
        }
    }

    /// Remembers what `count` words say.
    pub fn keep(&mut self, arguments: Arguments<'_>, count: usize, limit: BucketLimit) {
        let words = arguments.iter().skip(BEGIN).take(count);
        self.words = words.map(Word::from_slice).collect();
        self.limit = Some(limit);
    }
}
