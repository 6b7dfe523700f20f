//! Users as a text, a line each: `user name rule rule ...`. What Redis writes can be read here, and the reverse.

use super::catalogue::Catalogue;
use super::rule::{RuleError, Unmatched, has_spaces, join_selectors};
use super::user::User;
use super::{NAME_BYTES_MAX, USERS_MAX};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// What is wrong with a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileError {
    /// Its number, from 1.
    pub line: usize,
    what: Fault,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Fault {
    NoUser,
    BadName,
    Twice(String),
    Unmatched(String),
    Rule(String, RuleError),
    TooMany,
}

/// What is wrong, in one line without the line's number.
impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            Fault::NoUser => f.write_str("should start with user keyword followed by the username"),
            Fault::BadName => write!(
                f,
                "a username has 1 to {NAME_BYTES_MAX} bytes, without spaces or null characters"
            ),
            Fault::Twice(name) => write!(f, "duplicate user '{name}' found"),
            Fault::Unmatched(word) => write!(
                f,
                "Unmatched parenthesis in acl selector starting at '{word}'"
            ),
            Fault::Rule(rule, error) if rule.is_empty() => write!(f, "{error}"),
            Fault::Rule(rule, error) => write!(f, "Error in applying operation '{rule}': {error}"),
            Fault::TooMany => write!(f, "more than {USERS_MAX} users"),
        }
    }
}

/// Reads users, one a line; empty lines and lines that begin with `#` are passed over.
///
/// # Errors
/// Every line that is wrong.
pub fn parse(
    catalogue: &Catalogue,
    text: &[u8],
    open_channels: bool,
) -> Result<BTreeMap<Vec<u8>, User>, Vec<FileError>> {
    let (mut users, mut errors) = (BTreeMap::new(), Vec::new());
    for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
        let words: Vec<&[u8]> = line
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty())
            .collect();
        if words.first().is_none_or(|word| word.starts_with(b"#")) {
            continue;
        }
        let user = read_line(catalogue, &words, open_channels);
        let added = user.and_then(|(name, user)| {
            if users.contains_key(&name) {
                return Err(Fault::Twice(shown(&name)));
            }
            if users.len() >= USERS_MAX {
                return Err(Fault::TooMany);
            }
            users.insert(name, user);
            Ok(())
        });
        if let Err(what) = added {
            errors.push(FileError {
                line: index + 1,
                what,
            });
        }
    }
    if errors.is_empty() {
        Ok(users)
    } else {
        Err(errors)
    }
}

fn read_line(
    catalogue: &Catalogue,
    words: &[&[u8]],
    open_channels: bool,
) -> Result<(Vec<u8>, User), Fault> {
    let [word, name, rules @ ..] = words else {
        return Err(Fault::NoUser);
    };
    if !word.eq_ignore_ascii_case(b"user") {
        return Err(Fault::NoUser);
    }
    if name.len() > NAME_BYTES_MAX || has_spaces(name) {
        return Err(Fault::BadName);
    }
    let rules = join_selectors(rules.iter().copied());
    let rules = rules.map_err(|Unmatched(word)| Fault::Unmatched(shown(&word)))?;
    let mut user = User::new(open_channels);
    for rule in rules {
        let applied = user.apply(catalogue, &rule);
        applied.map_err(|error| {
            // Of others it may be that a password is in them.
            let tells = rule.first().is_some_and(|byte| b"+-~%&(".contains(byte));
            let rule = if tells { shown(&rule) } else { String::new() };
            Fault::Rule(rule, error)
        })?;
    }
    Ok((name.to_vec(), user))
}

/// A word for an error: cut and made printable.
fn shown(word: &[u8]) -> String {
    word[..word.len().min(64)].escape_ascii().to_string()
}

/// Writes users, one a line.
pub fn write(users: &[(Arc<[u8]>, Arc<User>)]) -> Vec<u8> {
    let mut text = Vec::new();
    for (name, user) in users {
        for piece in [b"user ", &**name, b" ", &user.text(), b"\n"] {
            text.extend_from_slice(piece);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::tests::small;
    use super::*;

    fn errors(text: &str) -> Vec<String> {
        let errors = parse(&small(), text.as_bytes(), false).err().unwrap();
        errors
            .iter()
            .map(|error| format!("{}: {error}", error.line))
            .collect()
    }

    #[test]
    fn what_is_written_is_read_again() {
        let text = "# ours\n\nuser default on nopass ~* &* +@all\r\n  user t7 on >pw ~t7:* %R~x resetchannels &t7:* -@all +get +select|0 (~y +set)\n";
        let users = parse(&small(), text.as_bytes(), true).unwrap();
        let listed: Vec<_> = users
            .iter()
            .map(|(name, user)| (Arc::from(name.as_slice()), Arc::new(user.clone())))
            .collect();
        let written = write(&listed);
        let again = parse(&small(), &written, false).unwrap();
        assert_eq!(
            written.escape_ascii().to_string(),
            "user default on nopass sanitize-payload ~* &* +@all\\nuser t7 on sanitize-payload #30c952fab122c3f9759f02a6d95c3758b246b4fee239957b2d4fee46e26170c4 ~t7:* %R~x resetchannels &t7:* -@all +get +select|0 (~y &* -@all +set)\\n"
        );
        let names: Vec<_> = again.keys().collect();
        assert_eq!(names, [&b"default"[..], b"t7"]);
        assert_eq!(
            write(
                &again
                    .into_iter()
                    .map(|(name, user)| (Arc::from(name), Arc::new(user)))
                    .collect::<Vec<_>>()
            ),
            written
        );
    }

    #[test]
    fn each_bad_line_is_named_and_no_password_is_shown() {
        let found = errors(
            "user a on\nuser\nuse b on\nuser a off\nuser c >s3cret +nosuch\nuser d (~x\nuser e #s3cret\nuser f <s3cret",
        );
        assert_eq!(
            found,
            [
                "2: should start with user keyword followed by the username",
                "3: should start with user keyword followed by the username",
                "4: duplicate user 'a' found",
                "5: Error in applying operation '+nosuch': Unknown command or category name in ACL",
                "6: Unmatched parenthesis in acl selector starting at '(~x'",
                "7: The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters",
                "8: The password you are trying to remove from the user does not exist",
            ]
        );
        assert!(!found.concat().contains("s3cret"));
    }
}
