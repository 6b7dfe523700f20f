//! ACL DRYRUN: whether a user may make a request.

use super::{FLAGS, check, no_such_user};
use crate::command::context::Context;
use crate::command::dispatch;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Group, Spec};
use crate::protocol::Arguments;

/// The row.
pub(super) const SPEC: Spec = Spec {
    summary: "Say whether a user may make a request, which is not made",
    arguments: &[
        Argument::string("username"),
        Argument::string("command"),
        Argument::string("arg").optional().multiple(),
    ],
    reply: "OK, or a text that says what it may not.",
    flags: FLAGS,
    // The request may be one with secrets.
    secret: |_, at| at >= 4,
    ..Spec::new("ACL|DRYRUN", Group::Server, Arity::at_least(4), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let (name, request) = (arguments.get(2).unwrap_or_default(), arguments.tail(3));
    let acl = &context.shared.acl;
    let user = acl.find(name).ok_or_else(|| no_such_user(name))?;
    let spec = dispatch::named(request).ok_or_else(|| {
        let command = Error::quoted(request.get(0).unwrap_or_default());
        Error::redis(format!("ERR Command '{command}' not found"))
    })?;
    if !spec.arity.accepts(request.len()) {
        return Err(Error::Arity(spec.lower_name().into()));
    }
    match check::of_user(acl, &user, spec, request) {
        Ok(()) => context.reply.ok(),
        Err(denied) => {
            let text = check::told(name, spec, request, denied);
            context.reply.bulk(&text);
        }
    }
    Ok(())
}
