//! Passwords, kept as their SHA-256 so that files of users go to Redis and back.

use sha2::{Digest as _, Sha256};
use std::fmt;
use subtle::{Choice, ConstantTimeEq};

/// The SHA-256 of a password. `Debug` does not show it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hash([u8; 32]);

impl Hash {
    /// Of a password.
    pub fn of(password: &[u8]) -> Self {
        Self(Sha256::digest(password).into())
    }

    /// From exactly 64 lower-case hexadecimal digits.
    pub fn parse(digits: &[u8]) -> Option<Self> {
        let value = |digit: u8| match digit {
            b'0'..=b'9' => Some(digit - b'0'),
            b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        };
        let digits: &[u8; 64] = digits.try_into().ok()?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.as_chunks::<2>().0) {
            *byte = value(pair[0])? << 4 | value(pair[1])?;
        }
        Some(Self(bytes))
    }

    /// True if it is among `known`, in a time that tells nothing but how many there are.
    pub fn is_among(&self, known: &[Self]) -> bool {
        let mut found = Choice::from(0);
        for other in known {
            found |= self.0.ct_eq(&other.0);
        }
        found.into()
    }
}

/// 64 hexadecimal digits.
impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hash(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_redis_writes() {
        let text = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
        assert_eq!(Hash::of(b"x").to_string(), text);
        assert_eq!(Hash::parse(text.as_bytes()), Some(Hash::of(b"x")));
        for wrong in [
            &text[1..],
            &text.to_uppercase(),
            &format!("{text}0"),
            &text.replace('2', "g"),
        ] {
            assert_eq!(Hash::parse(wrong.as_bytes()), None, "{wrong}");
        }
        assert!(!format!("{:?}", Hash::of(b"x")).contains("2d71"));
    }

    #[test]
    fn one_of_several_is_enough() {
        let known = [Hash::of(b"a"), Hash::of(b"b")];
        assert!(Hash::of(b"a").is_among(&known) && Hash::of(b"b").is_among(&known));
        assert!(!Hash::of(b"c").is_among(&known) && !Hash::of(b"a").is_among(&[]));
    }
}
