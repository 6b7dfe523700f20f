//! Grants and denials of calls that have something in common: a policy, or how their keys begin.

use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Most policies that are told apart: those that are used first. Each is a label of a metric, and whoever stores the
/// metrics keeps two series of numbers for it.
pub const POLICIES_COUNTED_MAX: usize = 100;
/// Most prefixes that can be named: a key is held against all of them, and each is a label.
pub const PREFIXES_MAX: usize = 64;
/// Longest prefix, in bytes: a name, not a value.
pub const PREFIX_BYTES_MAX: usize = 128;

/// What was decided in one group.
#[derive(Default)]
struct Count {
    granted: AtomicU64,
    denied: AtomicU64,
}

impl Count {
    fn add(&self, granted: bool) {
        let count = if granted { &self.granted } else { &self.denied };
        count.fetch_add(1, Relaxed);
    }

    fn total(&self, name: String) -> GroupTotal {
        GroupTotal {
            name,
            granted: self.granted.load(Relaxed),
            denied: self.denied.load(Relaxed),
        }
    }

    fn reset(&self) {
        self.granted.store(0, Relaxed);
        self.denied.store(0, Relaxed);
    }
}

/// What was decided in one group, at an instant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GroupTotal {
    /// The group's.
    pub name: String,
    /// Calls granted.
    pub granted: u64,
    /// Calls denied.
    pub denied: u64,
}

/// Counts by how keys begin.
#[derive(Default)]
pub struct Prefixes(Vec<(String, Count)>);

impl Prefixes {
    pub(super) fn new(mut prefixes: Vec<String>) -> Self {
        // A key counts once, under the longest that it begins with.
        prefixes.sort_by_key(|prefix| std::cmp::Reverse(prefix.len()));
        let rows = prefixes.into_iter();
        Self(rows.map(|prefix| (prefix, Count::default())).collect())
    }

    /// Counts a decision on a key; next to nothing if there is no prefix.
    pub fn count(&self, key: &[u8], granted: bool) {
        let mut rows = self.0.iter();
        if let Some((_, count)) = rows.find(|(prefix, _)| key.starts_with(prefix.as_bytes())) {
            count.add(granted);
        }
    }

    /// The counts, by prefix.
    pub fn totals(&self) -> Vec<GroupTotal> {
        let rows = self.0.iter();
        let mut totals: Vec<_> = rows
            .map(|(prefix, count)| count.total(prefix.clone()))
            .collect();
        totals.sort_by(|a, b| a.name.cmp(&b.name));
        totals
    }

    pub(super) fn reset(&self) {
        self.0.iter().for_each(|(_, count)| count.reset());
    }
}

/// Counts by policy.
#[derive(Default)]
pub struct ByPolicy {
    named: RwLock<BTreeMap<Box<[u8]>, Count>>,
    /// Of all policies for which there was no room.
    others: Count,
}

impl ByPolicy {
    /// Counts a decision under a policy that there is.
    pub fn count(&self, policy: &[u8], granted: bool) {
        if let Some(count) = self.named.read().get(policy) {
            return count.add(granted);
        }
        let mut named = self.named.write();
        if named.len() < POLICIES_COUNTED_MAX || named.contains_key(policy) {
            named.entry(policy.into()).or_default().add(granted);
        } else {
            self.others.add(granted);
        }
    }

    /// The counts, by policy; those without one of their own are together in the last, `other`.
    pub fn totals(&self) -> Vec<GroupTotal> {
        let named = self.named.read();
        let rows = named.iter();
        let mut totals: Vec<_> = rows.map(|(name, count)| count.total(shown(name))).collect();
        let others = self.others.total("other".to_owned());
        if others.granted + others.denied > 0 {
            match totals.iter_mut().find(|total| total.name == others.name) {
                Some(total) => {
                    total.granted += others.granted;
                    total.denied += others.denied;
                }
                None => totals.push(others),
            }
        }
        totals
    }

    pub(super) fn reset(&self) {
        self.named.write().clear();
        self.others.reset();
    }
}

/// A name as a text. No two names give the same: what is escaped has a backslash, and what has one is escaped.
fn shown(name: &[u8]) -> String {
    match std::str::from_utf8(name) {
        Ok(text) if !text.contains('\\') => text.to_owned(),
        _ => name.escape_ascii().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(totals: &[GroupTotal]) -> Vec<(&str, u64, u64)> {
        let totals = totals.iter();
        totals
            .map(|total| (total.name.as_str(), total.granted, total.denied))
            .collect()
    }

    #[test]
    fn a_key_counts_under_the_longest_prefix() {
        let prefixes = Prefixes::new(vec!["a:".to_owned(), "a:b:".to_owned(), "c".to_owned()]);
        for (key, granted) in [
            ("a:1", true),
            ("a:b:1", true),
            ("a:b:1", false),
            ("b", true),
        ] {
            prefixes.count(key.as_bytes(), granted);
        }
        let expected = [("a:", 1, 0), ("a:b:", 1, 1), ("c", 0, 0)];
        assert_eq!(told(&prefixes.totals()), expected);
        prefixes.reset();
        assert!(prefixes.totals().iter().all(|total| total.granted == 0));
    }

    #[test]
    fn no_more_policies_than_have_room_have_a_name() {
        let policies = ByPolicy::default();
        for number in 0..1_000 {
            policies.count(format!("p{number}").as_bytes(), number % 2 == 0);
        }
        policies.count(b"p7", true);
        let totals = policies.totals();
        assert_eq!(totals.len(), POLICIES_COUNTED_MAX + 1);
        assert_eq!(told(&totals[POLICIES_COUNTED_MAX..]), [("other", 450, 450)]);
        assert!(told(&totals).contains(&("p7", 1, 1)));
        policies.reset();
        assert_eq!(policies.totals(), []);
    }

    #[test]
    fn names_that_differ_are_shown_differently() {
        let names = [
            &b"\xff"[..],
            b"\\xff",
            b"\\\\xff",
            "\u{e9}".as_bytes(),
            b"a\nb",
        ];
        let texts: std::collections::BTreeSet<_> = names.iter().map(|name| shown(name)).collect();
        assert_eq!(texts.len(), names.len());
        assert_eq!(shown("\u{e9}".as_bytes()), "\u{e9}");
    }

    #[test]
    fn a_policy_called_other_shares_its_line() {
        let policies = ByPolicy::default();
        policies.count(b"other", true);
        for number in 0..POLICIES_COUNTED_MAX {
            policies.count(format!("p{number}").as_bytes(), false);
        }
        let totals = policies.totals();
        assert_eq!(totals.len(), POLICIES_COUNTED_MAX);
        assert!(told(&totals).contains(&("other", 1, 1)));
    }
}
