//! `RL.ACQUIRE`: waits on the server until a slot has come.

use crate::command::connection::Pending;
use crate::command::context::Context;
use crate::command::decide::{self, Mode};
use crate::command::error::Error;
use crate::command::limits::LIMIT;
use crate::command::outcome::Outcome;
use crate::command::rules::{self, Call};
use crate::command::spec::{Argument, Arity, Flags, Group, Keys, Spec};
use crate::command::waiters::Acquired;
use crate::core::decision::Earliest;
use crate::core::units::Span;
use crate::protocol::Arguments;

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
    reply: "Milliseconds waited, when the slot has come: go now. -1 at once if it would be later than `max_wait` from now, or then if that shows later; -2 if the cost is above the capacity. -1 and -2 spend nothing. With `TICKET` an array of that and the ticket (0 when refused), with `INFO` a map. Inside MULTI it does not wait: what cannot go at once is -1.",
    flags: Flags::WRITE.and(Flags::BLOCKING),
    keys: Keys::Found(rules::keys_of_waiting),
    ..Spec::new("RL.ACQUIRE", Group::RateLimit, Arity::at_least(5), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let call = Call::parse(arguments, rules::ACQUIRE, &context.shared.store.policies)?;
    if context.connection.in_exec {
        let outcome = decide::decide(context, arguments, &call, Mode::Acquire(Span::ZERO))?;
        write(context, &call, &outcome);
        return Ok(());
    }
    let mode = Mode::Acquire(call.max_wait);
    if let Some(outcome) = decide::decide_unless_waited(context, arguments, &call, mode)?
        && !waits(&call, &outcome)
    {
        decide::count(context, mode, &outcome);
        write(context, &call, &outcome);
        return Ok(());
    }
    match context.shared.waiters.acquire(context, arguments, &call)? {
        Acquired::Waits => context.connection.pending = Some(Pending::Answer),
        Acquired::Answered(reply) => context.reply.append(&reply),
    }
    Ok(())
}

/// True if the call could go by its deadline.
fn waits(call: &Call<'_>, outcome: &Outcome) -> bool {
    match outcome.earliest {
        Earliest::After(wait) => !outcome.granted && wait.fits(call.max_wait),
        Earliest::Never => false,
    }
}

fn write(context: &mut Context<'_>, call: &Call<'_>, outcome: &Outcome) {
    let (info, ticket) = (call.options.info, call.options.ticket.is_some());
    outcome.write_wait(&mut context.reply, &call.rules, info, ticket);
}
