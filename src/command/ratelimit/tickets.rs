//! `RL.CONFIRM`, `RL.CANCEL`, `RL.SETTLE`: what may still be done with a ticket.

use crate::command::access;
use crate::command::acl::check;
use crate::command::arguments::Cursor;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Flags, Group, Keys, Spec};
use crate::core::decision::Earliest;
use crate::core::entry::{Entry, Grant};
use crate::core::joint::{Ask, Joint};
use crate::core::leases::Lease;
use crate::core::limit::Limit;
use crate::core::number;
use crate::core::units::{SECOND, Span, Timestamp, Wait};
use crate::protocol::Arguments;
use crate::store::{Part, PolicyLimits, Store, Ticket};
use crate::waiting;
use smallvec::SmallVec;

const FLAGS: Flags = Flags::WRITE.and(Flags::FAST);

/// The row of `RL.CONFIRM`.
pub const CONFIRM: Spec = Spec {
    summary: "Ask just before sending whether a ticket's slot stands",
    arguments: &[Argument::key("key"), Argument::integer("ticket")],
    reply: "0: go. More: milliseconds to wait, then confirm again; a slot that fell into a pause or passed more than a second ago is replaced by a new one. -1 if the ticket is unknown or given back, or its lease is no longer held.",
    flags: FLAGS,
    keys: Keys::ONE,
    ..Spec::new("RL.CONFIRM", Group::RateLimit, Arity::exactly(3), confirm)
};

/// The row of `RL.CANCEL`.
pub const CANCEL: Spec = Spec {
    summary: "Give a ticket back",
    arguments: &[Argument::key("key"), Argument::integer("ticket")],
    reply: "Permits given back, rounded down: all of a slot still ahead, of one that has passed what refill has not given back already; its lease is released. 0 for a ticket that is unknown or given back. Of several rules, the first one's; of the limits of a policy, the most that came back to one.",
    flags: FLAGS,
    keys: Keys::ONE,
    ..Spec::new("RL.CANCEL", Group::RateLimit, Arity::exactly(3), cancel)
};

/// The row of `RL.SETTLE`.
pub const SETTLE: Spec = Spec {
    summary: "Tell the true cost of a ticket",
    arguments: &[
        Argument::key("key"),
        Argument::integer("ticket"),
        Argument::string("actual"),
    ],
    reply: "1: the difference was charged, into debt if need be, or given back. 0 for a ticket that is unknown or settled. `actual` is one number from 0 on, or one for each rule or limit (1,1350); 0 for a lease releases it, anything else leaves it.",
    flags: FLAGS,
    keys: Keys::ONE,
    ..Spec::new("RL.SETTLE", Group::RateLimit, Arity::exactly(4), settle)
};

/// A slot that passed longer ago than this was not used when it came.
const STALE: u64 = SECOND;

fn confirm(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let bookings_max = context.shared.settings.max_bookings();
    let answer = with_ticket(context, arguments, |call, mut keys, mut ticket| {
        if ticket.confirmed {
            return Ok(Earliest::After(Wait::ZERO));
        }
        let stale = call.now.since(ticket.slot) > STALE;
        let pause_covers = |entry: &&mut Entry| {
            let left = entry.paused(call.now);
            !left.is_zero() && left.ceil_ns() > u128::from(ticket.slot.since(call.now))
        };
        // Who has lost its lease must not go.
        let entries = keys.kept();
        let held = lease_of(entries.iter().map(|entry| &**entry), &ticket, call.now);
        let lapsed = ticket.lease != 0 && held.is_none();
        let moves = stale || lapsed || ticket.overtaken || entries.iter().any(pause_covers);
        let earliest = if moves {
            move_ticket(&mut keys, &mut ticket, call.number, call.now, bookings_max)?
        } else {
            Earliest::After(Wait::from_ns(u128::from(ticket.slot.since(call.now))))
        };
        match earliest {
            Earliest::Never => call
                .store
                .records
                .remove(call.database, call.key, call.number),
            Earliest::After(wait) => {
                ticket.confirmed = wait.is_zero();
                call.store.records.put(call.database, call.number, ticket);
            }
        }
        Ok(earliest)
    })?;
    context.reply.integer(match answer {
        Some(Earliest::After(wait)) => wait.ceil_ms(),
        Some(Earliest::Never) | None => -1,
    });
    Ok(())
}

/// The lease of a ticket, while it is held.
fn lease_of<'a>(
    entries: impl IntoIterator<Item = &'a Entry>,
    ticket: &Ticket,
    now: Timestamp,
) -> Option<Lease> {
    let mut leases = entries.into_iter().filter_map(Entry::leases);
    leases
        .find_map(|leases| leases.get(ticket.lease, now))
        .cloned()
}

/// Gives a ticket's slot back and books the next one for it; its lease stays as it is. `Never` if its limits no
/// longer allow the cost, or its lease is gone.
///
/// The slot is found on the keys as seen, with what is promised to those who wait.
fn move_ticket(
    keys: &mut waiting::Keys<'_, '_>,
    ticket: &mut Ticket,
    number: u64,
    now: Timestamp,
    bookings_max: usize,
) -> Result<Earliest, Error> {
    // On copies: if the new slot cannot be had, the old one is left as it is.
    let given_back = |entries: &[&mut Entry]| {
        let copies = entries.iter().map(|entry| (**entry).clone());
        let mut copies: SmallVec<[Entry; 1]> = copies.collect();
        let is_lease = |limit: &Limit| matches!(limit, Limit::Leases(_));
        let limits = ticket.parts.iter().flat_map(|part| &part.limits);
        let leases: SmallVec<[bool; 1]> = limits.map(is_lease).collect();
        let all_but_lease = |cost, _, limit: usize| if leases[limit] { 0 } else { cost };
        give_back(&mut copies, ticket, number, now, all_but_lease);
        copies
    };
    let (mut seen, mut kept) = (given_back(keys.seen), given_back(keys.kept()));
    let lost = ticket.lease != 0 && lease_of(&kept, ticket, now).is_none();
    let mut parts: SmallVec<[Part; 1]> = seen
        .iter()
        .zip(&ticket.parts)
        .map(|(entry, part)| {
            // Those of its policy by now; a limit that is new costs as much as the last one.
            let limits: PolicyLimits = entry.limits_or(&part.limits).iter().copied().collect();
            let last = part.costs.last().into_iter().cycle();
            let costs = part.costs.iter().chain(last);
            Part {
                key: part.key.clone(),
                under_policy: part.under_policy || limits.len() > 1,
                costs: costs.copied().take(limits.len()).collect(),
                slots: SmallVec::new(),
                limits,
            }
        })
        .collect();
    let costs: SmallVec<[SmallVec<[u64; 1]>; 1]> = parts.iter_mut().map(costs_of).collect();
    let asks = parts.iter().zip(&costs).map(|(part, costs)| Ask {
        costs,
        ..part.ask()
    });
    let asks: SmallVec<[Ask<'_>; 1]> = asks.collect();
    let joint = Joint::new(&mut seen, &asks, now, usize::MAX)?;
    let (earliest, waits) = joint.common_slot(&joint.earliest_from(0), Span::MAX);
    let in_reach = matches!(earliest, Earliest::After(wait) if wait.fits(Span::MAX));
    let slots = joint.slots_after(&waits);
    let bookable = in_reach && !lost;
    if bookable {
        let mut joint = Joint::new(&mut kept, &asks, now, bookings_max)?;
        joint.book(&waits, number, None)?;
        joint.commit();
    }
    drop(asks);
    let entries = keys.kept().iter_mut().zip(kept);
    entries.for_each(|(entry, moved)| **entry = moved);
    if !bookable {
        return Ok(Earliest::Never);
    }
    let mut slots = slots.into_iter();
    for part in &mut parts {
        part.slots = slots.by_ref().take(part.costs.len()).collect();
    }
    ticket.slot = Ticket::slot_of(&parts);
    ticket.parts = parts;
    ticket.overtaken = false;
    Ok(earliest)
}

/// What a part that is moved asks of its limits: of leases nothing, since it has one. A limit of leases that is new
/// in its policy costs 1 like any.
fn costs_of(part: &mut Part) -> SmallVec<[u64; 1]> {
    let mut costs = part.costs.clone();
    for (limit, (own, asked)) in part
        .limits
        .iter()
        .zip(part.costs.iter_mut().zip(&mut costs))
    {
        if matches!(limit, Limit::Leases(_)) {
            (*own, *asked) = (1, 0);
        }
    }
    costs
}

fn cancel(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let back = with_ticket(context, arguments, |call, mut keys, ticket| {
        let entries = keys.kept().iter_mut().map(|entry| &mut **entry);
        let back = give_back(entries, &ticket, call.number, call.now, |cost, _, _| cost);
        call.store
            .records
            .remove(call.database, call.key, call.number);
        Ok(back)
    })?;
    if back.is_some() {
        context.shared.metrics.cancelled();
    }
    context
        .reply
        .integer(i64::try_from(back.unwrap_or(0)).unwrap_or(i64::MAX));
    Ok(())
}

fn settle(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    const TAKES: &str =
        "an integer from 0 to 1000000000000, or a list with one for each rule or limit (1,1350)";
    let mut cursor = Cursor::new(arguments);
    let (_, _) = (cursor.key()?, cursor.take("ticket")?);
    let actual = cursor.value("actual", TAKES, |text| {
        let number =
            |text: &[u8]| number::integer(text).filter(|&actual| actual <= number::AMOUNT_MAX);
        text.split(|&byte| byte == b',')
            .map(number)
            .collect::<Option<SmallVec<[u64; 2]>>>()
    })?;
    let bookings_max = context.shared.settings.max_bookings();
    let settled = with_ticket(context, arguments, |call, mut keys, ticket| {
        let entries = keys.kept();
        let rules = ticket.parts.len();
        let limits: usize = ticket.parts.iter().map(|part| part.costs.len()).sum();
        let actual_of = |rule: usize, limit: usize| match actual.len() {
            1 => Some(actual[0]),
            listed if listed == limits => Some(actual[limit]),
            listed if listed == rules => Some(actual[rule]),
            _ => None,
        };
        if actual_of(0, 0).is_none() {
            return Err(Error::argument("actual", TAKES));
        }
        let less =
            |cost: u64, rule, limit| cost.saturating_sub(actual_of(rule, limit).unwrap_or(cost));
        // On copies: what is charged may be refused.
        let mut after: SmallVec<[Entry; 1]> =
            entries.iter().map(|entry| (**entry).clone()).collect();
        give_back(&mut after, &ticket, call.number, call.now, less);
        let mut limit = 0;
        for (rule, (part, entry)) in ticket.parts.iter().zip(&mut after).enumerate() {
            let own = entry.limits_or(&part.limits).into_owned();
            let mut draft = entry
                .draft_under_policy(&own, call.now)?
                .with_bookings_max(bookings_max);
            let mut charged = false;
            for (index, &cost) in part.costs.iter().enumerate() {
                let more = actual_of(rule, limit).unwrap_or(cost).saturating_sub(cost);
                limit += 1;
                // A policy may hold fewer limits by now.
                if more > 0 && index < own.len() {
                    draft.charge(index, more)?;
                    charged = true;
                }
            }
            if charged {
                draft.commit();
            }
        }
        entries
            .iter_mut()
            .zip(after)
            .for_each(|(entry, after)| **entry = after);
        call.store
            .records
            .settle(call.database, call.key, call.number);
        Ok(())
    })?;
    context.reply.integer(i64::from(settled.is_some()));
    Ok(())
}

/// Gives back from every limit of a ticket what `amount` says of its cost, rule and limit; how many whole
/// permits came back to the first rule.
fn give_back<'a>(
    entries: impl IntoIterator<Item = &'a mut Entry>,
    ticket: &Ticket,
    number: u64,
    now: Timestamp,
    amount: impl Fn(u64, usize, usize) -> u64,
) -> u64 {
    let (mut first, mut limit) = (0, 0);
    for (rule, (part, entry)) in ticket.parts.iter().zip(entries).enumerate() {
        let granted = part.costs.iter().zip(&part.slots).zip(&part.limits);
        for (index, ((&cost, &slot), &granting)) in granted.enumerate() {
            let grant = Grant {
                ticket: number,
                cost,
                slot,
                limit: granting,
                lease: ticket.lease,
            };
            let amount = amount(cost, rule, limit);
            let back = if amount == 0 {
                0
            } else {
                entry.give_back(index, grant, amount, now)
            };
            if rule == 0 {
                first = back.max(first);
            }
            limit += 1;
        }
    }
    first
}

/// A command on a ticket.
struct TicketCall<'a> {
    store: &'a Store,
    database: u8,
    key: &'a [u8],
    number: u64,
    now: Timestamp,
}

/// Calls `f` with a ticket and the entries of all its keys, locked; `None` if it is unknown.
fn with_ticket<R>(
    context: &Context<'_>,
    arguments: Arguments<'_>,
    f: impl FnOnce(&TicketCall<'_>, waiting::Keys<'_, '_>, Ticket) -> Result<R, Error>,
) -> Result<Option<R>, Error> {
    let mut cursor = Cursor::new(arguments);
    let key = cursor.key()?;
    let number = cursor.value("ticket", "a ticket's number", number::integer)?;
    let (store, database, now) = (
        &context.shared.store,
        context.connection.database,
        context.now,
    );
    let Some(found) = store.records.ticket(database, key, number, now) else {
        return Ok(None);
    };
    let keys: SmallVec<[&[u8]; 4]> = found.parts.iter().map(|part| part.key.as_bytes()).collect();
    check::check_again(context, arguments, &keys)?;
    access::change(context, &keys, |keys| {
        // Once more under the locks: another call may have used it up meanwhile. Its keys never change.
        match store.records.ticket(database, key, number, now) {
            Some(ticket) => f(
                &TicketCall {
                    store,
                    database,
                    key,
                    number,
                    now,
                },
                keys,
                ticket,
            )
            .map(Some),
            None => Ok(None),
        }
    })
}
