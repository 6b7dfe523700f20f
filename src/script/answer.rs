//! What a script replies. The types are those that Redis makes of Lua's: a library tells them apart.

use super::lua;
use crate::plain::PlainError;
use std::borrow::Cow;

/// A script's reply.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// A number, cut to an integer.
    Integer(i64),
    /// A string.
    Bulk(Vec<u8>),
    /// A status, such as that of SET.
    Status(&'static str),
    /// Nothing: `nil` or `false`.
    Nil,
    /// A table.
    Array(Vec<Answer>),
}

impl Answer {
    /// A number.
    pub fn number(value: f64) -> Self {
        Self::Integer(lua::integer(value))
    }

    /// A table of numbers.
    pub fn numbers(values: impl IntoIterator<Item = f64>) -> Self {
        Self::Array(values.into_iter().map(Self::number).collect())
    }

    /// 1 for true. In Lua's replies false is nothing, so this is for scripts that say 0 themselves.
    pub const fn one_or_zero(value: bool) -> Self {
        Self::Integer(value as i64)
    }
}

/// What a script fails with. What it has changed until then stays changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failure {
    /// A command failed on the value of a key.
    Plain(PlainError),
    /// A command failed with this text, code first.
    Redis(Cow<'static, str>),
    /// The script itself failed: what Lua says.
    Lua(&'static str),
}

impl Failure {
    /// A command was given nil.
    pub const NIL_ARGUMENT: Self = Self::Redis(Cow::Borrowed(
        "ERR Lua redis lib command arguments must be strings or integers",
    ));
}

impl From<PlainError> for Failure {
    fn from(error: PlainError) -> Self {
        Self::Plain(error)
    }
}
