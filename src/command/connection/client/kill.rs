//! CLIENT KILL: ends connections.

use super::{TYPE, of_type};
use crate::acl::Acl;
use crate::clients::Client;
use crate::command::context::{Context, Shared};
use crate::command::error::Error;
use crate::command::number;
use crate::command::spec::{Argument, ArgumentKind, Arity, Flags, Group, Spec};
use crate::core::units::{SECOND, Timestamp};
use crate::protocol::Arguments;

/// The row.
pub const SPEC: Spec = Spec {
    summary: "End connections",
    arguments: &[Argument::new(
        "filter",
        ArgumentKind::OneOf(&[
            Argument::string("ip:port"),
            Argument::new(
                "new-format",
                ArgumentKind::OneOf(&[
                    Argument::integer("client-id").token("ID"),
                    Argument {
                        optional: false,
                        ..TYPE
                    },
                    Argument::string("username").token("USER"),
                    Argument::string("addr").token("ADDR"),
                    Argument::string("laddr").token("LADDR"),
                    Argument::new(
                        "skipme",
                        ArgumentKind::OneOf(&[
                            Argument::choice("yes", "YES"),
                            Argument::choice("no", "NO"),
                        ]),
                    )
                    .token("SKIPME"),
                    Argument::integer("maxage").token("MAXAGE"),
                ]),
            )
            .multiple(),
        ]),
    )],
    reply: "With an address alone OK, or an error if there is none such; else how many were ended. This one closes after its reply.",
    flags: Flags::ADMIN.and(Flags::NOSCRIPT),
    ..Spec::new("CLIENT|KILL", Group::Connection, Arity::at_least(3), run)
};

/// What a connection must be to be ended.
struct Filter<'a> {
    id: Option<u64>,
    peer: Option<&'a [u8]>,
    local: Option<&'a [u8]>,
    user: Option<&'a [u8]>,
    is_of_type: fn(&Client) -> bool,
    age_s_min: u64,
    skip_me: bool,
}

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    if arguments.len() == 3 {
        let address = arguments.get(2).unwrap_or_default();
        let all = context.shared.clients.all();
        let client = all.iter().find(|client| client.peer.as_bytes() == address);
        let client = client.ok_or(Error::redis("ERR No such client"))?;
        end(context.shared, client, context.now);
        context.reply.ok();
        return Ok(());
    }
    let filter = parse(arguments, &context.shared.acl)?;
    let mut killed = 0;
    for client in context.shared.clients.all() {
        let me = client.id == context.connection.client.id;
        if filter.accepts(&client, context.now.since(client.connected_at) / SECOND)
            && !(me && filter.skip_me)
        {
            end(context.shared, &client, context.now);
            killed += 1;
        }
    }
    context.reply.integer(killed);
    Ok(())
}

/// Ends a connection. If it waits, its place is free at once, and not only when it has noticed.
pub fn end(shared: &Shared, client: &Client, now: Timestamp) {
    client.kill();
    shared.waiters.withdraw(shared, client, now);
}

impl Filter<'_> {
    fn accepts(&self, client: &Client, age_s: u64) -> bool {
        self.id.is_none_or(|id| id == client.id)
            && self.peer.is_none_or(|peer| peer == client.peer.as_bytes())
            && self
                .local
                .is_none_or(|local| local == client.local.as_bytes())
            && self.user.is_none_or(|user| *user == **client.user.read())
            && (self.is_of_type)(client)
            && age_s >= self.age_s_min
    }
}

fn parse<'a>(arguments: Arguments<'a>, acl: &Acl) -> Result<Filter<'a>, Error> {
    let mut filter = Filter {
        id: None,
        peer: None,
        local: None,
        user: None,
        is_of_type: |_| true,
        age_s_min: 0,
        skip_me: true,
    };
    let mut at = 2;
    while let Some(option) = arguments.get(at) {
        let value = arguments.get(at + 1).ok_or(Error::SYNTAX)?;
        match option.to_ascii_uppercase().as_slice() {
            b"ID" => filter.id = Some(positive(value, "client-id")?),
            b"ADDR" => filter.peer = Some(value),
            b"LADDR" => filter.local = Some(value),
            b"TYPE" => filter.is_of_type = of_type(value)?,
            b"MAXAGE" => filter.age_s_min = positive(value, "maxage")?,
            b"USER" if acl.find(value).is_some() => filter.user = Some(value),
            b"USER" => {
                return Err(Error::redis(format!(
                    "ERR No such user '{}'",
                    Error::quoted(value)
                )));
            }
            b"SKIPME" => {
                filter.skip_me = match value.to_ascii_lowercase().as_slice() {
                    b"yes" => true,
                    b"no" => false,
                    _ => return Err(Error::SYNTAX),
                }
            }
            _ => return Err(Error::SYNTAX),
        }
        at += 2;
    }
    Ok(filter)
}

fn positive(text: &[u8], name: &str) -> Result<u64, Error> {
    number::integer(text)
        .and_then(|number| u64::try_from(number).ok())
        .filter(|&number| number > 0)
        .ok_or_else(|| Error::redis(format!("ERR {name} should be greater than 0")))
}
