//! ACL LOAD and SAVE: the file of users. The server reads and writes it; these commands ask it to.

use super::FLAGS;
use crate::command::connection::Pending;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Arity, Flags, Group, Spec};
use crate::protocol::Arguments;

/// The row of LOAD.
pub(super) const LOAD: Spec = Spec {
    summary: "Read the file of users anew",
    reply: "OK; or an error that names each line that is wrong, and nothing has changed. Connections of users that are not in it are closed.",
    flags: FLAGS.and(Flags::NO_MULTI),
    ..Spec::new("ACL|LOAD", Group::Server, Arity::exactly(2), load)
};

/// The row of SAVE.
pub(super) const SAVE: Spec = Spec {
    summary: "Write the users to their file",
    reply: "OK, when it is on disk: the new file has taken the old one's place as a whole.",
    flags: FLAGS.and(Flags::NO_MULTI),
    ..Spec::new("ACL|SAVE", Group::Server, Arity::exactly(2), save)
};

fn load(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    ask(context, Pending::LoadUsers)
}

fn save(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    ask(context, Pending::SaveUsers)
}

fn ask(context: &mut Context<'_>, pending: Pending) -> Result<(), Error> {
    if context.shared.settings.aclfile().is_none() {
        return Err(Error::redis(
            "ERR This Redis instance is not configured to use an ACL file. Start Tollgate with --aclfile to have one.",
        ));
    }
    context.connection.pending = Some(pending);
    Ok(())
}
