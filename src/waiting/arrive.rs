//! Coming and going.

use super::due::Left;
use super::line::{Line, LineId};
use super::place::{Place, Spot, Want, Wish};
use super::plan::Planned;
use super::{AT_A_KEY_MAX, Go, IN_ALL_MAX, NoWait, Waiting};
use crate::core::decision::Refusal;
use crate::core::joint::{Ask, Joint};
use crate::core::units::Timestamp;
use crate::store::{Home, PolicyLimits, Store};
use smallvec::SmallVec;

/// What a line was under before somebody brought other limits.
struct Before {
    line: LineId,
    limits: PolicyLimits,
    policy: Option<Box<[u8]>>,
}

impl<C> Waiting<C> {
    /// Lets a caller wait in its place: that, or `None` if the wait has ended already, since it goes at once or
    /// cannot go by its deadline; see [`Self::take_ended`].
    ///
    /// # Errors
    /// See [`NoWait`]. Nothing has changed then.
    pub fn arrive(
        &mut self,
        store: &Store,
        wish: Wish<C>,
        now: Timestamp,
        go: &mut Go<'_, C>,
    ) -> Result<Option<u64>, NoWait> {
        let home = |want: &Want| (wish.database, want.key.clone());
        let homes: SmallVec<[Home; 1]> = wish.wants.iter().map(home).collect();
        self.settle(store, &homes, now, go);
        self.has_room(&homes)?;
        let queue = (wish.priority, wish.group);
        let lines = self.open(store, &homes, &wish.wants, now)?;
        let before = self.bring_limits(&lines, &wish.wants);
        let is_last = lines
            .iter()
            .all(|&line| self.lines[line].all_go_before(&queue));
        let ttl = wish.wants.iter().find_map(Want::ttl);
        let costs = wish.wants.into_iter().map(|want| want.costs);
        let spots = lines
            .iter()
            .zip(costs)
            .map(|(&line, costs)| Spot::new(line, costs));
        let id = self.stand(Place {
            caller: wish.caller,
            database: wish.database,
            spots: spots.collect(),
            queue,
            deadline: wish.deadline,
            holder: wish.holder,
            ttl,
            turn: None,
            planned: Planned::Never,
            slots: SmallVec::new(),
            due: None,
        });
        if is_last && before.is_empty() {
            self.plan_place(id, now);
        } else {
            lines.iter().for_each(|&line| self.invalidate(line, now));
            self.plan(store, lines[0]);
        }
        let planned = self
            .places
            .get(&id)
            .map_or(Planned::Never, |place| place.planned);
        match planned {
            Planned::Slot | Planned::Behind => {
                for &line in &lines {
                    if self.lines[line].count == 1 || !before.is_empty() {
                        let own = self.write_limits(store, line, now);
                        let line = &mut self.lines[line];
                        line.before = line.before.take().or(own);
                    }
                }
            }
            Planned::Late | Planned::Never => {
                self.turn_away(store, id, now, planned == Planned::Never, go);
                self.bring_back(before, now);
            }
        }
        while self.end_first(store, now, go) {}
        Ok(Some(id).filter(|id| self.places.contains_key(id)))
    }

    fn has_room(&self, homes: &[Home]) -> Result<(), NoWait> {
        if self.places.len() >= IN_ALL_MAX {
            return Err(NoWait::Crowded);
        }
        match homes.iter().any(|home| self.at_key(home) >= AT_A_KEY_MAX) {
            true => Err(NoWait::KeyCrowded),
            false => Ok(()),
        }
    }

    /// The lines of these keys; those at which nobody waits begin. Errors leave all as it was.
    fn open(
        &mut self,
        store: &Store,
        homes: &[Home],
        wants: &[Want],
        now: Timestamp,
    ) -> Result<SmallVec<[LineId; 1]>, Refusal> {
        let (mut lines, mut opened) = (SmallVec::new(), SmallVec::<[LineId; 1]>::new());
        for (home, want) in homes.iter().zip(wants) {
            let line = match self.lines.find(home) {
                Some(line) => self.lines[line].accepts(want, now).map(|()| line),
                None => self
                    .open_line(store, home, want, now)
                    .inspect(|&line| opened.push(line)),
            };
            match line {
                Ok(line) => lines.push(line),
                Err(refusal) => {
                    opened
                        .into_iter()
                        .for_each(|line| self.end_line(store, line, now));
                    return Err(refusal);
                }
            }
        }
        Ok(lines)
    }

    fn open_line(
        &mut self,
        store: &Store,
        home: &Home,
        want: &Want,
        now: Timestamp,
    ) -> Result<LineId, Refusal> {
        let (database, key) = home;
        let planned = store.with_limit(*database, key.as_bytes(), now, |entry| {
            let mut planned = entry.clone();
            planned.wait_under(&want.limits, want.policy.is_some(), now)?;
            // From here on only who holds all that wait changes the key.
            entry.mark_waited(now);
            Ok(planned)
        })??;
        let (limits, policy) = (want.limits.clone(), want.policy.clone());
        let mut line = Line::new(home.clone(), limits, policy, planned);
        line.step = line.planned.next_step(now);
        let step = line.step;
        let line = self.lines.add(line);
        self.steps.extend(step.map(|step| (step, line)));
        Ok(line)
    }

    /// Puts lines under the limits that a caller brings; what those were that had others.
    fn bring_limits(&mut self, lines: &[LineId], wants: &[Want]) -> Vec<Before> {
        let mut before = Vec::new();
        for (&id, want) in lines.iter().zip(wants) {
            let line = &mut self.lines[id];
            if line.limits != want.limits {
                let limits = std::mem::replace(&mut line.limits, want.limits.clone());
                let policy = std::mem::replace(&mut line.policy, want.policy.clone());
                let line = id;
                before.push(Before {
                    line,
                    limits,
                    policy,
                });
            }
        }
        before
    }

    fn bring_back(&mut self, before: Vec<Before>, now: Timestamp) {
        for Before {
            line,
            limits,
            policy,
        } in before
        {
            (self.lines[line].limits, self.lines[line].policy) = (limits, policy);
            self.invalidate(line, now);
        }
    }

    /// Puts a place behind others of its queue.
    fn stand(&mut self, mut place: Place<C>) -> u64 {
        self.last_place += 1;
        let id = self.last_place;
        for spot in &place.spots {
            self.lines[spot.line].join(&place.queue, id);
        }
        if self.lines.is_first(id, &place) {
            self.last_turn += 1;
            place.turn = Some(self.last_turn);
        }
        self.places.insert(id, place);
        id
    }

    /// Takes one out that will not wait any longer, with nothing spent; `None` if its wait has ended already.
    pub fn withdraw(
        &mut self,
        store: &Store,
        place: u64,
        now: Timestamp,
        go: &mut Go<'_, C>,
    ) -> Option<C> {
        self.end_due_before(store, place, now, go);
        let place = self.leave(store, place, Left::Unserved, now)?;
        Some(place.caller)
    }

    /// Ends a wait as its deadline would; false if it has ended already.
    pub fn give_up(
        &mut self,
        store: &Store,
        place: u64,
        now: Timestamp,
        go: &mut Go<'_, C>,
    ) -> bool {
        self.end_due_before(store, place, now, go);
        let waits = self.places.contains_key(&place);
        if waits {
            self.turn_away(store, place, now, false, go);
        }
        waits
    }

    /// Does what is due before somebody leaves, if the plan still holds. If not, others have just left or changed
    /// something, and one plan is made for all of that.
    fn end_due_before(&mut self, store: &Store, place: u64, now: Timestamp, go: &mut Go<'_, C>) {
        let spots = self.places.get(&place).map(|place| &place.spots);
        let line = spots.and_then(|spots| spots.first()).map(|spot| spot.line);
        if line.is_some_and(|line| self.lines[line].stale.is_none()) {
            while self.end_first(store, now, go) {}
        }
    }

    /// Puts another caller into a place, which waits until `deadline`; who was there before.
    pub fn replace(
        &mut self,
        place: u64,
        caller: C,
        deadline: Timestamp,
        now: Timestamp,
    ) -> Option<C> {
        let replaced = self.places.get_mut(&place)?;
        let before = std::mem::replace(&mut replaced.caller, caller);
        let later = deadline > replaced.deadline;
        replaced.deadline = deadline;
        if later && replaced.planned != Planned::Slot {
            let line = replaced.spots[0].line;
            self.invalidate(line, now);
        }
        Some(before)
    }

    /// Takes all out, with nothing spent: the server stops.
    pub fn withdraw_all(&mut self) -> Vec<C> {
        let all = std::mem::take(self);
        all.places.into_values().map(|place| place.caller).collect()
    }
}

impl Line {
    /// True if the limits are a policy's.
    pub(super) fn is_under_policy(&self) -> bool {
        self.policy.is_some() || self.limits.len() > 1
    }

    /// What a place asks of the key.
    pub(super) fn ask<'a>(&'a self, costs: &'a [u64]) -> Ask<'a> {
        Ask {
            limits: &self.limits,
            under_policy: self.is_under_policy(),
            costs,
        }
    }

    /// Checks that the key can be called under the limits that a caller brings.
    fn accepts(&mut self, want: &Want, now: Timestamp) -> Result<(), Refusal> {
        if want.limits == self.limits {
            return Ok(());
        }
        let asks = [Ask {
            limits: &want.limits,
            under_policy: want.policy.is_some(),
            costs: &want.costs,
        }];
        Joint::new([&mut self.planned], &asks, now, usize::MAX).map(drop)
    }
}
