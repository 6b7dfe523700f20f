//! Errors of commands, typed, and the one place that words them for the wire.

use crate::core::decision::Refusal;
use crate::core::limit::LimitError;
use crate::plain::PlainError;
use crate::waiting::NoWait;
use std::borrow::Cow;
use std::fmt;

/// Why a command was refused. It changed nothing then.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// An argument is not what it must be.
    Argument {
        /// Its name in the documentation.
        name: &'static str,
        /// What it takes: completes "`name` must be …".
        takes: &'static str,
    },
    /// An argument is missing at the end.
    Missing(&'static str),
    /// A word where an option or nothing could stand.
    UnknownOption(Vec<u8>),
    /// An option stands there twice.
    Repeated(&'static str),
    /// Two rules name the same key.
    SameKey,
    /// More rules than one call may have.
    TooManyRules,
    /// Capacity and rate cannot be held exactly.
    Limit(LimitError),
    /// The core refused.
    Refused(Refusal),
    /// A plain value could not be worked on.
    Plain(PlainError),
    /// Wrong number of arguments for this command (lower case, `config|get` for a subcommand).
    Arity(Cow<'static, str>),
    /// No such command; the words of the request.
    UnknownCommand {
        /// The command's name.
        name: Vec<u8>,
        /// What followed it.
        arguments: Vec<Vec<u8>>,
    },
    /// No such subcommand of this command.
    UnknownSubcommand {
        /// The command, upper case.
        command: &'static str,
        /// What followed it.
        subcommand: Vec<u8>,
    },
    /// Nothing but AUTH, HELLO, QUIT and RESET before AUTH.
    NoAuth,
    /// Redis's own text for what is refused, with its code in front.
    Redis(Cow<'static, str>),
}

impl Error {
    /// Redis's generic syntax error.
    pub const SYNTAX: Self = Self::Redis(Cow::Borrowed("ERR syntax error"));
    /// Redis's text for an unreadable integer.
    pub const NOT_AN_INTEGER: Self =
        Self::Redis(Cow::Borrowed("ERR value is not an integer or out of range"));
    /// Memory is full. Redis's text.
    pub const OUT_OF_MEMORY: Self = Self::Redis(Cow::Borrowed(
        "OOM command not allowed when used memory > 'maxmemory'.",
    ));
    /// A key of another kind.
    pub const WRONG_TYPE: Self = Self::Redis(Cow::Borrowed(WRONG_TYPE));

    /// Redis's own text, with its code in front.
    pub fn redis(text: impl Into<Cow<'static, str>>) -> Self {
        Self::Redis(text.into())
    }

    /// A piece of a request for an error text: cut; the reply writer cleans it.
    pub fn quoted(bytes: &[u8]) -> Cow<'_, str> {
        String::from_utf8_lossy(&bytes[..bytes.len().min(QUOTED_BYTES_MAX)])
    }

    /// An argument that is not what it must be.
    pub const fn argument(name: &'static str, takes: &'static str) -> Self {
        Self::Argument { name, takes }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<NoWait> for Error {
    fn from(reason: NoWait) -> Self {
        match reason {
            NoWait::Refused(refusal) => refusal.into(),
            NoWait::KeyCrowded => {
                Self::argument("key", "one at which fewer than 100000 callers wait")
            }
            NoWait::Crowded => Self::redis("ERR 1000000 callers wait already: no more can"),
        }
    }
}

impl From<LimitError> for Error {
    fn from(error: LimitError) -> Self {
        Self::Limit(error)
    }
}

impl From<PlainError> for Error {
    fn from(error: PlainError) -> Self {
        Self::Plain(error)
    }
}

const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";

/// What Redis says, the bound of a string aside.
const fn plain_text(error: PlainError) -> &'static str {
    match error {
        PlainError::WrongType => WRONG_TYPE,
        PlainError::NotAnInteger => "ERR value is not an integer or out of range",
        PlainError::NotAFloat => "ERR value is not a valid float",
        PlainError::Overflow => "ERR increment or decrement would overflow",
        PlainError::NotFinite => "ERR increment would produce NaN or Infinity",
        PlainError::InfiniteValue => "ERR value cannot be Infinity",
        PlainError::AppliedOverflow => "ERR applied increment would overflow",
        PlainError::AppliedInfinite => "ERR applied increment would be Infinity",
        PlainError::HashValueNotAnInteger => "ERR hash value is not an integer",
        PlainError::TooLarge => "ERR value must have at most 100000 elements and 16777216 bytes",
        PlainError::TooLong => "ERR string exceeds maximum allowed size (65536 bytes)",
    }
}

/// Longest piece of a request that an error repeats, as in Redis.
const QUOTED_BYTES_MAX: usize = 128;

/// The error as it goes over the wire, code first.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argument { name, takes } => write!(f, "ERR {name} must be {takes}"),
            Self::Missing(name) => write!(f, "ERR {name} is missing"),
            Self::UnknownOption(word) => write!(
                f,
                "ERR syntax error: '{}' is not an option here",
                Self::quoted(word)
            ),
            Self::Repeated(option) => write!(f, "ERR syntax error: {option} is given twice"),
            Self::SameKey => write!(f, "ERR keys of the rules of one call must be distinct"),
            Self::TooManyRules => write!(f, "ERR rules of one call must be at most 16"),
            Self::Limit(LimitError::TooFine) => {
                write!(
                    f,
                    "ERR capacity and rate cannot be held exactly: capacity times the rate's denominator (in nanoseconds) must be below 2^120"
                )
            }
            Self::Limit(LimitError::TooSlow) => {
                write!(
                    f,
                    "ERR capacity and rate cannot be held exactly: capacity divided by rate must be below 2^53 milliseconds"
                )
            }
            Self::Refused(Refusal::DebtTooLarge) => write!(
                f,
                "ERR cost must leave a debt of at most 3650 days of refill"
            ),
            Self::Refused(Refusal::CarryTooLarge) => {
                write!(
                    f,
                    "ERR rate must be one under which what the key owes can be held exactly"
                )
            }
            Self::Refused(Refusal::BeyondReply) => {
                write!(
                    f,
                    "ERR rate must be one under which the time to refill fits 64 bits of milliseconds"
                )
            }
            Self::Refused(Refusal::SlowedTooFine) => {
                write!(
                    f,
                    "ERR rate must be one that can be held exactly while it is slowed down"
                )
            }
            Self::Refused(Refusal::WrongKind) => write!(f, "{WRONG_TYPE}"),
            Self::Refused(Refusal::TooManyBookings) => {
                write!(f, "ERR key must hold fewer bookings ahead (--max-bookings)")
            }
            Self::Plain(error) => write!(f, "{}", plain_text(*error)),
            Self::Arity(command) => {
                write!(f, "ERR wrong number of arguments for '{command}' command")
            }
            Self::UnknownCommand { name, arguments } => {
                write!(
                    f,
                    "ERR unknown command '{}', with args beginning with: ",
                    Self::quoted(name)
                )?;
                // The quotes and the space behind each argument count too, as they do in Redis.
                let mut room = QUOTED_BYTES_MAX;
                for argument in arguments {
                    if room == 0 {
                        break;
                    }
                    let shown = &argument[..argument.len().min(room)];
                    room = room.saturating_sub(shown.len() + "'' ".len());
                    write!(f, "'{}' ", Self::quoted(shown))?;
                }
                Ok(())
            }
            Self::UnknownSubcommand {
                command,
                subcommand,
            } => {
                write!(
                    f,
                    "ERR unknown subcommand '{}'. Try {command} HELP.",
                    Self::quoted(subcommand)
                )
            }
            Self::NoAuth => write!(f, "NOAUTH Authentication required."),
            Self::Redis(text) => write!(f, "{text}"),
        }
    }
}
