//! Limits stored under a name.

use crate::core::limit::Limit;
use parking_lot::RwLock;
use smallvec::SmallVec;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The limits of a policy, at least one, all on the key that a call names.
pub type PolicyLimits = SmallVec<[Limit; 1]>;

/// Longest name of a policy, in bytes.
pub const POLICY_NAME_BYTES_MAX: usize = 128;
/// Most policies: far more than a person writes, and a few megabytes.
pub const POLICIES_MAX: usize = 10_000;

/// All policies.
#[derive(Default)]
pub struct Policies {
    /// Set once there has been one, so that calls without policies take no lock.
    any: AtomicBool,
    by_name: RwLock<BTreeMap<Box<[u8]>, PolicyLimits>>,
}

impl Policies {
    /// Stores limits under a name, in place of what was there; false if there are too many policies.
    pub fn set(&self, name: &[u8], limits: PolicyLimits) -> bool {
        let mut by_name = self.by_name.write();
        if by_name.len() >= POLICIES_MAX && !by_name.contains_key(name) {
            return false;
        }
        by_name.insert(name.into(), limits);
        self.any.store(true, Relaxed);
        true
    }

    /// True if there is room for these beside those that are there.
    pub fn has_room_for<'a>(&self, names: impl Iterator<Item = &'a [u8]>) -> bool {
        let by_name = self.by_name.read();
        let new: BTreeSet<&[u8]> = names.filter(|name| !by_name.contains_key(*name)).collect();
        by_name.len() + new.len() <= POLICIES_MAX
    }

    /// The limits of that name.
    pub fn limits(&self, name: &[u8]) -> Option<PolicyLimits> {
        if !self.any.load(Relaxed) {
            return None;
        }
        self.by_name.read().get(name).cloned()
    }

    /// Removes a policy; false if there was none of that name. Keys keep what they counted under it.
    pub fn remove(&self, name: &[u8]) -> bool {
        self.by_name.write().remove(name).is_some()
    }

    /// All names, in order.
    pub fn names(&self) -> Vec<Box<[u8]>> {
        self.by_name.read().keys().cloned().collect()
    }

    /// All policies, by name.
    pub fn all(&self) -> Vec<(Box<[u8]>, PolicyLimits)> {
        self.by_name
            .read()
            .iter()
            .map(|(name, limits)| (name.clone(), limits.clone()))
            .collect()
    }

    /// Removes all.
    pub fn clear(&self) {
        self.by_name.write().clear();
    }
}
