use std::fmt;

/// Bytes that are no request. The connection is told and closed: where the next request would begin is unknown.
///
/// [`Display`](fmt::Display) gives the text of the error reply without its leading `-` or `ERR `, in Redis's words where
/// Redis has them. It is printable ASCII whatever was received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// The number after `*` is not one, or above [`ARGUMENTS_MAX`](super::limits::ARGUMENTS_MAX).
    InvalidMultibulkLength,
    /// The number after `$` is not one, negative, or above [`BULK_BYTES_MAX`](super::limits::BULK_BYTES_MAX).
    InvalidBulkLength,
    /// The line after `*` does not end within [`LENGTH_LINE_BYTES_MAX`](super::limits::LENGTH_LINE_BYTES_MAX).
    TooBigMultibulkCount,
    /// The line after `$` does not end within [`LENGTH_LINE_BYTES_MAX`](super::limits::LENGTH_LINE_BYTES_MAX).
    TooBigBulkCount,
    /// More arguments than are read before AUTH, though not more than after it.
    UnauthenticatedMultibulkLength,
    /// A longer argument than is read before AUTH, though not longer than after it.
    UnauthenticatedBulkLength,
    /// Something else than a bulk string inside the array of arguments; another array, for example.
    ExpectedBulk {
        /// The byte in the place of `$`.
        got: u8,
    },
    /// An argument is not followed by CR LF: its announced length was wrong. Redis skips those two bytes unseen.
    UnterminatedBulk,
    /// The request as a whole is longer than [`RequestLimits::request_bytes_max`](super::RequestLimits::request_bytes_max).
    TooBigRequest,
    /// An inline request without a line end within [`RequestLimits::inline_bytes_max`](super::RequestLimits::inline_bytes_max).
    TooBigInline,
    /// An inline request with an open quote, or with text right behind a closing one.
    UnbalancedQuotes,
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Protocol error: ")?;
        f.write_str(match *self {
            Self::InvalidMultibulkLength => "invalid multibulk length",
            Self::InvalidBulkLength => "invalid bulk length",
            Self::TooBigMultibulkCount => "too big mbulk count string",
            Self::TooBigBulkCount => "too big bulk count string",
            Self::UnauthenticatedMultibulkLength => "unauthenticated multibulk length",
            Self::UnauthenticatedBulkLength => "unauthenticated bulk length",
            Self::ExpectedBulk { got } => {
                let shown = if got.is_ascii_graphic() {
                    char::from(got)
                } else {
                    '?'
                };
                return write!(f, "expected '$', got '{shown}'");
            }
            Self::UnterminatedBulk => "expected CRLF after bulk string",
            Self::TooBigRequest => "too big request",
            Self::TooBigInline => "too big inline request",
            Self::UnbalancedQuotes => "unbalanced quotes in request",
        })
    }
}

impl std::error::Error for ProtocolError {}
