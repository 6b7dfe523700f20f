//! `RL.LEASE`, `RL.RENEW`, `RL.RELEASE`, `RL.LEASES`: how many at once.

use crate::command::access;
use crate::command::arguments::Cursor;
use crate::command::connection::Pending;
use crate::command::context::Context;
use crate::command::counted;
use crate::command::error::Error;
use crate::command::limits::{leases_limit, leases_max};
use crate::command::replay;
use crate::command::rules::{self, PRIORITY_UNLESS_GIVEN, id_text};
use crate::command::spec::{Argument, Arity, Flags, Group, Keys, Spec};
use crate::command::waiters::{Arrival, Asked, Caller};
use crate::core::entry::Entry;
use crate::core::leases::{Lease, Leases, LeasesLimit, OWNER_BYTES_MAX};
use crate::core::limit::Limit;
use crate::core::number;
use crate::core::units::{Span, Timestamp, Wait};
use crate::protocol::{Arguments, Reply};
use crate::store::{Answer, Key, Store};
use crate::waiting::{self, Holder, Want, Wish};
use smallvec::SmallVec;

const FLAGS: Flags = Flags::WRITE.and(Flags::FAST);
const WAITS: Flags = Flags::BOOKS.and(Flags::BLOCKING);
const LEASE_NUMBER: Argument = Argument::integer("lease");
const TTL: Argument = Argument::string("ttl");

/// The row of `RL.LEASE`.
pub const LEASE: Spec = Spec {
    summary: "Take a lease: one of so many that are held at once",
    arguments: &[
        Argument::key("key"),
        Argument::integer("max"),
        TTL,
        Argument::string("duration").token("WAIT").optional(),
        Argument::string("owner").token("OWNER").optional(),
        rules::ID,
        Argument::flag("bound", "BOUND"),
    ],
    reply: "An array of the lease (a number that grows and is never used again) and the milliseconds until it lapses; nil if `max` are held, or while the key is paused. With `WAIT` it waits in line for so long, as `RL.ACQUIRE` does, and nil comes when that has passed. With `BOUND` it is released when the connection goes. The same `ID` again gets the same lease with what is left of it, 0 if it is no longer held.",
    flags: WAITS,
    keys: Keys::ONE,
    ..Spec::new("RL.LEASE", Group::RateLimit, Arity::at_least(4), lease)
};

/// The row of `RL.RENEW`.
pub const RENEW: Spec = Spec {
    summary: "Hold a lease for longer",
    arguments: &[Argument::key("key"), LEASE_NUMBER, TTL],
    reply: "1: it lapses `ttl` from now, sooner or later than before. 0: it is no longer held, and its holder must stop.",
    flags: FLAGS,
    keys: Keys::ONE,
    ..Spec::new("RL.RENEW", Group::RateLimit, Arity::exactly(4), renew)
};

/// The row of `RL.RELEASE`.
pub const RELEASE: Spec = Spec {
    summary: "Give a lease up",
    arguments: &[Argument::key("key"), LEASE_NUMBER],
    reply: "1, or 0 if it is no longer held: nobody else's place is freed then.",
    flags: FLAGS,
    keys: Keys::ONE,
    ..Spec::new("RL.RELEASE", Group::RateLimit, Arity::exactly(3), release)
};

/// The row of `RL.LEASES`.
pub const LEASES: Spec = Spec {
    summary: "List the leases of a key that are held",
    arguments: &[Argument::key("key")],
    reply: "An array, by number, of arrays: the lease, the milliseconds until it lapses, and its owner (nil if it named none).",
    flags: Flags::READONLY,
    keys: Keys::ONE,
    ..Spec::new("RL.LEASES", Group::RateLimit, Arity::exactly(2), list)
};

/// What stands behind `key max ttl`.
#[derive(Default)]
struct Options<'a> {
    /// How long it waits at most.
    wait: Span,
    owner: Option<&'a [u8]>,
    id: Option<&'a [u8]>,
    bound: bool,
}

impl<'a> Options<'a> {
    fn parse(cursor: &mut Cursor<'a>) -> Result<Self, Error> {
        const OWNER: &str = "1 to 64 bytes long";
        let mut options = Self::default();
        let (mut wait, mut owner, mut id) = (false, false, false);
        loop {
            if cursor.option("WAIT", &mut wait)? {
                options.wait = cursor.duration_or_zero("duration")?;
            } else if cursor.option("OWNER", &mut owner)? {
                options.owner = Some(cursor.value("OWNER", OWNER, |text| {
                    (1..=OWNER_BYTES_MAX).contains(&text.len()).then_some(text)
                })?);
            } else if cursor.option("ID", &mut id)? {
                options.id = Some(id_text(cursor)?);
            } else if !cursor.option("BOUND", &mut options.bound)? {
                break;
            }
        }
        cursor.finish()?;
        Ok(options)
    }
}

/// A lease that was granted, now or when its request came before.
struct Granted {
    number: u64,
    left: Wait,
    /// It was bound to the connection by this call.
    binds: bool,
}

/// A call of `RL.LEASE`.
struct Request<'a> {
    arguments: Arguments<'a>,
    database: u8,
    key: &'a [u8],
    limit: LeasesLimit,
    options: Options<'a>,
    /// The connection with which the lease goes; 0 for none.
    bound_to: u64,
    is_full: bool,
    now: Timestamp,
}

fn lease(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let mut cursor = Cursor::new(arguments);
    let (key, max) = (cursor.key()?, leases_max(&mut cursor)?);
    let limit = leases_limit(max, cursor.duration("ttl")?)?;
    let options = Options::parse(&mut cursor)?;
    let (store, now) = (&context.shared.store, context.now);
    let connection = &mut *context.connection;
    let client = connection.client.id;
    if options.bound {
        connection.bound.make_room(store, client, now)?;
    }
    let request = Request {
        arguments,
        database: connection.database,
        key,
        limit,
        bound_to: if options.bound { client } else { 0 },
        options,
        is_full: context.is_full,
        now,
    };
    let waits = request.options.wait > Span::ZERO && connection.executing.is_none();
    if waits {
        let granted =
            access::decide_unless_waited(context, &[key], |keys| request.take(keys, store))?;
        if let Some(Some(granted)) = granted {
            reply(context, key, Some(&granted));
            return Ok(());
        }
        if request.is_full {
            return Err(Error::OUT_OF_MEMORY);
        }
        match (context.shared.waiters).arrive(context, request.wish(context), arguments)? {
            Arrival::Waits => {
                context.connection.pending = Some(Pending::Answer);
                return Ok(());
            }
            Arrival::Answered(answer) => {
                context.connection.adopt_granted_lease();
                context.reply.append(&answer);
                return Ok(());
            }
            Arrival::Known => {}
        }
    }
    let granted = access::decide(&*context, &[key], |keys| request.take(keys, store))?;
    reply(context, key, granted.as_ref());
    Ok(())
}

fn reply(context: &mut Context<'_>, key: &[u8], granted: Option<&Granted>) {
    let at_once = granted.map(|_| Wait::ZERO);
    counted::one(context.shared, context.tally, key, at_once);
    let Some(granted) = granted else {
        context.reply.null();
        return;
    };
    if granted.binds {
        let database = context.connection.database;
        context.connection.bound.add(database, key, granted.number);
    }
    let numbers = [granted.number as i64, granted.left.ceil_ms()];
    context.reply.integers(&numbers);
}

impl Request<'_> {
    /// Takes a lease if there is a place for it, or says again which one the same request took.
    fn take(
        &self,
        mut keys: waiting::Keys<'_, '_>,
        store: &Store,
    ) -> Result<Option<Granted>, Error> {
        let (database, key, now) = (self.database, self.key, self.now);
        if let Some(id) = self.options.id
            && let Some(Answer::Number(number)) =
                replay::recall(store, database, key, id, self.arguments, now)?
        {
            return Ok(Some(again(keys.kept()[0], number, self.bound_to, now)));
        }
        let limit = Limit::Leases(self.limit);
        let mut draft = keys.seen[0].draft(&limit, now)?;
        if !draft.earliest(1).is_now() {
            return Ok(None);
        }
        if self.is_full {
            return Err(Error::OUT_OF_MEMORY);
        }
        let lease = Lease {
            owner: self.options.owner.map(Box::from),
            bound_to: self.bound_to,
            ..Lease::new(self.limit, now)
        };
        let granted = Granted {
            number: store.records.next_number(),
            left: lease.left(now),
            binds: lease.bound_to != 0,
        };
        if let Some(kept) = keys.kept {
            let mut draft = kept[0].draft(&limit, now)?;
            draft.hold(0, granted.number, lease.clone());
            draft.commit();
        }
        draft.hold(0, granted.number, lease);
        draft.commit();
        if let Some(id) = self.options.id {
            let (request, answer) = (
                replay::fingerprint(self.arguments),
                Answer::Number(granted.number),
            );
            replay::keep(store, database, key, id, request, answer, now);
        }
        Ok(Some(granted))
    }

    /// What it waits for.
    fn wish(&self, context: &Context<'_>) -> Wish<Caller> {
        let options = &self.options;
        let asked = Asked::Lease {
            bound: options.bound,
            ttl: self.limit.ttl(),
        };
        Wish {
            caller: Caller::new(context, self.arguments, self.key, options.id, asked),
            database: self.database,
            wants: SmallVec::from_elem(
                Want {
                    key: Key::new(self.key),
                    limits: SmallVec::from_elem(Limit::Leases(self.limit), 1),
                    policy: None,
                    costs: SmallVec::from_elem(1, 1),
                },
                1,
            ),
            priority: PRIORITY_UNLESS_GIVEN,
            group: Box::default(),
            deadline: self.now.after(options.wait),
            holder: Holder {
                owner: options.owner.map(Box::from),
                bound_to: self.bound_to,
            },
        }
    }
}

/// The lease that a request took when it came before. It goes with the connection on which it came last.
fn again(entry: &mut Entry, number: u64, bound_to: u64, now: Timestamp) -> Granted {
    let bind = |leases: &mut Leases| leases.bind(number, bound_to, now);
    let before = entry.leases_mut().and_then(bind);
    let lease = entry.leases().and_then(|leases| leases.get(number, now));
    Granted {
        number,
        left: lease.map_or(Wait::ZERO, |lease| lease.left(now)),
        binds: bound_to != 0 && before.is_some_and(|before| before != bound_to),
    }
}

fn renew(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let mut cursor = Cursor::new(arguments);
    let (key, number) = (cursor.key()?, lease_number(&mut cursor)?);
    let ttl = cursor.duration("ttl")?;
    let now = context.now;
    change(context, key, |leases| leases.renew(number, ttl, now))
}

fn release(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let mut cursor = Cursor::new(arguments);
    let (key, number) = (cursor.key()?, lease_number(&mut cursor)?);
    let now = context.now;
    change(context, key, |leases| leases.release(number, now).is_some())
}

/// Changes the leases of a key; replies 1 if there was what to change.
fn change(
    context: &mut Context<'_>,
    key: &[u8],
    f: impl FnOnce(&mut Leases) -> bool,
) -> Result<(), Error> {
    let changed = access::change(&*context, &[key], |mut keys| {
        Ok(keys.kept()[0].leases_mut().is_some_and(f))
    })?;
    context.reply.integer(i64::from(changed));
    Ok(())
}

fn list(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let key = Cursor::new(arguments).key()?;
    let (database, now) = (context.connection.database, context.now);
    let (store, reply) = (&context.shared.store, &mut context.reply);
    store.read(database, key, now, |value| {
        let entry = value.map(|value| value.limit()).transpose()?;
        write(entry.and_then(Entry::leases), now, reply);
        Ok(())
    })
}

fn write(leases: Option<&Leases>, now: Timestamp, reply: &mut Reply<'_>) {
    reply.array(leases.map_or(0, |leases| leases.count(now) as usize));
    for (number, lease) in leases.iter().flat_map(|leases| leases.iter(now)) {
        reply.array(3);
        reply.integer(number as i64);
        reply.integer(lease.left(now).ceil_ms());
        match &lease.owner {
            Some(owner) => reply.bulk(owner),
            None => reply.null(),
        }
    }
}

/// Takes the number of a lease.
fn lease_number(cursor: &mut Cursor<'_>) -> Result<u64, Error> {
    const TAKES: &str = "the number of a lease: an integer from 1 to 9223372036854775807";
    cursor.value("lease", TAKES, |text| {
        number::integer(text).filter(|number| (1..=i64::MAX as u64).contains(number))
    })
}
