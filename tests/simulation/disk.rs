//! A disk in memory that keeps what a real one would, and no more.
//!
//! - What was appended and not flushed is there after the *process* was killed. After the *machine* was, any beginning
//!   of it is there, cut at any byte, or some of its sectors are and others are as they were.
//! - What was made, renamed and removed is there after the machine was killed if the directory was flushed since; of the
//!   rest a beginning is.
//! - An append that fails may have written some of its bytes. A flush that fails may have kept some sectors; the others
//!   are gone for good, as on Linux: the next flush succeeds without them, and whoever reads after the process has ended finds
//!   what the disk has.
//! - Every call is numbered. At one of them the process is killed, in the midst of it: from then on nothing that it does
//!   has any effect.
//!
//! With a hook, somebody else has his turn before each call, as another thread would.

use crate::numbers::Numbers;
use crate::trace::Trace;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Cursor, ErrorKind};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tollgate::persistence::disk::{Disk, DiskFile, Held, Source};

const SECTOR_BYTES: usize = 512;

/// What others may do before a call of the disk, as threads beside who makes it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// The journal is held.
    Calls,
    /// A file of the journal is being flushed: nobody else flushes one, but batches are written.
    Batches,
    /// A snapshot is being written.
    All,
}

/// Called before each call but those that it makes itself.
pub type Hook = Box<dyn FnMut(Turn) + Send>;

#[derive(Clone, Default)]
struct Inode {
    /// What the process reads.
    current: Vec<u8>,
    /// What the disk has.
    kept: Vec<u8>,
    /// Sectors that differ, by number.
    dirty: Vec<Range<usize>>,
    /// Sectors that a flush which failed has lost.
    lost: Vec<Range<usize>>,
    /// It was cut, and not flushed since.
    cut: bool,
}

#[derive(Clone)]
enum Change {
    Put(PathBuf, usize),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
}

type Names = BTreeMap<PathBuf, usize>;

fn apply(names: &mut Names, change: &Change) {
    match change {
        Change::Put(path, inode) => {
            names.insert(path.clone(), *inode);
        }
        Change::Rename(from, to) => {
            if let Some(inode) = names.remove(from) {
                names.insert(to.clone(), inode);
            }
        }
        Change::Remove(path) => {
            names.remove(path);
        }
    }
}

#[derive(Clone)]
struct State {
    numbers: Numbers,
    inodes: Vec<Inode>,
    names: Names,
    kept_names: Names,
    changes: Vec<Change>,
    /// Calls since the process began.
    calls: u64,
    dies_at: Option<u64>,
    dead: bool,
    /// One call in so many fails; 0 for none.
    fails_once_in: u64,
    failed: u64,
    /// After a machine was killed, or a flush has failed, sectors may be missing in the midst.
    holes: bool,
    /// Nothing is flushed, whatever is said.
    lies: bool,
    trace: Trace,
}

enum Fate {
    Done,
    Fails,
    Dies,
}

#[derive(Clone)]
pub struct SimulatedDisk {
    state: Arc<Mutex<State>>,
    hook: Arc<Mutex<Option<Hook>>>,
}

impl State {
    fn fate(&mut self, what: &str, path: &Path) -> io::Result<Fate> {
        if self.dead {
            return Err(io::Error::other("the process is dead"));
        }
        self.calls += 1;
        let fate = if self.dies_at == Some(self.calls) {
            self.dead = true;
            Fate::Dies
        } else if self.fails_once_in > 0 && self.numbers.once_in(self.fails_once_in) {
            self.failed += 1;
            Fate::Fails
        } else {
            Fate::Done
        };
        let (call, how) = match fate {
            Fate::Done => (self.calls, ""),
            Fate::Fails => (self.calls, " FAILS"),
            Fate::Dies => (self.calls, " AND THE PROCESS DIES"),
        };
        let line = || format!("    disk {call}: {what} {}{how}", path.display());
        self.trace.line(line);
        Ok(fate)
    }

    /// A call that happens as a whole or not at all.
    fn whole(
        &mut self,
        what: &str,
        path: &Path,
        act: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<()> {
        match self.fate(what, path)? {
            Fate::Done => act(self),
            Fate::Fails => Err(failure()),
            Fate::Dies => {
                if self.numbers.once_in(2) {
                    let _ = act(self);
                }
                Err(failure())
            }
        }
    }

    fn change(&mut self, change: Change) {
        apply(&mut self.names, &change);
        self.changes.push(change);
    }

    fn inode(&self, path: &Path) -> io::Result<usize> {
        let inode = self.names.get(path).copied();
        inode.ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn power_off(&mut self) {
        let count = self.numbers.below(self.changes.len() as u64 + 1);
        for change in self.changes.drain(..).take(count as usize) {
            apply(&mut self.kept_names, &change);
        }
        self.names = self.kept_names.clone();
        for inode in &mut self.inodes {
            inode.power_off(&mut self.numbers, self.holes);
        }
    }
}

fn failure() -> io::Error {
    io::Error::other("the disk fails")
}

fn sectors(bytes: Range<usize>) -> Range<usize> {
    bytes.start / SECTOR_BYTES..bytes.end.div_ceil(SECTOR_BYTES)
}

/// Copies a sector, as far as `from` has it, into `to`, which grows for it.
fn copy_sector(sector: usize, from: &[u8], to: &mut Vec<u8>) {
    let begin = (sector * SECTOR_BYTES).min(from.len());
    let end = (begin + SECTOR_BYTES).min(from.len());
    to.resize(to.len().max(end), 0);
    to[begin..end].copy_from_slice(&from[begin..end]);
}

impl Inode {
    fn append(&mut self, bytes: &[u8]) {
        let begin = self.current.len();
        self.current.extend_from_slice(bytes);
        if !bytes.is_empty() {
            self.dirty.push(sectors(begin..self.current.len()));
        }
    }

    fn truncate(&mut self, length: u64) {
        self.current.truncate(length as usize);
        self.cut = true;
    }

    fn sync(&mut self) {
        self.keep_the_cut();
        for sector in std::mem::take(&mut self.dirty).into_iter().flatten() {
            copy_sector(sector, &self.current, &mut self.kept);
        }
        self.kept.resize(self.current.len(), 0);
    }

    fn keep_the_cut(&mut self) {
        if std::mem::take(&mut self.cut) {
            self.kept.truncate(self.current.len());
        }
    }

    /// Without `holes` what is kept is a beginning.
    fn sync_badly(&mut self, numbers: &mut Numbers, holes: bool) {
        let mut is_kept = true;
        for sector in std::mem::take(&mut self.dirty).into_iter().flatten() {
            is_kept = (is_kept || holes) && numbers.once_in(2);
            if is_kept {
                self.keep_the_cut();
                copy_sector(sector, &self.current, &mut self.kept);
            } else {
                self.lost.push(sector..sector + 1);
            }
        }
    }

    /// What was lost is read as the disk has it. True if that is something else than was written.
    fn process_ended(&mut self) -> bool {
        let mut differs = false;
        for sector in std::mem::take(&mut self.lost).into_iter().flatten() {
            let begin = (sector * SECTOR_BYTES).min(self.current.len());
            let end = (begin + SECTOR_BYTES).min(self.current.len());
            for at in begin..end {
                let kept = self.kept.get(at).copied().unwrap_or(0);
                differs |= self.current[at] != kept;
                self.current[at] = kept;
            }
        }
        differs
    }

    fn power_off(&mut self, numbers: &mut Numbers, holes: bool) {
        let dirty: Vec<usize> = std::mem::take(&mut self.dirty)
            .into_iter()
            .flatten()
            .collect();
        let how = numbers.below(if holes { 4 } else { 3 });
        if how > 0 || numbers.once_in(2) {
            self.keep_the_cut();
        }
        self.cut = false;
        let (begin, end) = (self.kept.len(), self.current.len());
        let length = match how {
            _ if end <= begin => begin,
            0 => begin,
            1 => end,
            _ => begin + numbers.below((end - begin + 1) as u64) as usize,
        };
        for sector in dirty {
            let is_written = match how {
                0 => false,
                1 | 2 => true,
                _ => numbers.once_in(2),
            };
            if is_written {
                copy_sector(sector, &self.current, &mut self.kept);
            }
        }
        self.kept.resize(length, 0);
        self.current = self.kept.clone();
    }
}

impl SimulatedDisk {
    pub fn new(numbers: Numbers, trace: Trace) -> Self {
        let state = State {
            numbers,
            inodes: Vec::new(),
            names: Names::new(),
            kept_names: Names::new(),
            changes: Vec::new(),
            calls: 0,
            dies_at: None,
            dead: false,
            fails_once_in: 0,
            failed: 0,
            holes: true,
            lies: false,
            trace,
        };
        Self {
            state: Arc::new(Mutex::new(state)),
            hook: Arc::default(),
        }
    }

    pub fn set_hook(&self, hook: Option<Hook>) {
        *self.hook.lock() = hook;
    }

    pub fn set_holes(&self, holes: bool) {
        self.state.lock().holes = holes;
    }

    pub fn set_lying(&self, lies: bool) {
        self.state.lock().lies = lies;
    }

    /// The process is killed so many calls from now.
    pub fn die_after(&self, calls: u64) {
        let mut state = self.state.lock();
        state.dies_at = Some(state.calls + calls);
    }

    /// The process is not killed after all.
    pub fn live_on(&self) {
        self.state.lock().dies_at = None;
    }

    pub fn is_dead(&self) -> bool {
        self.state.lock().dead
    }

    /// One call in so many fails; 0 for none.
    pub fn fail(&self, once_in: u64) {
        self.state.lock().fails_once_in = once_in;
    }

    /// Calls that have failed.
    pub fn failed(&self) -> u64 {
        self.state.lock().failed
    }

    /// The process has ended, and with `machine` the machine has. True if something is gone that a flush had lost.
    pub fn end(&self, machine: bool) -> bool {
        let mut state = self.state.lock();
        let mut is_gone = false;
        for inode in &mut state.inodes {
            is_gone |= inode.process_ended();
        }
        if machine {
            state.power_off();
        }
        (state.calls, state.dies_at, state.dead) = (0, None, false);
        is_gone
    }

    /// A disk of its own with the same content.
    pub fn copy(&self) -> Self {
        let mut state = self.state.lock().clone();
        state.trace = Trace::default();
        Self {
            state: Arc::new(Mutex::new(state)),
            hook: Arc::default(),
        }
    }

    pub fn names(&self) -> Vec<String> {
        let state = self.state.lock();
        let names = state.names.keys().map(|path| path.display().to_string());
        names.collect()
    }

    pub fn length(&self, name: &str) -> usize {
        let state = self.state.lock();
        let inode = state.inode(Path::new(name)).ok();
        inode.map_or(0, |inode| state.inodes[inode].current.len())
    }

    /// Flips bits of a byte.
    pub fn flip(&self, name: &str, at: usize, bits: u8) {
        let mut state = self.state.lock();
        let inode = state.inode(Path::new(name)).expect("a file");
        state.inodes[inode].current[at] ^= bits;
    }

    fn turn(&self, turn: Turn) {
        // While the hook runs it is not there, so what it does itself does not call it.
        let hook = self.hook.lock().take();
        if let Some(mut hook) = hook {
            hook(turn);
            *self.hook.lock() = Some(hook);
        }
    }

    fn open(&self, path: &Path, inode: usize) -> Arc<dyn DiskFile> {
        Arc::new(SimulatedFile {
            disk: self.clone(),
            path: path.to_owned(),
            inode,
        })
    }
}

/// While a file is written: that of a snapshot, or one of the journal.
fn turn_beside(path: &Path) -> Turn {
    match path.extension() {
        Some(extension) if extension == "tmp" => Turn::All,
        _ => Turn::Calls,
    }
}

impl Disk for SimulatedDisk {
    fn read(&self, path: &Path) -> io::Result<Box<dyn Source>> {
        let mut state = self.state.lock();
        let Fate::Done = state.fate("read", path)? else {
            return Err(failure());
        };
        let inode = state.inode(path)?;
        Ok(Box::new(Cursor::new(state.inodes[inode].current.clone())))
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        self.turn(Turn::Calls);
        let mut state = self.state.lock();
        let inode = state.inodes.len();
        state.whole("create", path, |state| {
            if state.inode(path).is_ok() {
                return Err(ErrorKind::AlreadyExists.into());
            }
            state.inodes.push(Inode::default());
            state.change(Change::Put(path.to_owned(), inode));
            Ok(())
        })?;
        drop(state);
        Ok(self.open(path, inode))
    }

    fn append(&self, path: &Path) -> io::Result<Arc<dyn DiskFile>> {
        let mut state = self.state.lock();
        let Fate::Done = state.fate("open", path)? else {
            return Err(failure());
        };
        let inode = state.inode(path)?;
        drop(state);
        Ok(self.open(path, inode))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.turn(turn_beside(from));
        self.state.lock().whole("rename", from, |state| {
            state.inode(from)?;
            state.change(Change::Rename(from.to_owned(), to.to_owned()));
            Ok(())
        })
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state.lock();
        if !state.dead && state.inode(path).is_err() {
            return Err(ErrorKind::NotFound.into());
        }
        state.whole("remove", path, |state| {
            state.change(Change::Remove(path.to_owned()));
            Ok(())
        })
    }

    fn names(&self, directory: &Path) -> io::Result<Vec<OsString>> {
        let mut state = self.state.lock();
        let Fate::Done = state.fate("list", directory)? else {
            return Err(failure());
        };
        let names = state.names.keys().filter_map(|path| path.file_name());
        Ok(names.map(OsString::from).collect())
    }

    fn sync_directory(&self, directory: &Path) -> io::Result<()> {
        self.turn(Turn::Calls);
        let mut state = self.state.lock();
        state.whole("sync directory", directory, |state| {
            state.changes.clear();
            state.kept_names = state.names.clone();
            Ok(())
        })
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Box<dyn Held>>> {
        let mut state = self.state.lock();
        state.whole("lock", path, |_| Ok(()))?;
        Ok(Some(Box::new(())))
    }
}

struct SimulatedFile {
    disk: SimulatedDisk,
    path: PathBuf,
    inode: usize,
}

impl DiskFile for SimulatedFile {
    fn append(&self, bytes: &[u8]) -> io::Result<()> {
        self.disk.turn(turn_beside(&self.path));
        let state = &mut *self.disk.state.lock();
        let fate = state.fate("append to", &self.path)?;
        let inode = &mut state.inodes[self.inode];
        if let Fate::Done = fate {
            inode.append(bytes);
            return Ok(());
        }
        let some = state.numbers.below(bytes.len() as u64 + 1) as usize;
        inode.append(&bytes[..some]);
        Err(ErrorKind::StorageFull.into())
    }

    fn sync(&self) -> io::Result<()> {
        // A file that was never flushed is being made, and the journal may be held meanwhile.
        let is_new = self.disk.state.lock().inodes[self.inode].kept.is_empty();
        self.disk.turn(match turn_beside(&self.path) {
            Turn::Calls if !is_new => Turn::Batches,
            turn => turn,
        });
        let state = &mut *self.disk.state.lock();
        match state.fate("sync", &self.path)? {
            Fate::Done => {
                if !state.lies {
                    state.inodes[self.inode].sync();
                }
                return Ok(());
            }
            Fate::Fails => state.inodes[self.inode].sync_badly(&mut state.numbers, state.holes),
            Fate::Dies => {
                if state.numbers.once_in(2) {
                    state.inodes[self.inode].sync();
                }
            }
        }
        Err(failure())
    }

    fn is_there(&self) -> io::Result<bool> {
        Ok(true)
    }

    fn truncate(&self, length: u64) -> io::Result<()> {
        let state = &mut *self.disk.state.lock();
        let inode = self.inode;
        state.whole("truncate", &self.path, |state| {
            state.inodes[inode].truncate(length);
            Ok(())
        })
    }
}
