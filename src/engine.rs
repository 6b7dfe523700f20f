//! The engine: what all connections share, and the gate through which their commands go.

use crate::acl::{self, Acl, FileError, Login};
use crate::clients::{Client, Clients};
use crate::clock::Clock;
use crate::command::access::At;
use crate::command::acl::{catalogue, check, close};
use crate::command::connection::{Connection, bound};
use crate::command::context::Shared;
use crate::command::dispatch::{self, Step};
use crate::command::error::Error;
use crate::command::observe;
use crate::command::ratelimit::{lines, policy, usage};
use crate::command::spec::Flags;
use crate::command::table;
use crate::command::waiters::Waiters;
use crate::core::decision::Usage;
use crate::core::units::{MICROSECOND, MILLISECOND, SECOND, Span};
use crate::hot::Hot;
use crate::metrics::{Metrics, Tally};
use crate::persistence::SaveStatus;
use crate::protocol::{Arguments, OwnedArguments, Reply};
use crate::pubsub::Hub;
use crate::requests::Requests;
use crate::script::Registry;
use crate::settings::Settings;
use crate::store::{PolicyLimits, Store, Sweep, Thinning};
use parking_lot::{RwLock, RwLockReadGuard};
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;

/// The server without its sockets.
pub struct Engine {
    /// What commands see.
    pub shared: Shared,
    /// Held shared by every batch of commands, alone by a command that must run while no other does
    /// (EXEC, FLUSHALL, DEBUG CLOCK): one lock a batch, none a command.
    gate: RwLock<()>,
}

/// A batch's pass through the gate.
pub struct Pass<'a> {
    gate: &'a RwLock<()>,
    shared: Option<RwLockReadGuard<'a, ()>>,
}

impl Pass<'_> {
    /// Calls `f` inside the gate; it is told whether the gate was passed for it, and others may have run before.
    fn run<R>(&mut self, alone: bool, f: impl FnOnce(bool) -> R) -> R {
        if alone {
            self.shared = None;
            let _guard = self.gate.write();
            return f(true);
        }
        let passed = self.shared.is_none();
        let gate = self.gate;
        self.shared.get_or_insert_with(|| gate.read());
        f(passed)
    }
}

impl Engine {
    /// An engine with an empty store.
    pub fn new(clock: Clock, settings: Settings) -> Self {
        Self::with_store(clock, settings, Store::new())
    }

    /// An engine with the keys of a snapshot, which is loaded first: `clock` must not start before it.
    pub fn with_store(clock: Clock, settings: Settings, store: Store) -> Self {
        let started_at = clock.now();
        // Above whatever was given since the last snapshot, too: nobody draws a million tickets a second.
        store.records.start_above(started_at.as_ns() / MICROSECOND);
        let prefixes = settings.metrics_key_prefixes().to_vec();
        let metrics = Metrics::new(table::names(), prefixes);
        let shared = Shared {
            acl: Acl::new(catalogue(), settings.requirepass().reveal()),
            clock,
            started_at,
            run_id: random_hex_digits(),
            settings,
            store,
            hot: Hot::default(),
            waiters: Waiters::default(),
            scripts: Registry::default(),
            clients: Clients::default(),
            hub: Hub::default(),
            metrics,
            saves: SaveStatus::new(started_at.as_ns() / SECOND),
            journal: OnceLock::new(),
            pause_lines: lines::pauses(),
            requests: Requests::default(),
        };
        Self {
            shared,
            gate: RwLock::new(()),
        }
    }

    /// A pass for one batch of commands.
    pub fn enter(&self) -> Pass<'_> {
        Pass {
            gate: &self.gate,
            shared: None,
        }
    }

    /// Serves one request: writes its reply to the end of `output`.
    pub fn serve(
        &self,
        pass: &mut Pass<'_>,
        connection: &mut Connection,
        arguments: Arguments<'_>,
        output: &mut Vec<u8>,
        tally: &mut Tally,
    ) -> &'static str {
        connection.reply_start = output.len();
        let (name, result) = match dispatch::check(&self.shared, connection, arguments) {
            Ok(Step::Run(spec)) => {
                observe::begins(spec, &self.shared, connection, arguments, tally);
                pass.run(spec.flags.has(Flags::EXCLUSIVE), |passed| {
                    // Read inside the gate: whoever ran alone before has moved the clock by now. Behind another
                    // command of the batch it was read when that had run.
                    if passed {
                        connection.read_clock(&self.shared.clock);
                    }
                    dispatch::run(spec, &self.shared, connection, arguments, output, tally);
                });
                (spec.name, Ok(()))
            }
            Ok(Step::Queue(spec)) => {
                self.settle(connection, tally);
                let (shared, now) = (&self.shared, connection.ran_until);
                let queued = dispatch::queue(shared, connection, spec, arguments, now);
                if queued.is_ok() {
                    Reply::new(output, connection.protocol).simple("QUEUED");
                }
                (spec.name, queued)
            }
            Err(error) => {
                self.settle(connection, tally);
                if let Some(spec) = dispatch::named(arguments) {
                    tally.rejected(spec.name);
                }
                ("NULL", Err(error))
            }
        };
        if let Err(error) = result {
            dispatch::write_error(&mut Reply::new(output, connection.protocol), tally, &error);
        }
        // What is still to be done replies when it has ended.
        if connection.pending.is_none() {
            dispatch::apply_reply_mode(connection, output);
        } else {
            connection.hold_reply_back(output);
        }
        name
    }

    /// Whether whoever is logged in so may make a request. A refusal is neither counted nor logged: nobody asked for it.
    pub fn allows(&self, login: &mut Login, words: &[&[u8]]) -> bool {
        if login.is_unrestricted() {
            return true;
        }
        let words = OwnedArguments::from_slices(words);
        check::allows(&self.shared.acl, login.user(), words.as_arguments())
    }

    /// How a key stands, and how many wait at it; `None` for one without limits.
    pub fn usage(&self, database: u8, key: &[u8]) -> Option<(Usage, usize)> {
        let shared = &self.shared;
        let look = |_| {
            let now = shared.clock.now();
            let at = At {
                shared,
                database,
                now,
            };
            usage::look(at, key)
        };
        let usage = self.enter().run(false, look);
        // Somebody's slot may have come meanwhile.
        shared.deliver_events();
        usage.ok().flatten()
    }

    /// Reads the clock: the commands before have run.
    fn settle(&self, connection: &mut Connection, tally: &mut Tally) {
        let ns = connection.read_clock(&self.shared.clock);
        tally.end_stretch(ns);
    }

    /// A batch of commands ends: what it counted goes to the totals.
    pub fn end(&self, connection: &mut Connection, tally: &mut Tally) {
        observe::settle(&self.shared, connection, tally);
        self.shared.metrics.add(tally);
    }

    /// Lets leases lapse and those who wait go whose slot has come; how long there is nothing to do then, unless a command changes
    /// that (see [`Waiters::on_due`] and [`Lapses::on_due`](crate::store::Lapses::on_due)). Under the manual clock that is for ever.
    pub fn fire(&self) -> Option<Span> {
        let shared = &self.shared;
        let next = self.enter().run(false, |_| shared.fire(shared.clock.now()));
        shared.deliver_events();
        let next = next.filter(|_| !shared.clock.is_manual())?;
        Span::from_ns(next.since(shared.clock.now()))
    }

    /// Stores policies of a file; see [`policy::set_all`].
    pub fn set_policies(&self, read: Vec<(Vec<u8>, PolicyLimits)>) -> Option<u64> {
        let shared = &self.shared;
        let set = |_| policy::set_all(shared, read, shared.clock.now());
        let changed = self.enter().run(false, set);
        shared.deliver_events();
        let mut tally = Tally::default();
        tally.writes += changed.unwrap_or(0);
        shared.metrics.add(&tally);
        changed
    }

    /// Ends the wait of a client with an error, as RESET and QUIT do.
    pub fn unblock(&self, client: &Client) {
        let error = Error::redis("UNBLOCKED the connection has sent another request");
        let shared = &self.shared;
        self.enter().run(false, |_| {
            shared
                .waiters
                .unblock(shared, client, &error, shared.clock.now())
        });
    }

    /// Ends all waits with an error on which clients try again: the server stops.
    pub fn stop_waiting(&self) {
        let error = Error::redis("LOADING Tollgate is stopping: send the request again");
        self.shared.waiters.unblock_all(&error);
    }

    /// Puts the users of a text in the place of those of before, and closes the connections of those that are no more
    /// or listen to what they may no longer; how many users there are then.
    ///
    /// # Errors
    /// What is wrong with the text; nothing has changed.
    pub fn load_users(&self, text: &[u8]) -> Result<usize, Vec<FileError>> {
        let shared = &self.shared;
        let open_channels = shared.settings.open_channels();
        let users = acl::parse(&shared.acl.catalogue, text, open_channels)?;
        let password = shared.settings.requirepass();
        let now = shared.clock.now();
        self.enter().run(false, |_| {
            shared.acl.replace(users, password.reveal(), |replaced| {
                for name in &replaced.gone {
                    close::of_user(shared, name, now);
                }
                for (name, user) in &replaced.hear_less {
                    close::that_hear_too_much(shared, name, user, now);
                }
            });
        });
        Ok(shared.acl.all().len())
    }

    /// A connection has ended: its watches, its subscriptions, its MONITOR and its wait end, and the leases that are
    /// bound to it are
    /// released.
    pub fn leave(&self, connection: &mut Connection) {
        let (shared, client) = (&self.shared, &connection.client);
        if client.labels.read().monitors {
            shared.clients.monitors.remove(client.id);
        }
        if let Some(watch) = connection.watch.take() {
            shared.store.unwatch(&watch);
        }
        if client.waits_at.load(Relaxed) != 0 {
            shared.waiters.gone(client.clone(), shared.clock.now());
        }
        if !connection.subscriptions.is_empty() {
            let mut changes = shared.hub.change();
            changes.unsubscribe_all(client, &mut connection.subscriptions);
        }
        connection.adopt_granted_lease();
        if connection.bound.is_empty() {
            return;
        }
        let release = |_| bound::release(shared, connection, shared.clock.now());
        let mut tally = Tally::default();
        tally.writes += self.enter().run(false, release);
        shared.metrics.add(&tally);
    }

    /// Drops keys for others and makes tables smaller, see [`Store::thin`]: between commands, and not while one runs
    /// alone.
    pub fn thin(&self, thinning: Thinning, budget: usize) -> Thinning {
        let shared = &self.shared;
        self.enter().run(false, |_| {
            shared.store.thin(thinning, budget, shared.clock.now())
        })
    }

    /// Forgets keys that have gone by themselves, see [`Store::sweep`]; several times a second.
    pub fn sweep(&self, sweep: Sweep, budget: usize) -> Sweep {
        let shared = &self.shared;
        let began = shared.clock.now();
        let sweep = shared.store.sweep(sweep, budget, began);
        shared.store.records.sweep(began);
        shared.hot.settle(began);
        let ended = shared.clock.now();
        if ended.since(began) >= shared.settings.latency_threshold_ns() {
            let took_ms = ended.since(began) / MILLISECOND;
            let latency = &shared.metrics.latency;
            latency.add("expire-cycle", ended.as_ns() / SECOND, took_ms);
        }
        let crowded_out = shared.store.take_crowded_out();
        shared.metrics.forgot(sweep.dropped + crowded_out);
        shared.metrics.sample(ended.as_ns());
        let (totals, waits) = (shared.metrics.totals(), shared.metrics.waits());
        let later = totals.granted.saturating_sub(waits.at_once);
        let others = later + totals.denied + totals.shadow_limited;
        shared.hot.periods.follow(waits.at_once, others, began);
        sweep
    }
}

/// 40 hexadecimal digits, as Redis names its runs.
fn random_hex_digits() -> String {
    let mut bytes = [0; 20];
    // A name, not a secret: without randomness from the system it is all zeros.
    let _ = getrandom::fill(&mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
