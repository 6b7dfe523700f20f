//! `RL.CHARGE`: a cost that is known only afterwards.

use crate::command::arguments::Cursor;
use crate::command::context::Context;
use crate::command::decide;
use crate::command::error::Error;
use crate::command::limits::{LIMIT, limit};
use crate::command::replay;
use crate::command::rules::{self, Rule};
use crate::command::spec::{Argument, Arity, Flags, Group, Keys, Spec};
use crate::core::decision::{Earliest, Refusal};
use crate::core::draft::Draft;
use crate::core::entry::Entry;
use crate::core::limit::Limit;
use crate::core::number;
use crate::core::units::{Timestamp, Wait};
use crate::protocol::Arguments;
use crate::store::Answer;

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
    flags: Flags::WRITE.and(Flags::FAST),
    keys: Keys::ONE,
    ..Spec::new("RL.CHARGE", Group::RateLimit, Arity::at_least(5), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let mut cursor = Cursor::new(arguments);
    let (key, term) = (cursor.key()?, limit(&mut cursor)?);
    let (limits, under_policy) = rules::resolve(term, &context.shared.store.policies)?;
    let costs = rules::cost_list(&mut cursor, "cost", limits.len(), number::amount)?;
    let id = rules::optional_id(&mut cursor)?;
    if limits.iter().any(|limit| matches!(limit, Limit::Leases(_))) {
        return Err(Error::argument(
            "limit",
            "one without LEASES, which are taken and not charged",
        ));
    }
    let (store, database, now) = (
        &context.shared.store,
        context.connection.database,
        context.now,
    );
    let wait = store.with_limit(database, key, now, |entry| -> Result<Wait, Error> {
        if let Some(id) = id
            && let Some(Answer::Until(slot)) =
                replay::recall(store, database, key, id, arguments, now)?
        {
            return Ok(Wait::from_ns(u128::from(slot.since(now))));
        }
        let rule = Rule {
            key,
            limits,
            under_policy,
            costs,
        };
        let wait = charge(entry, rule, now, context.shared.settings.max_bookings())?;
        if let Some(id) = id {
            let slot = now.after_ns(u64::try_from(wait.ceil_ns()).unwrap_or(u64::MAX));
            replay::keep(
                store,
                database,
                key,
                id,
                arguments,
                Answer::Until(slot),
                slot,
            );
        }
        Ok(wait)
    })??;
    context.reply.integer(wait.ceil_ms());
    Ok(())
}

/// Charges a key and says what a next cost of 1 would wait.
fn charge(
    entry: &mut Entry,
    rule: Rule<'_>,
    now: Timestamp,
    bookings_max: usize,
) -> Result<Wait, Error> {
    let rules = [rule];
    let mut drafts = decide::drafts([&mut *entry], &rules, now, bookings_max)?;
    for draft in &mut drafts {
        for (index, &cost) in rules[0].costs.iter().enumerate() {
            draft.charge(index, cost)?;
            if !draft.standing_of(index).reset_after.fits_reply() {
                return Err(Refusal::BeyondReply.into());
            }
        }
    }
    drafts.into_iter().for_each(Draft::commit);
    let drafts = decide::drafts([&mut *entry], &rules, now, bookings_max)?;
    let next = drafts
        .iter()
        .flat_map(|draft| (0..draft.len()).map(|index| draft.earliest_from(index, 1, 0)));
    Ok(match next.max() {
        Some(Earliest::After(wait)) => wait,
        // A capacity is at least 1.
        Some(Earliest::Never) | None => Wait::ZERO,
    })
}
