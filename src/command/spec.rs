//! What a command declares of itself. Arity checks, `COMMAND`, permissions, metrics and
//! `docs/commands.md` all follow from it.

mod argument;
mod flags;
mod group;
mod keys;

use super::context::Context;
use super::error::Error;
use crate::acl::Categories;
use crate::protocol::Arguments;

pub use argument::{Argument, ArgumentKind};
pub use flags::Flags;
pub use group::Group;
pub use keys::{Channels, KeyUse, Keys, Uses};

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
    /// The ACL categories it belongs to beside those that follow from its flags; unless given, its group's.
    pub categories: Categories,
    /// Where its keys are.
    pub keys: Keys,
    /// What it does to them; unless given, that follows from its flags.
    pub uses: Uses,
    /// Where its channels are.
    pub channels: Channels,
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
            categories: group.categories(),
            keys: Keys::None,
            uses: Uses::ByFlags,
            channels: Channels::None,
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

    /// True if it may look at much: it is not quick, and no key that it names is what it is about.
    pub const fn surveys(&self) -> bool {
        matches!(self.keys, Keys::None) && !self.flags.has(Flags::FAST)
    }

    /// The ACL categories.
    pub const fn categories(&self) -> Categories {
        let flags = self.flags;
        let admin = flags.has(Flags::ADMIN);
        let fast = flags.has(Flags::FAST);
        // As in Redis a script's commands write, and not the script.
        let scripts = self.categories.meets(Categories::SCRIPTING);
        self.categories
            .and_if(flags.has(Flags::READONLY) && !scripts, Categories::READ)
            .and_if(flags.has(Flags::WRITE) && !scripts, Categories::WRITE)
            .and_if(flags.has(Flags::PUBSUB), Categories::PUBSUB)
            .and_if(admin, Categories::ADMIN)
            .and_if(admin || flags.has(Flags::DANGEROUS), Categories::DANGEROUS)
            .and_if(flags.has(Flags::BLOCKING), Categories::BLOCKING)
            .and(if fast {
                Categories::FAST
            } else {
                Categories::SLOW
            })
    }

    /// What the request does to the key that is the `nth` of those that it names, from 0.
    pub fn use_of(&self, arguments: Arguments<'_>, nth: usize) -> KeyUse {
        match self.uses {
            Uses::Varying { actual, .. } => actual(arguments),
            uses => uses.in_general(self.flags, nth),
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
