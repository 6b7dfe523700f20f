//! The system's allocator, with every block counted.

use super::count;
use std::alloc::{GlobalAlloc, Layout, System};

/// Size from which on a block is mapped by itself; `main` tells the allocator to keep it there.
pub(super) const MAPPED_FROM_BYTES: usize = 128 * 1024;
const PAGE_BYTES: usize = 4096;

/// The system's allocator. What it hands out is counted, with what it adds to each block.
///
/// A binary says `#[global_allocator] static ALLOCATOR: Counting = Counting;`. Without that nothing is counted.
pub struct Counting;

/// Bytes that a block of `size` takes: as glibc does, a word in front, a multiple of 16 and at least 32; a large one
/// whole pages of its own. Other allocators add about as much.
const fn taken(size: usize) -> isize {
    let taken = if size >= MAPPED_FROM_BYTES {
        size.saturating_add(16).next_multiple_of(PAGE_BYTES)
    } else if size <= 24 {
        32
    } else {
        (size + 8).next_multiple_of(16)
    };
    // A block is at most half of what can be addressed.
    taken as isize
}

// SAFETY: every call goes to `System` as it came, and every block that it returns is returned as it is. Counting
// neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract, which is the same.
        let block = unsafe { System.alloc(layout) };
        if !block.is_null() {
            count::change(taken(layout.size()));
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as in `alloc`.
        let block = unsafe { System.alloc_zeroed(layout) };
        if !block.is_null() {
            count::change(taken(layout.size()));
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as in `alloc`; the block came from there, and so from `System`.
        unsafe { System.dealloc(block, layout) };
        count::change(-taken(layout.size()));
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: as in `dealloc`.
        let moved = unsafe { System.realloc(block, layout, new_size) };
        if !moved.is_null() {
            count::change(taken(new_size) - taken(layout.size()));
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_counted_with_what_is_added_to_them() {
        for (size, bytes) in [
            (1, 32),
            (24, 32),
            (25, 48),
            (40, 48),
            (41, 64),
            (1000, 1008),
        ] {
            assert_eq!(taken(size), bytes, "{size}");
        }
        assert_eq!(taken(128 * 1024 - 1), 128 * 1024 + 16);
        assert_eq!(taken(128 * 1024), 132 * 1024);
    }
}
