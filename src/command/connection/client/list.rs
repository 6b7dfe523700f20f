//! CLIENT LIST and CLIENT INFO: a line for each connection.

use super::{TYPE, of_type};
use crate::clients::Client;
use crate::command::connection::Connection;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::number;
use crate::command::spec::{Argument, ArgumentKind, Arity, Flags, Group, Spec};
use crate::core::units::{SECOND, Timestamp};
use crate::protocol::Arguments;
use std::sync::atomic::Ordering::Relaxed;

/// The row of INFO.
pub const INFO: Spec = Spec {
    summary: "Describe this connection",
    reply: "One line of `name=value` pairs, as in CLIENT LIST.",
    flags: Flags::NOSCRIPT,
    ..Spec::new("CLIENT|INFO", Group::Connection, Arity::exactly(2), info)
};

/// The row of LIST.
pub const LIST: Spec = Spec {
    summary: "Describe all connections, or some",
    arguments: &[
        TYPE,
        Argument::new(
            "client-ids",
            ArgumentKind::Block(&[Argument::integer("client-id").multiple()]),
        )
        .token("ID")
        .optional(),
    ],
    reply: "A line of `name=value` pairs for each, in Redis's order. What Tollgate does not measure (the buffers) reads 0, and fd -1.",
    flags: Flags::ADMIN.and(Flags::NOSCRIPT),
    ..Spec::new("CLIENT|LIST", Group::Connection, Arity::at_least(2), list)
};

fn info(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    let mut text = Vec::new();
    let standing = Standing::of_own(context.connection, "CLIENT|INFO");
    write_line(
        &mut text,
        &context.connection.client,
        &standing,
        context.now,
    );
    context.reply.verbatim("txt", &text);
    Ok(())
}

fn list(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let (option, first) = (arguments.get(2), arguments.get(3));
    let is = |word: &str| option.is_some_and(|option| option.eq_ignore_ascii_case(word.as_bytes()));
    let clients = &context.shared.clients;
    let listed = match (option, first) {
        (None, _) => clients.all(),
        (_, Some(kind)) if is("TYPE") && arguments.len() == 4 => {
            let is_of_type = of_type(kind)?;
            let mut listed = clients.all();
            listed.retain(|client| is_of_type(client));
            listed
        }
        (_, Some(_)) if is("ID") => {
            let mut listed = Vec::new();
            for id in arguments.iter().skip(3) {
                let id = number::integer(id).ok_or(Error::redis("ERR Invalid client ID"))?;
                listed.extend(u64::try_from(id).ok().and_then(|id| clients.find(id)));
            }
            listed
        }
        _ => return Err(Error::SYNTAX),
    };
    let mut text = Vec::new();
    for client in listed {
        let standing = if client.id == context.connection.client.id {
            Standing::of_own(context.connection, "CLIENT|LIST")
        } else {
            Standing::of(&client)
        };
        write_line(&mut text, &client, &standing, context.now);
    }
    context.reply.verbatim("txt", &text);
    Ok(())
}

/// What changes with each command: others know it as of the last batch, the connection itself as of now.
struct Standing {
    database: u8,
    protocol: u8,
    /// Commands queued in a MULTI, or run by its EXEC.
    queued: Option<u64>,
    active_at_ns: Option<u64>,
    /// It waits for an answer.
    blocked: bool,
    command: &'static str,
}

impl Standing {
    fn of(client: &Client) -> Self {
        Self {
            database: client.database.load(Relaxed),
            protocol: client.protocol.load(Relaxed),
            queued: client.queued_plus_one.load(Relaxed).checked_sub(1),
            active_at_ns: Some(client.active_at_ns.load(Relaxed)),
            blocked: client.waits_at.load(Relaxed) != 0,
            command: *client.last_command.lock(),
        }
    }

    fn of_own(connection: &Connection, command: &'static str) -> Self {
        let queued = connection.transaction.as_ref().map(|it| it.queue.len());
        let executed = connection.executing.map(|it| it.commands);
        Self {
            database: connection.database,
            protocol: connection.protocol.version(),
            queued: queued.or(executed).map(|commands| commands as u64),
            active_at_ns: None,
            blocked: false,
            // As in Redis, whatever runs inside.
            command: executed.map_or(command, |_| "EXEC"),
        }
    }
}

/// The line of a connection, as it is itself while it sends `command`.
pub fn line_of_own(connection: &Connection, command: &'static str, now: Timestamp) -> Vec<u8> {
    let mut text = Vec::new();
    let standing = Standing::of_own(connection, command);
    write_line(&mut text, &connection.client, &standing, now);
    text.pop();
    text
}

fn write_line(text: &mut Vec<u8>, client: &Client, standing: &Standing, now: Timestamp) {
    let seconds_since = |ns: u64| now.as_ns().saturating_sub(ns) / SECOND;
    let labels = client.labels.read();
    let mut flags = String::new();
    let tracking = labels.tracking.as_ref();
    for (set, letter) in [
        (standing.blocked, 'b'),
        (labels.monitors, 'O'),
        (client.is_subscribed(), 'P'),
        (standing.queued.is_some(), 'x'),
        (tracking.is_some(), 't'),
        (tracking.is_some_and(|tracking| tracking.broadcast), 'B'),
        (client.came_by_unix_socket(), 'U'),
        (labels.no_evict, 'e'),
        (labels.no_touch, 'T'),
    ] {
        flags.extend(set.then_some(letter));
    }
    if flags.is_empty() {
        flags.push('N');
    }
    let head = format!(
        "id={} addr={} laddr={} fd=-1 name=",
        client.id, client.peer, client.local
    );
    let body = format!(
        " age={} idle={} flags={flags} db={} sub={} psub={} ssub={} multi={} watch={} \
         qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=0 \
         events=r cmd={} user=",
        seconds_since(client.connected_at.as_ns()),
        standing.active_at_ns.map_or(0, seconds_since),
        standing.database,
        client.channels.load(Relaxed),
        client.patterns.load(Relaxed),
        client.shard_channels.load(Relaxed),
        standing.queued.map_or(-1, |queued| queued as i64),
        client.watching.load(Relaxed),
        standing.command.to_ascii_lowercase(),
    );
    let tail = format!(
        " redir={} resp={} lib-name=",
        tracking.map_or(-1, |tracking| tracking.redirect as i64),
        standing.protocol,
    );
    let user = client.user.read();
    let pieces: [&[u8]; 9] = [
        head.as_bytes(),
        &labels.name,
        body.as_bytes(),
        &user,
        tail.as_bytes(),
        &labels.library,
        b" lib-ver=",
        &labels.library_version,
        b"\n",
    ];
    pieces
        .iter()
        .for_each(|piece| text.extend_from_slice(piece));
}
