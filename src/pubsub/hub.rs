//! The hub: from channels and patterns to their subscribers.

use super::subscriptions::Subscriptions;
use super::{
    Kind, NAME_BYTES_MAX, PATTERNS_MAX, Refused, SUBSCRIPTIONS_MAX, SUBSCRIPTIONS_MAX_IN_ALL,
};
use crate::clients::Client;
use crate::glob;
use crate::protocol::{Protocol, Reply};
use parking_lot::{Mutex, MutexGuard};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// All subscriptions.
#[derive(Default)]
pub struct Hub {
    /// How many there are, so that publishing to nobody takes no lock.
    subscriptions: AtomicUsize,
    /// Events that were noted and not handed over yet; counted down only when they have been.
    undelivered: AtomicUsize,
    noted: Mutex<VecDeque<Noted>>,
    tables: Mutex<Tables>,
}

/// An event that waits for its turn.
struct Noted {
    channel: Vec<u8>,
    message: Vec<u8>,
}

type Table = HashMap<Arc<[u8]>, Subscribers, ahash::RandomState>;

#[derive(Default)]
struct Tables {
    channels: Table,
    patterns: Table,
    shard_channels: Table,
}

/// In order of their numbers, so that one is found by halving. Connections come with growing numbers, so the usual
/// place of a new one is the end.
#[derive(Default)]
struct Subscribers(Vec<Arc<Client>>);

/// The hub while subscriptions change: nothing is published meanwhile.
pub struct Changes<'a> {
    hub: &'a Hub,
    tables: MutexGuard<'a, Tables>,
}

impl Hub {
    /// True if nobody is subscribed to anything.
    pub fn is_idle(&self) -> bool {
        self.subscriptions.load(Ordering::Relaxed) == 0
    }

    /// Hands a message to all who are subscribed to the channel, and of [`Kind::Channel`] to a pattern that matches
    /// it. How many times it was handed over: a client is counted for each subscription that the message meets.
    ///
    /// A client for which more than `bytes_max` bytes wait then is cut off.
    pub fn publish(&self, kind: Kind, channel: &[u8], message: &[u8], bytes_max: usize) -> usize {
        if self.is_idle() {
            return 0;
        }
        self.tables
            .lock()
            .publish(kind, channel, message, bytes_max)
    }

    /// Keeps a message until [`Self::deliver`]. This may be called under the lock of the key of which the message
    /// tells: messages go out in the order in which they were noted, and so in the order of what happened.
    pub fn note(&self, channel: Vec<u8>, message: Vec<u8>) {
        let mut noted = self.noted.lock();
        noted.push_back(Noted { channel, message });
        self.undelivered.fetch_add(1, Ordering::Release);
    }

    /// True if something was noted that may not have been handed over yet.
    #[inline]
    pub fn has_noted(&self) -> bool {
        self.undelivered.load(Ordering::Acquire) > 0
    }

    /// Publishes what was noted, by whomever. All that was noted before the call has been handed over when it
    /// returns. Not to be called under a lock of the store.
    pub fn deliver(&self, bytes_max: usize) {
        let tables = self.tables.lock();
        loop {
            // Let go before the message goes out: whoever notes holds the lock of a key.
            let next = self.noted.lock().pop_front();
            let Some(Noted { channel, message }) = next else {
                break;
            };
            tables.publish(Kind::Channel, &channel, &message, bytes_max);
            self.undelivered.fetch_sub(1, Ordering::Release);
        }
    }

    /// Begins to change subscriptions.
    pub fn change(&self) -> Changes<'_> {
        Changes {
            hub: self,
            tables: self.tables.lock(),
        }
    }

    /// Those who are subscribed to something of which `f` says so; once for each such subscription.
    pub fn subscribers_that(&self, f: impl Fn(&Client, Kind, &[u8]) -> bool) -> Vec<Arc<Client>> {
        let tables = self.tables.lock();
        let mut found = Vec::new();
        for kind in [Kind::Channel, Kind::Pattern, Kind::Shard] {
            for (name, subscribers) in tables.of(kind) {
                let subscribers = subscribers.0.iter();
                found.extend(subscribers.filter(|client| f(client, kind, name)).cloned());
            }
        }
        found
    }

    /// How many channels, patterns or shard channels somebody is subscribed to.
    pub fn count(&self, kind: Kind) -> usize {
        self.tables.lock().of(kind).len()
    }

    /// Their names, in no order.
    pub fn names(&self, kind: Kind) -> Vec<Arc<[u8]>> {
        self.tables.lock().of(kind).keys().cloned().collect()
    }

    /// How many are subscribed to one of them.
    pub fn subscribers(&self, kind: Kind, name: &[u8]) -> usize {
        let tables = self.tables.lock();
        tables
            .of(kind)
            .get(name)
            .map_or(0, |subscribers| subscribers.0.len())
    }
}

impl Changes<'_> {
    /// Checks that a connection may subscribe to all of `names`. One that stands there twice counts twice.
    ///
    /// # Errors
    /// The bound that would be passed.
    pub fn check<'a>(
        &self,
        own: &Subscriptions,
        kind: Kind,
        names: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Result<(), Refused> {
        if names.clone().any(|name| name.len() > NAME_BYTES_MAX) {
            return Err(Refused::TooLong);
        }
        let more = names
            .clone()
            .filter(|name| !own.contains(kind, name))
            .count();
        if own.len() + more > SUBSCRIPTIONS_MAX {
            return Err(Refused::TooMany);
        }
        if self.hub.subscriptions.load(Ordering::Relaxed) + more > SUBSCRIPTIONS_MAX_IN_ALL {
            return Err(Refused::TooManyInAll);
        }
        let patterns = &self.tables.patterns;
        let new_pattern = |name: &&[u8]| kind == Kind::Pattern && !patterns.contains_key(*name);
        if patterns.len() + names.filter(new_pattern).count() > PATTERNS_MAX {
            return Err(Refused::TooManyPatterns);
        }
        Ok(())
    }

    /// Subscribes a client, if it is not yet. `own` is what its connection is subscribed to.
    pub fn subscribe(
        &mut self,
        client: &Arc<Client>,
        own: &mut Subscriptions,
        kind: Kind,
        name: &[u8],
    ) {
        if own.contains(kind, name) {
            return;
        }
        let table = self.tables.of_mut(kind);
        let name = match table.get_key_value(name) {
            Some((name, _)) => name.clone(),
            None => Arc::from(name),
        };
        table.entry(name.clone()).or_default().insert(client);
        own.insert(kind, name);
        self.hub.subscriptions.fetch_add(1, Ordering::Relaxed);
        tell(client, own);
    }

    /// Ends one subscription of a client, if there is such.
    pub fn unsubscribe(
        &mut self,
        client: &Arc<Client>,
        own: &mut Subscriptions,
        kind: Kind,
        name: &[u8],
    ) {
        if !own.remove(kind, name) {
            return;
        }
        let table = self.tables.of_mut(kind);
        if let Some(subscribers) = table.get_mut(name) {
            subscribers.remove(client.id);
            if subscribers.0.is_empty() {
                table.remove(name);
                shrink(table);
            }
        }
        self.hub.subscriptions.fetch_sub(1, Ordering::Relaxed);
        tell(client, own);
    }

    /// Ends all subscriptions of a client.
    pub fn unsubscribe_all(&mut self, client: &Arc<Client>, own: &mut Subscriptions) {
        for kind in [Kind::Channel, Kind::Pattern, Kind::Shard] {
            for name in own.names(kind) {
                self.unsubscribe(client, own, kind, &name);
            }
        }
    }
}

/// Shows others what a client is subscribed to.
fn tell(client: &Client, own: &Subscriptions) {
    client
        .channels
        .store(own.count(Kind::Channel), Ordering::Relaxed);
    client
        .patterns
        .store(own.count(Kind::Pattern), Ordering::Relaxed);
    client
        .shard_channels
        .store(own.count(Kind::Shard), Ordering::Relaxed);
}

/// Gives room back that a crowd has left.
fn shrink(table: &mut Table) {
    if table.capacity() > 1024 && table.len() < table.capacity() / 4 {
        table.shrink_to(table.len() * 2);
    }
}

impl Tables {
    fn of(&self, kind: Kind) -> &Table {
        match kind {
            Kind::Channel => &self.channels,
            Kind::Pattern => &self.patterns,
            Kind::Shard => &self.shard_channels,
        }
    }

    fn of_mut(&mut self, kind: Kind) -> &mut Table {
        match kind {
            Kind::Channel => &mut self.channels,
            Kind::Pattern => &mut self.patterns,
            Kind::Shard => &mut self.shard_channels,
        }
    }

    fn publish(&self, kind: Kind, channel: &[u8], message: &[u8], bytes_max: usize) -> usize {
        let mut receivers = 0;
        if let Some(subscribers) = self.of(kind).get(channel) {
            let word: &[u8] = match kind {
                Kind::Shard => b"smessage",
                Kind::Channel | Kind::Pattern => b"message",
            };
            receivers += subscribers.send(&[word, channel, message], bytes_max);
        }
        if kind == Kind::Channel {
            for (pattern, subscribers) in &self.patterns {
                if glob::matches(pattern, channel) {
                    receivers +=
                        subscribers.send(&[b"pmessage", pattern, channel, message], bytes_max);
                }
            }
        }
        receivers
    }
}

impl Subscribers {
    fn insert(&mut self, client: &Arc<Client>) {
        if let Err(at) = self.position(client.id) {
            self.0.insert(at, client.clone());
        }
    }

    fn remove(&mut self, id: u64) {
        if let Ok(at) = self.position(id) {
            self.0.remove(at);
        }
    }

    fn position(&self, id: u64) -> Result<usize, usize> {
        self.0.binary_search_by_key(&id, |client| client.id)
    }

    /// Hands a message over to each; how many they are. It is encoded once in each protocol that is asked for.
    fn send(&self, words: &[&[u8]], bytes_max: usize) -> usize {
        let (mut resp2, mut resp3) = (None, None);
        for client in &self.0 {
            let encoded = match client.protocol.load(Ordering::Relaxed) {
                3 => resp3.get_or_insert_with(|| encode(words, Protocol::Resp3)),
                _ => resp2.get_or_insert_with(|| encode(words, Protocol::Resp2)),
            };
            client.push(encoded, bytes_max);
        }
        self.0.len()
    }
}

fn encode(words: &[&[u8]], protocol: Protocol) -> Vec<u8> {
    let mut encoded = Vec::new();
    let mut reply = Reply::new(&mut encoded, protocol);
    reply.push(words.len());
    words.iter().for_each(|word| reply.bulk(word));
    encoded
}

#[cfg(test)]
#[path = "hub_tests.rs"]
mod tests;
