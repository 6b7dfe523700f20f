//! `RL.TAKE`: now or not at all.

use crate::command::context::Context;
use crate::command::decide::{Mode, decide};
use crate::command::error::Error;
use crate::command::limits::LIMIT;
use crate::command::lone::{self, Asked};
use crate::command::rules::{self, Call, Grammar};
use crate::command::spec::{Argument, Arity, Flags, Group, Keys, Spec};
use crate::core::units::{Span, Timestamp};
use crate::protocol::Arguments;
use smallvec::SmallVec;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Take permits now or not at all",
    arguments: &[
        Argument::key("key"),
        LIMIT,
        rules::COST,
        rules::MORE_RULES,
        rules::TICKET,
        rules::ID,
        rules::SHADOW,
        rules::INFO,
    ],
    reply: "Five integers: limited (0 or 1), capacity, remaining, retry_after_ms (-1 when allowed, -2 when it never can be), reset_after_ms; of several rules, those of the rule that binds. With `TICKET` another, the ticket, and with `LEASES` one more, the lease (0 when refused); with `INFO` a map. With `SHADOW` the call is let go whatever is decided, limited is 0, and all else is as if: what would be refused takes nothing, its retry_after_ms says that it would be, and INFO and RL.TOP count it (`shadow_limited`).",
    flags: Flags::BOOKS.and(Flags::FAST),
    keys: Keys::Found(rules::keys_of_immediate),
    ..Spec::new("RL.TAKE", Group::RateLimit, Arity::at_least(4), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    if let Some(numbers) = take_alone(context, arguments) {
        context.reply.integers(&numbers);
        return Ok(());
    }
    answer(context, arguments, rules::TAKE, Mode::Take)
}

/// What `RL.TAKE key capacity rate` replies, if that is all there is to it.
fn take_alone(context: &mut Context<'_>, arguments: Arguments<'_>) -> Option<[i64; 5]> {
    let Asked { limit, .. } = lone::asked(context, arguments, false)?;
    let (key, now) = (arguments.get(1)?, context.now);
    lone::decide(context, key, &limit, 1, Span::ZERO, |verdict, bucket| {
        let standing = bucket.standing(now, Timestamp::ZERO);
        [
            i64::from(!verdict.granted),
            limit.capacity() as i64,
            standing.remaining as i64,
            if verdict.granted {
                -1
            } else {
                verdict.wait.ceil_ms()
            },
            standing.reset_after.ceil_ms(),
        ]
    })
}

/// What `RL.TAKE` and `RL.PEEK` share: they differ in the mode.
pub fn answer(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    grammar: Grammar,
    mode: Mode,
) -> Result<(), Error> {
    let call = Call::parse(arguments, grammar, &context.shared.store.policies)?;
    let outcome = decide(context, arguments, &call, mode)?;
    if call.options.info {
        outcome.write_info(&mut context.reply, &call);
        return Ok(());
    }
    let bound = outcome.bound();
    let numbers = [
        i64::from(!outcome.granted && !call.options.shadow),
        bound.capacity as i64,
        bound.remaining as i64,
        outcome.retry_after_ms(),
        bound.reset_after.ceil_ms(),
    ];
    let numbers = match mode {
        Mode::Peek => SmallVec::from_slice(&numbers),
        Mode::Take | Mode::Reserve(_) | Mode::Acquire(_) => outcome.numbers(&numbers, &call),
    };
    context.reply.integers(&numbers);
    Ok(())
}
