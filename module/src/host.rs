//! Tollgate's engine as the host of one call at a time.
//!
//! The keys are the server's. For a call those that it names are put into an empty store, the engine serves the request
//! just as it does in the stand-alone server, and what it left in the store is compared with what was put in: the
//! differences are the effects that go to the key, to the journal and to replicas. So a command is defined once, and
//! knows nothing of where it runs.

use crate::held::{Held, PutIn};
use crate::time::Time;
use std::sync::Arc;
use tollgate::clients::Client;
use tollgate::clock::Clock;
use tollgate::command::connection::Connection;
use tollgate::command::spec::{Flags, Spec};
use tollgate::core::units::{MICROSECOND, Timestamp};
use tollgate::engine::Engine;
use tollgate::metrics::{Tally, Totals};
use tollgate::persistence::change::{Change, without_name};
use tollgate::plain::{Data, Plain, Text};
use tollgate::protocol::{Arguments, OwnedArguments, Protocol};
use tollgate::settings::Settings;
use tollgate::store::{KEY_BYTES_MAX, Key, Store, Value};

const DATABASE: u8 = 0;

/// What is said to a call that would have to wait on the server.
const NO_WAIT: &[u8] = b"-ERR all are held, and nobody waits on a server of a cluster: leave WAIT out, and try again later\r\n";
/// What is said to a lease that should go with its connection.
const NO_BOUND: &[u8] =
    b"-ERR BOUND is not for a server of a cluster: give the lease a short ttl, and renew it\r\n";
/// What is said to a key of too many tickets and answers.
const NO_RECORD: &[u8] =
    b"-ERR the key has 100000 tickets and answers that have not expired: it can hold no more\r\n";

/// The words of a request.
#[derive(Clone, Copy)]
pub struct Words<'a> {
    /// All of them, the command's name first.
    pub of_request: Arguments<'a>,
    /// It is about all tickets of its keys, whichever it names.
    pub all: bool,
}

/// What the server has under a name.
pub enum Holds<'a> {
    /// Nothing.
    Nothing,
    /// Limits.
    Limits(&'a mut Held),
    /// Something of its own.
    Other,
}

/// A key of a request.
pub struct Place<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// What is there.
    pub holds: Holds<'a>,
}

/// Whose time commands run at.
pub enum Hand {
    /// Nobody's: it goes by.
    Time(Time),
    /// A test's, which moves it by a command.
    Manual,
}

/// The engine with all that it needs to serve one request.
pub struct Host {
    engine: Engine,
    connection: Connection,
    hand: Hand,
    /// The reply to the last request, as it goes over a wire.
    pub reply: Vec<u8>,
}

impl Host {
    /// A host whose time goes by, or is moved by hand.
    pub fn new(hand: Hand) -> Self {
        let engine = Engine::new(Clock::manual(Timestamp::ZERO), Settings::default());
        let connection = Self::connect(&engine);
        let host = Self {
            engine,
            connection,
            hand,
            reply: Vec::new(),
        };
        let now = host.now();
        host.give_numbers_above(now, 0);
        host
    }

    fn connect(engine: &Engine) -> Connection {
        let shared = &engine.shared;
        let (peer, local) = (String::new(), String::new());
        let client: Arc<Client> =
            shared
                .clients
                .register(peer, local, Timestamp::ZERO, Box::new(|| {}));
        Connection::new(client, shared.acl.nobody(), true)
    }

    /// The instant at which a call would run.
    pub fn now(&self) -> Timestamp {
        let clock = &self.engine.shared.clock;
        if let Hand::Time(time) = &self.hand {
            clock.put(time.now());
        }
        clock.now()
    }

    /// It is `at` now, or no earlier; see [`Time`].
    pub fn learn_time(&self, at: Timestamp, of_primary: bool) {
        match &self.hand {
            Hand::Time(time) if of_primary => time.follow(at),
            Hand::Time(time) => time.not_before(at),
            Hand::Manual => {
                self.engine.shared.clock.set(at);
            }
        }
    }

    /// No number up to `last` is given to a ticket or a lease, nor one that was given before `now`.
    pub fn give_numbers_above(&self, now: Timestamp, last: u64) {
        let records = &self.engine.shared.store.records;
        records.start_above(last.max(now.as_ns() / MICROSECOND));
    }

    /// True if time goes by itself.
    pub const fn goes_by(&self) -> bool {
        matches!(self.hand, Hand::Time(_))
    }

    /// Begins anew, but for the time: something went wrong.
    pub fn renew(&mut self) {
        let now = self.now();
        self.engine = Engine::new(Clock::manual(Timestamp::ZERO), Settings::default());
        self.engine.shared.clock.put(now);
        self.connection = Self::connect(&self.engine);
        self.give_numbers_above(now, 0);
    }

    /// What was counted since the start.
    pub fn totals(&self) -> Totals {
        self.engine.shared.metrics.totals()
    }

    /// Serves a request that is not about keys.
    pub fn ask(&mut self, words: &[&[u8]]) {
        let words = OwnedArguments::from_slices(words);
        self.run(words.as_arguments(), Protocol::Resp2);
    }

    fn run(&mut self, words: Arguments<'_>, protocol: Protocol) {
        let (engine, connection) = (&self.engine, &mut self.connection);
        let mut tally = Tally::default();
        connection.protocol = protocol;
        self.reply.clear();
        engine.serve(
            &mut engine.enter(),
            connection,
            words,
            &mut self.reply,
            &mut tally,
        );
        engine.end(connection, &mut tally);
    }

    /// Serves a request about these keys, each of which is named once, at `now`, which [`Self::now`] has just said. What
    /// is to be changed at each of them; the reply is in [`Self::reply`].
    pub fn serve(
        &mut self,
        spec: &Spec,
        words: Words<'_>,
        protocol: Protocol,
        places: &mut [Place<'_>],
        now: Timestamp,
    ) -> Vec<Vec<Change>> {
        let store = &self.engine.shared.store;
        let put_in: Vec<PutIn> = places
            .iter()
            .map(|place| place.put_into(store, words))
            .collect();
        self.run(words.of_request, protocol);
        let mut refused = self.refusal();
        let store = &self.engine.shared.store;
        let mut changes: Vec<Vec<Change>> = places.iter().map(|_| Vec::new()).collect();
        if spec.flags.has(Flags::WRITE) && refused.is_none() {
            for ((place, put_in), changed) in places.iter_mut().zip(put_in).zip(&mut changes) {
                *changed = place.changes(store, put_in, now);
                if let Holds::Limits(held) = &mut place.holds
                    && changed.iter().any(|change| held.gets_more_by(change))
                    && !held.has_room(now)
                {
                    refused = Some(NO_RECORD);
                }
            }
        }
        for place in &*places {
            store.remove(DATABASE, place.name, now);
        }
        if let Some(text) = refused {
            self.reply.clear();
            self.reply.extend_from_slice(text);
            changes.iter_mut().for_each(Vec::clear);
        }
        changes
    }

    /// What is said in the place of the reply, if the request wants something that only a connection of our own has.
    fn refusal(&mut self) -> Option<&'static [u8]> {
        let refused = if self.connection.pending.is_some() {
            self.engine.unblock(&self.connection.client);
            NO_WAIT
        } else if !self.connection.bound.is_empty() {
            NO_BOUND
        } else {
            return None;
        };
        // Nothing of it is left but what is thrown away with the connection.
        let clients = &self.engine.shared.clients;
        clients.remove(self.connection.client.id);
        self.connection = Self::connect(&self.engine);
        Some(refused)
    }
}

impl Place<'_> {
    fn put_into(&self, store: &Store, words: Words<'_>) -> PutIn {
        match &self.holds {
            Holds::Limits(held) if self.name.len() <= KEY_BYTES_MAX => {
                held.put_into(store, self.name, words)
            }
            Holds::Other if self.name.len() <= KEY_BYTES_MAX => {
                // Any plain value: the engine says what it says to a key of the wrong kind.
                if let Ok(text) = Text::new(b"") {
                    let other = Value::Plain(Plain::new(Data::Text(text)));
                    store.restore(DATABASE, &Key::new(self.name), other);
                }
                PutIn::default()
            }
            _ => PutIn::default(),
        }
    }

    /// How what is in the store differs from what was put in.
    fn changes(&self, store: &Store, put_in: PutIn, now: Timestamp) -> Vec<Change> {
        let nothing = Held::default();
        let held: &Held = match &self.holds {
            Holds::Limits(held) => held,
            Holds::Nothing => &nothing,
            Holds::Other => return Vec::new(),
        };
        let mut changes = Vec::new();
        store.read(DATABASE, self.name, now, |value| match value {
            Some(value) if held.is_state(value) => {}
            Some(value) => changes.push(Change::State(Some(value.clone()))),
            None if held.has_no_state() => {}
            None => changes.push(Change::State(None)),
        });
        let records = &store.records;
        let (mut tickets, mut answers) = (put_in.tickets, put_in.answers);
        for (_, number, ticket) in records.tickets_after(0, usize::MAX, now) {
            let of_key = ticket
                .parts
                .first()
                .is_some_and(|part| part.key.as_bytes() == self.name);
            if of_key {
                tickets.remove(&number);
                if !held.is_ticket(number, &ticket) {
                    changes.push(Change::Ticket(number, Some(without_name(&ticket))));
                }
            }
        }
        for (_, home, id, answer) in records.answers_after(0, usize::MAX, now) {
            if home.1.as_bytes() == self.name {
                answers.remove(&id);
                if !held.is_answer(&id, &answer) {
                    changes.push(Change::Answer(id, Some(answer)));
                }
            }
        }
        changes.extend(
            tickets
                .into_iter()
                .map(|number| Change::Ticket(number, None)),
        );
        changes.extend(answers.into_iter().map(|id| Change::Answer(id, None)));
        changes
    }
}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
