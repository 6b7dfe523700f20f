//! ROLE, WAIT, REPLICAOF, SLAVEOF, FAILOVER: as of a master that has no replicas, which this server always is.

use crate::acl::Categories;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::number;
use crate::command::spec::{Argument, ArgumentKind, Arity, Flags, Group, Spec};
use crate::protocol::Arguments;

const FLAGS: Flags = Flags::ADMIN.and(Flags::NOSCRIPT);

/// The row of ROLE.
pub const ROLE: Spec = Spec {
    summary: "Tell the part that the server plays in replication",
    reply: "An array: `master`, 0, and an empty array, since there are no replicas.",
    flags: Flags::DANGEROUS.and(Flags::NOSCRIPT).and(Flags::FAST),
    categories: Categories::ADMIN.and(Categories::DANGEROUS),
    ..Spec::new("ROLE", Group::Server, Arity::exactly(1), role)
};

/// The row of WAIT.
pub const WAIT: Spec = Spec {
    summary: "Count the replicas that have what this connection wrote",
    arguments: &[
        Argument::integer("numreplicas"),
        Argument::integer("timeout"),
    ],
    reply: "0, at once: no replica will come within the timeout.",
    flags: Flags::NOSCRIPT,
    categories: Categories::CONNECTION,
    ..Spec::new("WAIT", Group::Generic, Arity::exactly(3), wait)
};

/// The row of REPLICAOF.
pub const REPLICAOF: Spec = replica_of("REPLICAOF");

/// The row of SLAVEOF.
pub const SLAVEOF: Spec = replica_of("SLAVEOF");

/// `host port`, or `NO ONE`.
const MASTER: Argument = Argument::new(
    "args",
    ArgumentKind::OneOf(&[
        Argument::new(
            "host-port",
            ArgumentKind::Block(&[Argument::string("host"), Argument::integer("port")]),
        ),
        Argument::new(
            "no-one",
            ArgumentKind::Block(&[Argument::choice("no", "NO"), Argument::choice("one", "ONE")]),
        ),
    ]),
);

const fn replica_of(name: &'static str) -> Spec {
    Spec {
        summary: "Confirm that the server is nobody's replica",
        arguments: &[MASTER],
        reply: "OK after NO ONE. An error for a host and a port: there is no replication.",
        flags: FLAGS,
        ..Spec::new(name, Group::Server, Arity::exactly(3), become_replica)
    }
}

/// The row of FAILOVER.
pub const FAILOVER: Spec = Spec {
    summary: "Refuse to hand over to a replica",
    arguments: &[
        Argument::new(
            "target",
            ArgumentKind::Block(&[
                Argument::string("host"),
                Argument::integer("port"),
                Argument::flag("force", "FORCE"),
            ]),
        )
        .token("TO")
        .optional(),
        Argument::flag("abort", "ABORT"),
        Argument::integer("milliseconds")
            .token("TIMEOUT")
            .optional(),
    ],
    reply: "An error: there are no replicas, and so nothing to abort.",
    flags: FLAGS,
    ..Spec::new("FAILOVER", Group::Server, Arity::at_least(1), fail_over)
};

fn role(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    context.reply.array(3);
    context.reply.bulk(b"master");
    context.reply.integer(0);
    context.reply.array(0);
    Ok(())
}

fn wait(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    number::required(arguments.get(1).unwrap_or_default())?;
    let timeout = number::integer(arguments.get(2).unwrap_or_default());
    match timeout {
        None => Err(Error::redis(
            "ERR timeout is not an integer or out of range",
        )),
        Some(..0) => Err(Error::redis("ERR timeout is negative")),
        Some(_) => {
            context.reply.integer(0);
            Ok(())
        }
    }
}

fn become_replica(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let is = |at: usize, word: &[u8]| {
        arguments
            .get(at)
            .is_some_and(|given| given.eq_ignore_ascii_case(word))
    };
    if is(1, b"NO") && is(2, b"ONE") {
        context.reply.ok();
        return Ok(());
    }
    Err(Error::redis(
        "ERR Tollgate has no replication; only NO ONE is accepted",
    ))
}

fn fail_over(_: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let abort = |word: &[u8]| word.eq_ignore_ascii_case(b"ABORT");
    Err(Error::redis(match (arguments.get(1), arguments.len()) {
        (Some(word), 2) if abort(word) => "ERR No failover in progress.",
        _ => "ERR FAILOVER requires connected replicas.",
    }))
}
