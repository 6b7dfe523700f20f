//! DEBUG CLOCK: the clock of tests (`--clock manual`).

use crate::command::arguments::Cursor;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, ArgumentKind, Arity, Flags, Group, Spec};
use crate::command::{help, number};
use crate::core::units::{MILLISECOND, Timestamp};
use crate::protocol::Arguments;
use crate::store::Sweep;

/// Runs while no other command does, since nothing may see half of a step of the clock; and not inside
/// MULTI, whose commands all run at one instant.
const FLAGS: Flags = Flags::ADMIN
    .and(Flags::NOSCRIPT)
    .and(Flags::NO_MULTI)
    .and(Flags::EXCLUSIVE);

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Look at the clock of tests, or move it",
    reply: "Depends on the subcommand.",
    subcommands: &[CLOCK, help::row("DEBUG|HELP", Group::Server)],
    flags: Flags::ADMIN.and(Flags::NOSCRIPT),
    ..Spec::new("DEBUG", Group::Server, Arity::at_least(2), clock)
};

const CLOCK: Spec = Spec {
    summary: "Look at the clock, or move it, on a server started with --clock manual",
    arguments: &[Argument::new(
        "action",
        ArgumentKind::OneOf(&[
            Argument::string("duration").token("ADVANCE"),
            Argument::integer("unix-ms").token("SET"),
            Argument::choice("now", "NOW"),
        ]),
    )],
    reply: "OK when the clock has moved and all that falls due has happened; after NOW nanoseconds since the Unix epoch. A time set back counts as no time passed.",
    flags: FLAGS,
    ..Spec::new("DEBUG|CLOCK", Group::Server, Arity::between(3, 4), clock)
};

/// Places that one step of the sweep looks at. The sweep goes on to its end; steps only keep each lock short.
const SWEEP_STEP: usize = 65_536;

fn clock(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    const FAR: &str = "one that ends no later than 9223372036854 ms after the Unix epoch";
    const MS: &str = "an integer from 0 to 9223372036854 (milliseconds since the Unix epoch)";
    let clock = &context.shared.clock;
    if !clock.is_manual() {
        return Err(Error::redis(
            "ERR DEBUG CLOCK needs a server started with --clock manual",
        ));
    }
    let mut cursor = Cursor::new(arguments.tail(1));
    if cursor.keyword("ADVANCE") {
        let span = cursor.duration_or_zero("duration")?;
        cursor.finish()?;
        let to = context.now.after(span);
        move_to(context, to, "duration", FAR)
    } else if cursor.keyword("SET") {
        let at = cursor.value("unix-ms", MS, |text| {
            let ms = u64::try_from(number::integer(text)?).ok()?;
            Timestamp::from_ns(ms.checked_mul(MILLISECOND)?)
        })?;
        cursor.finish()?;
        move_to(context, at, "unix-ms", MS)
    } else if cursor.keyword("NOW") {
        cursor.finish()?;
        let ns = i64::try_from(context.now.as_ns()).unwrap_or(i64::MAX);
        context.reply.integer(ns);
        Ok(())
    } else {
        Err(Error::argument(
            "action",
            "ADVANCE duration, SET unix-ms, or NOW",
        ))
    }
}

/// Moves the clock, from one instant at which something falls due to the next.
fn move_to(
    context: &mut Context<'_>,
    to: Timestamp,
    name: &'static str,
    takes: &'static str,
) -> Result<(), Error> {
    let shared = context.shared;
    if to > Timestamp::MAX {
        return Err(Error::argument(name, takes));
    }
    while let Some(next) = shared.fire(shared.clock.now()).filter(|next| *next <= to) {
        shared.clock.set(next);
    }
    context.now = shared.clock.set(to).ok_or(Error::argument(name, takes))?;
    let mut sweep = Sweep::default();
    while sweep.rounds == 0 {
        sweep = context.shared.store.sweep(sweep, SWEEP_STEP, context.now);
        context.shared.metrics.forgot(sweep.dropped);
    }
    context.reply.ok();
    Ok(())
}
