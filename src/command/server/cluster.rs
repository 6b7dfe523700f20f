//! CLUSTER, READONLY, READWRITE, ASKING: as of a cluster of one with `--cluster-announce`. Without it they are refused,
//! as by a Redis that is no part of a cluster: clients look for that text and go on with one server.

use crate::cluster::{self, Announced, SLOTS};
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::help;
use crate::command::spec::{Argument, Arity, Flags, Group, Spec};
use crate::protocol::{Arguments, Reply};
use crate::settings::Settings;
use sha1::{Digest, Sha1};
use std::borrow::Cow;

const DISABLED: Error = Error::Redis(Cow::Borrowed(
    "ERR This instance has cluster support disabled",
));
const CROSS_SLOT: Error = Error::Redis(Cow::Borrowed(
    "CROSSSLOT Keys in request don't hash to the same slot",
));
/// Between a port and that of a node's bus, in Redis. There is no bus; clients want a number.
const BUS_OFFSET: u16 = 10_000;

/// The row of CLUSTER.
pub const CLUSTER: Spec = Spec {
    summary: "Look at the cluster, which is this server alone",
    reply: "Depends on the subcommand. Without `--cluster-announce` an error: there is no cluster.",
    subcommands: &[
        Spec {
            summary: "Tell which node has which slots",
            reply: "An array with one entry for all 16384 slots: first, last, and the server as host, port, id and an empty map.",
            ..subcommand("CLUSTER|SLOTS", slots)
        },
        Spec {
            summary: "Tell which shard has which slots and nodes",
            reply: "An array of one map: `slots`, and `nodes` with a map of the server: `id port ip endpoint role replication-offset health`.",
            ..subcommand("CLUSTER|SHARDS", shards)
        },
        Spec {
            summary: "List the nodes as Redis keeps them in its file",
            reply: "A text of one line.",
            ..subcommand("CLUSTER|NODES", nodes)
        },
        Spec {
            summary: "Tell how the cluster stands",
            reply: "Lines of `name:value`.",
            ..subcommand("CLUSTER|INFO", info)
        },
        Spec {
            summary: "Tell the slot of a key",
            arguments: &[Argument::string("key")],
            reply: "An integer from 0 to 16383.",
            arity: Arity::exactly(3),
            ..subcommand("CLUSTER|KEYSLOT", keyslot)
        },
        Spec {
            summary: "Tell the id of the server as a node",
            reply: "40 hexadecimal digits, which follow from what is announced.",
            ..subcommand("CLUSTER|MYID", my_id)
        },
        help::row("CLUSTER|HELP", Group::Server),
    ],
    ..Spec::new("CLUSTER", Group::Server, Arity::at_least(2), info)
};

/// The row of READONLY.
pub const READONLY: Spec = row("READONLY", "Read from a replica in a cluster");

/// The row of READWRITE.
pub const READWRITE: Spec = row("READWRITE", "End READONLY");

/// The row of ASKING.
pub const ASKING: Spec = row("ASKING", "Follow a move of keys in a cluster");

const fn subcommand(
    name: &'static str,
    run: fn(&mut Context<'_>, Arguments<'_>) -> Result<(), Error>,
) -> Spec {
    Spec::new(name, Group::Server, Arity::exactly(2), run)
}

const fn row(name: &'static str, summary: &'static str) -> Spec {
    Spec {
        summary,
        reply: "OK, and nothing changes: there is one node. Without `--cluster-announce` an error: there is no cluster.",
        flags: Flags::FAST,
        ..Spec::new(name, Group::Connection, Arity::exactly(1), confirm)
    }
}

/// Refuses keys in different slots where the server is a cluster.
///
/// # Errors
/// `CROSSSLOT`.
#[inline]
pub fn check_slots<'a>(
    settings: &Settings,
    requests: impl IntoIterator<Item = (&'a Spec, Arguments<'a>)>,
) -> Result<(), Error> {
    if settings.cluster().is_none() {
        return Ok(());
    }
    let mut first = None;
    for (spec, arguments) in requests {
        for at in spec.keys.positions(arguments) {
            let Some(key) = arguments.get(at) else {
                continue;
            };
            let slot = cluster::slot(key);
            if *first.get_or_insert(slot) != slot {
                return Err(CROSS_SLOT);
            }
        }
    }
    Ok(())
}

/// The server as a node, as whoever asks should see it.
struct Node<'a> {
    host: &'a str,
    port: u16,
    id: String,
}

impl<'a> Node<'a> {
    fn new(context: &Context<'a>) -> Result<Self, Error> {
        let settings = &context.shared.settings;
        let announced = settings.cluster().ok_or(DISABLED)?;
        // The port that the client has come to, so that one that speaks TLS goes on with it.
        let local = context.connection.client.local.rsplit_once(':');
        let came_to = local.and_then(|(_, port)| port.parse().ok());
        let port = announced
            .port
            .or(came_to.filter(|&port| port != 0))
            .unwrap_or(settings.any_port());
        Ok(Self {
            host: &announced.host,
            port,
            id: id(announced),
        })
    }
}

/// It stays the same when the server starts again, with no file to keep it in.
fn id(announced: &Announced) -> String {
    let digest = Sha1::digest(announced.to_string());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn confirm(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    Node::new(context)?;
    context.reply.ok();
    Ok(())
}

fn slots(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    let node = Node::new(context)?;
    let reply = &mut context.reply;
    reply.array(1);
    reply.array(3);
    reply.integer(0);
    reply.integer(i64::from(SLOTS - 1));
    reply.array(4);
    reply.bulk(node.host.as_bytes());
    reply.integer(i64::from(node.port));
    reply.bulk(node.id.as_bytes());
    reply.map(0);
    Ok(())
}

fn shards(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    let node = Node::new(context)?;
    let reply = &mut context.reply;
    reply.array(1);
    reply.map(2);
    reply.bulk(b"slots");
    reply.integers(&[0, i64::from(SLOTS - 1)]);
    reply.bulk(b"nodes");
    reply.array(1);
    reply.map(7);
    text(reply, "id", &node.id);
    reply.bulk(b"port");
    reply.integer(i64::from(node.port));
    text(reply, "ip", node.host);
    text(reply, "endpoint", node.host);
    text(reply, "role", "master");
    reply.bulk(b"replication-offset");
    reply.integer(0);
    text(reply, "health", "online");
    Ok(())
}

fn text(reply: &mut Reply<'_>, name: &str, value: &str) {
    reply.bulk(name.as_bytes());
    reply.bulk(value.as_bytes());
}

fn nodes(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    let Node { host, port, id } = Node::new(context)?;
    let bus = port.checked_add(BUS_OFFSET).unwrap_or(0);
    let last = SLOTS - 1;
    let line = format!("{id} {host}:{port}@{bus} myself,master - 0 0 0 connected 0-{last}\n");
    context.reply.verbatim("txt", line.as_bytes());
    Ok(())
}

fn info(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    Node::new(context)?;
    let text = format!(
        "cluster_state:ok\r\ncluster_slots_assigned:{SLOTS}\r\ncluster_slots_ok:{SLOTS}\r\ncluster_slots_pfail:0\r\ncluster_slots_fail:0\r\ncluster_known_nodes:1\r\ncluster_size:1\r\ncluster_current_epoch:0\r\ncluster_my_epoch:0\r\ncluster_stats_messages_sent:0\r\ncluster_stats_messages_received:0\r\ntotal_cluster_links_buffer_limit_exceeded:0\r\n"
    );
    context.reply.verbatim("txt", text.as_bytes());
    Ok(())
}

fn keyslot(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    Node::new(context)?;
    let slot = cluster::slot(arguments.get(2).unwrap_or_default());
    context.reply.integer(i64::from(slot));
    Ok(())
}

fn my_id(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    let node = Node::new(context)?;
    context.reply.bulk(node.id.as_bytes());
    Ok(())
}
