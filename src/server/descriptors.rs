//! How many clients the limit on open files leaves room for.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors for all but clients: listeners, files of snapshots, what the runtime needs. As many as in Redis.
const RESERVED: u64 = 32;

/// Raises the limit on open files as far as `maxclients` needs, and `others` beside them, and the system lets it; how many
/// clients there is room for, at most `maxclients`.
///
/// # Errors
/// There is room for none.
pub(super) fn make_room(maxclients: u64, others: u64) -> Result<u64, String> {
    let reserved = RESERVED + others;
    let needed = maxclients.saturating_add(reserved);
    let limit = getrlimit(Resource::Nofile);
    // None means that there is no limit.
    let (soft, hard) = (
        limit.current.unwrap_or(u64::MAX),
        limit.maximum.unwrap_or(u64::MAX),
    );
    let wanted = Rlimit {
        current: Some(needed.min(hard)),
        maximum: limit.maximum,
    };
    let files = if soft < needed && setrlimit(Resource::Nofile, wanted).is_ok() {
        needed.min(hard)
    } else {
        soft
    };
    match files.saturating_sub(reserved).min(maxclients) {
        0 => Err(format!(
            "the limit on open files is {files}, and {reserved} are kept back: there is room for no client; \
             raise it (ulimit -n)"
        )),
        room => Ok(room),
    }
}
