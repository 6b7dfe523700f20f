//! Every bound of the wire, with the reason for it.
//!
//! All of them are checked before memory is taken for what they bound.

/// Longest single argument of a request, in bytes (1 MiB).
///
/// Keys end at 512 bytes and values at 64 KiB, so this is roomy; it exists so that an over-long value can be
/// refused by the command, with an error naming it, instead of by closing the connection. Redis: 512 MiB.
pub const BULK_BYTES_MAX: usize = 1024 * 1024;

/// Longest single argument before AUTH, in bytes (16 KiB). Redis has the same; a password is shorter.
pub const BULK_BYTES_MAX_UNAUTHENTICATED: usize = 16 * 1024;

/// Most arguments of one request, the command's name included (65,536).
///
/// `DEL` and `MGET` with tens of thousands of keys are in honest use; beyond that a client pipelines, which
/// also keeps one request from holding the others up. Redis: 2^31 - 1.
pub const ARGUMENTS_MAX: usize = 65_536;

/// Most arguments of one request before AUTH (10), as in Redis: `HELLO 3 AUTH user password SETNAME name` has 7.
pub const ARGUMENTS_MAX_UNAUTHENTICATED: usize = 10;

/// Longest request, framing included, in bytes (16 MiB).
///
/// Without it [`ARGUMENTS_MAX`] arguments of [`BULK_BYTES_MAX`] would let one connection hold 64 GiB. It leaves
/// 256 bytes for each of the most arguments, or 16 arguments of the longest kind.
pub const REQUEST_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Longest request before AUTH, framing included, in bytes (64 KiB): what a stranger can make the server keep.
pub const REQUEST_BYTES_MAX_UNAUTHENTICATED: usize = 64 * 1024;

/// Longest inline request, its line end included, in bytes (64 KiB), as in Redis.
pub const INLINE_BYTES_MAX: usize = 64 * 1024;

/// Most bytes between `*` or `$` and the line end (20).
///
/// A sign and 19 digits: all that a 64-bit integer needs. Longer is not a number anyone means. Redis: 64 KiB.
pub const LENGTH_LINE_BYTES_MAX: usize = 20;

/// Arguments that the scanner makes room for on seeing `*N` (16). The rest grows with what really arrives:
/// ten bytes that announce a million arguments must not buy a million slots.
pub const ARGUMENTS_PREALLOCATED_MAX: usize = 16;

/// Argument slots that a scanner keeps between requests (256, which is 2 KiB). A larger request's are given back,
/// so that one `MGET` of everything does not stay allocated on an idle connection.
pub const ARGUMENTS_KEPT: usize = 256;

/// Bytes of unquoted inline text that a scanner keeps room for between requests (1 KiB), for the same reason.
pub const INLINE_BYTES_KEPT: usize = 1024;

/// Longest text of an error or simple string in a reply, in bytes (1 KiB).
///
/// Error texts quote what the caller sent, and a line has no length in front: clients read it byte by byte and some
/// cap it. Every text of ours with its quotations cut at 128 bytes fits.
pub const TEXT_BYTES_MAX: usize = 1024;

/// What one request may hold. Which one applies depends on whether the connection has authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLimits {
    /// Most arguments, the command's name included.
    pub arguments_max: usize,
    /// Longest single argument, in bytes.
    pub bulk_bytes_max: usize,
    /// Longest request, framing included, in bytes. At most `u32::MAX`; more counts as that.
    pub request_bytes_max: usize,
    /// Longest inline request, line end included, in bytes. [`Self::request_bytes_max`] bounds it too.
    pub inline_bytes_max: usize,
}

impl RequestLimits {
    /// Bounds for a connection that has yet to authenticate on a server that demands it.
    pub const UNAUTHENTICATED: Self = Self {
        arguments_max: ARGUMENTS_MAX_UNAUTHENTICATED,
        bulk_bytes_max: BULK_BYTES_MAX_UNAUTHENTICATED,
        request_bytes_max: REQUEST_BYTES_MAX_UNAUTHENTICATED,
        inline_bytes_max: INLINE_BYTES_MAX,
    };

    /// Bounds for everyone else.
    pub const AUTHENTICATED: Self = Self {
        arguments_max: ARGUMENTS_MAX,
        bulk_bytes_max: BULK_BYTES_MAX,
        request_bytes_max: REQUEST_BYTES_MAX,
        inline_bytes_max: INLINE_BYTES_MAX,
    };
}

const _: () = assert!(
    REQUEST_BYTES_MAX <= u32::MAX as usize,
    "argument ranges are 32-bit"
);
const _: () = assert!(INLINE_BYTES_MAX <= REQUEST_BYTES_MAX_UNAUTHENTICATED);
