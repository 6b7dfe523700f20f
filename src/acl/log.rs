//! What was denied, the newest first: `ACL LOG`.

use std::collections::VecDeque;

/// Where a request was denied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Context {
    /// As it came.
    TopLevel,
    /// As it was queued, or in `EXEC`.
    Multi,
}

impl Context {
    /// Redis's word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TopLevel => "toplevel",
            Self::Multi => "multi",
        }
    }
}

/// What was denied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A login.
    Auth,
    /// A command.
    Command,
    /// A key.
    Key,
    /// A channel.
    Channel,
}

impl Reason {
    /// All, in the order of INFO.
    pub const ALL: [Self; 4] = [Self::Auth, Self::Command, Self::Key, Self::Channel];

    /// Redis's word in the log.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auth => "auth",
            Self::Command => "command",
            Self::Key => "key",
            Self::Channel => "channel",
        }
    }

    /// Redis's word in INFO.
    pub const fn counter_name(self) -> &'static str {
        match self {
            Self::Auth => "acl_access_denied_auth",
            Self::Command => "acl_access_denied_cmd",
            Self::Key => "acl_access_denied_key",
            Self::Channel => "acl_access_denied_channel",
        }
    }
}

/// One thing that was denied, as often as that happened in a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// Its number; grows from 0.
    pub id: u64,
    /// How often.
    pub count: u64,
    /// What kind of thing.
    pub reason: Reason,
    /// Where.
    pub context: Context,
    /// The command, key or channel.
    pub object: Vec<u8>,
    /// By whom.
    pub user: Vec<u8>,
    /// The connection, as `CLIENT LIST` shows it, of the last time.
    pub client: Vec<u8>,
    /// First, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// Last.
    pub updated_ms: u64,
}

/// Within so long of the last time the same thing is counted and not listed again.
const SAME_WITHIN_MS: u64 = 60_000;
/// So many of the newest entries are looked through for the same thing.
const LOOKED_THROUGH: usize = 10;
/// Of an object or a name no more is kept: as long as keys may be.
const TEXT_BYTES_MAX: usize = 512;

/// The log, and how often each kind of thing was denied.
#[derive(Default)]
pub struct Log {
    entries: VecDeque<Entry>,
    next_id: u64,
    counts: [u64; Reason::ALL.len()],
}

impl Log {
    /// Adds an entry, whose `id` and `count` are not looked at, and keeps `entries_max`.
    pub fn add(&mut self, mut entry: Entry, entries_max: usize) {
        self.counts[entry.reason as usize] += 1;
        entry.object.truncate(TEXT_BYTES_MAX);
        entry.user.truncate(TEXT_BYTES_MAX);
        let now_ms = entry.updated_ms;
        let is_same = |other: &Entry| {
            other.reason == entry.reason
                && other.context == entry.context
                && now_ms.saturating_sub(other.updated_ms) <= SAME_WITHIN_MS
                && other.object == entry.object
                && other.user == entry.user
        };
        let newest = self.entries.iter().take(LOOKED_THROUGH);
        let same = newest.enumerate().find(|(_, other)| is_same(other));
        let same = same.map(|(at, _)| at);
        entry = match same.and_then(|at| self.entries.remove(at)) {
            Some(before) => Entry {
                client: entry.client,
                updated_ms: now_ms,
                count: before.count + 1,
                ..before
            },
            None => {
                let id = self.next_id;
                self.next_id += 1;
                Entry {
                    id,
                    count: 1,
                    ..entry
                }
            }
        };
        self.entries.push_front(entry);
        self.entries.truncate(entries_max);
    }

    /// The newest entries, the newest first.
    pub fn newest(&self, count: usize) -> Vec<Entry> {
        self.entries.iter().take(count).cloned().collect()
    }

    /// Forgets the entries; what was counted stays.
    pub fn clear(&mut self) {
        self.entries = VecDeque::new();
    }

    /// How often something of that kind was denied.
    pub fn count(&self, reason: Reason) -> u64 {
        self.counts[reason as usize]
    }

    /// Starts the counts anew.
    pub fn reset_counts(&mut self) {
        self.counts = Default::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(object: &str, at_ms: u64) -> Entry {
        Entry {
            id: 0,
            count: 0,
            reason: Reason::Key,
            context: Context::TopLevel,
            object: object.into(),
            user: b"u".to_vec(),
            client: at_ms.to_string().into(),
            created_ms: at_ms,
            updated_ms: at_ms,
        }
    }

    fn shown(log: &Log) -> Vec<String> {
        let entries = log.newest(usize::MAX).into_iter();
        entries
            .map(|entry| {
                let object = String::from_utf8(entry.object).unwrap();
                format!(
                    "{} {object} {} {}-{}",
                    entry.id, entry.count, entry.created_ms, entry.updated_ms
                )
            })
            .collect()
    }

    #[test]
    fn the_same_thing_is_counted_for_a_minute() {
        let mut log = Log::default();
        for (object, at_ms) in [("a", 0), ("b", 1), ("a", 60_000), ("a", 120_001)] {
            log.add(entry(object, at_ms), 128);
        }
        assert_eq!(
            shown(&log),
            ["2 a 1 120001-120001", "0 a 2 0-60000", "1 b 1 1-1"]
        );
        assert_eq!((log.count(Reason::Key), log.count(Reason::Auth)), (4, 0));
        log.clear();
        log.add(entry("c", 0), 128);
        assert_eq!(shown(&log), ["3 c 1 0-0"]);
    }

    #[test]
    fn it_is_bounded() {
        let mut log = Log::default();
        for number in 0..20 {
            log.add(entry(&format!("{number:03}{}", "x".repeat(600)), 0), 3);
        }
        assert_eq!(log.newest(9).len(), 3);
        assert_eq!(log.newest(1)[0].object.len(), TEXT_BYTES_MAX);
        log.add(entry("x", 0), 0);
        assert_eq!(log.newest(9), []);
    }
}
