//! What the server remembers of one connection between two commands.

use super::bound::BoundLeases;
use crate::acl::Login;
use crate::clients::Client;
use crate::clock::Clock;
use crate::command::lone::Memo;
use crate::command::spec::Spec;
use crate::core::units::Timestamp;
use crate::hot::Sampler;
use crate::protocol::{OwnedArguments, Protocol};
use crate::pubsub::Subscriptions;
use crate::store::Watch;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The state of a connection.
pub struct Connection {
    /// How others see it.
    pub client: Arc<Client>,
    /// The database it is on.
    pub database: u8,
    /// The protocol it is answered in.
    pub protocol: Protocol,
    /// It may run commands.
    pub authenticated: bool,
    /// Who it is.
    pub login: Login,
    /// Logins that have failed since the last that did not.
    pub failed_logins: u32,
    /// It will be closed once the replies so far are out.
    pub closing: bool,
    /// What `CLIENT REPLY` asked for.
    pub replies: Replies,
    /// Where in the output that begins which `CLIENT REPLY` may hold back: the reply to the command that runs.
    pub reply_start: usize,
    /// Commands queued since MULTI.
    pub transaction: Option<Transaction>,
    /// EXEC runs what was queued.
    pub executing: Option<Executing>,
    /// Keys watched since WATCH.
    pub watch: Option<Watch>,
    /// What it is subscribed to.
    pub subscriptions: Subscriptions,
    /// Leases that go when the connection goes.
    pub bound: BoundLeases,
    /// When the clock was last read for its commands; the next one of the same batch runs at that instant.
    pub ran_until: Timestamp,
    /// The tick of the clock then.
    pub ran_until_tick: u64,
    /// The row of the last request, if its second word has no say in that.
    pub row: Option<&'static Spec>,
    /// The parameters that it named last.
    pub memo: Memo,
    /// Which of its decisions are counted of their keys.
    pub sampler: Sampler,
    /// What the server has to do before the next command, and whose result is the reply.
    pub pending: Option<Pending>,
    /// A reply that goes out when the time of [`Pending::Delay`] is over.
    held_back: Option<Vec<u8>>,
}

/// What EXEC runs.
#[derive(Clone, Copy, Debug)]
pub struct Executing {
    /// All of it at this instant.
    pub at: Timestamp,
    /// How many commands.
    pub commands: usize,
}

impl Connection {
    /// A connection that has said nothing yet.
    pub fn new(client: Arc<Client>, login: Login, authenticated: bool) -> Self {
        let sampler = Sampler::new(client.id);
        Self {
            client,
            database: 0,
            protocol: Protocol::Resp2,
            authenticated,
            login,
            failed_logins: 0,
            closing: false,
            replies: Replies::On,
            reply_start: 0,
            transaction: None,
            executing: None,
            watch: None,
            subscriptions: Subscriptions::default(),
            bound: BoundLeases::default(),
            ran_until: Timestamp::ZERO,
            ran_until_tick: 0,
            row: None,
            memo: Memo::default(),
            sampler,
            pending: None,
            held_back: None,
        }
    }

    /// Reads the clock for its commands; the time since it was last read, in nanoseconds.
    pub fn read_clock(&mut self, clock: &Clock) -> u64 {
        self.ran_until_tick = clock.tick();
        let now = clock.now();
        now.since(std::mem::replace(&mut self.ran_until, now))
    }

    /// A lease that was granted while it waited goes with it from now on.
    pub fn adopt_granted_lease(&mut self) {
        if let Some(lease) = self.client.granted_lease.lock().take() {
            self.bound.add(lease.database, &lease.key, lease.number);
        }
    }

    /// Is somebody else from here on.
    pub fn become_user(&mut self, login: Login) {
        *self.client.user.write() = login.name().clone();
        self.login = login;
    }

    /// Takes the reply to the command that has just run out of the output, if it has to wait.
    pub fn hold_reply_back(&mut self, output: &mut Vec<u8>) {
        if let Some(Pending::Delay { .. }) = self.pending {
            self.held_back = Some(output.split_off(self.reply_start));
        }
    }

    /// The reply that had to wait.
    pub fn take_held_back(&mut self) -> Option<Vec<u8>> {
        self.held_back.take()
    }

    /// Answers in `protocol` from here on; messages are encoded in it too.
    pub fn set_protocol(&mut self, protocol: Protocol) {
        self.protocol = protocol;
        self.client.protocol.store(protocol.version(), Relaxed);
    }

    /// True while nothing but messages is expected of the connection: in RESP2 a reply could not be told from them.
    pub fn is_listening(&self) -> bool {
        self.protocol == Protocol::Resp2 && !self.subscriptions.is_empty()
    }
}

/// Which replies are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Replies {
    /// All.
    On,
    /// None.
    Off,
    /// All but that of the next command; this is the reply to `CLIENT REPLY SKIP` itself.
    SkipNext,
    /// All but that of this command.
    SkipThis,
}

/// Most commands that one MULTI queues: what one request could name as arguments.
pub const QUEUED_MAX: usize = 65_536;
/// Most bytes that one MULTI queues: what one request may have.
pub const QUEUED_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Most commands of one MULTI that look at more than keys which they name: a millisecond each, while nobody else runs.
pub const QUEUED_SURVEYS_MAX: usize = 128;

/// The commands between MULTI and EXEC.
#[derive(Default)]
pub struct Transaction {
    /// In the order in which they came.
    pub queue: Vec<(&'static Spec, OwnedArguments)>,
    /// What they take.
    pub bytes: usize,
    /// How many of them look at more than keys which they name.
    pub surveys: usize,
    /// One of them was refused: EXEC will run none.
    pub failed: bool,
}

/// What a command leaves to the server, since it takes long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pending {
    /// Wait for the answer that others give ([`Client::answer`]), or until the client has gone.
    Answer,
    /// Let so much time pass: the reply is ready, and goes out late.
    Delay {
        /// How long, in milliseconds.
        ms: u64,
    },
    /// Read the file of users.
    LoadUsers,
    /// Write the users to their file.
    SaveUsers,
    /// Write a snapshot.
    Save,
    /// End the process; `save` as asked for, `None`: if snapshots are on.
    Shutdown {
        /// Write a snapshot first.
        save: Option<bool>,
        /// End it even if the snapshot cannot be written.
        force: bool,
    },
}
