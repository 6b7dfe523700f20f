//! SELECT: the database that the connection's keys are in.

use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::number;
use crate::command::spec::{Argument, Arity, Flags, Group, Spec};
use crate::protocol::Arguments;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Choose the database",
    arguments: &[Argument::integer("index")],
    reply: "OK.",
    flags: Flags::FAST,
    ..Spec::new("SELECT", Group::Connection, Arity::exactly(2), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let index = number::required(arguments.get(1).unwrap_or_default())?;
    if index != 0 && context.shared.settings.cluster().is_some() {
        return Err(Error::redis("ERR SELECT is not allowed in cluster mode"));
    }
    let most = context.shared.settings.databases();
    let index = u8::try_from(index)
        .ok()
        .filter(|&index| u64::from(index) < most);
    context.connection.database = index.ok_or(Error::redis("ERR DB index is out of range"))?;
    context.reply.ok();
    Ok(())
}
