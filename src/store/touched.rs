//! What has changed since the journal last looked: names, not values.
//!
//! Whoever changes a key touches its name here, under the lock of the key's shard and after the change. The journal
//! takes the names out and reads the keys as they are then. So a key that changes ten thousand times between two
//! looks is read once, and while the disk takes no writes the names cost no more than the keys themselves.
//!
//! Off, it costs a call one load. On, a name is copied to the end of a list, under a lock that is hardly ever contended. A
//! key that holds a bucket and nothing else knows that it stands there, see [`super::packed`]. The name of any other is
//! added each time, and a list that has doubled since is rid of what stands in it twice.

use super::key::Key;
use super::keyspace::DATABASES_MAX;
use super::records::Home;
use super::value::Value;
use crate::core::bucket::Bucket;
use crate::core::entry::State;
use ahash::RandomState;
use parking_lot::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU32, Ordering::Relaxed};

/// Parts of the names of a database, each behind its lock: many times as many as there are threads.
const STRIPES: usize = 64;

/// A list shorter than this is not looked through for names that stand in it twice.
const REPEATED_MIN: usize = 64;

/// From so many bytes on, what a list has grown or shrunk by goes into the sum of all.
const MUCH_BYTES: usize = 1024;

/// A part of the names, on a line of the processor's cache of its own.
#[derive(Default)]
#[repr(align(64))]
struct Stripe(Mutex<Names>);

/// Names, in any order.
#[derive(Default)]
struct Names {
    list: Vec<Key>,
    /// Some may stand in it twice, if it is longer than this.
    distinct: Option<usize>,
    /// Bytes of the names that have some beside their place.
    heap_bytes: usize,
    /// As much of its bytes as is in the sum of all.
    summed: usize,
}

impl Names {
    fn with_capacity(count: usize) -> Self {
        Self {
            list: Vec::with_capacity(count),
            ..Self::default()
        }
    }

    fn push(&mut self, key: Key) {
        self.heap_bytes += Key::heap_bytes(key.as_bytes());
        self.list.push(key);
    }

    fn bytes(&self) -> usize {
        self.list.capacity() * size_of::<Key>() + self.heap_bytes
    }

    /// What is to be added to the sum of all, if that is much.
    fn unsummed(&mut self) -> Option<isize> {
        let bytes = self.bytes();
        let is_much = bytes.abs_diff(self.summed) >= MUCH_BYTES;
        // A list takes less than half of what can be addressed.
        is_much.then(|| bytes as isize - std::mem::replace(&mut self.summed, bytes) as isize)
    }

    /// Adds a name that may stand here already.
    fn add_again(&mut self, key: Key) {
        self.push(key);
        let distinct = *self.distinct.get_or_insert(0);
        if self.list.len() >= REPEATED_MIN.max(2 * distinct) {
            self.make_distinct();
            self.distinct = Some(self.list.len());
        }
    }

    /// Each name stands here once.
    fn make_distinct(&mut self) {
        if self.distinct.take().is_some() {
            self.list.sort_unstable();
            self.list.dedup();
            let heap_bytes = self.list.iter().map(|key| Key::heap_bytes(key.as_bytes()));
            self.heap_bytes = heap_bytes.sum();
        }
    }
}

/// The names that were touched in each database.
pub struct Touched {
    on: AtomicBool,
    databases: [OnceLock<Box<[Stripe]>>; DATABASES_MAX as usize],
    hasher: RandomState,
    /// Bytes of the names that are noted, to within [`MUCH_BYTES`] a list.
    noted_bytes: AtomicIsize,
    /// Of those that were taken out and are being written.
    taken_bytes: AtomicIsize,
    /// What was taken out last could not be written.
    is_stuck: AtomicBool,
    /// One bit for each database that was emptied.
    emptied: AtomicU32,
    /// Where values have moved to while somebody wants to know.
    moved: Mutex<Option<Vec<Home>>>,
}

/// What a key held before a call, as far as that is cheap to keep.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Before {
    Absent,
    /// A bucket and nothing else: nearly every key.
    Bucket(Bucket),
    /// Anything else, which counts as changed.
    Other,
}

impl Before {
    fn of(value: &Value) -> Self {
        let Value::Limit(entry) = value else {
            return Self::Other;
        };
        match entry.parts() {
            _ if entry.is_waited() => Self::Other,
            ([], None, None) => Self::Absent,
            ([State::Bucket(bucket, None)], None, None) => Self::Bucket(*bucket),
            _ => Self::Other,
        }
    }
}

impl Touched {
    pub(super) fn new(hasher: RandomState) -> Self {
        Self {
            on: AtomicBool::new(false),
            databases: [const { OnceLock::new() }; DATABASES_MAX as usize],
            hasher,
            noted_bytes: AtomicIsize::new(0),
            taken_bytes: AtomicIsize::new(0),
            is_stuck: AtomicBool::new(false),
            emptied: AtomicU32::new(0),
            moved: Mutex::new(None),
        }
    }

    pub(super) fn start(&self) {
        self.on.store(true, Relaxed);
    }

    /// What a key holds before a call, to be handed to [`Self::compare`]; `None` while nobody wants to know.
    pub(super) fn look(&self, value: &Value) -> Option<Before> {
        self.on.load(Relaxed).then(|| Before::of(value))
    }

    /// Touches a key unless it certainly holds what it held before.
    pub(super) fn compare(&self, database: u8, key: &[u8], before: Option<Before>, after: &Value) {
        if let Some(before) = before
            && (before == Before::Other || before != Before::of(after))
        {
            self.touch(database, Key::new(key));
        }
    }

    /// Touches a key that has changed and will not say so again; false while nobody wants to know.
    pub(super) fn touch_once(&self, database: u8, key: &[u8], hash: u64) -> bool {
        let on = self.on.load(Relaxed);
        if on {
            self.add(database, hash, |names| names.push(Key::new(key)));
        }
        on
    }

    /// Touches a key that is taken out.
    pub(super) fn touch_if_on(&self, database: u8, key: &Key) {
        if self.on.load(Relaxed) {
            self.touch(database, key.clone());
        }
    }

    fn touch(&self, database: u8, key: Key) {
        let hash = self.hasher.hash_one(key.as_bytes());
        self.add(database, hash, |names| names.add_again(key));
    }

    fn add(&self, database: u8, hash: u64, add: impl FnOnce(&mut Names)) {
        let mut names = self.stripe(database, hash).lock();
        add(&mut names);
        if let Some(bytes) = names.unsummed() {
            self.noted_bytes.fetch_add(bytes, Relaxed);
        }
    }

    fn stripe(&self, database: u8, hash: u64) -> &Mutex<Names> {
        let stripes = self.databases[usize::from(database)]
            .get_or_init(|| (0..STRIPES).map(|_| Stripe::default()).collect());
        &stripes[(hash >> 32) as usize % STRIPES].0
    }

    /// A value is about to move to a key from another, both locked.
    pub fn moves_to(&self, database: u8, key: &[u8]) {
        if let Some(moved) = &mut *self.moved.lock() {
            moved.push((database, Key::new(key)));
        }
    }

    /// A database is being emptied, or was.
    pub(super) fn empty(&self, database: u8) {
        if self.on.load(Relaxed) {
            self.emptied.fetch_or(1 << database, Relaxed);
        }
    }

    /// From now on, moves are kept for [`Self::take_moved`].
    pub fn watch_moves(&self) {
        *self.moved.lock() = Some(Vec::new());
    }

    /// Takes out where values have moved to since the last call. If there is nothing, moves are kept no longer.
    pub fn take_moved(&self) -> Vec<Home> {
        let mut moved = self.moved.lock();
        let taken = moved.take().unwrap_or_default();
        if !taken.is_empty() {
            *moved = Some(Vec::new());
        }
        taken
    }

    /// Takes out which databases were emptied.
    pub fn take_emptied(&self) -> impl Iterator<Item = u8> + use<> {
        let emptied = self.emptied.swap(0, Relaxed);
        (0..DATABASES_MAX).filter(move |database| emptied & (1 << database) != 0)
    }

    pub(super) fn any_emptied(&self) -> bool {
        self.emptied.load(Relaxed) != 0
    }

    /// Takes out the names of a database, some at a time.
    pub fn take(&self, database: u8) -> impl Iterator<Item = Vec<Key>> + '_ {
        let stripes = self.databases[usize::from(database)].get();
        let stripes = stripes.into_iter().flat_map(|stripes| stripes.iter());
        stripes.filter_map(|Stripe(names)| {
            let count = names.lock().list.len();
            // About as many will be touched until the next time. Made here, since callers wait behind the lock.
            let room = Names::with_capacity(count);
            let mut taken = (count > 0).then(|| std::mem::replace(&mut *names.lock(), room))?;
            self.noted_bytes.fetch_sub(taken.summed as isize, Relaxed);
            self.taken_bytes.fetch_add(taken.bytes() as isize, Relaxed);
            taken.make_distinct();
            Some(taken.list)
        })
    }

    /// What was taken out has been dealt with: it `is_written`, or was put back.
    pub fn end_taking(&self, is_written: bool) {
        self.taken_bytes.store(0, Relaxed);
        self.is_stuck.store(!is_written, Relaxed);
    }

    /// About how many bytes the names take that are soon written and gone; none while nothing can be written.
    pub fn passing_bytes(&self) -> usize {
        if self.is_stuck.load(Relaxed) {
            return 0;
        }
        let bytes = self.noted_bytes.load(Relaxed) + self.taken_bytes.load(Relaxed);
        usize::try_from(bytes).unwrap_or(0)
    }

    /// Puts back what was taken out and could not be written.
    pub fn put_back(&self, database: u8, names: Vec<Key>) {
        names.into_iter().for_each(|key| self.touch(database, key));
    }

    /// Puts back that a database was emptied.
    pub fn put_back_emptied(&self, database: u8) {
        self.empty(database);
    }

    /// Forgets all that was touched.
    pub(super) fn forget(&self) {
        drop(self.take_emptied());
        for database in 0..DATABASES_MAX {
            self.take(database).for_each(drop);
        }
        self.taken_bytes.store(0, Relaxed);
    }

    /// How many names there are.
    pub(super) fn len(&self) -> usize {
        let databases = self.databases.iter().filter_map(OnceLock::get);
        let stripes = databases.flat_map(|stripes| stripes.iter());
        let len = |Stripe(names): &Stripe| {
            let mut names = names.lock();
            names.make_distinct();
            names.list.len()
        };
        stripes.map(len).sum()
    }
}

#[cfg(test)]
#[path = "touched_tests.rs"]
mod tests;
