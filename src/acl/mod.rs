//! Users and what each of them may do, in Redis's grammar. Pure: no command runs here and no file is read.
//!
//! A user has passwords and selectors. A selector is a set of commands, patterns of keys (each for reading, for
//! writing or for both) and patterns of channels. What one of its selectors allows as a whole, the user may do. The
//! rules that make a selector are read in the order in which they are given, and each acts on what those before it
//! have left.
//!
//! What commands there are, and to which categories they belong, is told by whoever has the table of commands: see
//! [`Catalogue`].

mod access;
mod catalogue;
mod categories;
mod file;
mod log;
mod password;
mod pattern;
mod rule;
mod selector;
mod user;
mod users;

pub use access::{Denied, Request, TouchedChannel, TouchedKey};
pub use catalogue::{Catalogue, CommandId, Entry};
pub use categories::Categories;
pub use file::{FileError, parse, write};
pub use log::{Context, Entry as LogEntry, Log, Reason};
pub use pattern::Touch;
pub use rule::{RuleError, Unmatched, join_selectors};
pub use selector::Selector;
pub use user::User;
pub use users::{Account, Acl, Login, Replaced};

/// The user that connections have until they say who they are.
pub const DEFAULT_USER: &[u8] = b"default";
/// Longest name of a user, in bytes: a name, not a value.
pub const NAME_BYTES_MAX: usize = 512;
/// Most users: one a tenant, and some hundred megabytes if each has all that it may have of patterns.
pub const USERS_MAX: usize = 100_000;
/// Most passwords of one user: each `AUTH` is compared with all of them.
pub const PASSWORDS_MAX: usize = 100;
/// Most selectors of one user, its own aside: a command is held against one after the other.
pub const SELECTORS_MAX: usize = 100;
/// Most patterns of keys, or of channels, or first arguments, of one selector: each key is held against one after
/// the other.
pub const PATTERNS_MAX: usize = 1_000;
/// Longest pattern, in bytes: as a key.
pub const PATTERN_BYTES_MAX: usize = 512;
