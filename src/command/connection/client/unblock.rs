//! CLIENT UNBLOCK: ends the wait of another connection.

use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::number;
use crate::command::spec::{Argument, ArgumentKind, Arity, Flags, Group, Spec};
use crate::protocol::Arguments;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "End the wait of a connection, with nothing spent",
    arguments: &[
        Argument::integer("client-id"),
        Argument::new(
            "unblock-type",
            ArgumentKind::OneOf(&[
                Argument::choice("timeout", "TIMEOUT"),
                Argument::choice("error", "ERROR"),
            ]),
        )
        .optional(),
    ],
    reply: "1, or 0 if it does not wait. TIMEOUT answers it as if its `max_wait` had passed, ERROR with -UNBLOCKED.",
    flags: Flags::ADMIN.and(Flags::NOSCRIPT),
    ..Spec::new(
        "CLIENT|UNBLOCK",
        Group::Connection,
        Arity::between(3, 4),
        run,
    )
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let id = number::integer(arguments.get(2).unwrap_or_default()).ok_or(Error::NOT_AN_INTEGER)?;
    let is = |word: &[u8], name: &str| word.eq_ignore_ascii_case(name.as_bytes());
    let with_error = match arguments.get(3) {
        None => false,
        Some(word) if is(word, "TIMEOUT") => false,
        Some(word) if is(word, "ERROR") => true,
        Some(_) => {
            return Err(Error::redis(
                "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR",
            ));
        }
    };
    let (shared, now) = (context.shared, context.now);
    let client = u64::try_from(id)
        .ok()
        .and_then(|id| shared.clients.find(id));
    let unblocked = client.is_some_and(|client| match with_error {
        true => {
            let error = Error::redis("UNBLOCKED client unblocked via CLIENT UNBLOCK");
            shared.waiters.unblock(shared, &client, &error, now)
        }
        false => shared.waiters.time_out(shared, &client, now),
    });
    context.reply.integer(i64::from(unblocked));
    Ok(())
}
