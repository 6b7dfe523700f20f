//! SHUTDOWN.

use crate::command::connection::Pending;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, ArgumentKind, Arity, Flags, Group, Spec};
use crate::protocol::Arguments;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Write a snapshot and end the server",
    arguments: &[
        Argument::new(
            "save-selector",
            ArgumentKind::OneOf(&[
                Argument::choice("nosave", "NOSAVE"),
                Argument::choice("save", "SAVE"),
            ]),
        )
        .optional(),
        Argument::flag("now", "NOW"),
        Argument::flag("force", "FORCE"),
        Argument::flag("abort", "ABORT"),
    ],
    reply: "None: the connection is closed. An error if the snapshot cannot be written, unless FORCE is given. Without SAVE or NOSAVE a snapshot is written if `save` is on. There is nothing to wait for, so NOW changes nothing and ABORT finds nothing to abort.",
    flags: Flags::ADMIN.and(Flags::NOSCRIPT).and(Flags::NO_MULTI),
    ..Spec::new("SHUTDOWN", Group::Server, Arity::at_least(1), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let (mut save, mut nosave, mut now, mut force, mut abort) = (false, false, false, false, false);
    for word in arguments.iter().skip(1) {
        let option = match word.to_ascii_uppercase().as_slice() {
            b"SAVE" => &mut save,
            b"NOSAVE" => &mut nosave,
            b"NOW" => &mut now,
            b"FORCE" => &mut force,
            b"ABORT" => &mut abort,
            _ => return Err(Error::SYNTAX),
        };
        *option = true;
    }
    if save && nosave || abort && (save || nosave || now || force) {
        return Err(Error::SYNTAX);
    }
    if abort {
        return Err(Error::redis("ERR No shutdown in progress."));
    }
    context.connection.pending = Some(Pending::Shutdown {
        save: (save || nosave).then_some(save),
        force,
    });
    Ok(())
}
