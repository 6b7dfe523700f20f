//! What a script replies. The types are those that Redis makes of Lua's: a library tells them apart.

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
    /// A table of integers.
    pub fn integers(values: impl IntoIterator<Item = i64>) -> Self {
        Self::Array(values.into_iter().map(Self::Integer).collect())
    }
}

/// What a script fails with: an error reply, code first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure(pub Cow<'static, str>);

impl Failure {
    /// A key or an argument that the script uses is missing.
    pub const NIL_ARGUMENT: Self = Self(Cow::Borrowed(
        "ERR Lua redis lib command arguments must be strings or integers",
    ));
}
