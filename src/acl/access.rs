//! What a request asks for, and why it is refused.

use super::catalogue::CommandId;
use super::pattern::Touch;
use smallvec::SmallVec;

/// A key that a request names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TouchedKey<'a> {
    /// Its place among the arguments.
    pub at: usize,
    /// Its name.
    pub name: &'a [u8],
    /// What would be done to it.
    pub touch: Touch,
}

/// A channel that a request names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TouchedChannel<'a> {
    /// Its place among the arguments.
    pub at: usize,
    /// Its name, or a pattern of names.
    pub name: &'a [u8],
    /// It is a pattern.
    pub is_pattern: bool,
}

/// What a request asks for.
pub struct Request<'a> {
    /// Its command.
    pub command: CommandId,
    /// The command needs no permission: it is allowed before `AUTH`.
    pub is_free: bool,
    /// The argument behind the command's name.
    pub first_argument: Option<&'a [u8]>,
    /// All keys that it names; may be left empty for [`User::sees_all_keys`](super::User::sees_all_keys).
    pub keys: SmallVec<[TouchedKey<'a>; 4]>,
    /// All channels that it names; may be left empty for
    /// [`User::sees_all_channels`](super::User::sees_all_channels).
    pub channels: SmallVec<[TouchedChannel<'a>; 2]>,
}

/// Why a request is refused. In the order in which the checks go, so that the greater one got further.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Denied {
    /// The command is not allowed.
    Command,
    /// The key at this place among the arguments is not.
    Key(usize),
    /// The channel at this place is not.
    Channel(usize),
}
