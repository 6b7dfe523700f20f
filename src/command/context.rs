//! What a command sees of the server.

use super::connection::Connection;
use super::error::Error;
use super::waiters::Waiters;
use crate::acl::Acl;
use crate::clients::Clients;
use crate::clock::Clock;
use crate::core::units::{SECOND, Timestamp};
use crate::events;
use crate::hot::Hot;
use crate::metrics::{Metrics, Tally};
use crate::persistence::SaveStatus;
use crate::persistence::journal::JournalStatus;
use crate::protocol::Reply;
use crate::pubsub::Hub;
use crate::requests::Requests;
use crate::script::Registry;
use crate::seldom::Seldom;
use crate::settings::Settings;
use crate::store::Store;
use std::sync::{Arc, OnceLock};

const MISCONF: &str = "MISCONF Tollgate cannot write to its disk, and was told to refuse commands that change something until it can (stop-writes-on-bgsave-error). INFO persistence and the log say what is wrong.";

/// What all connections share.
pub struct Shared {
    /// The clock.
    pub clock: Clock,
    /// When the server started.
    pub started_at: Timestamp,
    /// 40 hexadecimal digits, drawn at start.
    pub run_id: String,
    /// The settings in force.
    pub settings: Settings,
    /// The users.
    pub acl: Acl,
    /// The keys.
    pub store: Store,
    /// Which of them matter now.
    pub hot: Hot,
    /// Who waits at them.
    pub waiters: Waiters,
    /// The scripts that are known.
    pub scripts: Registry,
    /// Who is connected.
    pub clients: Clients,
    /// Who is subscribed to what.
    pub hub: Hub,
    /// What was counted.
    pub metrics: Metrics,
    /// How the snapshots go.
    pub saves: Arc<SaveStatus>,
    /// How the journal does; not set if there is none.
    pub journal: OnceLock<Arc<JournalStatus>>,
    /// The lines of the log about pauses.
    pub pause_lines: Seldom,
    /// What commands ask of the work in the background.
    pub requests: Requests,
}

impl Shared {
    /// Does what falls due at `now`: leases lapse, and those who wait go. When to look next.
    pub fn fire(&self, now: Timestamp) -> Option<Timestamp> {
        self.store.lapse_due(now);
        let waits = self.waiters.fire(self, now);
        let lapses = self.store.lapses.next();
        [waits, lapses].into_iter().flatten().min()
    }

    /// A journal that is behind by so many nanoseconds is late. A clock that is moved by hand does not tell.
    pub fn journal_late_ns(&self) -> u64 {
        if self.clock.is_manual() {
            return u64::MAX;
        }
        (10 * self.settings.journal.interval().as_ns()).max(SECOND)
    }

    /// Refuses commands that write while the disk does not take what they change, if that is wanted.
    ///
    /// # Errors
    /// `MISCONF`.
    #[inline]
    pub fn check_disk(&self, now: Timestamp) -> Result<(), Error> {
        if !self.settings.journal.stop_writes_on_error() {
            return Ok(());
        }
        self.disk_takes_writes(now)
    }

    fn disk_takes_writes(&self, now: Timestamp) -> Result<(), Error> {
        let late_ns = self.journal_late_ns();
        let suspended =
            |journal: &Arc<JournalStatus>| journal.report().suspended_since(now, late_ns);
        let unsaved = self.settings.save_seconds() > 0 && self.saves.report().last_error.is_some();
        if unsaved || self.journal.get().and_then(suspended).is_some() {
            return Err(Error::redis(MISCONF));
        }
        Ok(())
    }

    /// Publishes the events that were noted (see [`crate::events`]). Not under a lock of the store.
    #[inline]
    pub fn deliver_events(&self) {
        if self.store.lapses.has_noticed() {
            for ((database, key), lease) in self.store.lapses.take_noticed() {
                events::lease_lapsed(&self.hub, database, key.as_bytes(), lease);
            }
        }
        if self.hub.has_noted() {
            self.hub.deliver(self.settings.pubsub_output_limit());
        }
    }
}

/// One command's view: the server, its connection, its reply, and the instant it runs at.
pub struct Context<'a> {
    /// What all connections share.
    pub shared: &'a Shared,
    /// The connection.
    pub connection: &'a mut Connection,
    /// Where the reply goes.
    pub reply: Reply<'a>,
    /// The instant at which the command runs.
    pub now: Timestamp,
    /// Memory is full: it must not make a key, nor one larger.
    pub is_full: bool,
    /// What it counts.
    pub tally: &'a mut Tally,
}

impl Context<'_> {
    /// Exempts what is written so far from `CLIENT REPLY`. Inside EXEC only its reply as a whole counts.
    pub fn keep_output(&mut self) {
        if self.connection.executing.is_none() {
            self.connection.reply_start = self.reply.position();
        }
    }
}
