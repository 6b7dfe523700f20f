//! How a key is shown.

use super::name;
use crate::acl::Login;
use crate::command::ratelimit::usage::{rate, tightest};
use crate::core::decision::LimitUsage;
use crate::core::limit::Limit;
use crate::engine::Engine;
use serde_json::{Value, json};

/// Who looks: what they may not read they are not shown.
pub struct Viewer<'a> {
    /// The server.
    pub engine: &'a Engine,
    /// As whom.
    pub login: &'a mut Login,
}

impl Viewer<'_> {
    /// True if they may ask how a key stands.
    pub fn may_see(&mut self, key: &[u8]) -> bool {
        self.engine.allows(self.login, &[b"RL.USAGE", key])
    }
}

/// A key with how it stands, `usage` null if it has no limits; `None` if it is not for the viewer.
pub fn view(viewer: &mut Viewer<'_>, database: u8, key: &[u8]) -> Option<Value> {
    if !viewer.may_see(key) {
        return None;
    }
    Some(json!({
        "db": database,
        "id": name::id(key),
        "name": name::shown(key),
        "usage": usage(viewer.engine, database, key),
    }))
}

/// What `RL.USAGE` says.
fn usage(engine: &Engine, database: u8, key: &[u8]) -> Value {
    let Some((usage, waiting)) = engine.usage(database, key) else {
        return Value::Null;
    };
    let bound = tightest(&usage);
    let of_leases = |limit: &&LimitUsage| matches!(limit.limit, Limit::Leases(_));
    json!({
        "rules": usage.limits.iter().map(limit).collect::<Vec<_>>(),
        "bound": bound.map(limit),
        "wait_ms": bound.map_or(usage.paused, |limit| limit.wait).ceil_ms(),
        "reset_after_ms": usage.reset_after.ceil_ms(),
        "paused_ms": usage.paused.ceil_ms(),
        "slowed": usage.slowed.to_string(),
        "waiting": waiting,
        "leases": usage.limits.iter().find(of_leases).map_or(0, |limit| limit.used),
    })
}

fn limit(usage: &LimitUsage) -> Value {
    json!({
        "kind": usage.limit.kind(),
        "capacity": usage.limit.capacity(),
        "rate": rate(&usage.limit),
        "used": usage.used,
        "remaining": usage.standing.remaining,
        "booked": usage.booked,
        "wait_ms": usage.wait.ceil_ms(),
        "reset_after_ms": usage.standing.reset_after.ceil_ms(),
    })
}
