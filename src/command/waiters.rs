//! Who waits on the server, and how they are answered.

use super::context::{Context, Shared};
use super::decide::{NO_TICKET, parts, rows};
use super::error::Error;
use super::outcome::{Outcome, write_numbers};
use super::replay;
use super::rules::{Call, Rule};
use crate::clients::Client;
use crate::core::decision::Earliest;
use crate::core::joint::{Ask, Joint};
use crate::core::timeline::Slot;
use crate::core::units::{Span, Timestamp, Wait};
use crate::metrics::Tally;
use crate::protocol::{Arguments, Protocol, Reply};
use crate::store::{Home, Key, Ticket};
use crate::waiting::{Ending, Go, Turn, Waiting, Want, Wish};
use parking_lot::Mutex;
use smallvec::SmallVec;
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

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

/// A caller who waits.
pub struct Caller {
    client: Arc<Client>,
    protocol: Protocol,
    database: u8,
    arrived: Timestamp,
    info: bool,
    ticket: Option<Span>,
    id: Option<Box<[u8]>>,
    /// The words of its request, as a number.
    request: u64,
    /// The key that ticket and id belong to.
    key: Key,
    /// Its answer, once it has one.
    answer: Vec<u8>,
    went: bool,
}

/// What becomes of a call of `RL.ACQUIRE`.
pub enum Acquired {
    /// It waits; the answer comes later.
    Waits,
    /// Its reply.
    Answered(Vec<u8>),
}

impl Waiters {
    /// Sets what wakes the one who looks after what falls due, and calls [`Self::fire`] then; once, at start.
    pub fn on_due(&self, wake: impl Fn() + Send + Sync + 'static) {
        // There is one server, which starts once.
        let _ = self.wake.set(Box::new(wake));
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
        if sooner && let Some(wake) = self.wake.get() {
            wake();
        }
        let mut tally = Tally::default();
        for caller in ended {
            caller.count(&mut tally);
            caller.client.waits_at.store(0, Relaxed);
            caller.client.answer(caller.answer);
        }
        shared.metrics.add(tally);
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

    /// Takes a client out that has gone; nothing is spent.
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
        if first && let Some(wake) = self.wake.get() {
            wake();
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
        for caller in all {
            caller.client.waits_at.store(0, Relaxed);
            caller.client.answer(error_reply(error));
        }
    }

    /// Lets a call wait, or go at once.
    ///
    /// # Errors
    /// It must not wait; an id of another request. Nothing has changed then.
    pub fn acquire(
        &self,
        context: &Context<'_>,
        arguments: Arguments<'_>,
        call: &Call<'_>,
    ) -> Result<Acquired, Error> {
        let (shared, now) = (context.shared, context.now);
        let client = &context.connection.client;
        let wish = wish(context, arguments, call);
        self.with(shared, |desk, go| {
            let (store, caller) = (&shared.store, &wish.caller);
            let home = (wish.database, caller.key.clone());
            let named = caller.id.clone().map(|id| (home.clone(), id));
            if let Some((home, id)) = &named {
                desk.waiting
                    .settle(store, std::slice::from_ref(home), now, go);
                let key = home.1.as_bytes();
                if let Some(outcome) =
                    replay::outcome(store, home.0, key, id, arguments, call, now)?
                {
                    return Ok(Acquired::Answered(caller.reply(&outcome, &call.rules)));
                }
            }
            let place = named
                .as_ref()
                .and_then(|named| desk.ids.get(named))
                .copied();
            let place = match place {
                Some(place) => Some(desk.take_over(place, wish, now)?),
                None => desk.waiting.arrive(store, wish, now, go)?,
            };
            let Some(place) = place else {
                let own = |caller: &Caller| caller.client.id == client.id;
                let own = desk.waiting.take_ended_if(own);
                let mut tally = Tally::default();
                own.iter().for_each(|own| own.count(&mut tally));
                shared.metrics.add(tally);
                let answer = own.map_or_else(Vec::new, |own| own.answer);
                return Ok(Acquired::Answered(answer));
            };
            if let Some(named) = named {
                desk.ids.insert(named, place);
            }
            client.waits_at.store(place, Relaxed);
            Ok(Acquired::Waits)
        })
    }
}

impl Desk {
    fn is_of(&self, place: u64, client: &Client) -> bool {
        let caller = self.waiting.caller(place);
        caller.is_some_and(|caller| caller.client.id == client.id)
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

    fn forget_id(&mut self, caller: &Caller) {
        if let Some(id) = &caller.id {
            let home = (caller.database, caller.key.clone());
            self.ids.remove(&(home, id.clone()));
        }
    }

    /// A request that waits is sent again: the new caller has the place of the old one.
    fn take_over(&mut self, place: u64, wish: Wish<Caller>, now: Timestamp) -> Result<u64, Error> {
        let mut caller = wish.caller;
        let before = self.waiting.caller(place);
        if before.is_some_and(|before| before.request != caller.request) {
            return Err(replay::ANOTHER_REQUEST);
        }
        caller.arrived = before.map_or(now, |before| before.arrived);
        if let Some(before) = self.waiting.replace(place, caller, wish.deadline, now) {
            before.client.waits_at.store(0, Relaxed);
            before.client.answer(error_reply(&Error::redis(
                "UNBLOCKED another connection has sent the request with this ID again and waits in this one's place",
            )));
        }
        Ok(place)
    }
}

fn wish(context: &Context<'_>, arguments: Arguments<'_>, call: &Call<'_>) -> Wish<Caller> {
    let want = |rule: &Rule<'_>| Want {
        key: Key::new(rule.key),
        limits: rule.limits.clone(),
        policy: rule.policy.map(Box::from),
        costs: rule.costs.clone(),
    };
    let (connection, options) = (&context.connection, &call.options);
    Wish {
        caller: Caller {
            client: connection.client.clone(),
            protocol: connection.protocol,
            database: connection.database,
            arrived: context.now,
            info: options.info,
            ticket: options.ticket,
            id: options.id.map(Box::from),
            request: replay::fingerprint(arguments),
            key: Key::new(call.rules[0].key),
            answer: Vec::new(),
            went: false,
        },
        database: connection.database,
        wants: call.rules.iter().map(want).collect(),
        priority: options.priority,
        group: options.group.into(),
        deadline: context.now.after(call.max_wait),
    }
}

impl Caller {
    /// Its wait ends: finds its answer. False if it must not be booked.
    fn turn(&mut self, shared: &Shared, turn: Turn<'_>) -> bool {
        match self.answer_to(shared, turn) {
            Ok(answer) => self.answer = answer,
            Err(error) => self.answer = error_reply(&error),
        }
        self.went
    }

    fn answer_to(&mut self, shared: &Shared, turn: Turn<'_>) -> Result<Vec<u8>, Error> {
        match turn.ending {
            Ending::Goes(slots) => self.grant(shared, turn, slots),
            Ending::Late { .. } if self.info => self.refusal_in_full(turn),
            Ending::Late { never } => Ok(self.numbers(if never { -2 } else { -1 }, 0)),
            Ending::Refused(refusal) => Err(refusal.into()),
        }
    }

    fn grant(&mut self, shared: &Shared, turn: Turn<'_>, slots: &[Slot]) -> Result<Vec<u8>, Error> {
        let (store, at) = (&shared.store, turn.at);
        let ticket = match self.ticket {
            Some(ttl) => self.draw_ticket(shared, &turn, slots, ttl)?,
            None => 0,
        };
        self.went = true;
        let waited = Wait::from_ns(u128::from(at.since(self.arrived)));
        if !self.info && self.id.is_none() {
            return Ok(self.numbers(waited.ceil_ms(), ticket));
        }
        let rules = rules(turn.keys, turn.asks);
        let joint = Joint::new(turn.seen, turn.asks, at, usize::MAX)?;
        let now = Earliest::After(Wait::ZERO);
        let rows = rows(
            &joint,
            &rules,
            &SmallVec::<[_; 1]>::from_elem(now, slots.len()),
        );
        let mut outcome = Outcome::new(true, now, ticket, rows);
        if let Some(id) = &self.id {
            let key = self.key.as_bytes();
            replay::remember(store, self.database, key, id, self.request, &outcome, at);
        }
        outcome.earliest = Earliest::After(waited);
        Ok(self.reply(&outcome, &rules))
    }

    fn draw_ticket(
        &self,
        shared: &Shared,
        turn: &Turn<'_>,
        slots: &[Slot],
        ttl: Span,
    ) -> Result<u64, Error> {
        let records = &shared.store.records;
        if !records.has_room(self.database, self.key.as_bytes(), turn.at) {
            return Err(NO_TICKET);
        }
        let number = records.next_number();
        let ticket = Ticket {
            parts: parts(turn.keys.iter().copied(), turn.asks, slots),
            slot: turn.at,
            ttl,
            confirmed: false,
            overtaken: false,
            id: self.id.clone(),
        };
        records.put(self.database, number, ticket);
        Ok(number)
    }

    /// A refusal as `INFO` tells it.
    fn refusal_in_full(&self, turn: Turn<'_>) -> Result<Vec<u8>, Error> {
        let joint = Joint::new(turn.seen, turn.asks, turn.at, usize::MAX)?;
        let alone = joint.earliest_from(0);
        let (earliest, _) = joint.common_slot(&alone, Span::MAX);
        let rules = rules(turn.keys, turn.asks);
        let outcome = Outcome::new(false, earliest, 0, rows(&joint, &rules, &alone));
        Ok(self.reply(&outcome, &rules))
    }

    fn reply(&self, outcome: &Outcome, rules: &[Rule<'_>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut reply = Reply::new(&mut bytes, self.protocol);
        outcome.write_wait(&mut reply, rules, self.info, self.ticket.is_some());
        bytes
    }

    /// A reply without `INFO`.
    fn numbers(&self, wait: i64, ticket: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut reply = Reply::new(&mut bytes, self.protocol);
        write_numbers(&mut reply, wait, ticket, self.ticket.is_some());
        bytes
    }

    fn count(&self, tally: &mut Tally) {
        // A grant changes its keys, and no command counts it.
        tally.writes += u64::from(self.went);
        tally.granted += u64::from(self.went);
        tally.denied += u64::from(!self.went);
    }
}

/// The rules of a call, from what is kept of it.
fn rules<'a>(keys: &[&'a [u8]], asks: &[Ask<'_>]) -> SmallVec<[Rule<'a>; 1]> {
    let rule = |(key, ask): (&&'a [u8], &Ask<'_>)| Rule {
        key,
        limits: ask.limits.into(),
        policy: None,
        costs: ask.costs.into(),
    };
    keys.iter().zip(asks).map(rule).collect()
}

/// An error as a reply; the same in both protocols.
fn error_reply(error: &Error) -> Vec<u8> {
    let mut bytes = Vec::new();
    Reply::new(&mut bytes, Protocol::Resp2).error_display(error);
    bytes
}
