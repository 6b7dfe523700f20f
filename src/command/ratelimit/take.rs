//! `RL.TAKE`: now or not at all.

use crate::command::context::Context;
use crate::command::decide::{Mode, Outcome, decide};
use crate::command::error::Error;
use crate::command::rules::{self, Call, Waits};
use crate::command::spec::{Argument, Arity, Flags, Group, Keys, Spec};
use crate::protocol::{Arguments, Reply};

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Take permits now or not at all",
    arguments: &[
        Argument::key("key"),
        rules::LIMIT,
        rules::COST,
        rules::MORE_RULES,
        rules::INFO,
    ],
    reply: "Five integers: limited (0 or 1), capacity, remaining, retry_after_ms (-1 when allowed, -2 when it never can be), reset_after_ms; of several rules, those of the rule that binds. With `INFO` a map.",
    flags: Flags::WRITE.and(Flags::FAST),
    keys: Keys::Found(rules::keys_of_immediate),
    ..Spec::new("RL.TAKE", Group::RateLimit, Arity::at_least(4), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    answer(context, arguments, Mode::Take)
}

/// What `RL.TAKE` and `RL.PEEK` share: they differ in the mode.
pub fn answer(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    mode: Mode,
) -> Result<(), Error> {
    let call = Call::parse(arguments, Waits::Never)?;
    let outcome = decide(context, &call.rules, mode)?;
    if call.info {
        outcome.write_info(&mut context.reply, &call.rules);
    } else {
        write(&outcome, &mut context.reply);
    }
    Ok(())
}

fn write(outcome: &Outcome, reply: &mut Reply<'_>) {
    let bound = outcome.bound();
    reply.integers(&[
        i64::from(!outcome.granted),
        bound.capacity as i64,
        bound.remaining as i64,
        outcome.retry_after_ms(),
        bound.reset_after.ceil_ms(),
    ]);
}
