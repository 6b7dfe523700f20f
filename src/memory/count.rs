//! How many bytes are in use.
//!
//! Threads count in lines of their own, so that counting costs a few nanoseconds; what a line holds goes into the
//! total as soon as it is much. The total alone is so right to within some hundred kilobytes, total and lines
//! together are exact.

use super::process::{file_bytes, resident_bytes};
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed};

/// Lines to count in; threads beyond that many share them.
const LINES: usize = 64;
/// From so many bytes on a line goes into the total.
const MUCH_BYTES: isize = 16 * 1024;

/// As large as what processors hand each other, so that two threads do not wait for each other's line.
#[repr(align(128))]
struct Line(AtomicIsize);

static COUNTED: [Line; LINES] = [const { Line(AtomicIsize::new(0)) }; LINES];
static TOTAL: AtomicIsize = AtomicIsize::new(0);
static PEAK: AtomicIsize = AtomicIsize::new(0);
/// Bytes of stacks, and of what the system's allocator has at hand: some hundred kilobytes were seen.
const STACKS_BYTES: usize = 1024 * 1024;

/// What is resident without having been asked for.
static OUTSIDE: AtomicUsize = AtomicUsize::new(0);
/// What is resident and neither in use nor part of the program: pages that are free, and gaps between blocks.
static GAPS: AtomicUsize = AtomicUsize::new(0);
/// What was in use when the server started, with what is outside.
static STARTUP: AtomicUsize = AtomicUsize::new(0);
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The line of this thread. It needs no destructor, so it is there as long as anything is allocated.
    static OWN: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// So many bytes more are in use, or fewer.
pub(super) fn change(bytes: isize) {
    let own = OWN.with(|own| {
        if own.get() == usize::MAX {
            own.set(THREADS.fetch_add(1, Relaxed) % LINES);
        }
        own.get()
    });
    let line = &COUNTED[own].0;
    let held = line.fetch_add(bytes, Relaxed) + bytes;
    if held.abs() >= MUCH_BYTES {
        let held = line.swap(0, Relaxed);
        let total = TOTAL.fetch_add(held, Relaxed) + held;
        if total > PEAK.load(Relaxed) {
            PEAK.fetch_max(total, Relaxed);
        }
    }
}

fn bytes(count: isize) -> usize {
    usize::try_from(count).unwrap_or(0)
}

/// Bytes that the allocator has handed out and that were not given back, with what it adds to each block.
pub fn allocated_bytes() -> usize {
    let lines = COUNTED.iter().map(|line| line.0.load(Relaxed));
    bytes(TOTAL.load(Relaxed) + lines.sum::<isize>())
}

/// Bytes in use: those allocated, and those of the program.
pub fn used_bytes() -> usize {
    allocated_bytes() + OUTSIDE.load(Relaxed)
}

/// As [`used_bytes`] but for some hundred kilobytes, for the time of one load.
pub fn used_bytes_roughly() -> usize {
    bytes(TOTAL.load(Relaxed)) + OUTSIDE.load(Relaxed)
}

/// Most bytes that were in use at a time, to within some hundred kilobytes.
pub fn peak_bytes() -> usize {
    (bytes(PEAK.load(Relaxed)) + OUTSIDE.load(Relaxed)).max(used_bytes())
}

/// Bytes that were in use when the server started, before it had any key; 0 if nobody has said so.
pub fn startup_bytes() -> usize {
    STARTUP.load(Relaxed)
}

/// Looks at what is resident without having been allocated, the program above all, of which more and more is as it is
/// needed, and at what is resident in all. Several times a second.
pub fn look_outside() {
    let file_bytes = file_bytes().unwrap_or(0);
    OUTSIDE.store(file_bytes as usize + STACKS_BYTES, Relaxed);
    let resident = resident_bytes().unwrap_or(0) as usize;
    GAPS.store(resident.saturating_sub(used_bytes()), Relaxed);
}

/// Bytes that were resident and not in use when that was last looked at.
pub fn gap_bytes() -> usize {
    GAPS.load(Relaxed)
}

/// The server starts, and holds no keys yet.
pub fn started() {
    look_outside();
    STARTUP.store(used_bytes(), Relaxed);
}
