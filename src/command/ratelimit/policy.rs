//! `RL.POLICY`: limits stored under a name.

use crate::command::access;
use crate::command::arguments::Cursor;
use crate::command::context::{Context, Shared};
use crate::command::error::Error;
use crate::command::limits::{LIMIT, Term, limit};
use crate::command::spec::{Argument, ArgumentKind, Arity, Flags, Group, Spec};
use crate::core::entry::LIMITS_MAX;
use crate::core::limit::Limit;
use crate::core::units::Timestamp;
use crate::events;
use crate::protocol::Arguments;
use crate::store::{POLICY_NAME_BYTES_MAX, PolicyLimits};

const NAME: Argument = Argument::string("name");

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Store limits under a name",
    reply: "As its subcommands.",
    subcommands: &[
        Spec {
            summary: "Store limits under a name; several all count on the one key that a call names",
            arguments: &[
                NAME,
                LIMIT,
                Argument::new("limit", ArgumentKind::Block(&[LIMIT]))
                    .token("AND")
                    .optional()
                    .multiple(),
            ],
            reply: "OK. Keys follow on their next call, by the rules for changed parameters. It is told on `__rl@<db>__:policy`.",
            flags: Flags::WRITE.and(Flags::ADMIN).and(Flags::DENYOOM),
            ..Spec::new("RL.POLICY|SET", Group::RateLimit, Arity::at_least(5), set)
        },
        Spec {
            summary: "Show the limits of a policy",
            arguments: &[NAME],
            reply: "An array of limits as a command takes them; nil if there is none of that name.",
            flags: Flags::FAST,
            ..Spec::new("RL.POLICY|GET", Group::RateLimit, Arity::exactly(3), get)
        },
        Spec {
            summary: "List the names of all policies",
            reply: "An array of names, in order.",
            ..Spec::new("RL.POLICY|LIST", Group::RateLimit, Arity::exactly(2), list)
        },
        Spec {
            summary: "Remove a policy",
            arguments: &[NAME],
            reply: "1, or 0 if there was none of that name. Keys keep what they counted under it. A 1 is told on `__rl@<db>__:policy`.",
            flags: Flags::WRITE.and(Flags::ADMIN),
            ..Spec::new("RL.POLICY|DEL", Group::RateLimit, Arity::exactly(3), del)
        },
    ],
    ..Spec::new("RL.POLICY", Group::RateLimit, Arity::at_least(2), bare)
};

fn bare(_: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    Err(Error::SYNTAX)
}

fn set(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let mut cursor = Cursor::new(arguments);
    cursor.take("SET")?;
    let name = name(&mut cursor)?;
    let limits = limits(&mut cursor)?;
    if !access::set_policy(context.shared, name, limits, context.now) {
        return Err(Error::argument("name", "one of at most 10000 policies"));
    }
    events::policy(&context.shared.hub, context.connection.database, name);
    context.reply.ok();
    Ok(())
}

/// Stores policies that were read from a file, in place of those of the same names; how many are other than they were,
/// which is told as if they were set on database 0. All are stored, or none, since there would be too many: then `None`.
pub fn set_all(shared: &Shared, read: Vec<(Vec<u8>, PolicyLimits)>, now: Timestamp) -> Option<u64> {
    let policies = &shared.store.policies;
    let new = read.iter().map(|(name, _)| name.as_slice());
    if !policies.has_room_for(new) {
        return None;
    }
    let mut changed = 0;
    for (name, limits) in read {
        if policies.limits(&name).as_ref() != Some(&limits) {
            access::set_policy(shared, &name, limits, now);
            events::policy(&shared.hub, 0, &name);
            changed += 1;
        }
    }
    Some(changed)
}

/// Reads `<limit> [AND <limit>]...` to the end.
///
/// # Errors
/// Names the argument that is wrong and what it takes.
pub fn limits(cursor: &mut Cursor<'_>) -> Result<PolicyLimits, Error> {
    let mut limits = PolicyLimits::new();
    loop {
        match limit(cursor)? {
            Term::Plain(limit) => limits.push(limit),
            Term::Policy(_) => {
                return Err(Error::argument(
                    "limit",
                    "no POLICY: a policy holds limits only",
                ));
            }
        }
        if !cursor.keyword("AND") {
            break;
        }
        if limits.len() == LIMITS_MAX {
            return Err(Error::argument("limit", "one of at most 16 of a policy"));
        }
    }
    cursor.finish()?;
    let of_leases = |limit: &&Limit| matches!(limit, Limit::Leases(_));
    if limits.iter().filter(of_leases).count() > 1 {
        return Err(Error::argument(
            "LEASES",
            "in one limit of a policy at most, since a call takes one lease",
        ));
    }
    Ok(limits)
}

/// Takes a policy's name.
///
/// # Errors
/// It is empty or too long.
pub fn name<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], Error> {
    const TAKES: &str = "1 to 128 bytes long";
    cursor.value("name", TAKES, |name| {
        (1..=POLICY_NAME_BYTES_MAX)
            .contains(&name.len())
            .then_some(name)
    })
}

fn get(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    match context.shared.store.policies.limits(&arguments[2]) {
        Some(limits) => {
            context.reply.array(limits.len());
            limits
                .iter()
                .for_each(|limit| context.reply.bulk_display(limit));
        }
        None => context.reply.null(),
    }
    Ok(())
}

fn list(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    let names = context.shared.store.policies.names();
    context.reply.array(names.len());
    names.iter().for_each(|name| context.reply.bulk(name));
    Ok(())
}

fn del(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let name = &arguments[2];
    let removed = context.shared.store.policies.remove(name);
    if removed {
        events::policy(&context.shared.hub, context.connection.database, name);
    }
    context.reply.integer(i64::from(removed));
    Ok(())
}
