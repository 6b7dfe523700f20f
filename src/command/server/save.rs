//! SAVE, BGSAVE, LASTSAVE: snapshots. The server writes them; these commands ask it to.

use crate::acl::Categories;
use crate::command::connection::Pending;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Flags, Group, Spec};
use crate::protocol::Arguments;

/// The row of SAVE.
pub const SAVE: Spec = Spec {
    summary: "Write a snapshot, and answer when it is on disk",
    reply: "OK. Other connections go on meanwhile.",
    flags: Flags::ADMIN.and(Flags::NOSCRIPT).and(Flags::NO_MULTI),
    ..Spec::new("SAVE", Group::Server, Arity::exactly(1), save)
};

/// The row of BGSAVE.
pub const BGSAVE: Spec = Spec {
    summary: "Begin to write a snapshot",
    arguments: &[Argument::flag("schedule", "SCHEDULE")],
    reply: "A line that it has begun; LASTSAVE and INFO tell when it has ended. With SCHEDULE it is not an error that one is being written: another follows.",
    flags: Flags::ADMIN.and(Flags::NOSCRIPT),
    ..Spec::new("BGSAVE", Group::Server, Arity::at_least(1), background_save)
};

/// The row of LASTSAVE.
pub const LASTSAVE: Spec = Spec {
    summary: "Tell when the last good snapshot was written",
    reply: "Seconds since the Unix epoch; the start of the server before the first.",
    flags: Flags::FAST,
    categories: Categories::ADMIN.and(Categories::DANGEROUS),
    ..Spec::new("LASTSAVE", Group::Server, Arity::exactly(1), last_save)
};

const IN_PROGRESS: &str = "ERR Background save already in progress";

fn save(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    if context.shared.saves.is_saving() {
        return Err(Error::redis(IN_PROGRESS));
    }
    context.connection.pending = Some(Pending::Save);
    Ok(())
}

fn background_save(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let schedule = match (arguments.get(1), arguments.len()) {
        (None, _) => false,
        (Some(word), 2) if word.eq_ignore_ascii_case(b"SCHEDULE") => true,
        _ => return Err(Error::SYNTAX),
    };
    let (saves, requests) = (&context.shared.saves, &context.shared.requests);
    let busy = saves.is_saving() || requests.is_snapshot_wanted();
    if busy && !schedule {
        return Err(Error::redis(IN_PROGRESS));
    }
    requests.ask_for_snapshot();
    context.reply.simple(if busy {
        "Background saving scheduled"
    } else {
        "Background saving started"
    });
    Ok(())
}

fn last_save(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    let at = context.shared.saves.report().last_save_s;
    context.reply.integer(at as i64);
    Ok(())
}
