//! A selector: commands, keys and channels that are allowed together.

use super::access::{Denied, Request};
use super::catalogue::{Catalogue, CommandId, CommandSet};
use super::categories::Categories;
use super::pattern::{KeyPattern, Touch};
use super::rule::{RuleError, has_spaces, is};
use super::{PATTERN_BYTES_MAX, PATTERNS_MAX};
use crate::glob;

/// Commands, keys and channels that are allowed together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selector {
    allowed: CommandSet,
    /// Whatever the command, subcommands and first arguments included.
    all_commands: bool,
    /// What the rules of commands began with: commands that no rule names are allowed.
    begins_with_all: bool,
    /// The rules of commands behind that, as they were given, in lower case: `+get`, `-@write`, `+select|0`.
    command_rules: Vec<Vec<u8>>,
    /// Commands that are allowed with one of these behind their name.
    first_arguments: Vec<(CommandId, Box<[u8]>)>,
    all_keys: bool,
    keys: Vec<KeyPattern>,
    all_channels: bool,
    channels: Vec<Box<[u8]>>,
}

impl Selector {
    /// One that allows nothing, or all channels if these are open by default.
    pub fn new(all_channels: bool) -> Self {
        Self {
            allowed: CommandSet::NONE,
            all_commands: false,
            begins_with_all: false,
            command_rules: Vec::new(),
            first_arguments: Vec::new(),
            all_keys: false,
            keys: Vec::new(),
            all_channels,
            channels: Vec::new(),
        }
    }

    /// One of the rules inside parentheses, without these.
    pub(super) fn parse(
        catalogue: &Catalogue,
        rules: &[u8],
        all_channels: bool,
    ) -> Result<Self, RuleError> {
        let mut selector = Self::new(all_channels);
        let rules = rules.split(u8::is_ascii_whitespace);
        for rule in rules.filter(|rule| !rule.is_empty()) {
            selector.apply(catalogue, rule)?;
        }
        Ok(selector)
    }

    /// Applies one rule.
    ///
    /// # Errors
    /// It is none, or cannot be applied.
    pub fn apply(&mut self, catalogue: &Catalogue, rule: &[u8]) -> Result<(), RuleError> {
        if is(rule, "allkeys") || rule == b"~*" {
            self.all_keys = true;
            self.keys.clear();
        } else if is(rule, "resetkeys") {
            self.all_keys = false;
            self.keys.clear();
        } else if is(rule, "allchannels") || rule == b"&*" {
            self.all_channels = true;
            self.channels.clear();
        } else if is(rule, "resetchannels") {
            self.all_channels = false;
            self.channels.clear();
        } else if is(rule, "allcommands") || is(rule, "+@all") {
            self.begin_commands(true);
        } else if is(rule, "nocommands") || is(rule, "-@all") {
            self.begin_commands(false);
        } else {
            match rule {
                [b'~', pattern @ ..] => self.add_keys(pattern, Touch::BOTH)?,
                [b'%', ..] if self.all_keys => return Err(RuleError::AfterAllKeys),
                [b'%', rest @ ..] => {
                    let (touch, pattern) = touch_and_pattern(rest)?;
                    self.add_keys(pattern, touch)?;
                }
                [b'&', pattern @ ..] => self.add_channels(pattern)?,
                [sign @ (b'+' | b'-'), b'@', name @ ..] => {
                    let category = Categories::named(name).ok_or(RuleError::Unknown)?;
                    self.note(&rule[1..], *sign == b'+');
                    for id in catalogue.of_category(category) {
                        self.change(catalogue, id, *sign == b'+');
                    }
                }
                [b'+', name @ ..] => self.allow(catalogue, name)?,
                [b'-', name @ ..] => {
                    let id = catalogue.find(name).ok_or(RuleError::Unknown)?;
                    self.change(catalogue, id, false);
                    self.note(name, false);
                }
                _ => return Err(RuleError::Syntax),
            }
        }
        Ok(())
    }

    fn begin_commands(&mut self, all: bool) {
        self.allowed = if all {
            CommandSet::ALL
        } else {
            CommandSet::NONE
        };
        (self.all_commands, self.begins_with_all) = (all, all);
        self.command_rules.clear();
        self.first_arguments.clear();
    }

    /// `+name`, `+name|subcommand` or `+name|first-argument`.
    fn allow(&mut self, catalogue: &Catalogue, name: &[u8]) -> Result<(), RuleError> {
        let Some(bar) = name.iter().rposition(|&byte| byte == b'|') else {
            let id = catalogue.find(name).ok_or(RuleError::Unknown)?;
            self.change(catalogue, id, true);
            self.note(name, true);
            return Ok(());
        };
        let (command, argument) = (&name[..bar], &name[bar + 1..]);
        let id = catalogue.find(command).ok_or(RuleError::Unknown)?;
        if catalogue.is_subcommand(id) {
            return Err(RuleError::FirstArgument);
        }
        if argument.is_empty() {
            return Err(RuleError::Syntax);
        }
        if catalogue.family(id).count() > 1 {
            let id = catalogue.find(name).ok_or(RuleError::Unknown)?;
            self.change(catalogue, id, true);
        } else {
            let known = |(other, known): &(CommandId, Box<[u8]>)| {
                *other == id && known.eq_ignore_ascii_case(argument)
            };
            if !self.first_arguments.iter().any(known) {
                check_bounds(self.first_arguments.len(), argument)?;
                self.first_arguments.push((id, argument.into()));
            }
        }
        self.note(name, true);
        Ok(())
    }

    /// Allows or forbids a command with its subcommands, whatever stands behind its name.
    fn change(&mut self, catalogue: &Catalogue, id: CommandId, allow: bool) {
        self.all_commands &= allow;
        self.first_arguments.retain(|(other, _)| *other != id);
        for id in catalogue.family(id) {
            self.allowed.set(id, allow);
        }
    }

    /// Writes a rule of commands down, without its sign. It takes the place of what it overrules: a rule on the same
    /// name, or on a part of what it names.
    fn note(&mut self, name: &[u8], allow: bool) {
        let name = name.to_ascii_lowercase();
        self.command_rules.retain(|rule| {
            let rest = rule[1..].strip_prefix(&*name);
            !rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"|"))
        });
        let sign = if allow { b'+' } else { b'-' };
        self.command_rules.push([&[sign], &*name].concat());
    }

    fn add_keys(&mut self, pattern: &[u8], allows: Touch) -> Result<(), RuleError> {
        if self.all_keys {
            return Err(RuleError::AfterAllKeys);
        }
        if has_spaces(pattern) {
            return Err(RuleError::Syntax);
        }
        if let Some(known) = self
            .keys
            .iter_mut()
            .find(|known| *known.pattern == *pattern)
        {
            known.allows = known.allows.joined(allows);
            return Ok(());
        }
        check_bounds(self.keys.len(), pattern)?;
        self.keys.push(KeyPattern {
            pattern: pattern.into(),
            allows,
        });
        Ok(())
    }

    fn add_channels(&mut self, pattern: &[u8]) -> Result<(), RuleError> {
        if self.all_channels {
            return Err(RuleError::AfterAllChannels);
        }
        if has_spaces(pattern) {
            return Err(RuleError::Syntax);
        }
        if !self.channels.iter().any(|known| **known == *pattern) {
            check_bounds(self.channels.len(), pattern)?;
            self.channels.push(pattern.into());
        }
        Ok(())
    }

    /// True if it allows everything.
    pub(super) const fn is_unrestricted(&self) -> bool {
        self.all_commands && self.all_keys && self.all_channels
    }

    pub(super) const fn sees_all_keys(&self) -> bool {
        self.all_keys
    }

    pub(super) const fn sees_all_channels(&self) -> bool {
        self.all_channels
    }

    /// What of a request it forbids first: its command, then its keys and its channels as they stand.
    pub(super) fn check(&self, request: &Request<'_>) -> Result<(), Denied> {
        if !self.all_commands && !request.is_free && !self.allows_command(request) {
            return Err(Denied::Command);
        }
        if !self.all_keys {
            let allowed = |name, touch| self.keys.iter().any(|keys| keys.allows(name, touch));
            let mut keys = request.keys.iter();
            if let Some(key) = keys.find(|key| !allowed(key.name, key.touch)) {
                return Err(Denied::Key(key.at));
            }
        }
        let mut channels = request.channels.iter();
        match channels.find(|channel| !self.allows_channel(channel.name, channel.is_pattern)) {
            Some(channel) => Err(Denied::Channel(channel.at)),
            None => Ok(()),
        }
    }

    fn allows_command(&self, request: &Request<'_>) -> bool {
        self.allowed.has(request.command)
            || request.first_argument.is_some_and(|argument| {
                let mut known = self.first_arguments.iter();
                known.any(|(id, known)| {
                    *id == request.command && known.eq_ignore_ascii_case(argument)
                })
            })
    }

    /// A pattern of channels is allowed only as it stands: what it matches is not looked at.
    pub(super) fn allows_channel(&self, name: &[u8], is_pattern: bool) -> bool {
        self.all_channels
            || self.channels.iter().any(|allowed| match is_pattern {
                true => **allowed == *name,
                false => glob::matches(allowed, name),
            })
    }

    /// True if every channel that it allows is among those that `others` allow as they stand.
    pub(super) fn channels_are_within(&self, others: &[Self]) -> bool {
        let has = |channel: &[u8]| {
            others
                .iter()
                .any(|other| other.allows_channel(channel, true))
        };
        let mut channels = self.channels.iter();
        match self.all_channels {
            true => others.iter().any(|other| other.all_channels),
            false => channels.all(|channel| has(channel)),
        }
    }

    /// The rules of commands as one text: `-@all +get`.
    pub fn commands_text(&self) -> Vec<u8> {
        let begin: &[u8] = if self.begins_with_all {
            b"+@all"
        } else {
            b"-@all"
        };
        let rules = self.command_rules.iter().map(Vec::as_slice);
        let all: Vec<&[u8]> = std::iter::once(begin).chain(rules).collect();
        all.join(&b' ')
    }

    /// The patterns of keys as one text: `~a* %R~b*`.
    pub fn keys_text(&self) -> Vec<u8> {
        // Beside such a pattern the others say nothing, and behind it they could not be read again.
        let is_all = |keys: &KeyPattern| *keys.pattern == *b"*" && keys.allows == Touch::BOTH;
        if self.all_keys || self.keys.iter().any(is_all) {
            return b"~*".to_vec();
        }
        let mut text = Vec::new();
        for (index, pattern) in self.keys.iter().enumerate() {
            if index > 0 {
                text.push(b' ');
            }
            pattern.write(&mut text);
        }
        text
    }

    /// The patterns of channels as one text: `&a &b*`.
    pub fn channels_text(&self) -> Vec<u8> {
        if self.all_channels {
            return b"&*".to_vec();
        }
        let channels = self.channels.iter();
        let marked: Vec<Vec<u8>> = channels
            .map(|channel| [b"&", &**channel].concat())
            .collect();
        marked.join(&b' ')
    }

    /// All as one text of rules, which make the same selector again.
    pub fn text(&self) -> Vec<u8> {
        let reset: &[u8] = if self.all_channels {
            b""
        } else {
            b"resetchannels"
        };
        let pieces = [
            &self.keys_text(),
            reset,
            &self.channels_text(),
            &self.commands_text(),
        ];
        let pieces = pieces.into_iter().filter(|piece| !piece.is_empty());
        pieces.collect::<Vec<_>>().join(&b' ')
    }
}

/// Reads what stands behind `%`: `R~pattern`, `W~pattern`, `RW~pattern`.
fn touch_and_pattern(rest: &[u8]) -> Result<(Touch, &[u8]), RuleError> {
    let tilde = rest.iter().position(|&byte| byte == b'~');
    let (letters, pattern) = rest.split_at(tilde.ok_or(RuleError::Syntax)?);
    let touch = match letters.to_ascii_uppercase().as_slice() {
        b"R" => Touch {
            reads: true,
            writes: false,
        },
        b"W" => Touch {
            reads: false,
            writes: true,
        },
        b"RW" | b"WR" => Touch::BOTH,
        _ => return Err(RuleError::Syntax),
    };
    Ok((touch, &pattern[1..]))
}

/// Checks that there is room for one more, and its length.
fn check_bounds(count: usize, text: &[u8]) -> Result<(), RuleError> {
    if count >= PATTERNS_MAX || text.len() > PATTERN_BYTES_MAX {
        return Err(RuleError::TooMany);
    }
    Ok(())
}

#[cfg(test)]
#[path = "selector_tests.rs"]
mod tests;
