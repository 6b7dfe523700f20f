//! What was decided of calls that have something in common: a policy, or how their keys begin.

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

/// What a call was told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It may go, now or later.
    Granted,
    /// It may not.
    Denied,
    /// It may go, and would not if the limit were in force.
    Shadowed,
}

/// What was decided in one group.
#[derive(Default)]
struct Count {
    granted: AtomicU64,
    denied: AtomicU64,
    shadowed: AtomicU64,
}

impl Count {
    fn add(&self, verdict: Verdict) {
        let count = match verdict {
            Verdict::Granted => &self.granted,
            Verdict::Denied => &self.denied,
            Verdict::Shadowed => &self.shadowed,
        };
        count.fetch_add(1, Relaxed);
    }

    fn total(&self, name: String) -> GroupTotal {
        GroupTotal {
            name,
            granted: self.granted.load(Relaxed),
            denied: self.denied.load(Relaxed),
            shadowed: self.shadowed.load(Relaxed),
        }
    }

    fn reset(&self) {
        self.granted.store(0, Relaxed);
        self.denied.store(0, Relaxed);
        self.shadowed.store(0, Relaxed);
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
    /// Calls let go that would have been denied.
    pub shadowed: u64,
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
    pub fn count(&self, key: &[u8], verdict: Verdict) {
        let mut rows = self.0.iter();
        if let Some((_, count)) = rows.find(|(prefix, _)| key.starts_with(prefix.as_bytes())) {
            count.add(verdict);
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
    pub fn count(&self, policy: &[u8], verdict: Verdict) {
        if let Some(count) = self.named.read().get(policy) {
            return count.add(verdict);
        }
        let mut named = self.named.write();
        if named.len() < POLICIES_COUNTED_MAX || named.contains_key(policy) {
            named.entry(policy.into()).or_default().add(verdict);
        } else {
            self.others.add(verdict);
        }
    }

    /// The counts, by policy; those without one of their own are together in the last, `other`.
    pub fn totals(&self) -> Vec<GroupTotal> {
        let named = self.named.read();
        let rows = named.iter();
        let mut totals: Vec<_> = rows.map(|(name, count)| count.total(shown(name))).collect();
        let others = self.others.total("other".to_owned());
        if others.granted + others.denied + others.shadowed > 0 {
            match totals.iter_mut().find(|total| total.name == others.name) {
                Some(total) => {
                    total.granted += others.granted;
                    total.denied += others.denied;
                    total.shadowed += others.shadowed;
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
        for (key, verdict) in [
            ("a:1", Verdict::Granted),
            ("a:b:1", Verdict::Granted),
            ("a:b:1", Verdict::Denied),
            ("a:b:1", Verdict::Shadowed),
            ("b", Verdict::Granted),
        ] {
            prefixes.count(key.as_bytes(), verdict);
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
            let verdict = [Verdict::Granted, Verdict::Denied][number % 2];
            policies.count(format!("p{number}").as_bytes(), verdict);
        }
        policies.count(b"p7", Verdict::Granted);
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
        policies.count(b"other", Verdict::Granted);
        for number in 0..POLICIES_COUNTED_MAX {
            policies.count(format!("p{number}").as_bytes(), Verdict::Denied);
        }
        let totals = policies.totals();
        assert_eq!(totals.len(), POLICIES_COUNTED_MAX);
        assert!(told(&totals).contains(&("other", 1, 1)));
    }
}
