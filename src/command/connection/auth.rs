//! AUTH: who a connection is.

use crate::acl::DEFAULT_USER;
use crate::command::acl::denials;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Flags, Group, Spec};
use crate::protocol::Arguments;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Log in",
    arguments: &[
        Argument::string("username").optional(),
        Argument::string("password"),
    ],
    reply: "OK. Without a name it is the user `default`. What is refused is answered late, the later the more was refused before.",
    flags: Flags::NO_AUTH.and(Flags::FAST).and(Flags::NOSCRIPT),
    secret: |_, at| at > 0,
    ..Spec::new("AUTH", Group::Connection, Arity::at_least(2), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let (user, password) = match (arguments.get(1), arguments.get(2), arguments.get(3)) {
        (Some(_), None, _) if context.shared.acl.default_user().takes_any_password() => {
            return Err(Error::redis(
                "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?",
            ));
        }
        (Some(password), None, _) => (DEFAULT_USER, password),
        (Some(user), Some(password), None) => (user, password),
        _ => return Err(Error::SYNTAX),
    };
    log_in(context, arguments, user, password)?;
    context.reply.ok();
    Ok(())
}

/// Logs a connection in.
///
/// # Errors
/// `WRONGPASS`: there is no such user, it is off, or that is not its password. It is counted and logged, and the reply
/// is late.
pub fn log_in(
    context: &mut Context<'_>,
    request: Arguments<'_>,
    user: &[u8],
    password: &[u8],
) -> Result<(), Error> {
    let connection = &mut *context.connection;
    let become_user = |login| connection.become_user(login);
    if context
        .shared
        .acl
        .log_in(user, password, become_user)
        .is_none()
    {
        denials::login(context, request, user);
        return Err(Error::Redis(
            "WRONGPASS invalid username-password pair or user is disabled.".into(),
        ));
    }
    connection.authenticated = true;
    connection.failed_logins = 0;
    Ok(())
}
