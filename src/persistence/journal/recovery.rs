//! From the files of a journal back to the store, and to a journal that goes on.

use super::super::disk::Disk;
use super::super::error::{Fault, LoadError};
use super::super::files::{directory, file_name};
use super::super::snapshot;
use super::format::{Header, PART_BYTES};
use super::output::Output;
use super::scan::{self, Scan};
use super::status::JournalStatus;
use super::{Journal, State, path_of};
use crate::core::units::Timestamp;
use crate::store::Store;
use parking_lot::Mutex;
use std::io::{self, ErrorKind, SeekFrom};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// What the snapshot says of the journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Base {
    /// The first generation that is not in it.
    pub first: u64,
    /// There is a snapshot, and it names that one.
    pub is_named: bool,
    /// Bytes of the snapshot.
    pub bytes: u64,
}

/// What was read of a journal.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recovered {
    /// When the last batch was captured. The clock must not start before this instant.
    pub until: Timestamp,
    /// Generations that hold something.
    pub generations: u64,
    /// Batches.
    pub batches: u64,
    /// Records in them.
    pub records: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes behind the last whole batch, of a write that was broken off.
    pub torn_bytes: u64,
    /// The last generation, to go on with.
    last: Option<Scan>,
    /// The number of the next one.
    pub(in super::super) next: u64,
}

/// The generations beside a snapshot, in order.
///
/// # Errors
/// The directory cannot be read.
pub fn generations(disk: &dyn Disk, snapshot: &Path) -> io::Result<Vec<u64>> {
    let name = file_name(snapshot)?.as_bytes();
    let generation = |found: &[u8]| {
        let digits = found.strip_prefix(name)?.strip_prefix(b".journal.")?;
        let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
        (number.to_string().as_bytes() == digits).then_some(number)
    };
    let found = disk.names(directory(snapshot))?;
    let mut numbers: Vec<u64> = found
        .iter()
        .filter_map(|name| generation(name.as_bytes()))
        .collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Reads into a store, which holds the snapshot, what the journal has of it since. Changes no file.
///
/// # Errors
/// Something is damaged, missing, or cannot be read. The store is empty then.
pub fn recover(
    disk: &dyn Disk,
    snapshot: &Path,
    base: Base,
    store: &Store,
) -> Result<Recovered, LoadError> {
    let recovered = read(disk, snapshot, base, store);
    if recovered.is_err() {
        store.clear_all(Timestamp::ZERO);
    }
    recovered
}

fn read(
    disk: &dyn Disk,
    snapshot: &Path,
    base: Base,
    store: &Store,
) -> Result<Recovered, LoadError> {
    let failed = |generation: u64| {
        move |fault: Fault| LoadError {
            path: path_of(snapshot, generation),
            is_journal: true,
            fault,
        }
    };
    let io_failed = |generation| move |error| failed(generation)(Fault::Io(error));
    let found = match generations(disk, snapshot) {
        // There is no directory, and so no snapshot either.
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        found => found.map_err(io_failed(base.first))?,
    };
    let mut live: Vec<u64> = found;
    live.retain(|generation| *generation >= base.first);
    if let Some(missing) = (base.first..).zip(&live).find(|(at, found)| at != *found) {
        return Err(failed(missing.0)(Fault::Missing));
    }
    let mut recovered = Recovered {
        next: base.first,
        ..Recovered::default()
    };
    // All are looked at before anything is loaded.
    let mut scans = Vec::new();
    for (index, &generation) in live.iter().enumerate() {
        let open = |generation| {
            disk.read(&path_of(snapshot, generation))
                .map_err(io_failed(generation))
        };
        let goes_on = match live.get(index + 1) {
            Some(&next) => {
                let mut source = open(next)?;
                let length = source.seek(SeekFrom::End(0)).map_err(io_failed(next))?;
                source.rewind().map_err(io_failed(next))?;
                let header = Header::read(&mut source, length).map_err(failed(next))?;
                header.is_some_and(|header| !header.based)
            }
            None => false,
        };
        let scan = scan::scan(&mut *open(generation)?, goes_on).map_err(failed(generation))?;
        let another = |scan: &Scan| scan.header.generation != generation;
        if scan.as_ref().is_some_and(another) {
            return Err(failed(generation)(Fault::Damaged {
                offset: 0,
                what: "it is another generation than its name says",
            }));
        }
        let counts =
            |scan: &Scan| !scan.header.based || (base.is_named && generation == base.first);
        let Some(scan) = scan.filter(counts) else {
            break;
        };
        scans.push(scan);
    }
    for scan in &scans {
        let generation = scan.header.generation;
        let source = disk.read(&path_of(snapshot, generation));
        let mut source = source.map_err(io_failed(generation))?;
        let each = |record| snapshot::restore(store, record);
        let records = scan::replay(&mut *source, scan.end, each).map_err(failed(generation))?;
        recovered.records += records;
        recovered.generations += u64::from(scan.batches > 0);
        recovered.batches += scan.batches;
        recovered.bytes += scan.end;
        recovered.torn_bytes += scan.length - scan.end;
        recovered.until = recovered.until.max(scan.at);
        recovered.next = generation + 1;
    }
    recovered.last = scans.pop();
    Ok(recovered)
}

impl Journal {
    /// Goes on with what was recovered. What was torn is cut off here, and what does not count is removed.
    pub fn open(
        disk: Arc<dyn Disk>,
        snapshot: &Path,
        base: Base,
        recovered: &Recovered,
        salt: u64,
    ) -> Self {
        // The server before may have died when the snapshot was in its place and the disk did not keep that yet. What goes on
        // from it would be nothing beside the one before.
        let mut lost = disk.sync_directory(directory(snapshot)).is_err();
        if !lost {
            super::fold::remove_before(&*disk, snapshot, base.first);
            // Those that do not count. What cannot be removed now is before the next is begun.
            let _ = super::fold::remove_from(&*disk, snapshot, recovered.next);
        }
        let (mut output, mut earlier_bytes) = (None, recovered.bytes);
        if let Some(scan) = recovered.last.as_ref().filter(|_| !lost) {
            let path = path_of(snapshot, scan.header.generation);
            match Output::go_on(&*disk, &path, scan) {
                // What another version has begun holds nothing that it does not know.
                Ok(_) if scan.header.server_version != env!("CARGO_PKG_VERSION") => {}
                Ok(again) => {
                    earlier_bytes -= again.length;
                    output = Some(again);
                }
                // What is torn is still there, so none may go on from it.
                Err(_) => lost = true,
            }
        }
        let status = Arc::new(JournalStatus::default());
        status.change(|report| {
            report.base_bytes = base.bytes;
            report.bytes = recovered.bytes;
        });
        Self {
            disk,
            snapshot: snapshot.to_owned(),
            salt,
            part_bytes: PART_BYTES,
            state: Mutex::new(State {
                output,
                ahead: None,
                may_be_named: false,
                fold_error: None,
                lost,
                next: recovered.next,
                earlier_bytes,
            }),
            flushes: Mutex::new(()),
            status,
        }
    }
}
