//! AUTH. There is one user, `default`.

use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Flags, Group, Spec};
use crate::protocol::Arguments;
use crate::settings::Settings;

/// The only user.
pub const USER: &str = "default";

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Give the password",
    arguments: &[
        Argument::string("username").optional(),
        Argument::string("password"),
    ],
    reply: "OK. The only user is `default`.",
    flags: Flags::NO_AUTH.and(Flags::FAST).and(Flags::NOSCRIPT),
    secret: |_, at| at > 0,
    ..Spec::new("AUTH", Group::Connection, Arity::at_least(2), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let settings = &context.shared.settings;
    let (user, password) = match (arguments.get(1), arguments.get(2), arguments.get(3)) {
        (Some(password), None, _) if settings.requires_password() => (USER.as_bytes(), password),
        (Some(user), Some(password), None) => (user, password),
        (Some(_), None, _) => {
            return Err(Error::redis(
                "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?",
            ));
        }
        _ => return Err(Error::SYNTAX),
    };
    check(settings, user, password)?;
    context.connection.authenticated = true;
    context.reply.ok();
    Ok(())
}

/// Checks a user's password. Without one configured the default user has any, as in Redis.
///
/// # Errors
/// `WRONGPASS`.
pub fn check(settings: &Settings, user: &[u8], password: &[u8]) -> Result<(), Error> {
    let known = user == USER.as_bytes();
    if known && (!settings.requires_password() || settings.password_matches(password)) {
        return Ok(());
    }
    Err(Error::Redis(
        "WRONGPASS invalid username-password pair or user is disabled.".into(),
    ))
}
