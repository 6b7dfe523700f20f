//! One history: lives of a server, one after the other, on one disk.

use crate::calls::{Calls, KEYS, Sessions};
use crate::disk::{SimulatedDisk, Turn};
use crate::numbers::Numbers;
use crate::sabotage::Sabotage;
use crate::shadow::{self, Shadow, Things, Window};
use crate::trace::Trace;
use ahash::RandomState;
use parking_lot::Mutex;
use std::path::Path;
use std::sync::Arc;
use tollgate::clock::Clock;
use tollgate::core::units::{MILLISECOND, SECOND, Timestamp};
use tollgate::engine::Engine;
use tollgate::persistence::journal::Flushing;
use tollgate::persistence::{Keeper, Keeping, Restored};
use tollgate::settings::Settings;
use tollgate::store::{Store, Sweep};

/// The first instant of a history, well above where the manual clock begins by itself.
const BEGIN_NS: u64 = 1_750_000_000 * SECOND;

const PATH: &str = "s";

/// What is the same all through a history.
#[derive(Clone, Copy, Debug)]
struct Plan {
    flushing: Flushing,
    journal: bool,
    /// Bytes of a part of a batch and of a block of a snapshot: few, so that much happens in between.
    piece_bytes: usize,
    /// In bursts of faults one call in so many fails; 0 for no faults.
    fails_once_in: u64,
    /// Others call while the disk is at work.
    is_busy: bool,
    lives: u64,
    acts: u64,
}

/// All but the disk, for those who have their turn while the disk is at work.
struct World {
    numbers: Numbers,
    shadow: Shadow,
    calls: Calls,
    sessions: Option<Sessions>,
    engine: Option<Arc<Engine>>,
    keeper: Option<Arc<Keeper>>,
    sabotage: Sabotage,
    trace: Trace,
    /// The window of what the last start has found.
    started: usize,
    /// What went wrong first.
    wrong: Option<String>,
}

pub struct History {
    plan: Plan,
    numbers: Numbers,
    disk: SimulatedDisk,
    world: Arc<Mutex<World>>,
    /// The wall's clock, which the server does not have to believe.
    wall_ns: u64,
    /// Where the last batch begins in its file.
    last_batch: (String, usize),
    /// A flush had failed before the last kill, and the disk has something else than was written.
    flush_lost: bool,
    trace: Trace,
}

type Outcome = Result<(), String>;

/// Plays the history of a seed; what went wrong is the error.
pub fn play(seed: u64, sabotage: Sabotage) -> Outcome {
    if History::new(seed, sabotage, Trace::default())
        .play()
        .is_ok()
    {
        return Ok(());
    }
    // Once more, with words.
    let trace = Trace::on();
    let result = History::new(seed, sabotage, trace.clone()).play();
    let text = trace.text();
    result.map_err(|wrong| format!("{text}\nseed {seed}: {wrong}"))
}

impl World {
    /// A client's call, or something else that happens meanwhile.
    fn one(&mut self) {
        let (Some(engine), Some(sessions)) = (self.engine.clone(), &mut self.sessions) else {
            return;
        };
        if self.wrong.is_some() {
            return;
        }
        let shared = &engine.shared;
        let numbers = &mut self.numbers;
        match numbers.below(20) {
            0..=2 => {
                let ms = numbers.one_of(&[1, 30, 500, 4_000]);
                self.trace.line(|| format!("  clock +{ms} ms"));
                let to = shared.clock.now().as_ns() + ms * MILLISECOND;
                shared
                    .clock
                    .set(Timestamp::from_ns(to).expect("an instant"));
            }
            3 => {
                engine.sweep(Sweep::default(), 100_000);
                engine.fire();
            }
            _ => {
                let call = self.shadow.call + 1;
                let result = self
                    .calls
                    .one(numbers, sessions, &engine, call, &self.trace);
                if let Err(wrong) = result {
                    self.wrong = Some(wrong);
                }
            }
        }
        self.shadow.observe(&shared.store, shared.clock.now());
    }

    fn store_and_clock(&self) -> Option<(Arc<Engine>, Arc<Keeper>)> {
        Some((self.engine.clone()?, self.keeper.clone()?))
    }
}

/// Writes a batch; whether all that was answered before it is in the journal.
fn flush(
    world: &Mutex<World>,
    flushing: Flushing,
    force: bool,
    is_dead: impl Fn() -> bool,
) -> Result<bool, String> {
    let (engine, keeper, window) = {
        let mut world = world.lock();
        let Some((engine, keeper)) = world.store_and_clock() else {
            return Ok(false);
        };
        if keeper.journal().is_none() {
            return Ok(false);
        }
        let World {
            sabotage, numbers, ..
        } = &mut *world;
        sabotage.before_a_batch(&engine.shared.store, numbers);
        world.trace.line(|| "flush".to_owned());
        (engine, keeper, world.shadow.begin())
    };
    let Some(journal) = keeper.journal() else {
        return Ok(false);
    };
    let shared = &engine.shared;
    let result = journal.flush(&shared.store, &|| shared.clock.now(), flushing, force);
    let world = &mut *world.lock();
    world.shadow.end(window);
    world
        .trace
        .line(|| format!("flushed {:?}: {result:?}", world.shadow.windows[window]));
    if is_dead() {
        return Ok(false);
    }
    let is_kept = result.is_ok() && !journal.status().report().needs_snapshot;
    if is_kept {
        // Another batch may have been written while this one was flushed.
        let shadow = &mut world.shadow;
        shadow.written = shadow.written.max(window);
        if flushing == Flushing::Always {
            shadow.synced = shadow.synced.max(window);
        }
    }
    result.map(|()| is_kept).map_err(|error| error.to_string())
}

fn sync(world: &Mutex<World>, is_dead: impl Fn() -> bool) {
    let Some((engine, keeper)) = world.lock().store_and_clock() else {
        return;
    };
    let Some(journal) = keeper.journal() else {
        return;
    };
    let written = world.lock().shadow.written;
    let result = journal.sync(&|| engine.shared.clock.now());
    let world = &mut *world.lock();
    world.trace.line(|| format!("sync: {result:?}"));
    let is_whole = !journal.status().report().needs_snapshot;
    if result.is_ok() && is_whole && !is_dead() {
        world.shadow.synced = world.shadow.synced.max(written);
    }
}

/// Who has his turn at the disk knows the disk: neither would ever go.
impl Drop for History {
    fn drop(&mut self) {
        self.disk.set_hook(None);
    }
}

impl History {
    fn new(seed: u64, sabotage: Sabotage, trace: Trace) -> Self {
        let mut numbers = Numbers::new(seed);
        let journal = !numbers.once_in(12);
        let flushing = match numbers.below(10) {
            0..=4 => Flushing::Always,
            5..=7 => Flushing::Apart,
            _ => Flushing::Never,
        };
        let plan = Plan {
            flushing,
            journal,
            piece_bytes: numbers.one_of(&[1, 1, 200, 64 << 10]),
            fails_once_in: numbers.one_of(&[0, 0, 4, 12, 30]),
            is_busy: journal && numbers.once_in(2),
            lives: 1 + numbers.below(4),
            acts: 3 + numbers.below(30),
        };
        trace.line(|| format!("{plan:?}"));
        let disk = SimulatedDisk::new(Numbers::new(numbers.next()), trace.clone());
        // Who leaves the flushing to the system is told that what went before is on the disk, see the journal's `settled`.
        disk.set_holes(flushing != Flushing::Never);
        disk.set_lying(sabotage.syncs_nothing());
        let keys = KEYS.iter().flat_map(|key| [(0, *key), (1, *key)]);
        let world = World {
            numbers: Numbers::new(numbers.next()),
            shadow: Shadow::new(keys),
            calls: Calls::new(),
            sessions: None,
            engine: None,
            keeper: None,
            sabotage,
            trace: trace.clone(),
            started: 0,
            wrong: None,
        };
        Self {
            plan,
            disk,
            world: Arc::new(Mutex::new(world)),
            wall_ns: BEGIN_NS,
            last_batch: (String::new(), 0),
            flush_lost: false,
            numbers,
            trace,
        }
    }

    fn play(mut self) -> Outcome {
        let mut machine = false;
        for _ in 0..self.plan.lives {
            self.start(machine)?;
            if !self.numbers.once_in(3) {
                self.disk.die_after(1 + self.numbers.below(60));
            }
            for _ in 0..self.plan.acts {
                if self.disk.is_dead() {
                    break;
                }
                self.act()?;
            }
            machine = self.kill();
        }
        self.start(machine)?;
        self.settle()?;
        machine = self.kill();
        self.start(machine)?;
        self.damage()
    }

    /// The server stops in the midst of what it does. True if the machine did.
    fn kill(&mut self) -> bool {
        let machine = self.numbers.once_in(2);
        let trace = &self.trace;
        trace.line(|| format!("KILL {}", if machine { "machine" } else { "process" }));
        self.disk.set_hook(None);
        {
            let mut world = self.world.lock();
            (world.sessions, world.engine, world.keeper) = (None, None, None);
        }
        self.flush_lost |= self.disk.end(machine);
        machine
    }

    fn keeping(&self) -> Keeping {
        Keeping {
            saves: true,
            journal: self.plan.journal,
            salt: 7,
        }
    }

    /// Opens what is there, until the disk is in the mood; it may die meanwhile.
    fn open(&mut self, machine: &mut bool) -> Result<(Store, Keeper, Restored), String> {
        self.disk.fail(self.plan.fails_once_in * 4);
        if self.numbers.once_in(4) {
            self.disk.die_after(1 + self.numbers.below(12));
        }
        let mut tries = 0;
        loop {
            let failed = self.disk.failed();
            let store = Store::with_hasher(RandomState::with_seeds(1, 2, 3, 4));
            let disk = Arc::new(self.disk.clone());
            let opened = Keeper::open(disk, Path::new(PATH), self.keeping(), &store);
            if self.disk.is_dead() {
                drop(opened);
                *machine |= self.kill();
                continue;
            }
            match opened {
                Ok((keeper, restored)) => {
                    self.disk.fail(0);
                    let keeper = keeper.in_pieces(self.plan.piece_bytes);
                    return Ok((store, keeper, restored));
                }
                Err(error) if self.disk.failed() == failed => {
                    return Err(format!("the start failed: {error}"));
                }
                Err(error) => self.trace.line(|| format!("start: {error}")),
            }
            tries += 1;
            if tries > 3 {
                self.disk.fail(0);
            }
        }
    }

    fn start(&mut self, mut machine: bool) -> Outcome {
        self.trace.line(|| "START".to_owned());
        let (store, keeper, restored) = self.open(&mut machine)?;
        let until = restored.until;
        let found = self.check(&store, until, machine)?;
        // The wall may stand before what the server has seen, and may have run on.
        let step_ns = self
            .numbers
            .one_of(&[0, 20 * MILLISECOND, 3 * SECOND, 600 * SECOND]);
        self.wall_ns = if self.numbers.once_in(3) {
            self.wall_ns - step_ns
        } else {
            self.wall_ns + step_ns
        };
        let clock = Clock::manual(until);
        clock.set(Timestamp::from_ns(self.wall_ns).expect("an instant"));
        let engine = Arc::new(Engine::with_store(clock, Settings::default(), store));
        self.wall_ns = self.wall_ns.max(engine.shared.clock.now().as_ns());
        self.trace
            .line(|| format!("at {:?}, until {until:?}", engine.shared.clock.now()));
        let keeper = Arc::new(keeper);
        {
            let world = &mut *self.world.lock();
            let shadow = &mut world.shadow;
            shadow.put(found, until);
            let window = shadow.begin();
            shadow.end(window);
            (shadow.written, world.started) = (window, window);
            if machine {
                // Whatever the disk has now it has kept.
                shadow.synced = window;
            }
            world.sessions = Some(Sessions::new(&engine));
            world.engine = Some(engine.clone());
            world.keeper = Some(keeper.clone());
        }
        let window = self.world.lock().shadow.begin();
        let shared = &engine.shared;
        let begun = keeper.begin(&shared.store, &|| shared.clock.now());
        {
            let shadow = &mut self.world.lock().shadow;
            shadow.end(window);
            if let (Ok(()), Some(journal)) = (&begun, keeper.journal())
                && !journal.status().report().needs_snapshot
            {
                (shadow.written, shadow.synced) = (window, window);
            }
        }
        if self.plan.is_busy {
            self.let_others_in();
        }
        Ok(())
    }

    /// What was found is what there was in one window, and not before what is durable.
    fn check(&mut self, store: &Store, until: Timestamp, machine: bool) -> Result<Things, String> {
        let found = shadow::all(store, until);
        let world = &mut *self.world.lock();
        let shadow = &world.shadow;
        let durable = if machine || std::mem::take(&mut self.flush_lost) {
            shadow.synced
        } else {
            shadow.written
        };
        let matched = shadow.matching(&found, until, durable).map_err(|reasons| {
            format!(
                "what a start found was never there since {durable}, until {until:?}:\n{reasons}"
            )
        })?;
        let Window { begin, end } = shadow.windows[matched];
        world
            .trace
            .line(|| format!("found what was there from call {begin} to {end}"));
        world.calls.money.forget_after(begin);
        // Where nothing was kept of a life, only the clock keeps its numbers apart, and that may have gone back.
        world
            .calls
            .begin_life(self.plan.journal && durable > world.started);
        Ok(found)
    }

    /// While the disk is at work, clients call, and while a snapshot is written, so does who writes the journal.
    fn let_others_in(&self) {
        let (world, disk, flushing) = (self.world.clone(), self.disk.clone(), self.plan.flushing);
        let mut numbers = Numbers::new(self.numbers.clone().next());
        // Who writes a batch while a file is flushed does not flush it.
        let beside = match flushing {
            Flushing::Never => Flushing::Never,
            Flushing::Always | Flushing::Apart => Flushing::Apart,
        };
        self.disk.set_hook(Some(Box::new(move |turn| {
            while numbers.once_in(2) {
                world.lock().one();
            }
            match turn {
                Turn::Calls => {}
                Turn::Batches if numbers.once_in(3) => {
                    let _ = flush(&world, beside, false, || disk.is_dead());
                }
                Turn::Batches => {}
                Turn::All => {
                    if numbers.once_in(6) {
                        let _ = flush(&world, flushing, false, || disk.is_dead());
                    }
                    if numbers.once_in(12) {
                        sync(&world, || disk.is_dead());
                    }
                }
            }
        })));
    }

    fn act(&mut self) -> Outcome {
        match self.numbers.below(20) {
            0..=3 => {
                let _ = self.flush(false);
            }
            4 if self.plan.flushing == Flushing::Apart => {
                let disk = self.disk.clone();
                sync(&self.world, || disk.is_dead());
            }
            4 | 5 => {
                let _ = self.save();
            }
            6 => {
                let once_in = self.numbers.one_of(&[0, self.plan.fails_once_in]);
                self.trace
                    .line(|| format!("the disk fails once in {once_in}"));
                self.disk.fail(once_in);
            }
            7 if self.numbers.once_in(3) && self.plan.journal => self.heal()?,
            8 => {
                let ms = self.numbers.one_of(&[700, 9_000, 100_000]);
                let world = &mut *self.world.lock();
                if let Some(engine) = &world.engine {
                    world.trace.line(|| format!("  clock +{ms} ms"));
                    let shared = &engine.shared;
                    let to = shared.clock.now().as_ns() + ms * MILLISECOND;
                    shared
                        .clock
                        .set(Timestamp::from_ns(to).expect("an instant"));
                    world.shadow.observe(&shared.store, shared.clock.now());
                }
            }
            _ => self.world.lock().one(),
        }
        let wrong = self.world.lock().wrong.take();
        wrong.map_or(Ok(()), Err)
    }

    fn flush(&mut self, force: bool) -> Result<bool, String> {
        let before = self.generations();
        let disk = self.disk.clone();
        let result = flush(&self.world, self.plan.flushing, force, || disk.is_dead());
        for (name, length) in self.generations() {
            let earlier = before.iter().find(|(other, _)| *other == name);
            let begin = earlier.map_or(0, |(_, length)| *length);
            if length > begin {
                self.last_batch = (name, begin);
            }
        }
        result
    }

    fn generations(&self) -> Vec<(String, usize)> {
        let names = self.disk.names().into_iter();
        let names = names.filter(|name| name.contains(".journal."));
        names
            .map(|name| {
                let length = self.disk.length(&name);
                (name, length)
            })
            .collect()
    }

    fn save(&mut self) -> Outcome {
        let failed = self.disk.failed();
        let (engine, keeper, begin) = {
            let world = self.world.lock();
            let Some((engine, keeper)) = world.store_and_clock() else {
                return Ok(());
            };
            (engine, keeper, world.shadow.call)
        };
        self.trace.line(|| "save".to_owned());
        let shared = &engine.shared;
        let result = keeper.save(&shared.store, &|| shared.clock.now());
        let is_dead = self.disk.is_dead();
        let world = &mut *self.world.lock();
        // What a batch has written meanwhile is read over the snapshot, if the machine lives.
        let shadow = &mut world.shadow;
        let last = [shadow.synced, shadow.written].map(|last| shadow.windows[last].begin);
        let [synced, written] = last.map(|last| {
            shadow.windows.push(Window {
                begin: begin.max(last),
                end: shadow.call,
            });
            shadow.windows.len() - 1
        });
        let window = shadow.windows[written];
        world.trace.line(|| format!("saved {window:?}: {result:?}"));
        if is_dead {
            return Ok(());
        }
        match result {
            Ok(_) => {
                (world.shadow.written, world.shadow.synced) = (written, synced);
                let stale = self.stale(self.disk.failed() > failed);
                world.wrong = world.wrong.take().or(stale);
                Ok(())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    /// What is left after a snapshot that it has replaced is an error.
    fn stale(&self, disk_failed: bool) -> Option<String> {
        let names = self.disk.names();
        let is_journal = |name: &&String| name.contains(".journal.");
        let stale = names.iter().filter(is_journal).count() > 1
            || names.iter().any(|name| name.ends_with(".tmp"));
        (stale && !disk_failed).then(|| format!("after a snapshot there are {names:?}"))
    }

    /// The disk is well again: what it did not take is not forgotten.
    fn heal(&mut self) -> Outcome {
        self.disk.fail(0);
        let kept = self.flush(false);
        if self.disk.is_dead() || kept == Ok(true) {
            return Ok(());
        }
        self.save()
            .map_err(|error| format!("a snapshot failed on a good disk: {error}"))?;
        if self.disk.is_dead() {
            return Ok(());
        }
        match self.flush(false) {
            Ok(true) => Ok(()),
            _ if self.disk.is_dead() => Ok(()),
            other => Err(format!(
                "a batch after a snapshot on a good disk: {other:?}"
            )),
        }
    }

    /// All that there is is kept.
    fn settle(&mut self) -> Outcome {
        self.disk.set_hook(None);
        for _ in 0..3 {
            self.world.lock().one();
        }
        if !self.plan.journal {
            self.disk.fail(0);
            return self.save();
        }
        self.heal()?;
        if self.plan.flushing == Flushing::Apart {
            let disk = self.disk.clone();
            sync(&self.world, || disk.is_dead());
        }
        let wrong = self.world.lock().wrong.take();
        wrong.map_or(Ok(()), Err)
    }

    /// A flipped bit is refused, or changes nothing. In the last batch it looks like a write that was broken off.
    fn damage(&mut self) -> Outcome {
        self.disk.fail(0);
        self.disk.live_on();
        if self.disk.is_dead() {
            return Ok(());
        }
        if self.plan.journal {
            self.heal()?;
            // So that it is known where the last batch begins.
            self.flush(true)?;
        }
        let reopened = |disk: SimulatedDisk| {
            let store = Store::with_hasher(RandomState::with_seeds(1, 2, 3, 4));
            let keeping = Keeping {
                saves: false,
                journal: false,
                salt: 7,
            };
            let opened = Keeper::open(Arc::new(disk), Path::new(PATH), keeping, &store);
            opened.map(|(_, restored)| shadow::all(&store, restored.until))
        };
        let whole = reopened(self.disk.copy()).map_err(|error| error.to_string())?;
        for name in self.disk.names() {
            let length = self.disk.length(&name);
            if length == 0 {
                continue;
            }
            let at = self.numbers.below(length as u64) as usize;
            let disk = self.disk.copy();
            disk.flip(&name, at, 1 << self.numbers.below(8));
            let is_last = name == self.last_batch.0 && at >= self.last_batch.1;
            match reopened(disk) {
                Ok(found) if found != whole && !is_last => {
                    let text = format!("a flipped bit of byte {at} of {name} goes unnoticed");
                    return Err(format!("{text}, the last batch is {:?}", self.last_batch));
                }
                _ => {}
            }
        }
        Ok(())
    }
}
