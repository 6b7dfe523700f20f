//! A user: passwords, and what it may do.

use super::access::{Denied, Request};
use super::catalogue::Catalogue;
use super::password::Hash;
use super::rule::{RuleError, is};
use super::selector::Selector;
use super::{PASSWORDS_MAX, SELECTORS_MAX};

/// One user. `Debug` shows how many passwords it has, and not their hashes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct User {
    enabled: bool,
    any_password: bool,
    /// Kept since Redis writes it into its files; nothing here takes a serialized value.
    sanitizes_payload: bool,
    passwords: Vec<Hash>,
    /// What it may do; its own first, of which there is always one.
    selectors: Vec<Selector>,
    /// New selectors have all channels.
    open_channels: bool,
}

impl User {
    /// One that is off, has no password and may do nothing; `open_channels` is `acl-pubsub-default allchannels`.
    pub fn new(open_channels: bool) -> Self {
        Self {
            enabled: false,
            any_password: false,
            sanitizes_payload: true,
            passwords: Vec::new(),
            selectors: vec![Selector::new(open_channels)],
            open_channels,
        }
    }

    /// The default user as it is unless told otherwise: everybody, with any password, may do everything.
    pub fn open(catalogue: &Catalogue) -> Self {
        let mut user = Self::new(true);
        for rule in [&b"on"[..], b"nopass", b"+@all", b"~*", b"&*"] {
            let applied = user.apply(catalogue, rule);
            debug_assert_eq!(applied, Ok(()));
        }
        user
    }

    /// Applies one rule; a selector is one, from `(` to `)`.
    ///
    /// # Errors
    /// It is none, or cannot be applied.
    pub fn apply(&mut self, catalogue: &Catalogue, rule: &[u8]) -> Result<(), RuleError> {
        if is(rule, "on") {
            self.enabled = true;
        } else if is(rule, "off") {
            self.enabled = false;
        } else if is(rule, "nopass") {
            self.any_password = true;
            self.passwords.clear();
        } else if is(rule, "resetpass") {
            self.any_password = false;
            self.passwords.clear();
        } else if is(rule, "sanitize-payload") {
            self.sanitizes_payload = true;
        } else if is(rule, "skip-sanitize-payload") {
            self.sanitizes_payload = false;
        } else if is(rule, "clearselectors") {
            self.selectors.truncate(1);
        } else if is(rule, "reset") {
            *self = Self::new(self.open_channels);
        } else {
            match rule {
                // As in Redis, so that a list of rules may have gaps.
                [] => {}
                [b'>', password @ ..] => self.add_password(Hash::of(password))?,
                [b'#', digits @ ..] => {
                    self.add_password(Hash::parse(digits).ok_or(RuleError::BadHash)?)?;
                }
                [b'<', password @ ..] => self.remove_password(Hash::of(password))?,
                [b'!', digits @ ..] => {
                    self.remove_password(Hash::parse(digits).ok_or(RuleError::BadHash)?)?;
                }
                [b'(', rules @ .., b')'] => {
                    if self.selectors.len() > SELECTORS_MAX {
                        return Err(RuleError::TooMany);
                    }
                    let selector = Selector::parse(catalogue, rules, self.open_channels)?;
                    self.selectors.push(selector);
                }
                _ => self.selectors[0].apply(catalogue, rule)?,
            }
        }
        Ok(())
    }

    fn add_password(&mut self, hash: Hash) -> Result<(), RuleError> {
        if !self.passwords.contains(&hash) {
            if self.passwords.len() >= PASSWORDS_MAX {
                return Err(RuleError::TooMany);
            }
            self.passwords.push(hash);
        }
        self.any_password = false;
        Ok(())
    }

    fn remove_password(&mut self, hash: Hash) -> Result<(), RuleError> {
        let at = self.passwords.iter().position(|known| *known == hash);
        self.passwords.remove(at.ok_or(RuleError::NoSuchPassword)?);
        Ok(())
    }

    /// New selectors have all channels, or none: `acl-pubsub-default`.
    pub(super) const fn set_open_channels(&mut self, open: bool) {
        self.open_channels = open;
    }

    /// True if it may log in with the password of which `hash` is the hash.
    pub fn accepts(&self, hash: &Hash) -> bool {
        let known = hash.is_among(&self.passwords);
        self.enabled && (self.any_password || known)
    }

    /// True if it may log in with any password.
    pub const fn takes_any_password(&self) -> bool {
        self.any_password
    }

    /// True if connections are this user without logging in, if it is the default one.
    pub const fn is_open(&self) -> bool {
        self.enabled && self.any_password
    }

    /// True if it may do everything.
    pub fn is_unrestricted(&self) -> bool {
        self.selectors.iter().any(Selector::is_unrestricted)
    }

    /// True if no selector asks for the keys of a request.
    pub fn sees_all_keys(&self) -> bool {
        self.selectors.iter().all(Selector::sees_all_keys)
    }

    /// True if no selector asks for the channels of a request.
    pub fn sees_all_channels(&self) -> bool {
        self.selectors.iter().all(Selector::sees_all_channels)
    }

    /// Whether it may make a request: one of its selectors allows all of it.
    ///
    /// # Errors
    /// What the selector that got furthest forbids.
    pub fn check(&self, request: &Request<'_>) -> Result<(), Denied> {
        let mut furthest = Denied::Command;
        for selector in &self.selectors {
            match selector.check(request) {
                Ok(()) => return Ok(()),
                Err(denied) => furthest = furthest.max(denied),
            }
        }
        Err(furthest)
    }

    /// True if it may listen to a channel, or to a pattern of channels.
    pub fn may_listen(&self, name: &[u8], is_pattern: bool) -> bool {
        let mut selectors = self.selectors.iter();
        selectors.any(|selector| selector.allows_channel(name, is_pattern))
    }

    /// True if whatever the user that it was before could listen to, it can listen to as well.
    pub fn hears_all_that(&self, before: &Self) -> bool {
        let mut selectors = before.selectors.iter();
        selectors.all(|selector| selector.channels_are_within(&self.selectors))
    }

    /// Its flags, by Redis's names and in its order.
    pub fn flags(&self) -> impl Iterator<Item = &'static str> + Clone {
        let sanitizes = match self.sanitizes_payload {
            true => "sanitize-payload",
            false => "skip-sanitize-payload",
        };
        let enabled = if self.enabled { "on" } else { "off" };
        let any = self.any_password.then_some("nopass");
        [Some(enabled), any, Some(sanitizes)].into_iter().flatten()
    }

    /// The hashes of its passwords.
    pub fn passwords(&self) -> impl ExactSizeIterator<Item = &Hash> {
        self.passwords.iter()
    }

    /// Its own selector.
    pub fn own_selector(&self) -> &Selector {
        &self.selectors[0]
    }

    /// Those beside its own.
    pub fn further_selectors(&self) -> &[Selector] {
        &self.selectors[1..]
    }

    /// Its rules as one text, which make the same user again.
    pub fn text(&self) -> Vec<u8> {
        let mut pieces: Vec<Vec<u8>> = self.flags().map(Vec::from).collect();
        let hashes = self.passwords.iter();
        pieces.extend(hashes.map(|hash| format!("#{hash}").into_bytes()));
        pieces.push(self.own_selector().text());
        let further = self.further_selectors().iter();
        pieces.extend(further.map(|selector| [b"(", &*selector.text(), b")"].concat()));
        pieces.join(&b' ')
    }
}

#[cfg(test)]
#[path = "user_tests.rs"]
mod tests;
