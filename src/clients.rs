//! Who is connected: what `CLIENT LIST` shows and `CLIENT KILL` reaches.

mod monitors;

use crate::acl::DEFAULT_USER;
use crate::core::units::Timestamp;
use crate::mailbox::{Full, Mailbox};
use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering::Relaxed};

pub use monitors::Monitors;

/// Wakes the task of a connection, so that it looks at [`Client::is_killed`] and into its mailbox.
pub type Wake = Box<dyn Fn() + Send + Sync>;

/// One connection, as others see it.
pub struct Client {
    /// Its number; grows, never reused.
    pub id: u64,
    /// The peer's address.
    pub peer: String,
    /// The address it connected to.
    pub local: String,
    /// When it connected.
    pub connected_at: Timestamp,
    /// The database it is on.
    pub database: AtomicU8,
    /// 2 or 3; its messages are encoded in it.
    pub protocol: AtomicU8,
    /// When it last sent a command, in nanoseconds since the epoch.
    pub active_at_ns: AtomicU64,
    /// Commands queued in a MULTI, plus one; zero outside.
    pub queued_plus_one: AtomicU64,
    /// Its place among those who wait on the server; 0 while it does not.
    pub waits_at: AtomicU64,
    /// A lease that goes with the connection, until that knows of it.
    pub granted_lease: Mutex<Option<GrantedLease>>,
    /// Keys it watches.
    pub watching: AtomicU64,
    /// Channels it is subscribed to.
    pub channels: AtomicUsize,
    /// Patterns it is subscribed to.
    pub patterns: AtomicUsize,
    /// Shard channels it is subscribed to.
    pub shard_channels: AtomicUsize,
    /// The command it last sent.
    pub last_command: Mutex<&'static str>,
    /// Who it is logged in as.
    pub user: RwLock<Arc<[u8]>>,
    /// What it says of itself.
    pub labels: RwLock<Labels>,
    mailbox: Mailbox,
    killed: AtomicBool,
    overrun: AtomicBool,
    wake: Wake,
}

/// A lease that was granted to a client that waited.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GrantedLease {
    /// The database of its key.
    pub database: u8,
    /// Its key.
    pub key: Box<[u8]>,
    /// Its number.
    pub number: u64,
}

/// What a client says of itself.
#[derive(Clone, Default, Debug)]
pub struct Labels {
    /// `CLIENT SETNAME`.
    pub name: Vec<u8>,
    /// `CLIENT SETINFO LIB-NAME`.
    pub library: Vec<u8>,
    /// `CLIENT SETINFO LIB-VER`.
    pub library_version: Vec<u8>,
    /// `CLIENT NO-EVICT`.
    pub no_evict: bool,
    /// `CLIENT NO-TOUCH`.
    pub no_touch: bool,
    /// `CLIENT TRACKING`.
    pub tracking: Option<Tracking>,
    /// `MONITOR`.
    pub monitors: bool,
}

/// What a client asked to be told of changed keys.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Tracking {
    /// The connection that is to be told instead; 0 for this one.
    pub redirect: u64,
    /// Of all keys that begin with a prefix.
    pub broadcast: bool,
    /// The prefixes.
    pub prefixes: Vec<Vec<u8>>,
    /// Only of keys that it names one by one.
    pub opt_in: bool,
    /// Of all but keys that it names one by one.
    pub opt_out: bool,
    /// Not of its own changes.
    pub no_loop: bool,
}

impl Tracking {
    /// True if the connection that is to be told has gone.
    pub fn is_broken(&self, clients: &Clients) -> bool {
        self.redirect != 0 && clients.find(self.redirect).is_none()
    }
}

impl Client {
    /// Ends the connection from outside.
    pub fn kill(&self) {
        self.killed.store(true, Relaxed);
        (self.wake)();
    }

    /// Sends a message that is no reply, encoded in the client's protocol. A client for which more than
    /// `bytes_max` wait, since it does not read them, is cut off.
    pub fn push(&self, message: &[u8], bytes_max: usize) {
        match self.mailbox.push(message, bytes_max) {
            Ok(true) => (self.wake)(),
            // It was woken for the first one.
            Ok(false) => {}
            Err(Full) => {
                self.overrun.store(true, Relaxed);
                self.kill();
            }
        }
    }

    /// Moves all messages that wait to the end of `output`.
    pub fn take_messages(&self, output: &mut Vec<u8>) {
        self.mailbox.take_messages(output, usize::MAX);
    }

    /// Moves as many to the end of `output` as make it `enough` bytes long; true if some are left.
    pub fn take_some_messages(&self, output: &mut Vec<u8>, enough: usize) -> bool {
        self.mailbox.take_messages(output, enough)
    }

    /// Ends the wait of a command with its whole reply, encoded in the client's protocol.
    pub fn answer(&self, reply: Vec<u8>) {
        self.mailbox.put_answer(reply);
        (self.wake)();
    }

    /// The reply that ends the wait, once it is there.
    pub fn take_answer(&self) -> Option<Vec<u8>> {
        self.mailbox.take_answer()
    }

    /// True once [`Self::kill`] was called.
    pub fn is_killed(&self) -> bool {
        self.killed.load(Relaxed)
    }

    /// True if it came through the Unix socket: as in Redis, of all addresses only that one's ends in port 0.
    pub fn came_by_unix_socket(&self) -> bool {
        self.peer.ends_with(":0")
    }

    /// True if it was cut off since it did not read its messages.
    pub fn is_overrun(&self) -> bool {
        self.overrun.load(Relaxed)
    }

    /// True if it waits for messages: subscribed, or a monitor.
    pub fn listens(&self) -> bool {
        self.is_subscribed() || self.labels.read().monitors
    }

    /// True if it is subscribed to anything.
    pub fn is_subscribed(&self) -> bool {
        let counts = [&self.channels, &self.patterns, &self.shard_channels];
        counts.iter().any(|count| count.load(Relaxed) > 0)
    }
}

/// All connections.
#[derive(Default)]
pub struct Clients {
    last_id: AtomicU64,
    connected: RwLock<BTreeMap<u64, Arc<Client>>>,
    /// Those of them that are sent every command.
    pub monitors: Monitors,
}

impl Clients {
    /// Registers a connection; [`Self::remove`] it when it ends.
    pub fn register(&self, peer: String, local: String, now: Timestamp, wake: Wake) -> Arc<Client> {
        let client = Arc::new(Client {
            id: self.last_id.fetch_add(1, Relaxed) + 1,
            peer,
            local,
            connected_at: now,
            database: AtomicU8::new(0),
            protocol: AtomicU8::new(2),
            active_at_ns: AtomicU64::new(now.as_ns()),
            queued_plus_one: AtomicU64::new(0),
            waits_at: AtomicU64::new(0),
            granted_lease: Mutex::default(),
            watching: AtomicU64::new(0),
            channels: AtomicUsize::new(0),
            patterns: AtomicUsize::new(0),
            shard_channels: AtomicUsize::new(0),
            last_command: Mutex::new("NULL"),
            user: RwLock::new(DEFAULT_USER.into()),
            labels: RwLock::default(),
            mailbox: Mailbox::default(),
            killed: AtomicBool::new(false),
            overrun: AtomicBool::new(false),
            wake,
        });
        self.connected.write().insert(client.id, client.clone());
        client
    }

    /// The connection has ended.
    pub fn remove(&self, id: u64) {
        self.connected.write().remove(&id);
    }

    /// How many are connected.
    pub fn len(&self) -> usize {
        self.connected.read().len()
    }

    /// True if nobody is connected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The connection of that number.
    pub fn find(&self, id: u64) -> Option<Arc<Client>> {
        self.connected.read().get(&id).cloned()
    }

    /// All connections, by number.
    pub fn all(&self) -> Vec<Arc<Client>> {
        self.connected.read().values().cloned().collect()
    }
}
