//! `RL.PEEK`: what `RL.TAKE` would say, without taking.

use super::take::answer;
use crate::command::context::Context;
use crate::command::decide::Mode;
use crate::command::error::Error;
use crate::command::limits::LIMIT;
use crate::command::rules;
use crate::command::spec::{Argument, Arity, Flags, Group, Keys, Spec};
use crate::protocol::Arguments;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Say what RL.TAKE would, and change nothing",
    arguments: &[
        Argument::key("key"),
        LIMIT,
        rules::COST,
        rules::MORE_RULES,
        rules::INFO,
    ],
    reply: "As `RL.TAKE`, without ticket and lease: limited and retry_after_ms as it would answer, remaining and reset_after_ms as they stand.",
    flags: Flags::READONLY.and(Flags::FAST),
    keys: Keys::Found(rules::keys_of_immediate),
    ..Spec::new("RL.PEEK", Group::RateLimit, Arity::at_least(4), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    answer(context, arguments, rules::PEEK, Mode::Peek)
}
