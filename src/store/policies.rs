//! Limits stored under a name.

use crate::core::limit::Limit;
use parking_lot::{Mutex, RwLock};
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
    /// Names whose policies have changed since the journal last looked; `None` if there is none.
    touched: Mutex<Option<BTreeSet<Box<[u8]>>>>,
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
        self.touch([name.into()]);
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
        let mut by_name = self.by_name.write();
        let removed = by_name.remove(name).is_some();
        if removed {
            self.touch([name.into()]);
        }
        removed
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
        let mut by_name = self.by_name.write();
        self.touch(std::mem::take(&mut *by_name).into_keys());
    }

    /// From now on the names of policies that change are noted.
    pub(super) fn note_changes(&self) {
        *self.touched.lock() = Some(BTreeSet::new());
    }

    /// Names are touched under the lock of the policies.
    fn touch(&self, names: impl IntoIterator<Item = Box<[u8]>>) {
        if let Some(touched) = &mut *self.touched.lock() {
            touched.extend(names);
        }
    }

    /// How many have changed since the journal last looked.
    pub(super) fn touched(&self) -> usize {
        self.touched.lock().as_ref().map_or(0, BTreeSet::len)
    }

    /// Takes out the names whose policies have changed.
    pub fn take_touched(&self) -> Vec<Box<[u8]>> {
        let mut touched = self.touched.lock();
        let taken = touched.as_mut().map(std::mem::take);
        taken.into_iter().flatten().collect()
    }

    /// Puts back what was taken out and could not be written.
    pub fn put_back(&self, names: Vec<Box<[u8]>>) {
        self.touch(names);
    }
}
