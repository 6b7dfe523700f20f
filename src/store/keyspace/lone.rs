//! The short way to a key that holds one bucket and nothing else.

use super::Store;
use crate::core::bucket::Bucket;
use crate::core::limit::BucketLimit;
use crate::core::units::Timestamp;

impl Store {
    /// Has the processor fetch what it will look at when these keys are called, as most first arguments are; see
    /// [`super::super::outline`].
    pub fn fetch<'a>(&self, database: u8, keys: impl Iterator<Item = &'a [u8]>) {
        if let Some(shards) = self.existing(database) {
            shards.fetch(keys);
        }
    }

    /// Calls `f` with the bucket of a key that holds nothing else, a full one under `limit` if the key does not exist.
    /// `None` for any other key, while anybody watches any key, and if `f` says so: then the bucket must be as it was.
    /// A bucket that has become full is given to `f` as it stands.
    pub fn with_bucket<R>(
        &self,
        database: u8,
        key: &[u8],
        limit: &BucketLimit,
        now: Timestamp,
        f: impl FnOnce(&mut Bucket) -> Option<R>,
    ) -> Option<R> {
        if self.watches.any() {
            return None;
        }
        let begin = || Bucket::new(*limit, now);
        let touch = |hash| self.touched.touch_once(database, key, hash);
        self.database(database)
            .write_bucket(key, now, begin, f, touch)
    }
}
