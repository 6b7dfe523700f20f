//! What a command declares of itself. Arity checks, `COMMAND`, permissions, metrics and
//! `docs/commands.md` all follow from it.

use super::context::Context;
use super::error::Error;
use crate::protocol::Arguments;
use std::fmt;

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
    /// What follows its name and has a row of its own. The row's `run` then serves only the bare name.
    pub subcommands: &'static [Spec],
    /// Runs it.
    pub run: Run,
}

impl Spec {
    /// A row with the common defaults: any keys none, since 0.1, no subcommands.
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
    /// The connection itself.
    Connection,
    /// The server.
    Server,
    /// MULTI and what goes with it.
    Transactions,
}

impl Group {
    /// Every group, in the order of the documentation.
    pub const ALL: [Self; 5] = [
        Self::RateLimit,
        Self::Generic,
        Self::Connection,
        Self::Transactions,
        Self::Server,
    ];

    /// The ACL category of its commands.
    const fn category(self) -> Option<&'static str> {
        match self {
            Self::RateLimit => Some("ratelimit"),
            Self::Generic => Some("keyspace"),
            Self::Connection => Some("connection"),
            Self::Transactions => Some("transaction"),
            Self::Server => None,
        }
    }

    /// The name that `COMMAND DOCS` gives.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RateLimit => "ratelimit",
            Self::Generic => "generic",
            Self::Connection => "connection",
            Self::Server => "server",
            Self::Transactions => "transactions",
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

/// How a command may be run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flags(u16);

impl Flags {
    /// Nothing special.
    pub const NONE: Self = Self(0);
    /// May change keys.
    pub const WRITE: Self = Self(1);
    /// Reads keys and changes none.
    pub const READONLY: Self = Self(1 << 1);
    /// Takes time that does not grow with the data.
    pub const FAST: Self = Self(1 << 2);
    /// For administrators.
    pub const ADMIN: Self = Self(1 << 3);
    /// Can do harm or take long.
    pub const DANGEROUS: Self = Self(1 << 4);
    /// Allowed before AUTH.
    pub const NO_AUTH: Self = Self(1 << 5);
    /// Refused inside MULTI.
    pub const NO_MULTI: Self = Self(1 << 6);
    /// Runs at once inside MULTI instead of being queued.
    pub const IN_MULTI: Self = Self(1 << 7);
    /// Runs while no other command does.
    pub const EXCLUSIVE: Self = Self(1 << 8);
    /// Not let through to scripts (there are none; clients ask).
    pub const NOSCRIPT: Self = Self(1 << 9);

    const NAMES: [(Self, &'static str); 7] = [
        (Self::WRITE, "write"),
        (Self::READONLY, "readonly"),
        (Self::ADMIN, "admin"),
        (Self::NOSCRIPT, "noscript"),
        (Self::FAST, "fast"),
        (Self::NO_AUTH, "no_auth"),
        (Self::NO_MULTI, "no_multi"),
    ];

    /// Both.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True if all of `other` is set.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The flags that `COMMAND` shows, by Redis's names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES
            .into_iter()
            .filter(move |(flag, _)| self.has(*flag))
            .map(|(_, name)| name)
    }
}

/// Where a command's keys are among its arguments.
#[derive(Clone, Copy)]
pub enum Keys {
    /// It has none.
    None,
    /// From `first` to `last` (negative: from the end) in steps of `step`.
    Range {
        /// Index of the first key; the name is at 0.
        first: usize,
        /// Index of the last key; -1 is the last argument.
        last: i64,
        /// From one key to the next.
        step: usize,
    },
    /// The first argument, and others that only the command's grammar finds.
    Found(fn(Arguments<'_>) -> Vec<usize>),
}

impl Keys {
    /// One key, the first argument.
    pub const ONE: Self = Self::Range {
        first: 1,
        last: 1,
        step: 1,
    };
    /// Every argument is a key.
    pub const ALL: Self = Self::Range {
        first: 1,
        last: -1,
        step: 1,
    };

    /// True if only the command's own grammar finds them all: clients then ask `COMMAND GETKEYS`.
    pub const fn are_movable(self) -> bool {
        matches!(self, Self::Found(_))
    }

    /// First, last and step as `COMMAND` gives them.
    pub fn range(self) -> (i64, i64, i64) {
        match self {
            Self::None => (0, 0, 0),
            Self::Range { first, last, step } => (first as i64, last, step as i64),
            Self::Found(_) => (1, 1, 1),
        }
    }

    /// The indexes of the keys in a request.
    pub fn positions(self, arguments: Arguments<'_>) -> Vec<usize> {
        match self {
            Self::None => Vec::new(),
            Self::Range { first, last, step } => {
                let end = if last < 0 {
                    arguments.len() as i64 + last
                } else {
                    last
                };
                (first..arguments.len())
                    .take_while(|&at| at as i64 <= end)
                    .step_by(step)
                    .collect()
            }
            Self::Found(find) => find(arguments),
        }
    }
}

/// One argument, for documentation and for `COMMAND DOCS`.
#[derive(Clone, Copy)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub kind: ArgumentKind,
    /// The keyword in front of it.
    pub token: Option<&'static str>,
    /// It may be left out.
    pub optional: bool,
    /// It may be repeated.
    pub multiple: bool,
}

/// What an argument is, in the words of `COMMAND DOCS`.
#[derive(Clone, Copy)]
pub enum ArgumentKind {
    /// A key's name.
    Key,
    /// Any text.
    String,
    /// An integer.
    Integer,
    /// A decimal number.
    Double,
    /// A glob pattern.
    Pattern,
    /// The keyword alone.
    Token,
    /// One of several.
    OneOf(&'static [Argument]),
    /// Several together.
    Block(&'static [Argument]),
}

impl Argument {
    /// An argument that must be there once.
    pub const fn new(name: &'static str, kind: ArgumentKind) -> Self {
        Self {
            name,
            kind,
            token: None,
            optional: false,
            multiple: false,
        }
    }

    /// A key.
    pub const fn key(name: &'static str) -> Self {
        Self::new(name, ArgumentKind::Key)
    }

    /// A text.
    pub const fn string(name: &'static str) -> Self {
        Self::new(name, ArgumentKind::String)
    }

    /// An integer.
    pub const fn integer(name: &'static str) -> Self {
        Self::new(name, ArgumentKind::Integer)
    }

    /// A keyword that is one of several.
    pub const fn choice(name: &'static str, token: &'static str) -> Self {
        Self::new(name, ArgumentKind::Token).token(token)
    }

    /// A keyword that may stand there.
    pub const fn flag(name: &'static str, token: &'static str) -> Self {
        Self {
            token: Some(token),
            optional: true,
            ..Self::new(name, ArgumentKind::Token)
        }
    }

    /// With a keyword in front.
    pub const fn token(self, token: &'static str) -> Self {
        Self {
            token: Some(token),
            ..self
        }
    }

    /// May be left out.
    pub const fn optional(self) -> Self {
        Self {
            optional: true,
            ..self
        }
    }

    /// May be repeated.
    pub const fn multiple(self) -> Self {
        Self {
            multiple: true,
            ..self
        }
    }

    /// Redis's name for the kind.
    pub const fn type_name(&self) -> &'static str {
        match self.kind {
            ArgumentKind::Key => "key",
            ArgumentKind::String => "string",
            ArgumentKind::Integer => "integer",
            ArgumentKind::Double => "double",
            ArgumentKind::Pattern => "pattern",
            ArgumentKind::Token => "pure-token",
            ArgumentKind::OneOf(_) => "oneof",
            ArgumentKind::Block(_) => "block",
        }
    }

    /// What it consists of.
    pub const fn parts(&self) -> &'static [Argument] {
        match self.kind {
            ArgumentKind::OneOf(parts) | ArgumentKind::Block(parts) => parts,
            _ => &[],
        }
    }
}

/// As the documentation writes it: `[COST cost]`, `<a | b>`, `key [key ...]`.
impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = |f: &mut fmt::Formatter<'_>| {
            let words = |f: &mut fmt::Formatter<'_>, between: &str| {
                self.parts()
                    .iter()
                    .enumerate()
                    .try_for_each(|(index, part)| {
                        let between = if index == 0 { "" } else { between };
                        write!(f, "{between}{part}")
                    })
            };
            match (self.token, self.kind) {
                (Some(token), ArgumentKind::Token) => write!(f, "{token}"),
                (Some(token), ArgumentKind::OneOf(_)) => {
                    write!(f, "{token} <")?;
                    words(f, " | ")?;
                    write!(f, ">")
                }
                (None, ArgumentKind::OneOf(_)) if self.optional => words(f, " | "),
                (None, ArgumentKind::OneOf(_)) => {
                    write!(f, "<")?;
                    words(f, " | ")?;
                    write!(f, ">")
                }
                (token, ArgumentKind::Block(_)) => {
                    token.iter().try_for_each(|token| write!(f, "{token} "))?;
                    words(f, " ")
                }
                (Some(token), _) => write!(f, "{token} {}", self.name),
                (None, _) => write!(f, "{}", self.name),
            }
        };
        if self.optional {
            write!(f, "[")?;
        }
        body(f)?;
        if self.multiple {
            write!(f, " [")?;
            body(f)?;
            write!(f, " ...]")?;
        }
        if self.optional {
            write!(f, "]")?;
        }
        Ok(())
    }
}
