//! What a client says of itself: CLIENT SETNAME, GETNAME, SETINFO, NO-EVICT, NO-TOUCH.

use super::{ON_OFF, on_off};
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::spec::{Argument, ArgumentKind, Arity, Flags, Group, Spec};
use crate::protocol::Arguments;

/// The row of SETNAME.
pub const SETNAME: Spec = Spec {
    summary: "Name this connection",
    arguments: &[Argument::string("connection-name")],
    reply: "OK. An empty name takes the name away.",
    flags: Flags::NOSCRIPT,
    ..Spec::new(
        "CLIENT|SETNAME",
        Group::Connection,
        Arity::exactly(3),
        set_name,
    )
};

/// The row of GETNAME.
pub const GETNAME: Spec = Spec {
    summary: "Return the name of this connection",
    reply: "The name, nil without one.",
    flags: Flags::NOSCRIPT,
    ..Spec::new(
        "CLIENT|GETNAME",
        Group::Connection,
        Arity::exactly(2),
        get_name,
    )
};

/// The row of SETINFO.
pub const SETINFO: Spec = Spec {
    summary: "Say which library is behind this connection",
    arguments: &[Argument::new(
        "attr",
        ArgumentKind::OneOf(&[
            Argument::string("libname").token("LIB-NAME"),
            Argument::string("libver").token("LIB-VER"),
        ]),
    )],
    reply: "OK.",
    flags: Flags::NOSCRIPT,
    ..Spec::new(
        "CLIENT|SETINFO",
        Group::Connection,
        Arity::exactly(4),
        set_info,
    )
};

/// The row of NO-EVICT.
pub const NO_EVICT: Spec = Spec {
    summary: "Mark this connection as one not to be evicted",
    arguments: &[ON_OFF],
    reply: "OK. Tollgate evicts no connection; the mark shows in CLIENT LIST.",
    flags: Flags::ADMIN.and(Flags::NOSCRIPT),
    ..Spec::new(
        "CLIENT|NO-EVICT",
        Group::Connection,
        Arity::exactly(3),
        no_evict,
    )
};

/// The row of NO-TOUCH.
pub const NO_TOUCH: Spec = Spec {
    summary: "Mark this connection as one that does not touch keys",
    arguments: &[ON_OFF],
    reply: "OK. Tollgate has no least recently used keys; the mark shows in CLIENT LIST.",
    flags: Flags::NOSCRIPT,
    ..Spec::new(
        "CLIENT|NO-TOUCH",
        Group::Connection,
        Arity::exactly(3),
        no_touch,
    )
};

/// Checks that `text` may stand in a line of CLIENT LIST.
fn is_printable(text: &[u8]) -> bool {
    text.iter().all(u8::is_ascii_graphic)
}

/// Checks a connection's name.
///
/// # Errors
/// Redis's text for one with spaces, control characters or non-ASCII bytes.
pub fn check_name(name: &[u8]) -> Result<(), Error> {
    if is_printable(name) {
        return Ok(());
    }
    Err(Error::redis(
        "ERR Client names cannot contain spaces, newlines or special characters.",
    ))
}

fn set_name(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let name = arguments.get(2).unwrap_or_default();
    check_name(name)?;
    context.connection.client.labels.write().name = name.to_vec();
    context.reply.ok();
    Ok(())
}

fn get_name(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    let labels = context.connection.client.labels.read();
    if labels.name.is_empty() {
        context.reply.null();
    } else {
        context.reply.bulk(&labels.name);
    }
    Ok(())
}

fn set_info(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let option = arguments.get(2).unwrap_or_default();
    let value = arguments.get(3).unwrap_or_default();
    if !is_printable(value) {
        return Err(Error::redis(format!(
            "ERR {} cannot contain spaces, newlines or special characters.",
            Error::quoted(option)
        )));
    }
    let mut labels = context.connection.client.labels.write();
    match option.to_ascii_uppercase().as_slice() {
        b"LIB-NAME" => labels.library = value.to_vec(),
        b"LIB-VER" => labels.library_version = value.to_vec(),
        _ => {
            return Err(Error::redis(format!(
                "ERR Unrecognized option '{}'",
                Error::quoted(option)
            )));
        }
    }
    context.reply.ok();
    Ok(())
}

fn no_evict(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let on = on_off(arguments.get(2).unwrap_or_default())?;
    context.connection.client.labels.write().no_evict = on;
    context.reply.ok();
    Ok(())
}

fn no_touch(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let on = on_off(arguments.get(2).unwrap_or_default())?;
    context.connection.client.labels.write().no_touch = on;
    context.reply.ok();
    Ok(())
}
