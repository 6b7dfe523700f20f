//! Leases run out by themselves: when the next one of each key does, and which have.

use super::key::Key;
use super::records::Home;
use crate::core::units::Timestamp;
use ahash::RandomState;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Most keys whose leases are looked at in one go: so long is nobody else let at what falls due.
const KEYS_AT_A_TIME: usize = 1_000;

type Wake = Box<dyn Fn() + Send + Sync>;

/// When leases lapse, and those that have and that nobody was told of yet. Its lock is taken under those of keys.
#[derive(Default)]
pub struct Lapses {
    schedule: Mutex<Schedule>,
    noticed: Mutex<Vec<(Home, u64)>>,
    has_noticed: AtomicBool,
    wake: OnceLock<Wake>,
}

#[derive(Default)]
struct Schedule {
    keys: HashMap<Home, Timestamp, RandomState>,
    order: BTreeSet<(Timestamp, Home)>,
    /// When the one who looks after what falls due will look next.
    looks_at: Option<Timestamp>,
}

impl Schedule {
    fn set(&mut self, home: Home, next: Option<Timestamp>) {
        let old = match next {
            Some(next) => self.keys.insert(home.clone(), next),
            None => self.keys.remove(&home),
        };
        if old == next {
            return;
        }
        if let Some(old) = old {
            self.order.remove(&(old, home.clone()));
        }
        if let Some(next) = next {
            self.order.insert((next, home));
        }
    }

    fn first(&self) -> Option<Timestamp> {
        self.order.first().map(|(at, _)| *at)
    }
}

impl Lapses {
    /// Sets what wakes the one who looks after what falls due; once, at start.
    pub fn on_due(&self, wake: impl Fn() + Send + Sync + 'static) {
        // There is one server, which starts once.
        let _ = self.wake.set(Box::new(wake));
    }

    /// The next lease of a key lapses at `next`; `None` if it holds none.
    pub(super) fn schedule(&self, database: u8, key: &[u8], next: Option<Timestamp>) {
        let mut schedule = self.schedule.lock();
        schedule.set((database, Key::new(key)), next);
        let first = schedule.first();
        let sooner = first.is_some_and(|first| schedule.looks_at.is_none_or(|at| first < at));
        if sooner {
            schedule.looks_at = first;
        }
        drop(schedule);
        if let (true, Some(wake)) = (sooner, self.wake.get()) {
            wake();
        }
    }

    /// Takes out some of the keys of which a lease has lapsed by `now`.
    pub(super) fn take_due(&self, now: Timestamp) -> Vec<Home> {
        let mut schedule = self.schedule.lock();
        let due = schedule.order.iter().take_while(|(at, _)| *at <= now);
        let homes: Vec<Home> = due
            .take(KEYS_AT_A_TIME)
            .map(|(_, home)| home.clone())
            .collect();
        homes
            .iter()
            .for_each(|home| schedule.set(home.clone(), None));
        homes
    }

    /// The instant at which the next lease lapses, and at which whoever asks looks again.
    pub fn next(&self) -> Option<Timestamp> {
        let mut schedule = self.schedule.lock();
        schedule.looks_at = schedule.first();
        schedule.looks_at
    }

    /// Leases of a key have lapsed.
    pub(super) fn notice(&self, database: u8, key: &[u8], numbers: &[u64]) {
        if numbers.is_empty() {
            return;
        }
        let home = (database, Key::new(key));
        let lapsed = numbers.iter().map(|number| (home.clone(), *number));
        self.noticed.lock().extend(lapsed);
        self.has_noticed.store(true, Relaxed);
    }

    /// Takes out those that have lapsed and that nobody was told of, in the order in which that was noticed.
    pub fn take_noticed(&self) -> Vec<(Home, u64)> {
        if !self.has_noticed.swap(false, Relaxed) {
            return Vec::new();
        }
        std::mem::take(&mut self.noticed.lock())
    }

    /// True if there may be some. A swap would take the line from the other threads, and this is asked behind each
    /// command.
    #[inline]
    pub fn has_noticed(&self) -> bool {
        self.has_noticed.load(Relaxed)
    }

    /// A database was emptied.
    pub(super) fn clear(&self, database: u8) {
        let mut schedule = self.schedule.lock();
        schedule.keys.retain(|(of, _), _| *of != database);
        schedule.order.retain(|(_, (of, _))| *of != database);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: u64) -> Timestamp {
        Timestamp::from_ns(ns).unwrap()
    }

    #[test]
    fn keys_come_due_in_order_and_once() {
        let lapses = Lapses::default();
        lapses.schedule(0, b"b", Some(at(20)));
        lapses.schedule(0, b"a", Some(at(30)));
        lapses.schedule(1, b"a", Some(at(5)));
        lapses.schedule(0, b"a", Some(at(10)));
        assert_eq!(lapses.next(), Some(at(5)));
        let home = |database, key: &[u8]| (database, Key::new(key));
        assert_eq!(lapses.take_due(at(4)), []);
        assert_eq!(lapses.take_due(at(10)), [home(1, b"a"), home(0, b"a")]);
        assert_eq!(lapses.take_due(at(10)), []);
        lapses.schedule(0, b"b", None);
        assert_eq!(lapses.next(), None);
        lapses.schedule(1, b"c", Some(at(1)));
        lapses.clear(1);
        assert_eq!(lapses.next(), None);
    }

    #[test]
    fn a_lapse_is_told_once() {
        let lapses = Lapses::default();
        lapses.notice(0, b"k", &[]);
        assert_eq!(lapses.take_noticed(), []);
        lapses.notice(0, b"k", &[7, 9]);
        let key = || (0, Key::new(b"k"));
        assert_eq!(lapses.take_noticed(), [(key(), 7), (key(), 9)]);
        assert_eq!(lapses.take_noticed(), []);
    }

    #[test]
    fn only_a_sooner_lapse_wakes() {
        use std::sync::Arc;
        use std::sync::atomic::AtomicUsize;
        let (lapses, woken) = (Lapses::default(), Arc::new(AtomicUsize::new(0)));
        let count = woken.clone();
        lapses.on_due(move || {
            count.fetch_add(1, Relaxed);
        });
        lapses.schedule(0, b"a", Some(at(10)));
        lapses.schedule(0, b"b", Some(at(20)));
        assert_eq!(woken.load(Relaxed), 1);
        lapses.schedule(0, b"c", Some(at(5)));
        assert_eq!(woken.load(Relaxed), 2);
    }
}
