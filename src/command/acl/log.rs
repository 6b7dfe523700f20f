//! ACL LOG: what was denied.

use super::FLAGS;
use crate::acl::LogEntry;
use crate::command::context::Context;
use crate::command::error::Error;
use crate::command::number;
use crate::command::spec::{Argument, ArgumentKind, Arity, Group, Spec};
use crate::core::units::MILLISECOND;
use crate::protocol::{Arguments, Reply};

/// Entries unless told otherwise.
const COUNT: usize = 10;

/// The row.
pub(super) const SPEC: Spec = Spec {
    summary: "Show what was denied last, or forget it",
    arguments: &[Argument::new(
        "operation",
        ArgumentKind::OneOf(&[
            Argument::integer("count"),
            Argument::choice("reset", "RESET"),
        ]),
    )
    .optional()],
    reply: "An array of maps (in RESP2 flat arrays), the newest first, 10 unless given: count, reason (command, key, channel, auth), context (toplevel, multi), object, username, age-seconds, client-info, entry-id, timestamp-created, timestamp-last-updated. With RESET OK.",
    flags: FLAGS,
    ..Spec::new("ACL|LOG", Group::Server, Arity::between(2, 3), run)
};

fn run(context: &mut Context<'_>, arguments: Arguments<'_>) -> Result<(), Error> {
    let log = &context.shared.acl.log;
    let count = match arguments.get(2) {
        None => COUNT,
        Some(word) if word.eq_ignore_ascii_case(b"RESET") => {
            log.lock().clear();
            context.reply.ok();
            return Ok(());
        }
        Some(word) => usize::try_from(number::required(word)?).unwrap_or(0),
    };
    let entries = log.lock().newest(count);
    let now_ms = context.now.as_ns() / MILLISECOND;
    context.reply.array(entries.len());
    for entry in &entries {
        write(&mut context.reply, entry, now_ms);
    }
    Ok(())
}

fn write(reply: &mut Reply<'_>, entry: &LogEntry, now_ms: u64) {
    reply.map(10);
    reply.bulk(b"count");
    reply.integer(entry.count as i64);
    let texts: [(&str, &[u8]); 4] = [
        ("reason", entry.reason.name().as_bytes()),
        ("context", entry.context.name().as_bytes()),
        ("object", &entry.object),
        ("username", &entry.user),
    ];
    for (name, text) in texts {
        reply.bulk(name.as_bytes());
        reply.bulk(text);
    }
    reply.bulk(b"age-seconds");
    reply.double(now_ms.saturating_sub(entry.updated_ms) as f64 / 1000.0);
    reply.bulk(b"client-info");
    reply.bulk(&entry.client);
    let numbers = [
        ("entry-id", entry.id),
        ("timestamp-created", entry.created_ms),
        ("timestamp-last-updated", entry.updated_ms),
    ];
    for (name, number) in numbers {
        reply.bulk(name.as_bytes());
        reply.integer(number as i64);
    }
}
