//! The password: compared in constant time, never printed.

use std::fmt;

use subtle::ConstantTimeEq;

/// Longest password in bytes, as in Redis. Also the length every comparison works through, so that
/// its time tells neither the length nor the common prefix.
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

    /// True if `candidate` is this password. Takes the same time whatever `candidate` is.
    pub fn matches(&self, candidate: &[u8]) -> bool {
        let same_length = self.0.len().ct_eq(&candidate.len());
        (padded(&self.0).ct_eq(&padded(candidate)) & same_length).into()
    }

    /// The password itself, for `CONFIG GET requirepass` by somebody who has given it, and for `AUTH`
    /// sent by the built-in client.
    pub fn reveal(&self) -> &[u8] {
        &self.0
    }
}

fn padded(bytes: &[u8]) -> [u8; PASSWORD_MAX] {
    let mut block = [0; PASSWORD_MAX];
    let kept = bytes.len().min(PASSWORD_MAX);
    block[..kept].copy_from_slice(&bytes[..kept]);
    block
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
    fn only_the_same_bytes_match() {
        let password = Password::new(b"s3cret").unwrap();
        assert!(password.matches(b"s3cret"));
        for wrong in [
            &b""[..],
            b"s3cre",
            b"s3cret\0",
            b"S3cret",
            &[0; 600],
            &[b's'; PASSWORD_MAX],
        ] {
            assert!(!password.matches(wrong), "{wrong:?}");
        }
    }

    #[test]
    fn length_ends_at_the_bound() {
        let longest = [b'x'; PASSWORD_MAX];
        assert!(Password::new(&longest).unwrap().matches(&longest));
        assert!(
            !Password::new(&longest)
                .unwrap()
                .matches(&[b'x'; PASSWORD_MAX + 1])
        );
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
