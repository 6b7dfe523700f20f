//! The leases that go when their connection goes.

use super::state::Connection;
use crate::command::access::{self, At};
use crate::command::context::Shared;
use crate::command::error::Error;
use crate::core::entry::Entry;
use crate::core::units::Timestamp;
use crate::store::{Key, Store};
use crate::waiting::Keys;

/// Most leases that are bound to one connection: one by one they are looked for when it ends, which takes some
/// milliseconds then.
pub const BOUND_MAX: usize = 10_000;
/// So many are remembered before those are looked for that are held no longer.
const LOOKED_AT_MIN: usize = 64;

/// The leases that are bound to one connection. One that was released or has lapsed is forgotten when there is need
/// for its place.
#[derive(Default)]
pub struct BoundLeases {
    leases: Vec<Bound>,
    /// With so many they are looked through: twice what was left the last time, so that a lease costs no more than
    /// a few looks.
    look_at: usize,
}

/// Where a lease is.
struct Bound {
    database: u8,
    key: Key,
    number: u64,
}

impl BoundLeases {
    /// Makes sure that there is a place for one more, before its key is locked.
    ///
    /// # Errors
    /// The connection holds [`BOUND_MAX`] of them.
    pub fn make_room(
        &mut self,
        store: &Store,
        connection: u64,
        now: Timestamp,
    ) -> Result<(), Error> {
        if self.leases.len() >= self.look_at.clamp(LOOKED_AT_MIN, BOUND_MAX) {
            self.leases
                .retain(|bound| bound.is_held(store, connection, now));
            self.look_at = 2 * self.leases.len();
        }
        if self.leases.len() >= BOUND_MAX {
            return Err(Error::argument(
                "BOUND",
                "on one of at most 10000 leases of a connection",
            ));
        }
        Ok(())
    }

    /// Remembers a lease that goes with the connection.
    pub fn add(&mut self, database: u8, key: &[u8], number: u64) {
        let key = Key::new(key);
        self.leases.push(Bound {
            database,
            key,
            number,
        });
    }

    /// True if there is nothing to release.
    pub const fn is_empty(&self) -> bool {
        self.leases.is_empty()
    }

    /// Takes all out, to be released: those that are still held and still bound to it.
    fn take(&mut self) -> Vec<Bound> {
        std::mem::take(&mut self.leases)
    }
}

/// Releases the leases that are bound to a connection. How many that were.
pub fn release(shared: &Shared, connection: &mut Connection, now: Timestamp) -> u64 {
    let (mut released, client) = (0, connection.client.id);
    for lease in connection.bound.take() {
        let at = At {
            shared,
            database: lease.database,
            now,
        };
        let release = |mut keys: Keys<'_, '_>| Ok(lease.release(keys.kept()[0], client, now));
        // The key may hold a plain value by now.
        let was_held = access::change(at, &[lease.key.as_bytes()], release);
        released += u64::from(matches!(was_held, Ok(true)));
    }
    released
}

impl Bound {
    fn is_held(&self, store: &Store, connection: u64, now: Timestamp) -> bool {
        store.read(self.database, self.key.as_bytes(), now, |value| {
            let leases = value.and_then(|value| value.limit().ok()?.leases());
            let lease = leases.and_then(|leases| leases.get(self.number, now));
            lease.is_some_and(|lease| lease.bound_to == connection)
        })
    }

    /// Releases it on its key, if it is still held and still bound to the connection; true if it was.
    fn release(&self, entry: &mut Entry, connection: u64, now: Timestamp) -> bool {
        let leases = entry.leases_mut();
        leases.is_some_and(|leases| {
            let lease = leases.get(self.number, now);
            // Another connection may have asked for it again, by its id.
            let is_own = lease.is_some_and(|lease| lease.bound_to == connection);
            is_own && leases.release(self.number, now).is_some()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::leases::{Lease, LeasesLimit};
    use crate::core::limit::Limit;
    use crate::core::units::Span;

    const ME: u64 = 7;

    fn now() -> Timestamp {
        Timestamp::from_ns(1).unwrap()
    }

    fn hold(store: &Store, key: &[u8], number: u64, bound_to: u64) {
        let limit = LeasesLimit::new(100_000, Span::MAX).unwrap();
        let held = store.with_limit(0, key, now(), |entry| {
            let mut draft = entry.draft(&Limit::Leases(limit), now()).unwrap();
            let lease = Lease {
                bound_to,
                ..Lease::new(limit, now())
            };
            draft.hold(0, number, lease);
            draft.commit();
        });
        held.unwrap();
    }

    /// Takes a lease as `RL.LEASE` does.
    fn take(bound: &mut BoundLeases, store: &Store, number: u64) -> Result<(), Error> {
        bound.make_room(store, ME, now())?;
        hold(store, b"k", number, ME);
        bound.add(0, b"k", number);
        Ok(())
    }

    fn release_all(bound: &mut BoundLeases, store: &Store) -> usize {
        let released = bound.take().into_iter().filter(|bound| {
            let key = bound.key.as_bytes();
            let released = store.with_limit(bound.database, key, now(), |entry| {
                bound.release(entry, ME, now())
            });
            released.unwrap()
        });
        released.count()
    }

    #[test]
    fn only_those_are_released_that_are_bound_to_the_connection() {
        let (store, mut bound) = (Store::new(), BoundLeases::default());
        assert!(bound.is_empty());
        take(&mut bound, &store, 1).unwrap();
        take(&mut bound, &store, 2).unwrap();
        hold(&store, b"k", 3, 0);
        hold(&store, b"k", 2, ME + 1);
        assert_eq!(release_all(&mut bound, &store), 1);
        assert_eq!(store.counts.leases(), 2);
        assert!(bound.is_empty() && release_all(&mut bound, &store) == 0);
    }

    #[test]
    fn so_many_are_bound_and_no_more_until_one_has_gone() {
        let (store, mut bound) = (Store::new(), BoundLeases::default());
        for number in 1..=BOUND_MAX as u64 {
            take(&mut bound, &store, number).unwrap();
        }
        assert!(take(&mut bound, &store, 20_000).is_err());
        store.remove(0, b"other", now());
        assert!(take(&mut bound, &store, 20_000).is_err());
        let released = store.with_limit(0, b"k", now(), |entry| {
            entry.leases_mut().unwrap().release(500, now())
        });
        assert!(released.unwrap().is_some());
        take(&mut bound, &store, 20_000).unwrap();
        assert!(take(&mut bound, &store, 20_001).is_err());
        assert_eq!(release_all(&mut bound, &store), BOUND_MAX);
        assert_eq!(store.counts.leases(), 0);
    }

    #[test]
    fn those_that_are_gone_are_forgotten() {
        let (store, mut bound) = (Store::new(), BoundLeases::default());
        take(&mut bound, &store, 1).unwrap();
        for number in 2..=10_000 {
            take(&mut bound, &store, number).unwrap();
            let released = store.with_limit(0, b"k", now(), |entry| {
                entry.leases_mut().unwrap().release(number, now())
            });
            assert!(released.unwrap().is_some());
            assert!(bound.leases.len() <= LOOKED_AT_MIN);
        }
        assert_eq!(release_all(&mut bound, &store), 1);
    }
}
