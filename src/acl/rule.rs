//! How rules are told apart, and what is wrong with them.

use std::fmt;

/// Why a rule was refused. [`fmt::Display`] is Redis's text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RuleError {
    /// No command or category has that name.
    Unknown,
    /// It is no rule.
    Syntax,
    /// A pattern of keys, where all keys are allowed already.
    AfterAllKeys,
    /// A pattern of channels, where all channels are allowed already.
    AfterAllChannels,
    /// A password to take away that the user does not have.
    NoSuchPassword,
    /// No SHA-256 in hexadecimal digits.
    BadHash,
    /// The first argument of a subcommand.
    FirstArgument,
    /// More than a user may have.
    TooMany,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "Unknown command or category name in ACL",
            Self::Syntax => "Syntax error",
            Self::AfterAllKeys => {
                "Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns"
            }
            Self::AfterAllChannels => {
                "Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels"
            }
            Self::NoSuchPassword => {
                "The password you are trying to remove from the user does not exist"
            }
            Self::BadHash => {
                "The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters"
            }
            Self::FirstArgument => "Allowing first-arg of a subcommand is not supported",
            Self::TooMany => {
                "A user has at most 100 passwords and 100 selectors, and each selector at most 1000 patterns of keys, as many of channels and as many first arguments, of at most 512 bytes each"
            }
        })
    }
}

/// A selector that is not closed: the word with which it begins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unmatched(pub Vec<u8>);

/// Joins the words of each selector, from `(` to `)`, to one rule.
///
/// # Errors
/// A selector that is not closed.
pub fn join_selectors<'a>(
    words: impl IntoIterator<Item = &'a [u8]>,
) -> Result<Vec<Vec<u8>>, Unmatched> {
    let mut rules = Vec::new();
    let mut open: Option<(&[u8], Vec<u8>)> = None;
    for word in words {
        let closes = word.ends_with(b")");
        match open.take() {
            None if word.starts_with(b"(") && !closes => open = Some((word, word.to_vec())),
            None => rules.push(word.to_vec()),
            Some((first, mut rule)) => {
                rule.push(b' ');
                rule.extend_from_slice(word);
                if closes {
                    rules.push(rule);
                } else {
                    open = Some((first, rule));
                }
            }
        }
    }
    match open {
        None => Ok(rules),
        Some((first, _)) => Err(Unmatched(first.to_vec())),
    }
}

/// True if a rule is `word`, in any case.
pub(super) fn is(rule: &[u8], word: &str) -> bool {
    rule.eq_ignore_ascii_case(word.as_bytes())
}

/// True if there is white space or a NUL in it: it could not be read again.
pub(super) fn has_spaces(text: &[u8]) -> bool {
    text.iter()
        .any(|byte| byte.is_ascii_whitespace() || matches!(byte, 0 | 0x0b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(words: &str) -> Result<String, Unmatched> {
        let words = words.split(' ').map(str::as_bytes);
        join_selectors(words).map(|rules| String::from_utf8(rules.join(&b',')).unwrap())
    }

    #[test]
    fn a_selector_is_one_rule() {
        assert_eq!(joined("on (~a +get) off").unwrap(), "on,(~a +get),off");
        assert_eq!(joined("(~a) (+get ~b )").unwrap(), "(~a),(+get ~b )");
        assert_eq!(joined("(a (b)").unwrap(), "(a (b)");
        assert_eq!(joined("on (~a +get"), Err(Unmatched(b"(~a".to_vec())));
        assert_eq!(joined("a) b").unwrap(), "a),b");
    }
}
