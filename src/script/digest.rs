//! Names of scripts: the SHA1 of their text.

use sha1::{Digest as _, Sha1};
use std::borrow::Cow;
use std::fmt;

/// A SHA1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Digest([u8; 20]);

impl Digest {
    /// The digest of a script's text.
    pub fn of(text: &[u8]) -> Self {
        Self(Sha1::digest(text).into())
    }

    /// Reads 40 hexadecimal digits, in any case.
    pub fn parse(digits: &[u8]) -> Option<Self> {
        let digits: &[u8; 40] = digits.try_into().ok()?;
        let nibble = |digit: u8| char::from(digit).to_digit(16).map(|nibble| nibble as u8);
        let mut bytes = [0; 20];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Some(Self(bytes))
    }
}

/// 40 hexadecimal digits, lower case.
impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A text without the blanks and tabs at the beginning of its lines. Libraries and build tools indent the same
/// script differently, and Lua does not care.
pub fn without_indents(text: &[u8]) -> Cow<'_, [u8]> {
    let is_indent = |byte: &u8| matches!(byte, b' ' | b'\t');
    let mut lines = text.split(|&byte| byte == b'\n');
    if !lines
        .clone()
        .any(|line| line.first().is_some_and(is_indent))
    {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    let first = lines.next().unwrap_or_default();
    plain.extend(first.iter().skip_while(|byte| is_indent(byte)));
    for line in lines {
        plain.push(b'\n');
        plain.extend(line.iter().skip_while(|byte| is_indent(byte)));
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_forty_digits() {
        let empty = Digest::of(b"");
        let digits = "da39a3ee5e6b4b0d3255bfef95601890afd80709";
        assert_eq!(empty.to_string(), digits);
        assert_eq!(Digest::parse(digits.as_bytes()), Some(empty));
        assert_eq!(Digest::parse(digits.to_uppercase().as_bytes()), Some(empty));
        for wrong in ["", "da39", &format!("{digits}0"), &digits.replace('d', "g")] {
            assert_eq!(Digest::parse(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn only_the_beginnings_of_lines_lose_their_blanks() {
        let cases: [(&[u8], &[u8]); 5] = [
            (b"", b""),
            (b"a b\nc\n", b"a b\nc\n"),
            (b"  a\n\t b c \n\n", b"a\nb c \n\n"),
            (b"a\n  ", b"a\n"),
            (b"a\r\n  b", b"a\r\nb"),
        ];
        for (text, plain) in cases {
            assert_eq!(&*without_indents(text), plain);
        }
    }
}
