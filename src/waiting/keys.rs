//! What others do with keys at which somebody waits.

use super::line::LineId;
use super::{Go, Waiting};
use crate::core::decision::Refusal;
use crate::core::entry::Entry;
use crate::core::units::Timestamp;
use crate::store::{Home, Key, PolicyLimits, Store};
use smallvec::SmallVec;

/// The keys of a call.
pub struct Keys<'a, 'e> {
    /// As the call must see them: slots of those who wait count as booked.
    pub seen: &'a mut [&'e mut Entry],
    /// The keys themselves, where those seen are copies. What is booked on the copies has to be booked on them too,
    /// at the same slots.
    pub kept: Option<&'a mut [&'e mut Entry]>,
}

impl<'e> Keys<'_, 'e> {
    /// The keys themselves.
    pub fn kept(&mut self) -> &mut [&'e mut Entry] {
        match &mut self.kept {
            Some(kept) => kept,
            None => self.seen,
        }
    }
}

/// What a call does to its keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Access {
    /// It books, on the copies as on the keys.
    Book,
    /// It changes the keys in other ways.
    Change,
}

impl<C> Waiting<C> {
    /// Lets a call decide on keys, and book.
    ///
    /// # Errors
    /// [`Refusal::WrongKind`] if one of the keys holds a plain value.
    pub fn decide<R>(
        &mut self,
        store: &Store,
        database: u8,
        keys: &[&[u8]],
        now: Timestamp,
        go: &mut Go<'_, C>,
        f: impl FnOnce(Keys<'_, '_>) -> R,
    ) -> Result<R, Refusal> {
        self.access(store, database, keys, now, go, Access::Book, f)
    }

    /// Lets a call change keys. It must leave those that it sees alone.
    ///
    /// # Errors
    /// As [`Self::decide`].
    pub fn change<R>(
        &mut self,
        store: &Store,
        database: u8,
        keys: &[&[u8]],
        now: Timestamp,
        go: &mut Go<'_, C>,
        f: impl FnOnce(Keys<'_, '_>) -> R,
    ) -> Result<R, Refusal> {
        self.access(store, database, keys, now, go, Access::Change, f)
    }

    #[allow(
        clippy::too_many_arguments,
        reason = "what both of its callers take, and which it is"
    )]
    fn access<R>(
        &mut self,
        store: &Store,
        database: u8,
        keys: &[&[u8]],
        now: Timestamp,
        go: &mut Go<'_, C>,
        access: Access,
        f: impl FnOnce(Keys<'_, '_>) -> R,
    ) -> Result<R, Refusal> {
        let home = |key: &&[u8]| (database, Key::new(key));
        let homes: SmallVec<[Home; 1]> = keys.iter().map(home).collect();
        self.settle(store, &homes, now, go);
        let found = homes.iter().map(|home| self.lines.find(home));
        let lines: SmallVec<[Option<LineId>; 1]> = found.collect();
        if lines.iter().all(Option::is_none) {
            let all = |seen: &mut [&mut Entry]| f(Keys { seen, kept: None });
            return store.with_limits(database, keys, now, all);
        }
        let mut changed: SmallVec<[(LineId, PolicyLimits); 1]> = SmallVec::new();
        let result = store.with_limits(database, keys, now, |kept| {
            let mut seen: SmallVec<[Entry; 1]> = SmallVec::new();
            let mut before: SmallVec<[Option<Entry>; 1]> = SmallVec::new();
            for (line, entry) in lines.iter().zip(kept.iter_mut()) {
                entry.settle(now);
                before.push((access == Access::Change).then(|| (**entry).clone()));
                seen.push(match line {
                    Some(line) => std::mem::take(&mut self.lines[*line].planned),
                    None => (**entry).clone(),
                });
            }
            let result = {
                let kept = kept.iter_mut().map(|entry| &mut **entry);
                let mut kept: SmallVec<[&mut Entry; 4]> = kept.collect();
                let mut seen: SmallVec<[&mut Entry; 4]> = seen.iter_mut().collect();
                f(Keys {
                    seen: &mut seen,
                    kept: Some(&mut kept),
                })
            };
            for (((line, entry), before), planned) in
                lines.iter().zip(kept.iter()).zip(before).zip(seen)
            {
                let Some(line) = *line else {
                    continue;
                };
                self.lines[line].planned = planned;
                let limits = entry.limits_or(&self.lines[line].limits);
                let differs = *limits != *self.lines[line].limits
                    || before.is_some_and(|before| before != **entry);
                if differs {
                    changed.push((line, limits.iter().copied().collect()));
                }
            }
            result
        })?;
        for (line, limits) in changed {
            self.lines[line].limits = limits;
            self.invalidate(line, now);
        }
        Ok(result)
    }

    /// Removes a key, and begins it anew for those who wait at it; true if it existed.
    pub fn remove(
        &mut self,
        store: &Store,
        database: u8,
        key: &[u8],
        now: Timestamp,
        go: &mut Go<'_, C>,
    ) -> bool {
        let home = (database, Key::new(key));
        self.settle(store, std::slice::from_ref(&home), now, go);
        let Some(line) = self.lines.find(&home) else {
            return store.remove(database, key, now);
        };
        let existed = store.remove_then(database, key, now, |value| {
            let line = &self.lines[line];
            // A key that holds nothing accepts any limits.
            let _ = value
                .limit_mut()
                .and_then(|entry| entry.wait_under(&line.limits, line.is_under_policy(), now));
        });
        self.invalidate(line, now);
        existed
    }

    /// Empties a database, or all, while no other call runs; keys begin anew for those who wait at them.
    pub fn clear(
        &mut self,
        store: &Store,
        database: Option<u8>,
        now: Timestamp,
        go: &mut Go<'_, C>,
    ) {
        self.fire(store, now, usize::MAX, go);
        match database {
            Some(database) => store.clear(database, now),
            None => store.clear_all(now),
        }
        for line in self.lines.ids() {
            let home = &self.lines[line].home;
            if database.is_none_or(|database| database == home.0) {
                self.put_under_limits(store, line, now);
            }
        }
    }

    /// A policy has other limits: those who wait under it do so under them from now on.
    pub fn set_policy(
        &mut self,
        store: &Store,
        name: &[u8],
        limits: &PolicyLimits,
        now: Timestamp,
        go: &mut Go<'_, C>,
    ) {
        let of_policy = |line: &LineId| self.lines[*line].policy.as_deref() == Some(name);
        let lines: Vec<LineId> = self.lines.ids().into_iter().filter(of_policy).collect();
        let homes: Vec<Home> = lines
            .iter()
            .map(|&line| self.lines[line].home.clone())
            .collect();
        self.settle(store, &homes, now, go);
        for line in homes
            .iter()
            .filter_map(|home| self.lines.find(home))
            .collect::<Vec<_>>()
        {
            self.lines[line].limits = limits.clone();
            self.put_under_limits(store, line, now);
        }
    }

    fn put_under_limits(&mut self, store: &Store, line: LineId, now: Timestamp) {
        self.write_limits(store, line, now);
        self.invalidate(line, now);
    }

    /// Puts a key under the limits of its line.
    pub(super) fn write_limits(&self, store: &Store, line: LineId, now: Timestamp) {
        let line = &self.lines[line];
        let (database, key) = &line.home;
        store.with_value(*database, key.as_bytes(), now, |value| {
            // One that owes more than can be held under them keeps its own until it owes less.
            let _ = value
                .limit_mut()
                .and_then(|entry| entry.wait_under(&line.limits, line.is_under_policy(), now));
        });
    }
}
