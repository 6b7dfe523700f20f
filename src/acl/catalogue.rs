//! The commands that there are, as far as permissions go.

use super::categories::Categories;
use std::collections::HashMap;

/// The number of a command or subcommand in the catalogue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CommandId(u16);

/// One command or subcommand.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name, upper case; a subcommand's with its command's in front: `CLIENT|ID`.
    pub name: &'static str,
    /// The categories that it belongs to.
    pub categories: Categories,
}

/// All commands and subcommands.
pub struct Catalogue {
    entries: Vec<Entry>,
    by_name: HashMap<&'static str, CommandId, ahash::RandomState>,
}

impl Catalogue {
    /// A catalogue; the subcommands of a command stand behind it.
    ///
    /// # Panics
    /// More than [`CommandSet`] holds.
    pub fn new(entries: Vec<Entry>) -> Self {
        assert!(entries.len() < CommandSet::BITS, "more commands than bits");
        let ids = entries.iter().enumerate();
        let by_name = ids
            .map(|(index, entry)| (entry.name, CommandId(index as u16)))
            .collect();
        Self { entries, by_name }
    }

    /// The number of the command with exactly this name, as in [`Entry::name`]; of one that is not in the catalogue,
    /// one that no rule names.
    pub fn id(&self, name: &str) -> CommandId {
        let id = self.by_name.get(name).copied();
        debug_assert!(id.is_some(), "{name} is not in the catalogue");
        id.unwrap_or(CommandId(self.entries.len() as u16))
    }

    /// The number of the command of that name, in any case.
    pub fn find(&self, name: &[u8]) -> Option<CommandId> {
        let name = name.to_ascii_uppercase();
        self.by_name.get(std::str::from_utf8(&name).ok()?).copied()
    }

    /// The name of a command, lower case.
    pub fn lower_name(&self, id: CommandId) -> String {
        self.entries[usize::from(id.0)].name.to_ascii_lowercase()
    }

    /// True for a subcommand.
    pub(super) fn is_subcommand(&self, id: CommandId) -> bool {
        self.entries[usize::from(id.0)].name.contains('|')
    }

    /// A command and its subcommands.
    pub(super) fn family(&self, id: CommandId) -> impl Iterator<Item = CommandId> {
        let name = self.entries[usize::from(id.0)].name;
        let behind = self.entries.iter().enumerate().skip(usize::from(id.0) + 1);
        let subcommands = behind.take_while(move |(_, entry)| {
            let rest = entry.name.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with('|'))
        });
        std::iter::once(id).chain(subcommands.map(|(index, _)| CommandId(index as u16)))
    }

    /// The commands of a category, in their order.
    pub fn of_category(&self, category: Categories) -> impl Iterator<Item = CommandId> {
        let entries = self.entries.iter().enumerate();
        entries
            .filter(move |(_, entry)| entry.categories.meets(category))
            .map(|(index, _)| CommandId(index as u16))
    }
}

/// A bit for each command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CommandSet([u64; CommandSet::BITS / 64]);

impl CommandSet {
    const BITS: usize = 512;

    pub(super) const NONE: Self = Self([0; Self::BITS / 64]);
    pub(super) const ALL: Self = Self([u64::MAX; Self::BITS / 64]);

    pub(super) fn has(&self, id: CommandId) -> bool {
        self.0[usize::from(id.0) / 64] >> (id.0 % 64) & 1 != 0
    }

    pub(super) fn set(&mut self, id: CommandId, allowed: bool) {
        let word = &mut self.0[usize::from(id.0) / 64];
        let bit = 1 << (id.0 % 64);
        *word = if allowed { *word | bit } else { *word & !bit };
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A small catalogue for tests.
    pub fn small() -> Catalogue {
        let row = |name, categories| Entry { name, categories };
        let (read, write) = (Categories::READ, Categories::WRITE);
        Catalogue::new(vec![
            row("GET", read.and(Categories::STRING)),
            row("SET", write.and(Categories::STRING)),
            row("SETEX", write.and(Categories::STRING)),
            row("SELECT", Categories::CONNECTION),
            row("CONFIG", Categories::SLOW),
            row("CONFIG|GET", Categories::ADMIN),
            row("CONFIG|SET", Categories::ADMIN),
            row("CONFIGURE", Categories::ADMIN),
        ])
    }

    #[test]
    fn a_family_is_a_command_and_what_stands_behind_its_name() {
        let catalogue = small();
        let names = |name: &[u8]| {
            let id = catalogue.find(name).unwrap();
            let family = catalogue.family(id).map(|id| catalogue.lower_name(id));
            family.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(b"config"), "config config|get config|set");
        assert_eq!(names(b"Config|Get"), "config|get");
        assert_eq!(names(b"set"), "set");
        assert_eq!(catalogue.find(b"config|"), None);
        assert_eq!(catalogue.find(b"\xff"), None);
    }

    #[test]
    fn bits_are_set_one_by_one() {
        let catalogue = small();
        let (get, set) = (
            catalogue.find(b"get").unwrap(),
            catalogue.find(b"set").unwrap(),
        );
        let mut allowed = CommandSet::NONE;
        allowed.set(set, true);
        assert!(allowed.has(set) && !allowed.has(get));
        let mut allowed = CommandSet::ALL;
        allowed.set(set, false);
        assert!(!allowed.has(set) && allowed.has(get));
    }
}
