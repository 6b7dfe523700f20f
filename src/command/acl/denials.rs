//! What becomes of a request that was denied: it is counted, and goes into `ACL LOG`; a login that failed also into
//! the server's log, and is answered late.

use crate::acl::{self, Denied, LogEntry, Reason};
use crate::command::connection::client::list;
use crate::command::connection::{Connection, Pending};
use crate::command::context::{Context, Shared};
use crate::command::dispatch;
use crate::command::spec::Spec;
use crate::core::units::MILLISECOND;
use crate::protocol::Arguments;

/// How late the first login of a connection that fails is answered, in milliseconds; each further one twice as late.
const DELAY_MS_MIN: u64 = 50;
/// And no later than this: long enough that guessing is hopeless, and short enough for a client that waits.
const DELAY_MS_MAX: u64 = 1_000;

/// A request was denied.
pub(super) fn request(
    shared: &Shared,
    connection: &Connection,
    spec: &'static Spec,
    denied: Denied,
    object: Vec<u8>,
) {
    let reason = match denied {
        Denied::Command => Reason::Command,
        Denied::Key(_) => Reason::Key,
        Denied::Channel(_) => Reason::Channel,
    };
    let user = connection.login.name();
    add(shared, connection, reason, object, user, spec.name);
}

/// A login as `user` has failed: its reply is late, the later the more have failed before on this connection. Not
/// under the manual clock, under which no time passes by itself.
pub fn login(context: &mut Context<'_>, request: Arguments<'_>, user: &[u8]) {
    let (shared, connection) = (context.shared, &mut *context.connection);
    let word = request.get(0).unwrap_or_default().to_vec();
    let command = dispatch::named(request).map_or("NULL", |spec| spec.name);
    add(shared, connection, Reason::Auth, word, user, command);
    let failed = connection.failed_logins;
    connection.failed_logins = failed.saturating_add(1);
    if !shared.clock.is_manual() {
        let ms = delay_ms(failed);
        connection.pending = Some(Pending::Delay { ms });
    }
    let Some(left_out) = shared.acl.alarm.due(context.now.as_ns()) else {
        return;
    };
    // A name that nobody has may be a password in the wrong place.
    let known = shared.acl.find(user).is_some();
    let user = if known { user } else { b"(unknown)" };
    tracing::warn!(
        peer = connection.client.peer,
        user = %user.escape_ascii(),
        left_out,
        "a login failed"
    );
}

fn delay_ms(failed_before: u32) -> u64 {
    let doubled = 1_u64.checked_shl(failed_before).unwrap_or(u64::MAX);
    DELAY_MS_MIN.saturating_mul(doubled).min(DELAY_MS_MAX)
}

fn add(
    shared: &Shared,
    connection: &Connection,
    reason: Reason,
    object: Vec<u8>,
    user: &[u8],
    command: &'static str,
) {
    let now = shared.clock.now();
    let now_ms = now.as_ns() / MILLISECOND;
    let in_multi = connection.transaction.is_some() || connection.executing.is_some();
    let entry = LogEntry {
        id: 0,
        count: 1,
        reason,
        context: match in_multi {
            true => acl::Context::Multi,
            false => acl::Context::TopLevel,
        },
        object,
        user: user.to_vec(),
        client: list::line_of_own(connection, command, now),
        created_ms: now_ms,
        updated_ms: now_ms,
    };
    let entries_max = shared.settings.acllog_len_max();
    shared.acl.log.lock().add(entry, entries_max);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_doubles_up_to_a_second() {
        let delays: Vec<u64> = (0..7).map(delay_ms).collect();
        assert_eq!(delays, [50, 100, 200, 400, 800, 1000, 1000]);
        assert_eq!(delay_ms(u32::MAX), DELAY_MS_MAX);
    }
}
