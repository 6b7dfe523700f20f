//! What the store was after each call, and what a restart may find of it.
//!
//! Everything that is kept by a name (a key, a ticket, an answer, a policy) has **versions**, each with the number of the call
//! that made it. A **window** is what a batch or a snapshot may have seen: from the call that was the last when it was begun
//! to the last when it had ended. What is found after a kill must be, all of it, of one window: each thing in a version
//! that it had in there.

use std::collections::{BTreeMap, BTreeSet};
use tollgate::core::entry::{Entry, State};
use tollgate::core::units::Timestamp;
use tollgate::store::{DATABASES_MAX, Key, PolicyLimits, Remembered, Store, Ticket, Value};

/// What is kept by a name.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Name {
    Key(u8, Vec<u8>),
    Ticket(u64),
    Answer(u8, Vec<u8>, Vec<u8>),
    Policy(Vec<u8>),
}

#[derive(Clone, PartialEq, Debug)]
pub enum Thing {
    Key(Value),
    Ticket(u8, Ticket),
    Answer(Remembered),
    Policy(PolicyLimits),
}

impl Thing {
    /// What it is worth at an instant; `None` if it is as good as gone.
    fn at(&self, now: Timestamp) -> Option<Self> {
        match self {
            Self::Key(value) => {
                let mut value = value.clone();
                value.lapse(now);
                value.forget(now);
                (!value.is_absent()).then(|| Self::Key(refilled(value, now)))
            }
            Self::Ticket(_, ticket) if ticket.slot.after(ticket.ttl) <= now => None,
            Self::Answer(answer) if answer.expires <= now => None,
            _ => Some(self.clone()),
        }
    }
}

/// Buckets as of `now`: of two that are the same, one may have been looked at later than the other.
fn refilled(value: Value, now: Timestamp) -> Value {
    let Value::Limit(entry) = &value else {
        return value;
    };
    let (states, pause, slow) = entry.parts();
    let states = states.iter().map(|state| match state {
        State::Bucket(bucket, timeline) => {
            let mut bucket = *bucket;
            let permits = bucket.limit.rate().permits();
            for level in std::iter::once(&mut bucket.level).chain(&mut bucket.undrained) {
                let refill = u128::from(now.since(level.base)) * u128::from(permits);
                level.deficit = level.deficit.saturating_sub(refill);
                level.base = level.base.max(now);
            }
            State::Bucket(bucket, timeline.clone())
        }
        _ => state.clone(),
    });
    Value::Limit(Entry::from_parts(
        states.collect(),
        pause.copied(),
        slow.cloned(),
    ))
}

fn at(thing: Option<&Thing>, now: Timestamp) -> Option<Thing> {
    thing.and_then(|thing| thing.at(now))
}

pub type Things = BTreeMap<Name, Thing>;

/// All that a store holds.
pub fn all(store: &Store, now: Timestamp) -> Things {
    let mut things = Things::new();
    for (database, shard) in
        (0..DATABASES_MAX).flat_map(|database| (0..store.shards()).map(move |s| (database, s)))
    {
        store.for_each_in(database, shard, |key, value| {
            let name = Name::Key(database, key.as_bytes().to_vec());
            things.insert(name, Thing::Key(value.clone()));
        });
    }
    add_records(store, now, &mut things);
    things
}

/// As [`all`], of keys that are known by name.
fn of(store: &Store, keys: &BTreeSet<(u8, Vec<u8>)>, now: Timestamp) -> Things {
    let mut things = Things::new();
    for (database, key) in keys {
        if let Some(value) = store.read(*database, key, now, |value| value.cloned()) {
            things.insert(Name::Key(*database, key.clone()), Thing::Key(value));
        }
    }
    add_records(store, now, &mut things);
    things
}

fn add_records(store: &Store, now: Timestamp, things: &mut Things) {
    for (database, number, ticket) in store.records.tickets_after(0, usize::MAX, now) {
        things.insert(Name::Ticket(number), Thing::Ticket(database, ticket));
    }
    for (_, (database, key), id, answer) in store.records.answers_after(0, usize::MAX, now) {
        let name = Name::Answer(database, key.as_bytes().to_vec(), id.into());
        things.insert(name, Thing::Answer(answer));
    }
    for (name, limits) in store.policies.all() {
        things.insert(Name::Policy(name.into()), Thing::Policy(limits));
    }
}

struct Version {
    from: u64,
    thing: Option<Thing>,
}

/// What a batch or a snapshot may have seen, by the numbers of calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    pub begin: u64,
    pub end: u64,
}

/// What a restart has to find.
#[derive(Default)]
pub struct Shadow {
    keys: BTreeSet<(u8, Vec<u8>)>,
    versions: BTreeMap<Name, Vec<Version>>,
    /// The last call.
    pub call: u64,
    pub windows: Vec<Window>,
    /// The last that is there whatever happens to the process.
    pub written: usize,
    /// The last that is there whatever happens to the machine.
    pub synced: usize,
}

impl Shadow {
    pub fn new(keys: impl IntoIterator<Item = (u8, &'static str)>) -> Self {
        let keys = keys.into_iter();
        Self {
            keys: keys
                .map(|(at, key)| (at, key.as_bytes().to_vec()))
                .collect(),
            windows: vec![Window { begin: 0, end: 0 }],
            ..Self::default()
        }
    }

    /// A call has ended.
    pub fn observe(&mut self, store: &Store, now: Timestamp) {
        let things = of(store, &self.keys, now);
        self.put(things, now);
    }

    /// The store is this now. What only time has changed is no new version: nobody has to be told of it.
    pub fn put(&mut self, mut things: Things, now: Timestamp) {
        self.call += 1;
        let from = self.call;
        for (name, versions) in &mut self.versions {
            let thing = things.remove(name);
            let last = versions.last().and_then(|last| last.thing.as_ref());
            if last != thing.as_ref() && at(last, now) != at(thing.as_ref(), now) {
                versions.push(Version { from, thing });
            }
        }
        for (name, thing) in things {
            let thing = Some(thing);
            self.versions.insert(name, vec![Version { from, thing }]);
        }
    }

    /// A batch or a snapshot begins; its window.
    pub fn begin(&mut self) -> usize {
        let call = self.call;
        self.windows.push(Window {
            begin: call,
            end: u64::MAX,
        });
        self.windows.len() - 1
    }

    pub fn end(&mut self, window: usize) {
        self.windows[window].end = self.call;
    }

    /// The last window that fits what was found at a start, whose clock does not begin before `until`; else, why none does.
    pub fn matching(
        &self,
        found: &Things,
        until: Timestamp,
        durable: usize,
    ) -> Result<usize, String> {
        let mut reasons = Vec::new();
        for index in (durable..self.windows.len()).rev() {
            match self.fits(found, until, self.windows[index]) {
                Ok(()) => return Ok(index),
                Err(reason) => reasons.push(format!("{:?}: {reason}", self.windows[index])),
            }
        }
        Err(reasons.join("\n"))
    }

    fn fits(&self, found: &Things, until: Timestamp, window: Window) -> Result<(), String> {
        for name in self.versions.keys().chain(found.keys()) {
            let thing = found.get(name).and_then(|thing| thing.at(until));
            let spans = self.spans(name, thing.as_ref(), until, window);
            if spans.is_empty() {
                let was: Vec<_> = self.in_window(name, window).collect();
                return Err(format!("{name:?} is {thing:?} and was {was:?}"));
            }
            self.holds_together(name, thing.as_ref(), &spans, found, until, window)?;
        }
        Ok(())
    }

    /// The versions of a thing in a window: from which call, to which, and what it was.
    fn in_window(
        &self,
        name: &Name,
        window: Window,
    ) -> impl Iterator<Item = (u64, u64, Option<&Thing>)> {
        let versions = self.versions.get(name).map_or(&[][..], Vec::as_slice);
        let ends = versions.iter().skip(1).map(|next| next.from);
        let first = versions.first().map_or(u64::MAX, |first| first.from);
        let before = std::iter::once((0, first, None));
        let each = versions.iter().zip(ends.chain([u64::MAX]));
        before
            .chain(each.map(|(version, end)| (version.from, end, version.thing.as_ref())))
            .filter(move |(from, end, _)| *from <= window.end && *end > window.begin)
    }

    /// When in a window a thing was what it is now.
    fn spans(
        &self,
        name: &Name,
        thing: Option<&Thing>,
        until: Timestamp,
        window: Window,
    ) -> Vec<(u64, u64)> {
        let versions = self.in_window(name, window);
        let alike = versions.filter(|(.., was)| {
            *was == thing || was.and_then(|was| was.at(until)).as_ref() == thing
        });
        alike.map(|(from, end, _)| (from, end)).collect()
    }

    /// A ticket's keys and an answer's are as they were while there was the ticket or the answer.
    fn holds_together(
        &self,
        name: &Name,
        thing: Option<&Thing>,
        spans: &[(u64, u64)],
        found: &Things,
        until: Timestamp,
        window: Window,
    ) -> Result<(), String> {
        let keys: Vec<Name> = match (name, thing) {
            (_, Some(Thing::Ticket(database, ticket))) => {
                let name = |key: &Key| Name::Key(*database, key.as_bytes().to_vec());
                ticket.parts.iter().map(|part| name(&part.key)).collect()
            }
            (Name::Answer(database, key, _), Some(_)) => vec![Name::Key(*database, key.clone())],
            _ => return Ok(()),
        };
        // From when it was made, in whatever state, to when it was given back.
        let made = self.whole_life(name, spans);
        for key in keys {
            let held = found.get(&key).and_then(|held| held.at(until));
            let of_key = self.spans(&key, held.as_ref(), until, window);
            let meets = |(from, end): &(u64, u64)| *from < made.1 && *end > made.0;
            if !of_key.iter().any(meets) {
                return Err(format!(
                    "{name:?} was there from call {} to {}, and {key:?} is as at {of_key:?}",
                    made.0, made.1
                ));
            }
        }
        Ok(())
    }

    /// From the version in which a thing was made to that in which it was gone, around the last of some spans.
    fn whole_life(&self, name: &Name, spans: &[(u64, u64)]) -> (u64, u64) {
        let at = spans.last().map_or(0, |(from, _)| *from);
        if let Name::Answer(..) = name {
            // The same id may have been another request's before.
            let gone = |version: &&Version| version.from > at && version.thing.is_none();
            let versions = self.versions.get(name).map_or(&[][..], Vec::as_slice);
            let end = versions
                .iter()
                .find(gone)
                .map_or(u64::MAX, |version| version.from);
            return (at, end);
        }
        let versions = self.versions.get(name).map_or(&[][..], Vec::as_slice);
        let mut life = (0, u64::MAX);
        let mut lives = false;
        for version in versions {
            match (&version.thing, lives) {
                (Some(_), false) if version.from <= at => (life.0, lives) = (version.from, true),
                (None, true) if version.from <= at => lives = false,
                (None, _) if version.from > at => {
                    life.1 = version.from;
                    break;
                }
                _ => {}
            }
        }
        life
    }
}
