//! One who waits on the server: what it is answered when its wait ends.

use super::context::{Context, Shared};
use super::counted;
use super::decide::{NO_TICKET, parts, rows};
use super::error::Error;
use super::outcome::{Outcome, write_numbers};
use super::replay;
use super::rules::{Call, Options, Rule};
use crate::clients::{Client, GrantedLease};
use crate::core::decision::Earliest;
use crate::core::joint::{Ask, Joint};
use crate::core::leases::LeasesLimit;
use crate::core::timeline::Slot;
use crate::core::units::{Span, Timestamp, Wait};
use crate::hot::Told;
use crate::metrics::Tally;
use crate::protocol::{Arguments, Protocol, Reply};
use crate::store::{Answer, Home, Key, Ticket};
use crate::waiting::{Ending, Turn};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A caller who waits.
pub struct Caller {
    client: Arc<Client>,
    protocol: Protocol,
    database: u8,
    /// The first of its keys: the one that ticket and id belong to.
    key: Key,
    arrived: Timestamp,
    id: Option<Box<[u8]>>,
    /// The words of its request, as a number.
    request: u64,
    asked: Asked,
    /// Its answer, once it has one.
    answer: Vec<u8>,
    went: bool,
    /// What it was told at which of its keys; nothing if it ends with an error.
    told: SmallVec<[AtKey; 1]>,
    /// The policies of its rules, if any is under one.
    policies: Box<[Option<Box<[u8]>>]>,
    /// When its wait ended.
    ended: Timestamp,
}

/// What a caller was told at one of its keys.
struct AtKey {
    /// Which of its rules.
    rule: usize,
    key: Key,
    told: Told,
}

/// What a caller asked for.
#[derive(Clone, Copy, Debug)]
pub enum Asked {
    /// `RL.ACQUIRE`.
    Acquire {
        /// The reply is a map.
        info: bool,
        /// A ticket is wanted, known for so long after its slot.
        ticket: Option<Span>,
    },
    /// `RL.LEASE`.
    Lease {
        /// The lease goes when the connection goes.
        bound: bool,
        /// How long it is held.
        ttl: Span,
    },
}

impl Caller {
    /// The caller of a request on its first key.
    pub fn new(
        context: &Context<'_>,
        arguments: Arguments<'_>,
        key: &[u8],
        id: Option<&[u8]>,
        asked: Asked,
    ) -> Self {
        let connection = &context.connection;
        Self {
            client: connection.client.clone(),
            protocol: connection.protocol,
            database: connection.database,
            key: Key::new(key),
            arrived: context.now,
            id: id.map(Box::from),
            request: replay::fingerprint(arguments),
            asked,
            answer: Vec::new(),
            went: false,
            told: SmallVec::new(),
            policies: Box::default(),
            ended: context.now,
        }
    }

    /// The caller, whose rules are under these policies.
    pub fn under<'p>(self, policies: impl Iterator<Item = Option<&'p [u8]>> + Clone) -> Self {
        let any = policies.clone().any(|policy| policy.is_some());
        let policies = policies.filter(|_| any);
        Self {
            policies: policies.map(|policy| policy.map(Box::from)).collect(),
            ..self
        }
    }

    /// The id of its request, and where that belongs.
    pub fn named(&self) -> Option<(Home, Box<[u8]>)> {
        let home = || (self.database, self.key.clone());
        self.id.clone().map(|id| (home(), id))
    }

    /// True if it is this client's.
    pub fn is_of(&self, client: &Client) -> bool {
        self.client.id == client.id
    }

    /// This caller, which has sent the request of another again.
    ///
    /// # Errors
    /// It is another request.
    pub fn in_place_of(mut self, before: &Self) -> Result<Self, Error> {
        if self.request != before.request {
            return Err(replay::ANOTHER_REQUEST);
        }
        self.arrived = before.arrived;
        Ok(self)
    }

    /// Its answer. What it was told is counted; not under the lock of a key.
    pub fn into_answer(self, shared: &Shared, tally: &mut Tally) -> Vec<u8> {
        // A grant changes its keys, and no command counts it.
        tally.writes += u64::from(self.went);
        if let Some(first) = self.told.first() {
            counted::decision(tally, first.told);
        }
        for AtKey { rule, key, told } in &self.told {
            let policy = self.policies.get(*rule).and_then(Option::as_deref);
            let key = key.as_bytes();
            shared.hot.count(self.database, key, *told, 1, self.ended);
            counted::in_groups(shared, key, policy, *told);
        }
        self.answer
    }

    /// Sends its answer, as [`Self::into_answer`].
    pub fn deliver(self, shared: &Shared, tally: &mut Tally) {
        let client = self.client.clone();
        client.waits_at.store(0, Relaxed);
        client.answer(self.into_answer(shared, tally));
    }

    /// Sends an error: its wait ends, and nothing is spent.
    pub fn refuse(self, error: &Error) {
        self.client.waits_at.store(0, Relaxed);
        self.client.answer(error_reply(error));
    }

    /// Its wait ends: finds its answer. False if it must not be booked.
    pub fn turn(&mut self, shared: &Shared, mut turn: Turn<'_>) -> bool {
        self.ended = turn.at;
        self.told = self.told(&mut turn);
        match self.answer_to(shared, turn) {
            Ok(answer) => self.answer = answer,
            Err(error) => {
                self.answer = error_reply(&error);
                self.told.clear();
            }
        }
        self.went
    }

    /// What it is told: that it goes at all its keys, that it does not at the one that lets it go last.
    fn told(&self, turn: &mut Turn<'_>) -> SmallVec<[AtKey; 1]> {
        let at_key = |rule: usize, key: &[u8], told| AtKey {
            rule,
            key: Key::new(key),
            told,
        };
        match turn.ending {
            Ending::Goes { .. } => {
                let waited = Wait::from_ns(u128::from(turn.at.since(self.arrived)));
                let told = Told::Granted {
                    wait_ms: counted::ms(waited),
                    paused: false,
                };
                let keys = turn.keys.iter().enumerate();
                keys.map(|(rule, key)| at_key(rule, key, told)).collect()
            }
            Ending::Refused(_) => SmallVec::new(),
            Ending::Late { .. } => {
                let last = last_to_go(turn).unwrap_or(0);
                let paused = !turn.seen[last].paused(turn.at).is_zero();
                let told = Told::Denied { paused };
                smallvec![at_key(last, turn.keys[last], told)]
            }
        }
    }

    fn answer_to(&mut self, shared: &Shared, turn: Turn<'_>) -> Result<Vec<u8>, Error> {
        match (turn.ending, self.asked) {
            (Ending::Goes { lease, .. }, Asked::Lease { bound, ttl }) => {
                Ok(self.lease(shared, &turn, lease, bound, ttl))
            }
            (Ending::Goes { slots, lease }, Asked::Acquire { info, ticket }) => {
                self.grant(shared, turn, slots, lease, info, ticket)
            }
            (Ending::Late { .. }, Asked::Lease { .. }) => Ok(self.reply(|reply| reply.null())),
            (Ending::Late { .. }, Asked::Acquire { info: true, .. }) => self.refusal_in_full(turn),
            (Ending::Late { never }, Asked::Acquire { ticket, .. }) => {
                let leases = leases(turn.asks).is_some();
                Ok(self.numbers(
                    if never { -2 } else { -1 },
                    ticket.map(|_| 0),
                    leases.then_some(0),
                ))
            }
            (Ending::Refused(refusal), _) => Err(refusal.into()),
        }
    }

    fn lease(
        &mut self,
        shared: &Shared,
        turn: &Turn<'_>,
        number: u64,
        bound: bool,
        ttl: Span,
    ) -> Vec<u8> {
        self.went = true;
        let key = self.key.as_bytes();
        if let Some(id) = &self.id {
            let (store, answer) = (&shared.store, Answer::Number(number));
            replay::keep(store, self.database, key, id, self.request, answer, turn.at);
        }
        if bound {
            *self.client.granted_lease.lock() = Some(GrantedLease {
                database: self.database,
                key: key.into(),
                number,
            });
        }
        let left = Wait::from_ns(u128::from(ttl.as_ns()));
        self.reply(|reply| reply.integers(&[number as i64, left.ceil_ms()]))
    }

    fn grant(
        &mut self,
        shared: &Shared,
        turn: Turn<'_>,
        slots: &[Slot],
        lease: u64,
        info: bool,
        ttl: Option<Span>,
    ) -> Result<Vec<u8>, Error> {
        let (store, at) = (&shared.store, turn.at);
        let ticket = match ttl {
            Some(ttl) => self.draw_ticket(shared, &turn, slots, lease, ttl)?,
            None => 0,
        };
        self.went = true;
        let waited = Wait::from_ns(u128::from(at.since(self.arrived)));
        if !info && self.id.is_none() {
            let leases = leases(turn.asks).map(|_| lease);
            return Ok(self.numbers(waited.ceil_ms(), ttl.map(|_| ticket), leases));
        }
        let call = self.call(&turn);
        let joint = Joint::new(turn.seen, turn.asks, at, usize::MAX)?;
        let now = Earliest::After(Wait::ZERO);
        let alone: SmallVec<[Earliest; 1]> = SmallVec::from_elem(now, slots.len());
        let rows = rows(&joint, &call.rules, &alone);
        let mut outcome = Outcome::new(true, now, ticket, lease, rows);
        if let Some(id) = &self.id {
            let key = self.key.as_bytes();
            replay::remember(store, self.database, key, id, self.request, &outcome, at);
        }
        outcome.earliest = Earliest::After(waited);
        Ok(self.reply(|reply| outcome.write_wait(reply, &call)))
    }

    fn draw_ticket(
        &self,
        shared: &Shared,
        turn: &Turn<'_>,
        slots: &[Slot],
        lease: u64,
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
            lease,
        };
        records.put(self.database, number, ticket);
        Ok(number)
    }

    /// A refusal as `INFO` tells it.
    fn refusal_in_full(&self, turn: Turn<'_>) -> Result<Vec<u8>, Error> {
        let call = self.call(&turn);
        let joint = Joint::new(turn.seen, turn.asks, turn.at, usize::MAX)?;
        let alone = joint.earliest_from(0);
        let (earliest, _) = joint.common_slot(&alone, Span::MAX);
        let rows = rows(&joint, &call.rules, &alone);
        let outcome = Outcome::new(false, earliest, 0, 0, rows);
        Ok(self.reply(|reply| outcome.write_wait(reply, &call)))
    }

    /// The call, from what is kept of it.
    fn call<'t>(&'t self, turn: &Turn<'t>) -> Call<'t> {
        let rule = |(key, ask): (&&'t [u8], &Ask<'_>)| Rule {
            key,
            limits: ask.limits.into(),
            policy: None,
            costs: ask.costs.into(),
        };
        let (info, ticket) = match self.asked {
            Asked::Acquire { info, ticket } => (info, ticket),
            Asked::Lease { .. } => (false, None),
        };
        Call {
            rules: turn.keys.iter().zip(turn.asks).map(rule).collect(),
            max_wait: Span::ZERO,
            leases: leases(turn.asks),
            options: Options {
                info,
                ticket,
                id: self.id.as_deref(),
                ..Options::default()
            },
        }
    }

    /// A reply without `INFO`.
    fn numbers(&self, wait: i64, ticket: Option<u64>, lease: Option<u64>) -> Vec<u8> {
        let behind = [ticket, lease].into_iter().flatten();
        let numbers = [wait].into_iter().chain(behind.map(|number| number as i64));
        let numbers: SmallVec<[i64; 3]> = numbers.collect();
        self.reply(|reply| write_numbers(reply, &numbers))
    }

    fn reply(&self, write: impl FnOnce(&mut Reply<'_>)) -> Vec<u8> {
        let mut bytes = Vec::new();
        write(&mut Reply::new(&mut bytes, self.protocol));
        bytes
    }
}

/// Which of several keys could go last by itself; `None` if there is only one, or that cannot be told.
fn last_to_go(turn: &mut Turn<'_>) -> Option<usize> {
    if turn.keys.len() == 1 {
        return None;
    }
    let joint = Joint::new(&mut *turn.seen, turn.asks, turn.at, usize::MAX).ok()?;
    let earliest = joint.earliest_from(0);
    let mut limits = earliest.iter().copied();
    let mut last: Option<(Earliest, usize)> = None;
    for (at, ask) in turn.asks.iter().enumerate() {
        let own = limits.by_ref().take(ask.limits.len()).max()?;
        if last.is_none_or(|(latest, _)| own > latest) {
            last = Some((own, at));
        }
    }
    last.map(|(_, at)| at)
}

/// The limit of leases among all that is asked.
fn leases(asks: &[Ask<'_>]) -> Option<LeasesLimit> {
    asks.iter().find_map(Ask::leases)
}

/// An error as a reply; the same in both protocols.
pub fn error_reply(error: &Error) -> Vec<u8> {
    let mut bytes = Vec::new();
    Reply::new(&mut bytes, Protocol::Resp2).error_display(error);
    bytes
}
