//! ACL SETUSER and DELUSER.

use super::{FLAGS, close};
use crate::acl::{DEFAULT_USER, NAME_BYTES_MAX, Unmatched, join_selectors};
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Group, Spec};
use crate::protocol::Arguments;

/// The row of SETUSER.
pub(super) const SETUSER: Spec = Spec {
    summary: "Make a user, or change what it may do",
    arguments: &[
        Argument::string("username"),
        Argument::string("rule").optional().multiple(),
    ],
    reply: "OK; or an error that names the rule that is wrong, and nothing has changed. What the rules are is in operations.md.",
    flags: FLAGS,
    secret: |_, at| at >= 2,
    ..Spec::new("ACL|SETUSER", Group::Server, Arity::at_least(3), set)
};

/// The row of DELUSER.
pub(super) const DELUSER: Spec = Spec {
    summary: "Remove users, and close their connections",
    arguments: &[Argument::string("username").multiple()],
    reply: "How many there were. The default user cannot be removed.",
    flags: FLAGS,
    ..Spec::new("ACL|DELUSER", Group::Server, Arity::at_least(3), delete)
};

fn set(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let name = arguments.get(2).unwrap_or_default();
    let breaks = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, 0 | 0x0b);
    if name.iter().any(breaks) {
        return Err(Error::redis(
            "ERR Usernames can't contain spaces or null characters",
        ));
    }
    // An empty one could not be read again from a file.
    if !(1..=NAME_BYTES_MAX).contains(&name.len()) {
        return Err(Error::argument("username", "1 to 512 bytes long"));
    }
    let rules = join_selectors(arguments.iter().skip(3));
    let rules = rules.map_err(|Unmatched(word)| {
        Error::redis(format!(
            "ERR Unmatched parenthesis in acl selector starting at '{}'.",
            Error::quoted(&word)
        ))
    })?;
    let (shared, now) = (context.shared, context.now);
    let open_channels = shared.settings.open_channels();
    let changed = shared
        .acl
        .change(name, &rules, open_channels, |before, after| {
            if before.is_some_and(|before| !after.hears_all_that(&before)) {
                close::that_hear_too_much(shared, name, &after, now);
            }
        });
    changed.map_err(|(index, error)| {
        let rule = rules.get(index).map_or(name, Vec::as_slice);
        Error::redis(format!(
            "ERR Error in ACL SETUSER modifier '{}': {error}",
            Error::quoted(rule)
        ))
    })?;
    context.reply.ok();
    Ok(())
}

fn delete(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let names = arguments.tail(2);
    if names.iter().any(|name| name == DEFAULT_USER) {
        return Err(Error::redis("ERR The 'default' user cannot be removed"));
    }
    let (shared, now) = (context.shared, context.now);
    let removed = names.iter().filter(|name| {
        shared
            .acl
            .remove(name, || close::of_user(shared, name, now))
    });
    let removed = removed.count();
    context.reply.integer(removed as i64);
    Ok(())
}
