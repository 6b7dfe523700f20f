//! How a command says when a key goes.

use super::error::Error;
use super::number;
use super::spec::Argument;
use crate::core::units::Timestamp;
use crate::plain::Deadline;

/// What the number counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Seconds from now on.
    Seconds,
    /// Milliseconds from now on.
    Milliseconds,
    /// Seconds since the Unix epoch.
    UnixSeconds,
    /// Milliseconds since the Unix epoch.
    UnixMilliseconds,
}

/// The options that name one, for the documentation.
pub const OPTIONS: [Argument; 4] = [
    Argument::integer("seconds").token("EX"),
    Argument::integer("milliseconds").token("PX"),
    Argument::integer("unix-time-seconds").token("EXAT"),
    Argument::integer("unix-time-milliseconds").token("PXAT"),
];

impl Unit {
    /// The unit that an option names, in any case.
    pub fn of_option(word: &[u8]) -> Option<Self> {
        match word.to_ascii_uppercase().as_slice() {
            b"EX" => Some(Self::Seconds),
            b"PX" => Some(Self::Milliseconds),
            b"EXAT" => Some(Self::UnixSeconds),
            b"PXAT" => Some(Self::UnixMilliseconds),
            _ => None,
        }
    }

    /// Reads a number of this unit for `command`; it may be negative, and so past.
    ///
    /// # Errors
    /// It is not an integer, or more milliseconds than 63 bits hold.
    pub fn read(self, text: &[u8], now: Timestamp, command: &str) -> Result<Deadline, Error> {
        let number = number::required(text)?;
        let ms = match self {
            Self::Seconds | Self::UnixSeconds => number.checked_mul(1000),
            Self::Milliseconds | Self::UnixMilliseconds => Some(number),
        };
        let deadline = ms.and_then(|ms| match self {
            Self::Seconds | Self::Milliseconds => Deadline::after_ms(now, ms),
            Self::UnixSeconds | Self::UnixMilliseconds => Some(Deadline::at_ms(ms)),
        });
        deadline.ok_or_else(|| invalid(command))
    }

    /// As [`Self::read`], for commands to which nothing but a positive number makes sense.
    ///
    /// # Errors
    /// As [`Self::read`]; it is not positive.
    pub fn read_positive(
        self,
        text: &[u8],
        now: Timestamp,
        command: &str,
    ) -> Result<Deadline, Error> {
        if number::required(text)? <= 0 {
            return Err(invalid(command));
        }
        self.read(text, now, command)
    }
}

fn invalid(command: &str) -> Error {
    Error::redis(format!("ERR invalid expire time in '{command}' command"))
}
