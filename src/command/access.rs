//! The one way to the keys of limits.
//!
//! A call on keys at which nobody waits locks them and goes ahead. That somebody waits shows on the key itself, under
//! that lock; then the call goes through [`crate::waiting`], which lets those go first whose slot has come. Nothing
//! else in `command/` calls the store to count.

use super::context::{Context, Shared};
use super::error::Error;
use crate::core::decision::Refusal;
use crate::core::entry::Entry;
use crate::core::units::Timestamp;
use crate::store::{Key, PolicyLimits, Value};
use crate::waiting::Keys;
use smallvec::SmallVec;

/// Where and when keys are asked for.
#[derive(Clone, Copy)]
pub struct At<'a> {
    /// What all connections share.
    pub shared: &'a Shared,
    /// The database.
    pub database: u8,
    /// The instant.
    pub now: Timestamp,
}

impl<'a> From<&Context<'a>> for At<'a> {
    fn from(context: &Context<'a>) -> Self {
        Self {
            shared: context.shared,
            database: context.connection.database,
            now: context.now,
        }
    }
}

/// Lets a call decide on keys, and book.
///
/// # Errors
/// Those of `f`; [`Refusal::WrongKind`] if one of the keys holds a plain value.
pub fn decide<'a, R>(
    at: impl Into<At<'a>>,
    keys: &[&[u8]],
    f: impl FnOnce(Keys<'_, '_>) -> Result<R, Error>,
) -> Result<R, Error> {
    let at @ At {
        shared,
        database,
        now,
    } = at.into();
    match unwaited(at, keys, f)? {
        Ok(result) => result,
        Err(f) => shared.waiters.with(shared, |desk, go| {
            let waiting = &mut desk.waiting;
            waiting.decide(&shared.store, database, keys, now, go, f)
        })?,
    }
}

/// Lets a call change keys. It must leave those that it sees alone, where they are copies.
///
/// # Errors
/// As [`decide`].
pub fn change<'a, R>(
    at: impl Into<At<'a>>,
    keys: &[&[u8]],
    f: impl FnOnce(Keys<'_, '_>) -> Result<R, Error>,
) -> Result<R, Error> {
    let at @ At {
        shared,
        database,
        now,
    } = at.into();
    match unwaited(at, keys, f)? {
        Ok(result) => result,
        Err(f) => shared.waiters.with(shared, |desk, go| {
            let waiting = &mut desk.waiting;
            waiting.change(&shared.store, database, keys, now, go, f)
        })?,
    }
}

/// As [`decide`], if nobody waits at the keys; else `None`.
///
/// # Errors
/// As [`decide`].
pub fn decide_unless_waited<R>(
    context: &Context<'_>,
    keys: &[&[u8]],
    f: impl FnOnce(Keys<'_, '_>) -> Result<R, Error>,
) -> Result<Option<R>, Error> {
    unwaited(context.into(), keys, f)?.ok().transpose()
}

/// Calls `f` with the keys if nobody waits at any of them, else gives it back.
fn unwaited<R, F>(at: At<'_>, keys: &[&[u8]], f: F) -> Result<Result<R, F>, Refusal>
where
    F: FnOnce(Keys<'_, '_>) -> R,
{
    let (store, database, now) = (&at.shared.store, at.database, at.now);
    let all = |seen: &mut [&mut Entry]| match seen.iter().any(|entry| entry.is_waited()) {
        true => Err(f),
        false => Ok(f(Keys { seen, kept: None })),
    };
    match keys {
        [key] => store.with_limit(database, key, now, |entry| all(&mut [entry])),
        keys => store.with_limits(database, keys, now, all),
    }
}

/// Calls `f` with what a key holds as callers must see it, `None` if it does not exist, and with how many wait at it.
pub fn look<'a, R>(
    at: impl Into<At<'a>>,
    key: &[u8],
    f: impl FnOnce(Option<&Value>, usize) -> R,
) -> R {
    let At {
        shared,
        database,
        now,
    } = at.into();
    let store = &shared.store;
    let read = store.read(database, key, now, |value| match value {
        Some(Value::Limit(entry)) if entry.is_waited() => Err(f),
        value => Ok(f(value, 0)),
    });
    let f = match read {
        Ok(result) => return result,
        Err(f) => f,
    };
    shared.waiters.with(shared, |desk, go| {
        let home = (database, Key::new(key));
        let waiting = &mut desk.waiting;
        waiting.settle(store, std::slice::from_ref(&home), now, go);
        let count = waiting.at_key(&home);
        match waiting.planned(&home) {
            Some(planned) => f(Some(&Value::Limit(planned.clone())), count),
            // The last one has just gone.
            None => store.read(database, key, now, |value| f(value, 0)),
        }
    })
}

/// Removes a key; true if it existed.
pub fn remove(context: &Context<'_>, key: &[u8]) -> bool {
    let store = &context.shared.store;
    let (database, now) = (context.connection.database, context.now);
    let removed = store.remove_unless_waited(database, key, now);
    removed.unwrap_or_else(|| {
        context.shared.waiters.with(context.shared, |desk, go| {
            desk.waiting.remove(store, database, key, now, go)
        })
    })
}

/// Empties a database, or all, while no other command runs.
pub fn clear(context: &Context<'_>, database: Option<u8>) {
    let (store, now) = (&context.shared.store, context.now);
    context.shared.waiters.with(context.shared, |desk, go| {
        desk.waiting.clear(store, database, now, go);
    });
}

/// Stores limits under a name; false if there are too many policies. Those who wait under it do so under these from
/// now on.
pub fn set_policy(shared: &Shared, name: &[u8], limits: PolicyLimits, now: Timestamp) -> bool {
    let kept = shared.store.policies.set(name, limits.clone());
    if kept && !shared.waiters.is_empty() {
        shared.waiters.with(shared, |desk, go| {
            desk.waiting
                .set_policy(&shared.store, name, &limits, now, go);
        });
    }
    kept
}

/// The keys of some rules.
pub type KeyNames<'a> = SmallVec<[&'a [u8]; 4]>;
