//! Whether there is room in memory for what a command may add: the bound of `maxmemory`.
//!
//! Asked before a command runs that may add something, where Redis asks. Far below the bound that costs two loads.
//! Near it the keys that the command names are looked at: a new one needs a place in its table, which may grow only
//! within the bound, and bytes for its name. What is missing is made up by dropping keys that lose little
//! ([`Store::evict`](crate::store::Store::evict)), a bounded number of them. If that is not enough, the command is
//! refused, or told so if it can tell by itself whether it takes more ([`Flags::CHECKS_MEMORY`]).
//!
//! Names on their way to the journal are used memory too, but no key goes for them: that it went is one name more.

use super::context::Shared;
use super::spec::{Flags, Spec};
use crate::core::units::Timestamp;
use crate::memory;
use crate::protocol::Arguments;
use crate::store::{Fit, KEY_BYTES_MAX, Key};
use smallvec::SmallVec;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Places looked at for one command or transaction whose keys have places, for the bytes that they take besides: some
/// ten microseconds, and no lock is held for all of them.
const PLACES_MAX: usize = 2_048;
/// The part of the bound that is left before commands are looked at: room for tables to grow in, each one in 512 of
/// all and twice as large as before, and for what threads have not added up yet.
const NEAR_PART: usize = 32;
/// The part of the bound that is not filled: tables do not grow into it, and names that would make room first. It is
/// for a table to be made anew in, one of 512, at most twice as large as the others, and for what is there for a moment
/// only, such as the journal's next batch.
const CALM_PART: usize = 64;
/// Bytes that are left free for names and batches on their way to the journal, at some hundred thousand new keys a second,
/// each of which may make another go. If they take more, since the thread that writes them gets no processor, new keys are
/// refused until they are written: the bound holds.
const JOURNAL_BYTES: usize = 16 * 1024 * 1024;
/// As much of a bound is left free for them at most, and for the gaps that they leave.
const JOURNAL_PART: usize = 8;
/// Bytes that a new key takes beside its place and its name, with what the allocator adds: few take more.
const NEW_KEY_BYTES: usize = 128;

/// Bytes by which tables are about to grow. Of the whole process, as what is allocated is.
static GROWING: AtomicUsize = AtomicUsize::new(0);

/// A request, for its room.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// Its row.
    pub spec: &'static Spec,
    /// Its words.
    pub arguments: Arguments<'a>,
}

impl Request<'_> {
    fn may_add(&self) -> bool {
        let flags = self.spec.flags;
        flags.has(Flags::DENYOOM) || flags.has(Flags::CHECKS_MEMORY)
    }
}

/// What was found; what it has reserved is free again when this is dropped.
pub struct Room {
    reserved: usize,
    is_full: bool,
}

impl Room {
    const PLENTY: Self = Self {
        reserved: 0,
        is_full: false,
    };

    /// Looks whether there is room for a request, and makes room where it can; `None` if there is plenty.
    #[inline]
    pub fn for_one(
        shared: &Shared,
        database: u8,
        request: Request<'_>,
        now: Timestamp,
    ) -> Option<Self> {
        let asks = is_near(shared) && request.may_add();
        asks.then(|| Self::find(shared, database, std::iter::once(request), now))
    }

    /// As [`Self::for_one`], for several that run one after the other.
    pub fn for_all<'a>(
        shared: &Shared,
        database: u8,
        requests: impl Iterator<Item = Request<'a>>,
        now: Timestamp,
    ) -> Self {
        let mut requests = requests.filter(Request::may_add).peekable();
        match requests.peek().is_some() && is_near(shared) {
            true => Self::find(shared, database, requests, now),
            false => Self::PLENTY,
        }
    }

    fn find<'a>(
        shared: &Shared,
        database: u8,
        requests: impl Iterator<Item = Request<'a>>,
        now: Timestamp,
    ) -> Self {
        let (store, bound) = (&shared.store, shared.settings.maxmemory());
        let mut bytes = 0;
        let mut coming: SmallVec<[(usize, &[u8]); 16]> = SmallVec::new();
        for Request { spec, arguments } in requests {
            for at in spec.keys.positions(arguments) {
                let key = arguments.get(at).unwrap_or_default();
                if key.len() <= KEY_BYTES_MAX && !store.holds(database, key) {
                    coming.push((store.shard_of(database, key), key));
                    bytes += Key::heap_bytes(key) + NEW_KEY_BYTES;
                }
            }
            if !spec.flags.has(Flags::CHECKS_MEMORY) {
                bytes += arguments.iter().map(<[u8]>::len).sum::<usize>();
            }
        }
        coming.sort_unstable();
        coming.dedup();
        let mut room = Self::PLENTY;
        for keys in coming.chunk_by(|(one, _), (other, _)| one == other) {
            room.make_places(shared, database, keys[0].0, keys.len(), now);
        }
        store.evict(PLACES_MAX, now, || {
            lasting_bytes(shared) + bytes <= calm(shared, bound)
        });
        // What another command takes while a table is made anew is no reason to refuse this one.
        room.is_full |= memory::used_bytes() + bytes > bound + store.renewing_bytes();
        room
    }

    /// Finds places for new keys of one shard: in its table, or in one that is larger, or by dropping others.
    fn make_places(
        &mut self,
        shared: &Shared,
        database: u8,
        shard: usize,
        count: usize,
        now: Timestamp,
    ) {
        let (store, bound) = (&shared.store, shared.settings.maxmemory());
        let Fit::Grows(bytes) = store.fit(database, shard, count) else {
            return;
        };
        let growing = GROWING.fetch_add(bytes, Relaxed) + bytes;
        if lasting_bytes(shared) + growing <= calm(shared, bound) {
            self.reserved += bytes;
            return;
        }
        GROWING.fetch_sub(bytes, Relaxed);
        let has_room = |bytes| memory::used_bytes() + bytes <= bound;
        self.is_full |= !store.make_places(database, shard, count, now, has_room);
    }

    /// True if nothing may be added.
    pub const fn is_full(&self) -> bool {
        self.is_full
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.reserved > 0 {
            GROWING.fetch_sub(self.reserved, Relaxed);
        }
    }
}

/// What is in use, but for what is soon written and gone.
fn lasting_bytes(shared: &Shared) -> usize {
    memory::used_bytes().saturating_sub(shared.store.touched.passing_bytes())
}

/// As much of a bound as is filled with what lasts. Names that were written leave gaps between those that stay, which new
/// names fill: so what is left free for names is for gaps too.
fn calm(shared: &Shared, bound: usize) -> usize {
    let passing = match shared.journal.get() {
        Some(_) => {
            let now = shared.store.touched.passing_bytes() + memory::gap_bytes();
            now.max(JOURNAL_BYTES).min(bound / JOURNAL_PART)
        }
        None => 0,
    };
    bound - passing.max(bound / CALM_PART)
}

/// True if what is in use is near the bound, or above it.
#[inline]
fn is_near(shared: &Shared) -> bool {
    let bound = shared.settings.maxmemory();
    bound > 0 && memory::used_bytes_roughly() > calm(shared, bound) - bound / NEAR_PART
}

/// True if more is in use than the bound allows, but for what is soon written and gone.
pub fn is_over(shared: &Shared) -> bool {
    let bound = shared.settings.maxmemory();
    bound > 0 && lasting_bytes(shared) > bound
}
