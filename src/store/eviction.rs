//! Keys that go before their time, so that others have room.
//!
//! What goes is what [`Value::loss`] lets go: keys that have gone by themselves and that nobody has noticed yet, then
//! limits of which at most a quarter is taken, the fullest first. Which of them are the fullest is told from some
//! places of a table, and not from all keys, so that a step takes a bounded time.
//!
//! There are three ways. [`Store::evict`] is for bytes that names and values take: a key here and there.
//! [`Store::make_places`] is for a new key whose table is full and must not grow. [`Store::thin`] makes tables
//! smaller.

use super::key::Key;
use super::keyspace::{DATABASES_MAX, Store, Sweep};
use super::shard::{SHARDS, Shards, Step};
use super::table::Fill;
use super::value::Value;
use crate::core::loss::Loss;
use crate::core::units::Timestamp;
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Places of a window, of which those go that lose least: looked at in a few microseconds, during which a shard is
/// locked.
const WINDOW_PLACES: usize = 128;
/// Of the keys of a window that may go, at most one in so many does.
const GO_OF: usize = 4;
/// Places from which is told what may go from a table, and how much would be lost by it: some ten microseconds.
const SAMPLE_PLACES: usize = 1_024;
/// Places from which keys are dropped under one hold of the lock.
const STEP_PLACES: usize = 2_000;
/// One in so many places of a full table is made free at once: a table is then made anew for every eighth of its
/// keys that is new, which costs each of those some hundred nanoseconds.
const FREED_PART: usize = 8;
/// A table is not made anew for less than one place in so many.
const FREED_PART_MIN: usize = 64;
/// Most places that are left free for keys that come at the same time.
const SPARE_PLACES_MAX: usize = 32;
/// Bytes of an empty database: that of its shards, before they hold anything.
const DATABASE_BYTES: usize = 64 * SHARDS;

/// Where eviction goes on.
#[derive(Default)]
pub struct Eviction {
    hand: Mutex<Sweep>,
    /// As the hand, for the places of one shard.
    place: AtomicUsize,
    /// Held while a table is made anew, so that there is one at a time beside what it replaces.
    renewing: Mutex<()>,
    renewing_bytes: AtomicUsize,
}

/// How new keys fit into the table of a shard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fit {
    /// There are places for them.
    Has,
    /// The table would be exchanged for one of so many bytes.
    Grows(usize),
}

impl Fill {
    /// True if `count` new keys fit in, and a few others that come at the same time.
    fn has(self, count: usize) -> bool {
        count + (self.keys_max / FREED_PART_MIN).min(SPARE_PLACES_MAX) <= self.free
    }

    fn fit(self, count: usize) -> Fit {
        if self.has(count) {
            return Fit::Has;
        }
        Fit::Grows(self.grown_bytes(count))
    }

    /// Places of keys that were dropped and that only a new table has free.
    fn stale(self) -> usize {
        self.keys_max - self.keys - self.free
    }
}

/// How far [`Store::thin`] has come. Hand it back for the next step.
#[derive(Clone, Copy, Default, Debug)]
pub struct Thinning {
    at: Sweep,
    /// Keys dropped from the shard since its beginning was passed.
    dropped: usize,
    /// Something has gone in this round.
    gained: bool,
    /// The last step ended a round in which nothing went.
    pub is_stuck: bool,
}

impl Store {
    /// True if the key has a place in its table, also if it has gone by itself and nobody has noticed.
    pub fn holds(&self, database: u8, key: &[u8]) -> bool {
        let shards = self.existing(database);
        shards.is_some_and(|shards| shards.read(key, |value| value.is_some()))
    }

    /// The shard of a key; 0 while the database is not there.
    pub fn shard_of(&self, database: u8, key: &[u8]) -> usize {
        self.existing(database)
            .map_or(0, |shards| shards.shard_of_key(key))
    }

    /// How `count` new keys would fit into the table of a shard.
    pub fn fit(&self, database: u8, shard: usize, count: usize) -> Fit {
        match self.existing(database) {
            Some(shards) => shards.fill(shard).fit(count),
            None => Fit::Grows(DATABASE_BYTES),
        }
    }

    /// Makes places for `count` new keys in the table of a shard, without a larger one: drops an eighth of its keys,
    /// those that lose least, and makes it anew, if `has_room` for so many bytes meanwhile. False if too few may go.
    pub fn make_places(
        &self,
        database: u8,
        shard: usize,
        count: usize,
        now: Timestamp,
        has_room: impl FnOnce(usize) -> bool,
    ) -> bool {
        let Some(shards) = self.existing(database) else {
            return false;
        };
        let _renewing = self.eviction.renewing.lock();
        shards.settle(shard);
        let table = shards.fill(shard);
        let bytes = table.bytes();
        // Others may have made them meanwhile.
        if table.has(count) || !has_room(bytes) {
            return table.has(count);
        }
        let wanted = (table.keys_max / FREED_PART).max(count + 1);
        let missing = wanted.saturating_sub(table.free + table.stale());
        if missing > 0 {
            self.drop_fullest(database, shards, shard, missing, now);
        }
        let table = shards.fill(shard);
        let least = (table.keys_max / FREED_PART_MIN).max(count);
        if !table.has(count) && table.stale() > 0 && table.free + table.stale() >= least {
            self.eviction.renewing_bytes.store(bytes, Relaxed);
            shards.renew(shard);
            self.eviction.renewing_bytes.store(0, Relaxed);
        }
        shards.fill(shard).has(count)
    }

    /// Bytes that are used for a moment, since a table is made anew.
    pub fn renewing_bytes(&self) -> usize {
        self.eviction.renewing_bytes.load(Relaxed)
    }

    /// Drops up to `most` keys of a shard that lose least, as far as that can be told from a sample; nothing if too
    /// few may go for a table to be made anew.
    fn drop_fullest(
        &self,
        database: u8,
        shards: &Shards,
        shard: usize,
        most: usize,
        now: Timestamp,
    ) {
        let places = shards.fill(shard).places;
        let begin = self.eviction.place.fetch_add(SAMPLE_PLACES, Relaxed) % places;
        let mut sample = Vec::new();
        let looked = self.look(database, shard, begin, SAMPLE_PLACES, now, &mut sample);
        let go = sample.len() * places / looked.max(1);
        if sample.is_empty() || go * FREED_PART_MIN < places.min(most * FREED_PART_MIN) {
            return;
        }
        let quantile = (sample.len() * most).div_ceil(go).min(sample.len());
        let (_, &mut largest, _) = sample.select_nth_unstable(quantile.max(1) - 1);
        let (mut left, mut looked, mut place) = (most, 0, begin);
        while left > 0 && looked < places {
            let step = self.drop(database, shard, place, STEP_PLACES, largest, left, now);
            looked += step.looked.max(1);
            left -= step.dropped;
            place = step.next.unwrap_or(0);
        }
    }

    /// Drops keys wherever the hand stands until it is `enough`, looking at no more than `budget` places; how many went.
    pub fn evict(&self, budget: usize, now: Timestamp, enough: impl Fn() -> bool) -> usize {
        let (mut looked, mut dropped) = (0, 0);
        while looked < budget && !enough() {
            let at = *self.eviction.hand.lock();
            let step = self.evict_window(at.database as u8, at.shard, at.place, WINDOW_PLACES, now);
            looked += step.looked.max(1);
            dropped += step.dropped;
            let mut next = at;
            self.pass(&mut next, step.next);
            // Others may have moved it meanwhile: then it goes on from there.
            let mut hand = self.eviction.hand.lock();
            if *hand == at {
                *hand = next;
            }
            if next.rounds > at.rounds {
                break;
            }
        }
        dropped
    }

    /// Makes tables smaller: drops keys of one shard until its table can be replaced by one of half the size or no
    /// more of them may go, then goes on with the next. One window of `budget` places a step.
    pub fn thin(&self, mut thinning: Thinning, budget: usize, now: Timestamp) -> Thinning {
        let Sweep {
            database,
            shard,
            place,
            rounds,
            ..
        } = thinning.at;
        let step = self.evict_window(database as u8, shard, place, budget, now);
        thinning.dropped += step.dropped;
        thinning.gained |= step.dropped > 0;
        thinning.is_stuck = false;
        let mut next = step.next;
        if next.is_none()
            && let Some(shards) = self.existing(database as u8)
        {
            let shrunk = shards.shrink(shard);
            thinning.gained |= shrunk;
            if thinning.dropped > 0 && !shrunk {
                next = Some(0);
            }
            thinning.dropped = 0;
        }
        self.pass(&mut thinning.at, next);
        if thinning.at.rounds > rounds {
            thinning.is_stuck = !std::mem::take(&mut thinning.gained);
        }
        thinning
    }

    /// Steps to `place` of the same shard, or to the next one of a database that there is.
    fn pass(&self, at: &mut Sweep, place: Option<usize>) {
        match place {
            Some(place) => at.place = place,
            None => (at.shard, at.place) = (at.shard + 1, 0),
        }
        while at.shard >= self.shards() || self.existing(at.database as u8).is_none() {
            (at.database, at.shard, at.place) = (at.database + 1, 0, 0);
            if at.database == usize::from(DATABASES_MAX) {
                (at.database, at.rounds) = (0, at.rounds + 1);
                break;
            }
        }
    }

    /// Drops of `budget` places of a shard some of those keys that lose least.
    fn evict_window(
        &self,
        database: u8,
        shard: usize,
        place: usize,
        budget: usize,
        now: Timestamp,
    ) -> Step {
        let mut losses: SmallVec<[Loss; WINDOW_PLACES]> = SmallVec::new();
        self.look(database, shard, place, budget, now, &mut losses);
        let gone = losses.iter().filter(|loss| **loss == Loss::NONE).count();
        let most = gone + (losses.len() - gone).div_ceil(GO_OF);
        let largest = match most.checked_sub(1) {
            Some(last) => *losses.select_nth_unstable(last).1,
            None => Loss::NONE,
        };
        self.drop(database, shard, place, budget, largest, most, now)
    }

    /// What would be lost with each key in `budget` places of a shard that may go; how many places there were.
    fn look(
        &self,
        database: u8,
        shard: usize,
        place: usize,
        budget: usize,
        now: Timestamp,
        losses: &mut impl Extend<Loss>,
    ) -> usize {
        let Some(shards) = self.existing(database) else {
            return 0;
        };
        let loss = self.losses(database, now);
        let step = shards.sweep(shard, place, budget, |key, value| {
            self.lapse(database, key.as_bytes(), value, now);
            losses.extend(loss(key, value));
            false
        });
        step.looked
    }

    /// Drops from `budget` places of a shard up to `most` keys that lose no more than `largest`.
    #[expect(clippy::too_many_arguments, reason = "a place, a bound and an instant")]
    fn drop(
        &self,
        database: u8,
        shard: usize,
        place: usize,
        budget: usize,
        largest: Loss,
        most: usize,
        now: Timestamp,
    ) -> Step {
        let Some(shards) = self.existing(database) else {
            return Step::NOTHING;
        };
        let (loss, mut left, mut evicted) = (self.losses(database, now), most, 0);
        let step = shards.sweep(shard, place, budget, |key, value| {
            self.lapse(database, key.as_bytes(), value, now);
            let loss = loss(key, value).filter(|loss| left > 0 && *loss <= largest);
            left -= usize::from(loss.is_some());
            if loss.is_some_and(|loss| loss > Loss::NONE) {
                evicted += 1;
                // One that has gone by itself is gone after a restart too.
                self.touched.touch_if_on(database, key);
            }
            loss.is_some()
        });
        self.counts.evicted(evicted);
        step
    }

    /// What would be lost with a key; `None` if it must stay.
    fn losses(&self, database: u8, now: Timestamp) -> impl Fn(&Key, &Value) -> Option<Loss> {
        let holds = self.watches.any() || self.records.any();
        move |key, value| {
            let loss = value.loss(now)?;
            let stays = holds && loss > Loss::NONE && self.is_held(database, key.as_bytes());
            (!stays).then_some(loss)
        }
    }

    /// True if there is a ticket or an answer to remember of a key, or somebody watches it.
    fn is_held(&self, database: u8, key: &[u8]) -> bool {
        self.records.knows(database, key) || self.watches.is_watched(database, key)
    }
}

#[cfg(test)]
#[path = "eviction_tests.rs"]
mod tests;
