//! TIME.

use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Arity, Flags, Group, Spec};
use crate::core::units::SECOND;
use crate::protocol::Arguments;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Tell the server's time",
    reply: "Two texts: seconds since the Unix epoch, and microseconds of the second.",
    flags: Flags::FAST,
    ..Spec::new("TIME", Group::Server, Arity::exactly(1), run)
};

fn run(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    let ns = context.now.as_ns();
    context.reply.array(2);
    context.reply.bulk_display(ns / SECOND);
    context.reply.bulk_display(ns % SECOND / 1000);
    Ok(())
}
