//! `RL.ACQUIRE`: waits on the server until a slot has come.

use crate::command::connection::Pending;
use crate::command::context::Context;
use crate::command::counted;
use crate::command::decide::{self, Mode};
use crate::command::error::Error;
use crate::command::limits::LIMIT;
use crate::command::outcome::Outcome;
use crate::command::rules::{self, Call, Rule};
use crate::command::spec::{Argument, Arity, Flags, Group, Keys, Spec};
use crate::command::waiters::{Arrival, Asked, Caller};
use crate::core::decision::Earliest;
use crate::core::units::Span;
use crate::protocol::Arguments;
use crate::store::Key;
use crate::waiting::{Holder, Want, Wish};

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Wait on the server until the slot has come",
    arguments: &[
        Argument::key("key"),
        LIMIT,
        rules::MAX_WAIT,
        rules::COST,
        rules::MORE_RULES,
        rules::PRIORITY,
        rules::GROUP,
        rules::TICKET,
        rules::ID,
        rules::INFO,
    ],
    reply: "Milliseconds waited, when the slot has come: go now. -1 at once if it would be later than `max_wait` from now, or then if that shows later; -2 if the cost is above the capacity. -1 and -2 spend nothing. With `TICKET` an array of that and the ticket (0 when refused), with `LEASES` of that, the ticket if there is one, and the lease (0 when refused); with `INFO` a map. Inside MULTI it does not wait: what cannot go at once is -1.",
    flags: Flags::BOOKS.and(Flags::BLOCKING),
    keys: Keys::Found(rules::keys_of_waiting),
    ..Spec::new("RL.ACQUIRE", Group::RateLimit, Arity::at_least(5), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let call = Call::parse(arguments, rules::ACQUIRE, &context.shared.store.policies)?;
    if context.connection.executing.is_some() {
        return at_once(context, arguments, &call);
    }
    let mode = Mode::Acquire(call.max_wait);
    if let Some(outcome) = decide::decide_unless_waited(context, arguments, &call, mode)?
        && !waits(&call, &outcome)
    {
        decide::count(context, &call, mode, &outcome);
        outcome.write_wait(&mut context.reply, &call);
        return Ok(());
    }
    if context.is_full {
        return Err(Error::OUT_OF_MEMORY);
    }
    let wish = wish(context, arguments, &call);
    match context.shared.waiters.arrive(context, wish, arguments)? {
        Arrival::Waits => {
            counted::waits(context, &call.keys());
            context.connection.pending = Some(Pending::Answer);
        }
        Arrival::Answered(reply) => context.reply.append(&reply),
        Arrival::Known => return at_once(context, arguments, &call),
    }
    Ok(())
}

/// Lets a call go now or not at all.
fn at_once(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    call: &Call<'_>,
) -> Result<(), Error> {
    let outcome = decide::decide(context, arguments, call, Mode::Acquire(Span::ZERO))?;
    outcome.write_wait(&mut context.reply, call);
    Ok(())
}

/// True if the call could go by its deadline.
fn waits(call: &Call<'_>, outcome: &Outcome) -> bool {
    match outcome.earliest {
        Earliest::After(wait) => !outcome.granted && wait.fits(call.max_wait),
        Earliest::Never => false,
    }
}

fn wish(context: &Context<'_>, arguments: Arguments<'_>, call: &Call<'_>) -> Wish<Caller> {
    let want = |rule: &Rule<'_>| Want {
        key: Key::new(rule.key),
        limits: rule.limits.clone(),
        policy: rule.policy.map(Box::from),
        costs: rule.costs.clone(),
    };
    let (first, options) = (call.rules[0].key, &call.options);
    let asked = Asked::Acquire {
        info: options.info,
        ticket: options.ticket,
    };
    Wish {
        caller: Caller::new(context, arguments, first, options.id, asked)
            .under(call.rules.iter().map(|rule| rule.policy)),
        database: context.connection.database,
        wants: call.rules.iter().map(want).collect(),
        priority: options.priority,
        group: options.group.into(),
        deadline: context.now.after(call.max_wait),
        holder: Holder::default(),
    }
}
