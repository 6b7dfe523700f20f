//! A password that was configured: never printed. Those of users are kept as hashes, see [`crate::acl`].

use std::fmt;

/// Longest password in bytes, as in Redis.
pub const PASSWORD_MAX: usize = 512;

/// A password, or none (the empty one). `Debug` and errors never show it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Password(Box<[u8]>);

impl Password {
    /// From the bytes a user gave; empty means no password.
    ///
    /// # Errors
    /// Longer than [`PASSWORD_MAX`].
    pub fn new(bytes: &[u8]) -> Result<Self, PasswordTooLong> {
        if bytes.len() > PASSWORD_MAX {
            Err(PasswordTooLong)
        } else {
            Ok(Self(bytes.into()))
        }
    }

    /// True if a password is asked for.
    pub fn is_set(&self) -> bool {
        !self.0.is_empty()
    }

    /// The password itself, for `CONFIG GET requirepass` by somebody who has given it, and for `AUTH`
    /// sent by the built-in client.
    pub fn reveal(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_set() {
            "Password(set)"
        } else {
            "Password(none)"
        })
    }
}

/// The password is longer than [`PASSWORD_MAX`] bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordTooLong;

impl fmt::Display for PasswordTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a password has at most {PASSWORD_MAX} bytes")
    }
}

impl std::error::Error for PasswordTooLong {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn length_ends_at_the_bound() {
        let longest = [b'x'; PASSWORD_MAX];
        assert_eq!(Password::new(&longest).unwrap().reveal(), longest);
        assert_eq!(
            Password::new(&[b'x'; PASSWORD_MAX + 1]),
            Err(PasswordTooLong)
        );
    }

    #[test]
    fn debug_does_not_show_it() {
        assert_eq!(
            format!("{:?}", Password::new(b"s3cret").unwrap()),
            "Password(set)"
        );
        assert_eq!(format!("{:?}", Password::default()), "Password(none)");
    }
}
