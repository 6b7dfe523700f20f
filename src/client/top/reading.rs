//! What one round of questions to a server brought.

use super::ask::Question;

/// What keys are ranked by. The server's own kinds, in the order of their tabs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Calls that were refused.
    Denied,
    /// Calls that were granted for later, or waited.
    Waited,
    /// Calls that a pause refused or put off.
    Paused,
    /// Calls that SHADOW let go.
    Shadowed,
    /// Calls that were granted.
    Granted,
}

impl Kind {
    /// All of them.
    pub(super) const ALL: [Self; 5] = [
        Self::Denied,
        Self::Waited,
        Self::Paused,
        Self::Shadowed,
        Self::Granted,
    ];

    /// Its name on the wire, in lower case.
    pub(in crate::client) const fn name(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Waited => "waited",
            Self::Paused => "paused",
            Self::Shadowed => "shadowed",
            Self::Granted => "granted",
        }
    }

    /// The kind of that name.
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        let mut kinds = Self::ALL.into_iter();
        kinds.find(|kind| kind.name().as_bytes() == name)
    }
}

/// A part of what was asked for, or why it is missing: a line that may be shown.
pub(in crate::client) type Part<T> = Result<T, String>;

/// The answers of one round.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Reading {
    /// What was asked.
    pub question: Question,
    /// The server's second, since the Unix epoch.
    pub now_s: Part<u64>,
    pub server: Part<Server>,
    /// The ranked keys, a kind behind the other if several were asked for.
    pub rows: Part<Vec<Row>>,
    /// The key that was looked at.
    pub key: Option<Key>,
}

/// How the server stands, out of `INFO`. What it does not tell is `None`.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Server {
    /// Its name and version.
    pub name: String,
    /// Another one after each start.
    pub run_id: String,
    /// Its clock when it answered, in microseconds since the Unix epoch.
    pub at_us: Option<u64>,
    pub uptime_s: Option<u64>,
    pub clients: Option<u64>,
    /// Most clients at a time.
    pub clients_max: Option<u64>,
    /// Callers who wait on the server.
    pub waiting: Option<u64>,
    pub memory_bytes: Option<u64>,
    /// The bound of memory; 0 is none.
    pub memory_max_bytes: Option<u64>,
    pub calls_per_second: Option<u64>,
    /// Limits and plain values, in all databases.
    pub keys: u64,
    pub granted: Option<u64>,
    pub denied: Option<u64>,
    pub paused: Option<u64>,
    pub shadowed: Option<u64>,
    /// When the last snapshot was taken, in seconds since the Unix epoch; 0 is never.
    pub snapshot_at_s: Option<u64>,
    /// Why the last snapshot was not written.
    pub snapshot_error: Option<String>,
    pub journal: Option<Journal>,
}

/// How the journal stands.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Journal {
    /// There is none.
    Off,
    /// What was answered before that second is in it.
    Covers(u64),
    /// A crash would lose what came since that second; and why, if it is known.
    Suspended(u64, Option<String>),
}

/// A key among those that were counted most.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::client) struct Row {
    pub kind: Kind,
    pub key: Vec<u8>,
    pub minute: Count,
    pub ten_minutes: Count,
    /// How it stands; nothing if that was not asked for, or if it has no state. So is the next.
    pub standing: Part<Option<Standing>>,
    pub past: Part<Option<Past>>,
}

/// Calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::client) struct Count {
    pub calls: u64,
    /// By how much that may be too high; 0 for an exact count.
    pub error: u64,
}

/// One key that is looked at closely.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Key {
    pub name: Vec<u8>,
    pub standing: Part<Option<Standing>>,
    pub past: Part<Option<Past>>,
}

/// How a key stands, out of `RL.USAGE`.
#[derive(Clone, PartialEq, Debug, Default)]
pub(in crate::client) struct Standing {
    pub limit: Limit,
    pub paused_ms: u64,
    /// The factor of a slow-down, a text; `1` without one.
    pub slowed: String,
    /// Callers who wait at it.
    pub waiting: u64,
    pub leases: u64,
    /// Its limits, if there are several.
    pub rules: Vec<Limit>,
}

/// How one limit stands.
#[derive(Clone, PartialEq, Debug, Default)]
pub(in crate::client) struct Limit {
    /// `None` if the key only holds a pause. So are the next three, or if the limit has no such thing.
    pub kind: Option<String>,
    pub capacity: Option<u64>,
    pub rate: Option<String>,
    pub period_ms: Option<u64>,
    pub used: u64,
    pub remaining: u64,
    /// Permits that are promised and not yet there.
    pub booked: u64,
    /// What a cost of 1 would wait.
    pub wait_ms: u64,
    /// Time until nothing is used any more.
    pub reset_after_ms: u64,
}

/// The last ten minutes of a key, out of `RL.HISTORY`.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::client) struct Past {
    /// The second from which on it is known.
    pub since_s: u64,
    /// By time; seconds in which nothing was decided are left out.
    pub seconds: Vec<Second>,
}

/// What went on at a key in a second.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::client) struct Second {
    /// Since the Unix epoch.
    pub at_s: u64,
    pub granted: u64,
    pub denied: u64,
    pub waited: u64,
    /// The longest wait, in milliseconds.
    pub wait_ms: u64,
    pub paused: u64,
    pub shadowed: u64,
}

impl Second {
    /// What was counted as a kind.
    pub(super) const fn of(&self, kind: Kind) -> u64 {
        match kind {
            Kind::Denied => self.denied,
            Kind::Waited => self.waited,
            Kind::Paused => self.paused,
            Kind::Shadowed => self.shadowed,
            Kind::Granted => self.granted,
        }
    }
}
