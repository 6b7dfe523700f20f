//! Keys that a client watches between `WATCH` and `EXEC`.

use super::key::Key;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// One client's watch: set once any of its keys has changed.
#[derive(Clone, Default, Debug)]
pub struct Watch(Arc<AtomicBool>);

impl Watch {
    /// True if a watched key changed.
    pub fn is_broken(&self) -> bool {
        self.0.load(Ordering::Acquire)
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
        if !watchers.iter().any(|known| Arc::ptr_eq(&known.0, &watch.0)) {
            watchers.push(watch.clone());
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub fn remove(&self, watch: &Watch) {
        let mut left = 0;
        let mut keys = self.keys.lock();
        keys.retain(|_, watchers| {
            watchers.retain(|known| !Arc::ptr_eq(&known.0, &watch.0));
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
                .for_each(|watch| watch.0.store(true, Ordering::Release));
        }
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
