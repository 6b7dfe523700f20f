//! CLIENT TRACKING, CACHING, TRACKINGINFO, GETREDIR: what a client asked to be told of changed keys.
//!
//! The requests are checked and kept as Redis does it, since rueidis does not connect without, but nobody is
//! ever told: a reply of Tollgate is nothing to keep.

use crate::clients::{Clients, Tracking};
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::number;
use crate::command::spec::{Argument, ArgumentKind, Arity, Flags, Group, Spec};
use crate::protocol::Arguments;
use crate::store::KEY_BYTES_MAX;

/// The row of TRACKING.
pub const TRACKING: Spec = Spec {
    summary: "Ask to be told of keys that change; nobody ever is",
    arguments: &[
        Argument::new(
            "status",
            ArgumentKind::OneOf(&[Argument::choice("on", "ON"), Argument::choice("off", "OFF")]),
        ),
        Argument::integer("client-id").token("REDIRECT").optional(),
        Argument::string("prefix")
            .token("PREFIX")
            .optional()
            .multiple(),
        Argument::flag("bcast", "BCAST"),
        Argument::flag("optin", "OPTIN"),
        Argument::flag("optout", "OPTOUT"),
        Argument::flag("noloop", "NOLOOP"),
    ],
    reply: "OK. The options are checked and kept as in Redis, and no invalidation is ever sent: keep no reply of Tollgate.",
    flags: Flags::NOSCRIPT,
    ..Spec::new(
        "CLIENT|TRACKING",
        Group::Connection,
        Arity::at_least(3),
        tracking,
    )
};

/// The row of CACHING.
pub const CACHING: Spec = Spec {
    summary: "Choose whether the next command's keys are tracked",
    arguments: &[Argument::new(
        "mode",
        ArgumentKind::OneOf(&[Argument::choice("yes", "YES"), Argument::choice("no", "NO")]),
    )],
    reply: "OK; an error outside of the mode of CLIENT TRACKING that it belongs to.",
    flags: Flags::NOSCRIPT,
    ..Spec::new(
        "CLIENT|CACHING",
        Group::Connection,
        Arity::exactly(3),
        caching,
    )
};

/// The row of TRACKINGINFO.
pub const TRACKINGINFO: Spec = Spec {
    summary: "Show what CLIENT TRACKING asked for",
    reply: "A map (in RESP2 a flat array): flags, redirect (-1 without tracking), prefixes.",
    flags: Flags::NOSCRIPT,
    ..Spec::new(
        "CLIENT|TRACKINGINFO",
        Group::Connection,
        Arity::exactly(2),
        info,
    )
};

/// The row of GETREDIR.
pub const GETREDIR: Spec = Spec {
    summary: "Show the connection that CLIENT TRACKING named",
    reply: "The connection's number, 0 if none was named, -1 without tracking.",
    flags: Flags::NOSCRIPT,
    ..Spec::new(
        "CLIENT|GETREDIR",
        Group::Connection,
        Arity::exactly(2),
        redirection,
    )
};

/// Most prefixes that one connection keeps, each as long as a key may be.
const PREFIXES_MAX: usize = 64;

fn tracking(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let asked = parse(&context.shared.clients, arguments)?;
    let mut labels = context.connection.client.labels.write();
    labels.tracking = match arguments
        .get(2)
        .unwrap_or_default()
        .to_ascii_uppercase()
        .as_slice()
    {
        b"ON" => Some(enable(labels.tracking.as_ref(), asked)?),
        b"OFF" => None,
        _ => return Err(Error::SYNTAX),
    };
    context.reply.ok();
    Ok(())
}

/// The options, whether they go together or not.
fn parse(clients: &Clients, arguments: Arguments<'_>) -> Result<Tracking, Error> {
    let mut asked = Tracking::default();
    let mut words = arguments.iter().skip(3);
    while let Some(option) = words.next() {
        match option.to_ascii_uppercase().as_slice() {
            b"BCAST" => asked.broadcast = true,
            b"OPTIN" => asked.opt_in = true,
            b"OPTOUT" => asked.opt_out = true,
            b"NOLOOP" => asked.no_loop = true,
            b"PREFIX" => {
                let prefix = words.next().ok_or(Error::SYNTAX)?;
                if prefix.len() > KEY_BYTES_MAX || asked.prefixes.len() == PREFIXES_MAX {
                    return Err(too_many());
                }
                asked.prefixes.push(prefix.to_vec());
            }
            b"REDIRECT" => {
                let id = words.next().ok_or(Error::SYNTAX)?;
                if asked.redirect != 0 {
                    return Err(Error::redis(
                        "ERR A client can only redirect to a single other client",
                    ));
                }
                let id = u64::try_from(number::required(id)?).ok();
                let found = id.filter(|&id| clients.find(id).is_some());
                asked.redirect = found.ok_or(Error::redis(
                    "ERR The client ID you want redirect to does not exist",
                ))?;
            }
            _ => return Err(Error::SYNTAX),
        }
    }
    Ok(asked)
}

const fn too_many() -> Error {
    Error::argument("prefix", "at most 512 bytes long, and one of at most 64")
}

/// What holds from now on.
fn enable(before: Option<&Tracking>, mut asked: Tracking) -> Result<Tracking, Error> {
    let had = |mode: fn(&Tracking) -> bool| before.is_some_and(mode);
    let refusal = if !asked.broadcast && !asked.prefixes.is_empty() {
        Some("ERR PREFIX option requires BCAST mode to be enabled")
    } else if before.is_some_and(|before| before.broadcast != asked.broadcast) {
        Some(
            "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode.",
        )
    } else if asked.broadcast && (asked.opt_in || asked.opt_out) {
        Some("ERR OPTIN and OPTOUT are not compatible with BCAST")
    } else if asked.opt_in && asked.opt_out {
        Some("ERR You can't specify both OPTIN mode and OPTOUT mode")
    } else if asked.opt_in && had(|before| before.opt_out)
        || asked.opt_out && had(|before| before.opt_in)
    {
        Some(
            "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode.",
        )
    } else {
        None
    };
    if let Some(text) = refusal {
        return Err(Error::redis(text));
    }
    let existing = before.map_or(&[][..], |before| before.prefixes.as_slice());
    check_overlaps(existing, &asked.prefixes)?;
    if asked.broadcast && asked.prefixes.is_empty() && !existing.iter().any(Vec::is_empty) {
        // Every key begins with nothing.
        asked.prefixes.push(Vec::new());
    }
    if existing.len() + asked.prefixes.len() > PREFIXES_MAX {
        return Err(too_many());
    }
    asked.prefixes.splice(0..0, existing.iter().cloned());
    Ok(asked)
}

/// Prefixes must be distinct, none the beginning of another, so that a key has one at most.
fn check_overlaps(existing: &[Vec<u8>], asked: &[Vec<u8>]) -> Result<(), Error> {
    let overlap = |one: &Vec<u8>, other: &Vec<u8>| one.starts_with(other) || other.starts_with(one);
    let refused = |one: &[u8], what: &str, other: &[u8]| {
        let (one, other) = (Error::quoted(one), Error::quoted(other));
        Err(Error::redis(format!(
            "ERR Prefix '{one}' overlaps with {what} prefix '{other}'. Prefixes for a single client must not overlap."
        )))
    };
    for (at, prefix) in asked.iter().enumerate() {
        if let Some(other) = existing.iter().find(|other| overlap(prefix, other)) {
            return refused(prefix, "an existing", other);
        }
        if let Some(other) = asked[at + 1..].iter().find(|other| overlap(prefix, other)) {
            return refused(prefix, "another provided", other);
        }
    }
    Ok(())
}

fn caching(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let labels = context.connection.client.labels.read();
    let tracking = labels.tracking.as_ref().ok_or(Error::redis(
        "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled",
    ))?;
    let (allowed, refusal) = match arguments
        .get(2)
        .unwrap_or_default()
        .to_ascii_uppercase()
        .as_slice()
    {
        b"YES" => (
            tracking.opt_in,
            "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode.",
        ),
        b"NO" => (
            tracking.opt_out,
            "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode.",
        ),
        _ => return Err(Error::SYNTAX),
    };
    if !allowed {
        return Err(Error::redis(refusal));
    }
    context.reply.ok();
    Ok(())
}

fn info(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    let tracking = context.connection.client.labels.read().tracking.clone();
    let on = tracking.is_some();
    let tracking = tracking.unwrap_or_default();
    let flags: Vec<&str> = [
        (!on, "off"),
        (on, "on"),
        (tracking.broadcast, "bcast"),
        (tracking.opt_in, "optin"),
        (tracking.opt_out, "optout"),
        (tracking.no_loop, "noloop"),
        (
            tracking.is_broken(&context.shared.clients),
            "broken_redirect",
        ),
    ]
    .into_iter()
    .filter_map(|(set, name)| set.then_some(name))
    .collect();
    let reply = &mut context.reply;
    reply.map(3);
    reply.bulk(b"flags");
    reply.set(flags.len());
    flags.iter().for_each(|flag| reply.bulk(flag.as_bytes()));
    reply.bulk(b"redirect");
    reply.integer(if on { tracking.redirect as i64 } else { -1 });
    reply.bulk(b"prefixes");
    reply.array(tracking.prefixes.len());
    tracking
        .prefixes
        .iter()
        .for_each(|prefix| reply.bulk(prefix));
    Ok(())
}

fn redirection(context: &mut Context<'_>, _: Arguments<'_>) -> Result<(), Error> {
    let labels = context.connection.client.labels.read();
    let redirect = labels
        .tracking
        .as_ref()
        .map(|tracking| tracking.redirect as i64);
    context.reply.integer(redirect.unwrap_or(-1));
    Ok(())
}
