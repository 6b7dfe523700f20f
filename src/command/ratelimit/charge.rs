//! `RL.CHARGE`: a cost that is known only afterwards.

use crate::command::arguments::Cursor;
use crate::command::context::Context;
use crate::command::decide::milliseconds;
use crate::command::error::Error;
use crate::command::rules;
use crate::command::spec::{Argument, Arity, Flags, Group, Keys, Spec};
use crate::core::decision::Refusal;
use crate::protocol::Arguments;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Charge without asking, into debt if need be",
    arguments: &[
        Argument::key("key"),
        rules::LIMIT,
        Argument::integer("cost"),
    ],
    reply: "Milliseconds that a next cost of 1 would wait.",
    flags: Flags::WRITE.and(Flags::FAST),
    keys: Keys::ONE,
    ..Spec::new("RL.CHARGE", Group::RateLimit, Arity::at_least(5), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let mut cursor = Cursor::new(arguments);
    let (key, limit, cost) = (
        cursor.key()?,
        rules::limit(&mut cursor)?,
        cursor.amount("cost")?,
    );
    cursor.finish()?;
    let now = context.now;
    let earliest = context.shared.store.with_key(
        context.connection.database,
        key,
        now,
        |entry| -> Result<_, Error> {
            let mut draft = entry.draft(&limit, now)?;
            draft.charge(0, cost)?;
            if !draft.standing().reset_after.fits_reply() {
                return Err(Refusal::BeyondReply.into());
            }
            draft.commit();
            Ok(entry.draft(&limit, now)?.earliest(1))
        },
    )?;
    context.reply.integer(milliseconds(earliest));
    Ok(())
}
