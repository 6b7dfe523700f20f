//! ACL GETUSER, USERS, LIST and WHOAMI.

use super::FLAGS;
use crate::acl::{self, Selector};
use crate::command::check_reply_bytes;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, Arity, Flags, Group, Spec};
use crate::protocol::{Arguments, Reply};

/// The row of GETUSER.
pub(super) const GETUSER: Spec = Spec {
    summary: "Describe a user",
    arguments: &[Argument::string("username")],
    reply: "A map (in RESP2 a flat array): flags, passwords (SHA-256 of each), commands, keys, channels, and selectors, an array of maps; nil if there is no such user.",
    flags: FLAGS,
    ..Spec::new("ACL|GETUSER", Group::Server, Arity::exactly(3), describe)
};

/// The row of USERS.
pub(super) const USERS: Spec = Spec {
    summary: "List the names of the users",
    reply: "An array of names, in order.",
    flags: FLAGS,
    ..Spec::new("ACL|USERS", Group::Server, Arity::exactly(2), names)
};

/// The row of LIST.
pub(super) const LIST: Spec = Spec {
    summary: "List the users with their rules",
    reply: "An array of lines as a file of users has them: `user name rule rule ...`.",
    flags: FLAGS,
    ..Spec::new("ACL|LIST", Group::Server, Arity::exactly(2), list)
};

/// The row of WHOAMI.
pub(super) const WHOAMI: Spec = Spec {
    summary: "Say who this connection is logged in as",
    reply: "The user's name.",
    flags: Flags::NOSCRIPT,
    ..Spec::new("ACL|WHOAMI", Group::Server, Arity::exactly(2), who_am_i)
};

pub(super) fn who_am_i(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    context.reply.bulk(context.connection.login.name());
    Ok(())
}

fn names(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    let users = context.shared.acl.all();
    context.reply.array(users.len());
    users.iter().for_each(|(name, _)| context.reply.bulk(name));
    Ok(())
}

fn list(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    let text = acl::write(&context.shared.acl.all());
    check_reply_bytes("ACL LIST", text.len())?;
    let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    context.reply.array(lines.len());
    for line in lines {
        context.reply.bulk(line.strip_suffix(b"\n").unwrap_or(line));
    }
    Ok(())
}

fn describe(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let reply = &mut context.reply;
    let name = arguments.get(2).unwrap_or_default();
    let Some(user) = context.shared.acl.find(name) else {
        reply.null();
        return Ok(());
    };
    reply.map(6);
    reply.bulk(b"flags");
    reply.set(user.flags().count());
    user.flags().for_each(|flag| reply.bulk(flag.as_bytes()));
    reply.bulk(b"passwords");
    reply.array(user.passwords().len());
    user.passwords().for_each(|hash| reply.bulk_display(hash));
    write_selector(reply, user.own_selector());
    reply.bulk(b"selectors");
    reply.array(user.further_selectors().len());
    for selector in user.further_selectors() {
        reply.map(3);
        write_selector(reply, selector);
    }
    Ok(())
}

/// Three pairs of a map.
fn write_selector(reply: &mut Reply<'_>, selector: &Selector) {
    let pairs = [
        ("commands", selector.commands_text()),
        ("keys", selector.keys_text()),
        ("channels", selector.channels_text()),
    ];
    for (name, text) in pairs {
        reply.bulk(name.as_bytes());
        reply.bulk(&text);
    }
}
