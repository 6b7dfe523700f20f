//! Keys that a client watches between `WATCH` and `EXEC`.
//!
//! A key has changed when it holds something else. That a plain value's time is over is such a change too, though
//! nobody makes it: so a watch knows the first time that it saw. If the key has got another one since, it has changed
//! anyway.

use super::key::Key;
use crate::core::units::Timestamp;
use crate::plain::Deadline;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// One client's watch: broken once any of its keys has changed.
#[derive(Clone, Default, Debug)]
pub struct Watch {
    changed: Arc<AtomicBool>,
    /// When the first of its keys goes.
    ends: Option<Deadline>,
}

impl Watch {
    /// True if a watched key has changed.
    pub fn is_broken(&self, now: Timestamp) -> bool {
        self.changed.load(Ordering::Acquire) || self.ends.is_some_and(|ends| ends.is_past(now))
    }

    /// A watched key goes by itself then.
    pub(super) fn ends_at(&mut self, deadline: Deadline) {
        self.ends = Some(self.ends.map_or(deadline, |ends| ends.min(deadline)));
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.changed, &other.changed)
    }
}

/// Who watches what. Costs a call one load while nobody does.
#[derive(Default)]
pub struct Watches {
    count: AtomicUsize,
    keys: Mutex<HashMap<(u8, Key), Vec<Watch>>>,
}

impl Watches {
    /// True if anything is watched.
    pub fn any(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    pub fn add(&self, database: u8, key: &[u8], watch: &Watch) {
        let mut keys = self.keys.lock();
        let watchers = keys.entry((database, Key::new(key))).or_default();
        if !watchers.iter().any(|known| known.is(watch)) {
            watchers.push(watch.clone());
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn remove(&self, watch: &Watch) {
        let mut left = 0;
        let mut keys = self.keys.lock();
        keys.retain(|_, watchers| {
            watchers.retain(|known| !known.is(watch));
            left += watchers.len();
            !watchers.is_empty()
        });
        self.count.store(left, Ordering::Relaxed);
    }

    /// A key changed: its watchers' transactions will not run.
    pub fn touch(&self, database: u8, key: &[u8]) {
        if let Some(watchers) = self.keys.lock().get(&(database, Key::new(key))) {
            watchers
                .iter()
                .for_each(|watch| watch.changed.store(true, Ordering::Release));
        }
    }

    /// True if somebody watches the key.
    pub fn is_watched(&self, database: u8, key: &[u8]) -> bool {
        self.any() && self.keys.lock().contains_key(&(database, Key::new(key)))
    }

    /// The keys of `database` that somebody watches.
    pub fn watched(&self, database: u8) -> Vec<Key> {
        self.keys
            .lock()
            .keys()
            .filter(|(of, _)| *of == database)
            .map(|(_, key)| key.clone())
            .collect()
    }
}
