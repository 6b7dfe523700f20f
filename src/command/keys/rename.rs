//! RENAME, RENAMENX: a plain value under another name.
//!
//! A limit stays under its name: tickets, waiting callers and pauses refer to it. So a limit key is refused, as the
//! old name and as the new one.

use crate::command::arguments::check_key;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Flags, Group, KeyUse, Keys, Run, Spec, Uses};
use crate::plain::Plain;
use crate::protocol::Arguments;

/// The row of RENAME.
pub const RENAME: Spec = row(
    "RENAME",
    "Move a plain value to another name, in the place of what is there",
    "OK. A key that does not exist is an error, and so is a limit key.",
    Flags::WRITE,
    &[KeyUse::TAKE_OUT, KeyUse::OVERWRITE],
    |context, arguments| {
        rename(context, arguments, true)?;
        context.reply.ok();
        Ok(())
    },
);

/// The row of RENAMENX.
pub const RENAMENX: Spec = row(
    "RENAMENX",
    "Move a plain value to a name that does not exist",
    "1, or 0 if the new name exists. A key that does not exist is an error, and so is a limit key.",
    Flags::WRITE.and(Flags::FAST),
    &[KeyUse::TAKE_OUT, KeyUse::CREATE],
    |context, arguments| {
        let moved = rename(context, arguments, false)?;
        context.reply.integer(i64::from(moved));
        Ok(())
    },
);

const NAMES: &[Argument] = &[Argument::key("key"), Argument::key("newkey")];

const fn row(
    name: &'static str,
    summary: &'static str,
    reply: &'static str,
    flags: Flags,
    uses: &'static [KeyUse],
    run: Run,
) -> Spec {
    Spec {
        summary,
        arguments: NAMES,
        reply,
        flags,
        keys: Keys::Range {
            first: 1,
            last: 2,
            step: 1,
        },
        uses: Uses::Each(uses),
        ..Spec::new(name, Group::Generic, Arity::exactly(3), run)
    }
}

/// Moves a value with the time at which it goes; false if the new name exists and must not.
fn rename(
    context: &mut Context<'_>,
    arguments: Arguments<'_>,
    overwrite: bool,
) -> Result<bool, Error> {
    const NO_SUCH_KEY: Error = Error::Redis(std::borrow::Cow::Borrowed("ERR no such key"));
    let (store, database, now) = (
        &context.shared.store,
        context.connection.database,
        context.now,
    );
    let (from, to) = (&arguments[1], check_key(&arguments[2])?);
    if from == to {
        let exists = store.read_plain(database, from, now, |plain| plain.is_some())?;
        return if exists {
            Ok(overwrite)
        } else {
            Err(NO_SUCH_KEY)
        };
    }
    let new = to;
    let move_value = |slots: &mut [Option<Plain>]| {
        let [from, to] = slots else {
            return Ok(false);
        };
        if from.is_none() {
            return Err(NO_SUCH_KEY);
        }
        let free = overwrite || to.is_none();
        if free {
            store.touched.moves_to(database, new);
            *to = from.take();
        }
        Ok(free)
    };
    store.with_plains(database, &[from, to], now, move_value)?
}
