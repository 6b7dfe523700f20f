//! Who waits on the server, and how they are answered.

use super::context::{Context, Shared};
use super::error::Error;
use super::replay;
use crate::clients::{Client, GrantedLease};
use crate::core::units::Timestamp;
use crate::metrics::Tally;
use crate::protocol::Arguments;
use crate::store::Home;
use crate::waiting::{Go, Waiting, Wish};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use super::caller::error_reply;
pub use super::caller::{Asked, Caller};

/// Things that are done under one hold of the lock: some milliseconds, with as many callers going at once.
const FIRED_AT_A_TIME: usize = 1_000;

type Wake = Box<dyn Fn() + Send + Sync>;

/// All who wait.
#[derive(Default)]
pub struct Waiters {
    desk: Mutex<Desk>,
    /// Who has gone, and when, and has not been taken out yet.
    gone: Mutex<Vec<(Arc<Client>, Timestamp)>>,
    count: AtomicUsize,
    wake: OnceLock<Wake>,
}

/// All who wait, while nobody else sees them.
#[derive(Default)]
pub struct Desk {
    /// Where they stand.
    pub waiting: Waiting<Caller>,
    /// The places of those whose request has an id.
    ids: HashMap<(Home, Box<[u8]>), u64>,
    /// When the one who looks after what falls due will look next.
    looks_at: Option<Timestamp>,
}

/// What becomes of a call that would wait.
pub enum Arrival {
    /// It waits; the answer comes later.
    Waits,
    /// Its reply.
    Answered(Vec<u8>),
    /// The same request was granted just now: whoever asks again is told.
    Known,
}

impl Waiters {
    /// Sets what wakes the one who looks after what falls due, and calls [`Self::fire`] then; once, at start.
    pub fn on_due(&self, wake: impl Fn() + Send + Sync + 'static) {
        // There is one server, which starts once.
        let _ = self.wake.set(Box::new(wake));
    }

    fn wake_up(&self) {
        if let Some(wake) = self.wake.get() {
            wake();
        }
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// True if nobody waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many keys somebody waits at.
    pub fn keys(&self) -> usize {
        self.desk.lock().waiting.keys()
    }

    /// The keys at which most wait, and how many those are.
    pub fn busiest(&self, count: usize) -> Vec<(Home, usize)> {
        self.desk.lock().waiting.busiest(count)
    }

    /// Does something with all who wait. Those whose wait ends meanwhile are answered afterwards.
    pub fn with<R>(
        &self,
        shared: &Shared,
        f: impl FnOnce(&mut Desk, &mut Go<'_, Caller>) -> R,
    ) -> R {
        let mut desk = self.desk.lock();
        let go: &mut Go<'_, Caller> = &mut |caller, turn| caller.turn(shared, turn);
        for (client, at) in std::mem::take(&mut *self.gone.lock()) {
            desk.withdraw(shared, &client, at, go);
            // It may have gone in the moment in which a lease was granted to it.
            if let Some(lease) = client.granted_lease.lock().take() {
                desk.release(shared, &lease, at, go);
            }
        }
        let result = f(&mut desk, go);
        let ended = desk.waiting.take_ended();
        ended.iter().for_each(|caller| desk.forget_id(caller));
        self.count.store(desk.waiting.len(), Relaxed);
        let next = desk.waiting.next();
        let sooner = next.is_some_and(|next| desk.looks_at.is_none_or(|looks_at| next < looks_at));
        if sooner {
            desk.looks_at = next;
        }
        drop(desk);
        if sooner {
            self.wake_up();
        }
        let mut tally = Tally::default();
        ended
            .into_iter()
            .for_each(|caller| caller.deliver(shared, &mut tally));
        shared.metrics.add(&tally);
        result
    }

    /// Does what is due at `now`; when to look next.
    pub fn fire(&self, shared: &Shared, now: Timestamp) -> Option<Timestamp> {
        loop {
            let (more, next) = self.with(shared, |desk, go| {
                let more = desk.waiting.fire(&shared.store, now, FIRED_AT_A_TIME, go);
                desk.looks_at = desk.waiting.next();
                (more, desk.looks_at)
            });
            if !more {
                return next;
            }
        }
    }

    /// Takes a client out whose wait is ended by somebody else; nothing is spent.
    pub fn withdraw(&self, shared: &Shared, client: &Client, now: Timestamp) -> bool {
        client.waits_at.load(Relaxed) != 0
            && self.with(shared, |desk, go| desk.withdraw(shared, client, now, go))
    }

    /// A client has gone at `now`. It is taken out with those who go at the same time, before anybody does anything
    /// else with who waits.
    pub fn gone(&self, client: Arc<Client>, now: Timestamp) {
        let first = {
            let mut gone = self.gone.lock();
            gone.push((client, now));
            gone.len() == 1
        };
        if first {
            self.wake_up();
        }
    }

    /// As [`Self::withdraw`], with an error for its answer.
    pub fn unblock(&self, shared: &Shared, client: &Client, error: &Error, now: Timestamp) -> bool {
        let withdrawn = self.withdraw(shared, client, now);
        if withdrawn {
            client.answer(error_reply(error));
        }
        withdrawn
    }

    /// Ends a client's wait as its deadline would; false if it does not wait.
    pub fn time_out(&self, shared: &Shared, client: &Client, now: Timestamp) -> bool {
        let place = client.waits_at.load(Relaxed);
        place != 0
            && self.with(shared, |desk, go| {
                desk.is_of(place, client) && desk.waiting.give_up(&shared.store, place, now, go)
            })
    }

    /// Takes all out with an error for their answer: the server stops.
    pub fn unblock_all(&self, error: &Error) {
        let mut desk = self.desk.lock();
        self.gone.lock().clear();
        let all = desk.waiting.withdraw_all();
        *desk = Desk::default();
        drop(desk);
        self.count.store(0, Relaxed);
        all.into_iter().for_each(|caller| caller.refuse(error));
    }

    /// Lets a caller wait, or go at once.
    ///
    /// # Errors
    /// It must not wait; an id of another request. Nothing has changed then.
    pub fn arrive(
        &self,
        context: &Context<'_>,
        wish: Wish<Caller>,
        arguments: Arguments<'_>,
    ) -> Result<Arrival, Error> {
        let (shared, now) = (context.shared, context.now);
        let client = &context.connection.client;
        self.with(shared, |desk, go| {
            let store = &shared.store;
            let named = wish.caller.named();
            if let Some((home, id)) = &named {
                let (database, key) = (home.0, home.1.as_bytes());
                let homes = std::slice::from_ref(home);
                desk.waiting.settle(store, homes, now, go);
                if replay::recall(store, database, key, id, arguments, now)?.is_some() {
                    return Ok(Arrival::Known);
                }
            }
            let held = named.as_ref().and_then(|named| desk.ids.get(named));
            let place = match held.copied() {
                Some(place) => Some(desk.take_over(place, wish, now)?),
                None => desk.waiting.arrive(store, wish, now, go)?,
            };
            let Some(place) = place else {
                // Others may have gone before it; they are answered like those whose wait ends at any time.
                let own = desk.waiting.take_ended_if(|caller| caller.is_of(client));
                let mut tally = Tally::default();
                let answer = own.map(|own| own.into_answer(shared, &mut tally));
                shared.metrics.add(&tally);
                return Ok(Arrival::Answered(answer.unwrap_or_default()));
            };
            if let Some(named) = named {
                desk.ids.insert(named, place);
            }
            client.waits_at.store(place, Relaxed);
            Ok(Arrival::Waits)
        })
    }
}

impl Desk {
    fn is_of(&self, place: u64, client: &Client) -> bool {
        let caller = self.waiting.caller(place);
        caller.is_some_and(|caller| caller.is_of(client))
    }

    fn withdraw(
        &mut self,
        shared: &Shared,
        client: &Client,
        now: Timestamp,
        go: &mut Go<'_, Caller>,
    ) -> bool {
        let place = client.waits_at.load(Relaxed);
        let waits = self.is_of(place, client);
        let caller = waits
            .then(|| self.waiting.withdraw(&shared.store, place, now, go))
            .flatten();
        if let Some(caller) = &caller {
            client.waits_at.store(0, Relaxed);
            self.forget_id(caller);
        }
        caller.is_some()
    }

    fn release(
        &mut self,
        shared: &Shared,
        lease: &GrantedLease,
        now: Timestamp,
        go: &mut Go<'_, Caller>,
    ) {
        let (store, database, keys) = (&shared.store, lease.database, [&*lease.key]);
        let released = self
            .waiting
            .change(store, database, &keys, now, go, |mut keys| {
                let leases = keys.kept()[0].leases_mut();
                leases.and_then(|leases| leases.release(lease.number, now))
            });
        let mut tally = Tally::default();
        tally.writes += u64::from(matches!(released, Ok(Some(_))));
        shared.metrics.add(&tally);
    }

    fn forget_id(&mut self, caller: &Caller) {
        if let Some(named) = caller.named() {
            self.ids.remove(&named);
        }
    }

    /// A request that waits is sent again: the new caller has the place of the old one.
    fn take_over(&mut self, place: u64, wish: Wish<Caller>, now: Timestamp) -> Result<u64, Error> {
        const TAKEN: &str = "UNBLOCKED another connection has sent the request with this ID again and waits in this one's place";
        let Some(before) = self.waiting.caller(place) else {
            return Ok(place);
        };
        let caller = wish.caller.in_place_of(before)?;
        if let Some(before) = self.waiting.replace(place, caller, wish.deadline, now) {
            before.refuse(&Error::redis(TAKEN));
        }
        Ok(place)
    }
}
