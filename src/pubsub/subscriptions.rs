//! What one connection is subscribed to.

use super::Kind;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The subscriptions of one connection, by name. Only [`super::Changes`] alters them, together with the hub's own.
#[derive(Default)]
pub struct Subscriptions {
    channels: BTreeSet<Arc<[u8]>>,
    patterns: BTreeSet<Arc<[u8]>>,
    shard_channels: BTreeSet<Arc<[u8]>>,
}

impl Subscriptions {
    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many there are, of all kinds.
    pub fn len(&self) -> usize {
        self.channels.len() + self.patterns.len() + self.shard_channels.len()
    }

    /// How many there are of a kind.
    pub fn count(&self, kind: Kind) -> usize {
        self.of(kind).len()
    }

    /// The number that a confirmation tells: of channels and patterns together, or of shard channels.
    pub fn told(&self, kind: Kind) -> usize {
        match kind {
            Kind::Channel | Kind::Pattern => self.channels.len() + self.patterns.len(),
            Kind::Shard => self.shard_channels.len(),
        }
    }

    /// The names of a kind, in order.
    pub fn names(&self, kind: Kind) -> Vec<Arc<[u8]>> {
        self.of(kind).iter().cloned().collect()
    }

    /// True if a name of that kind is among them.
    pub fn contains(&self, kind: Kind, name: &[u8]) -> bool {
        self.of(kind).contains(name)
    }

    pub(super) fn insert(&mut self, kind: Kind, name: Arc<[u8]>) {
        self.of_mut(kind).insert(name);
    }

    pub(super) fn remove(&mut self, kind: Kind, name: &[u8]) -> bool {
        self.of_mut(kind).remove(name)
    }

    fn of(&self, kind: Kind) -> &BTreeSet<Arc<[u8]>> {
        match kind {
            Kind::Channel => &self.channels,
            Kind::Pattern => &self.patterns,
            Kind::Shard => &self.shard_channels,
        }
    }

    fn of_mut(&mut self, kind: Kind) -> &mut BTreeSet<Arc<[u8]>> {
        match kind {
            Kind::Channel => &mut self.channels,
            Kind::Pattern => &mut self.patterns,
            Kind::Shard => &mut self.shard_channels,
        }
    }
}
