//! `RL.CHARGE`: a cost that is known only afterwards.

use crate::command::access;
use crate::command::arguments::Cursor;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::limits::{LIMIT, limit};
use crate::command::replay;
use crate::command::rules::{self, Rule};
use crate::command::spec::{Argument, Arity, Flags, Group, Keys, Spec};
use crate::core::decision::{Earliest, Refusal};
use crate::core::entry::Entry;
use crate::core::joint::{Ask, Joint, latest};
use crate::core::limit::Limit;
use crate::core::number;
use crate::core::units::{Timestamp, Wait};
use crate::protocol::Arguments;
use crate::store::Answer;
use smallvec::SmallVec;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Charge without asking, into debt if need be",
    arguments: &[
        Argument::key("key"),
        LIMIT,
        Argument::string("cost"),
        rules::ID,
    ],
    reply: "Milliseconds that a next cost of 1 would wait.",
    flags: Flags::BOOKS.and(Flags::FAST),
    keys: Keys::ONE,
    ..Spec::new("RL.CHARGE", Group::RateLimit, Arity::at_least(5), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let mut cursor = Cursor::new(arguments);
    let (key, term) = (cursor.key()?, limit(&mut cursor)?);
    let (limits, policy) = rules::resolve(term, &context.shared.store.policies)?;
    let costs = rules::cost_list(&mut cursor, "cost", limits.len(), number::amount)?;
    let id = rules::optional_id(&mut cursor)?;
    if limits.iter().any(|limit| matches!(limit, Limit::Leases(_))) {
        return Err(Error::argument(
            "limit",
            "one without LEASES, which are taken and not charged",
        ));
    }
    let rule = Rule {
        key,
        limits,
        policy,
        costs,
    };
    let (store, database, now) = (
        &context.shared.store,
        context.connection.database,
        context.now,
    );
    let (wait, waited) = access::change(&*context, &[key], |mut keys| {
        if let Some(id) = id
            && let Some(Answer::Until(slot)) =
                replay::recall(store, database, key, id, arguments, now)?
        {
            return Ok((Wait::from_ns(u128::from(slot.since(now))), false));
        }
        let entry = &mut keys.kept()[0];
        if context.is_full && id.is_some() {
            return Err(Error::OUT_OF_MEMORY);
        }
        let wait = charge(context, entry, &rule)?;
        if let Some(id) = id {
            let slot = now.after_ns(u64::try_from(wait.ceil_ns()).unwrap_or(u64::MAX));
            replay::keep(
                store,
                database,
                key,
                id,
                replay::fingerprint(arguments),
                Answer::Until(slot),
                slot,
            );
        }
        Ok((wait, entry.is_waited()))
    })?;
    // A next one comes behind those who wait.
    let wait = match waited {
        true => access::decide(&*context, &[key], |keys| {
            next_wait(keys.seen[0], &rule, now)
        })?,
        false => wait,
    };
    context.reply.integer(wait.ceil_ms());
    Ok(())
}

/// Charges a key and says what a next cost of 1 would wait.
fn charge(context: &Context<'_>, entry: &mut Entry, rule: &Rule<'_>) -> Result<Wait, Error> {
    let (asks, now) = ([rule.ask()], context.now);
    let bookings_max = context.shared.settings.max_bookings();
    let mut joint = Joint::new([&mut *entry], &asks, now, bookings_max)?;
    joint.charge()?;
    if context.is_full && joint.grows() {
        return Err(Error::OUT_OF_MEMORY);
    }
    let standings = joint.standings();
    if !standings
        .iter()
        .all(|standing| standing.reset_after.fits_reply())
    {
        return Err(Refusal::BeyondReply.into());
    }
    joint.commit();
    next_wait(entry, rule, now)
}

/// What a next cost of 1 would wait.
fn next_wait(entry: &mut Entry, rule: &Rule<'_>, now: Timestamp) -> Result<Wait, Error> {
    let ones: SmallVec<[u64; 1]> = SmallVec::from_elem(1, rule.costs.len());
    let asks = [Ask {
        costs: &ones,
        ..rule.ask()
    }];
    let joint = Joint::new([entry], &asks, now, usize::MAX)?;
    Ok(match latest(&joint.earliest_from(0)) {
        Earliest::After(wait) => wait,
        // A capacity is at least 1.
        Earliest::Never => Wait::ZERO,
    })
}
