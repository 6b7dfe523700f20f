//! HELLO: protocol, password and name in one.

use super::auth;
use super::client::labels;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::number;
use crate::command::pubsub::speak;
use crate::command::server::REDIS_VERSION;
use crate::command::spec::{Argument, ArgumentKind, Arity, Flags, Group, Spec};
use crate::protocol::{Arguments, Protocol};

/// The row.
pub const SPEC: Spec = Spec {
    summary: "Choose the protocol, and log in",
    arguments: &[Argument::new(
        "arguments",
        ArgumentKind::Block(&[
            Argument::integer("protover"),
            Argument::new(
                "auth",
                ArgumentKind::Block(&[Argument::string("username"), Argument::string("password")]),
            )
            .token("AUTH")
            .optional(),
            Argument::string("clientname").token("SETNAME").optional(),
        ]),
    )
    .optional()],
    reply: "A map (in RESP2 a flat array) of what the server is, already in the protocol asked for.",
    flags: Flags::NO_AUTH.and(Flags::FAST).and(Flags::NOSCRIPT),
    secret: is_secret,
    ..Spec::new("HELLO", Group::Connection, Arity::at_least(1), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let protocol = arguments.get(1).map(protocol).transpose()?;
    let (mut login, mut name) = (None, None);
    let mut at = 2;
    while let Some(option) = arguments.get(at) {
        let (first, second) = (arguments.get(at + 1), arguments.get(at + 2));
        if let (true, Some(user), Some(password)) =
            (option.eq_ignore_ascii_case(b"AUTH"), first, second)
        {
            login = Some((user, password));
            at += 3;
        } else if let (true, Some(value)) = (option.eq_ignore_ascii_case(b"SETNAME"), first) {
            labels::check_name(value)?;
            name = Some(value);
            at += 2;
        } else {
            let option = Error::quoted(option);
            return Err(Error::Redis(
                format!("ERR Syntax error in HELLO option '{option}'").into(),
            ));
        }
    }
    // Nothing has changed so far: a HELLO is refused whole.
    if let Some((user, password)) = login {
        auth::log_in(context, arguments, user, password)?;
    } else if !context.connection.authenticated {
        return Err(Error::redis(
            "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time",
        ));
    }
    if let Some(protocol) = protocol {
        speak(context, protocol);
    }
    let connection = &mut *context.connection;
    if let Some(name) = name {
        connection.client.labels.write().name = name.to_vec();
    }
    write(context);
    Ok(())
}

/// The two words behind `AUTH`, wherever it stands: a HELLO that is refused has run, too.
fn is_secret(arguments: Arguments<'_>, at: usize) -> bool {
    let before = arguments.iter().take(at).rev().take(2);
    before
        .into_iter()
        .any(|word| word.eq_ignore_ascii_case(b"AUTH"))
}

fn protocol(text: &[u8]) -> Result<Protocol, Error> {
    match number::integer(text) {
        Some(2) => Ok(Protocol::Resp2),
        Some(3) => Ok(Protocol::Resp3),
        Some(_) => Err(Error::redis("NOPROTO unsupported protocol version")),
        None => Err(Error::Redis(
            "ERR Protocol version is not an integer or out of range".into(),
        )),
    }
}

fn write(context: &mut Context<'_>) {
    let version = i64::from(context.reply.protocol().version());
    let id = context.connection.client.id as i64;
    let mode = context.shared.settings.mode();
    let reply = &mut context.reply;
    let pairs: [(&str, &str); 2] = [("server", "redis"), ("version", REDIS_VERSION)];
    reply.map(7);
    for (name, value) in pairs {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    for (name, value) in [("proto", version), ("id", id)] {
        reply.bulk(name.as_bytes());
        reply.integer(value);
    }
    for (name, value) in [("mode", mode), ("role", "master")] {
        reply.bulk(name.as_bytes());
        reply.bulk(value.as_bytes());
    }
    reply.bulk(b"modules");
    reply.array(0);
}
