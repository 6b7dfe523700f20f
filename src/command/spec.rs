//! What a command declares of itself. Arity checks, `COMMAND`, permissions, metrics and
//! `docs/commands.md` all follow from it.

mod argument;
mod flags;
mod keys;

use super::context::Context;
use super::error::Error;
use crate::protocol::Arguments;

pub use argument::{Argument, ArgumentKind};
pub use flags::Flags;
pub use keys::Keys;

/// Runs a command: `arguments` holds its name too. Whatever it wrote is dropped if it fails.
pub type Run = fn(&mut Context<'_>, Arguments<'_>) -> Result<(), Error>;

/// One command, or one subcommand.
pub struct Spec {
    /// Its name, upper case; of a subcommand with its command's in front: `CLIENT|ID`.
    pub name: &'static str,
    /// What belongs together in the documentation.
    pub group: Group,
    /// One sentence, in the imperative.
    pub summary: &'static str,
    /// The arguments behind the name.
    pub arguments: &'static [Argument],
    /// What it answers, for the documentation.
    pub reply: &'static str,
    /// The version that brought it.
    pub since: &'static str,
    /// How many arguments it takes.
    pub arity: Arity,
    /// How it may be run.
    pub flags: Flags,
    /// Where its keys are.
    pub keys: Keys,
    /// True for an argument, by its place, that SLOWLOG and MONITOR must not show.
    pub secret: fn(Arguments<'_>, usize) -> bool,
    /// What follows its name and has a row of its own. The row's `run` then serves only the bare name.
    pub subcommands: &'static [Spec],
    /// Runs it.
    pub run: Run,
}

impl Spec {
    /// A row with the common defaults: no keys, no secrets, since 0.1, no subcommands.
    pub const fn new(name: &'static str, group: Group, arity: Arity, run: Run) -> Self {
        Self {
            name,
            group,
            summary: "",
            arguments: &[],
            reply: "",
            since: "0.1.0",
            arity,
            flags: Flags::NONE,
            keys: Keys::None,
            secret: |_, _| false,
            subcommands: &[],
            run,
        }
    }

    /// The subcommand of that name, in any case.
    pub fn subcommand(&self, word: &[u8]) -> Option<&'static Spec> {
        let mut subcommands = self.subcommands.iter();
        subcommands.find(|spec| spec.word().as_bytes().eq_ignore_ascii_case(word))
    }

    /// The last word of the name: what a request says.
    pub fn word(&self) -> &'static str {
        self.name.rsplit('|').next().unwrap_or(self.name)
    }

    /// The name as replies give it: `client|id`.
    pub fn lower_name(&self) -> String {
        self.name.to_ascii_lowercase()
    }

    /// What may follow the name, as the documentation writes it: `key [COST cost]`.
    pub fn syntax(&self) -> String {
        let arguments: Vec<String> = self.arguments.iter().map(ToString::to_string).collect();
        arguments.join(" ")
    }

    /// The ACL categories, without their `@`.
    pub fn categories(&self) -> impl Iterator<Item = &'static str> {
        let flags = self.flags;
        let speed = if flags.has(Flags::FAST) {
            "fast"
        } else {
            "slow"
        };
        let admin = flags.has(Flags::ADMIN);
        let dangerous = admin || flags.has(Flags::DANGEROUS);
        [
            self.group.category(),
            flags.has(Flags::READONLY).then_some("read"),
            flags.has(Flags::WRITE).then_some("write"),
            admin.then_some("admin"),
            flags.has(Flags::BLOCKING).then_some("blocking"),
            Some(speed),
            dangerous.then_some("dangerous"),
        ]
        .into_iter()
        .flatten()
    }
}

/// What belongs together.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Group {
    /// Limits: Tollgate's own commands and the dialects.
    RateLimit,
    /// Keys of any kind.
    Generic,
    /// Plain strings and counters.
    String,
    /// The connection itself.
    Connection,
    /// The server.
    Server,
    /// MULTI and what goes with it.
    Transactions,
    /// Publish and subscribe.
    PubSub,
    /// Hashes.
    Hash,
    /// Lists.
    List,
    /// Sorted sets.
    SortedSet,
    /// Known scripts.
    Scripting,
}

impl Group {
    /// Every group, in the order of the documentation.
    pub const ALL: [Self; 11] = [
        Self::RateLimit,
        Self::Generic,
        Self::String,
        Self::Hash,
        Self::List,
        Self::SortedSet,
        Self::Connection,
        Self::Transactions,
        Self::PubSub,
        Self::Scripting,
        Self::Server,
    ];

    /// The heading in the documentation.
    pub const fn title(self) -> &'static str {
        match self {
            Self::RateLimit => "Limits",
            Self::Generic => "Keys",
            Self::String => "Plain strings and counters",
            Self::Connection => "The connection",
            Self::Transactions => "Transactions",
            Self::PubSub => "Publish and subscribe",
            Self::Hash => "Hashes",
            Self::List => "Lists",
            Self::SortedSet => "Sorted sets",
            Self::Scripting => "Scripts",
            Self::Server => "The server",
        }
    }

    /// The ACL category of its commands.
    const fn category(self) -> Option<&'static str> {
        match self {
            Self::RateLimit => Some("ratelimit"),
            Self::Generic => Some("keyspace"),
            Self::String => Some("string"),
            Self::Connection => Some("connection"),
            Self::Transactions => Some("transaction"),
            Self::PubSub => Some("pubsub"),
            Self::Hash => Some("hash"),
            Self::List => Some("list"),
            Self::SortedSet => Some("sortedset"),
            Self::Scripting => Some("scripting"),
            Self::Server => None,
        }
    }

    /// The name that `COMMAND DOCS` gives.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RateLimit => "ratelimit",
            Self::Generic => "generic",
            Self::String => "string",
            Self::Connection => "connection",
            Self::Server => "server",
            Self::Transactions => "transactions",
            Self::PubSub => "pubsub",
            Self::Hash => "hash",
            Self::List => "list",
            Self::SortedSet => "sorted-set",
            Self::Scripting => "scripting",
        }
    }
}

/// How many arguments a command takes, its own name (and its subcommand's) included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arity {
    /// At least these.
    pub min: usize,
    /// At most these; `usize::MAX` for any number.
    pub max: usize,
}

impl Arity {
    /// Exactly `count`.
    pub const fn exactly(count: usize) -> Self {
        Self {
            min: count,
            max: count,
        }
    }

    /// `min` or more.
    pub const fn at_least(min: usize) -> Self {
        Self {
            min,
            max: usize::MAX,
        }
    }

    /// From `min` to `max`.
    pub const fn between(min: usize, max: usize) -> Self {
        Self { min, max }
    }

    /// True if `count` arguments will do.
    pub const fn accepts(self, count: usize) -> bool {
        self.min <= count && count <= self.max
    }

    /// Redis's number for it: the count, or minus the least.
    pub fn redis(self) -> i64 {
        let min = self.min as i64;
        if self.min == self.max { min } else { -min }
    }
}
