//! Where the places of a table lie, for whoever wants them fetched from memory ahead of time.
//!
//! A pipeline names many keys, each of which lies somewhere else in memory, and to wait for memory takes as long as all else
//! that a call does. So the processor is told of all of them before the first is looked for. It is only told: an outline
//! may be out of date, and then something else is fetched, or nothing.

use super::table::{Extent, PLACE_BYTES};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes that the processor fetches at a time.
const LINE_BYTES: usize = 64;
/// Places that are fetched from the one on to which a hash points. Most keys are in the first or the second.
const PLACES: usize = 2;

/// The outline of one table.
#[derive(Default)]
pub struct Outline {
    end: AtomicUsize,
    mask: AtomicUsize,
}

impl Outline {
    /// The table lies there now.
    pub fn follow(&self, Extent { end, mask }: Extent) {
        self.end.store(end, Relaxed);
        self.mask.store(mask, Relaxed);
    }

    /// Fetches where a key of this hash will be looked for.
    pub fn fetch(&self, hash: u64) {
        let (end, mask) = (self.end.load(Relaxed), self.mask.load(Relaxed));
        let index = hash as usize & mask;
        // One byte for each place lies behind all of them; the first place is the last.
        fetch_line(end.wrapping_add(index));
        let last = end.wrapping_sub(index * (PLACE_BYTES - 1));
        let first = last.wrapping_sub(PLACES * (PLACE_BYTES - 1));
        fetch_line(first);
        if (first ^ last.wrapping_sub(1)) >= LINE_BYTES {
            fetch_line(last.wrapping_sub(1));
        }
    }
}

/// Has the processor fetch the line at an address, whatever is there.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn fetch_line(address: usize) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a hint reads nothing, and does nothing where there is no memory.
    unsafe { _mm_prefetch(std::ptr::without_provenance::<i8>(address), _MM_HINT_T0) }
}

/// Other processors are not told.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub fn fetch_line(_: usize) {}
