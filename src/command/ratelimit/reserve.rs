//! `RL.RESERVE`: books a slot and says how long to wait for it.

use crate::command::context::Context;
use crate::command::decide::{Mode, decide};
use crate::command::error::Error;
use crate::command::limits::LIMIT;
use crate::command::lone::{self, Asked};
use crate::command::rules::{self, Call};
use crate::command::spec::{Argument, Arity, Flags, Group, Keys, Spec};
use crate::core::units::Span;
use crate::protocol::Arguments;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Book a slot at once and say how long to wait for it",
    arguments: &[
        Argument::key("key"),
        LIMIT,
        rules::MAX_WAIT,
        rules::COST,
        rules::MORE_RULES,
        rules::TICKET,
        rules::ID,
        rules::INFO,
    ],
    reply: "Milliseconds to wait (0: go now); -1 if the slot would be later than `max_wait` from now; -2 if the cost is above the capacity. -1 and -2 save nothing. With `TICKET` an array of that and the ticket (0 when refused), with `LEASES` of that, the ticket if there is one, and the lease (0 when refused); with `INFO` a map.",
    flags: Flags::BOOKS.and(Flags::FAST),
    keys: Keys::Found(rules::keys_of_waiting),
    ..Spec::new("RL.RESERVE", Group::RateLimit, Arity::at_least(5), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    if let Some(wait_ms) = reserve_alone(context, arguments) {
        context.reply.integer(wait_ms);
        return Ok(());
    }
    let call = Call::parse(arguments, rules::RESERVE, &context.shared.store.policies)?;
    if let Some(takes) = call.unbookable().filter(|_| call.max_wait > Span::ZERO) {
        return Err(Error::argument("max_wait", takes));
    }
    let outcome = decide(context, arguments, &call, Mode::Reserve(call.max_wait))?;
    outcome.write_wait(&mut context.reply, &call);
    Ok(())
}

/// The wait that `RL.RESERVE key capacity rate max_wait` replies, if that is all there is to it.
fn reserve_alone(context: &mut Context<'_>, arguments: Arguments<'_>) -> Option<i64> {
    let Asked { limit, max_wait } = lone::asked(context, arguments, true)?;
    let key = arguments.get(1)?;
    lone::decide(context, key, &limit, 1, max_wait, |verdict, _| {
        if verdict.granted {
            verdict.wait.ceil_ms()
        } else {
            -1
        }
    })
}
