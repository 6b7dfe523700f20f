//! The system's allocator, with every block counted, and tables mapped by themselves.

use super::count;
use super::process::{PAGE_BYTES, map, unmap};
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;

/// The system's allocator. What it hands out is counted, with what it adds to each block.
///
/// Hash tables, but for small ones, are mapped by themselves and so given back as soon as they are freed. In the heap
/// of the system's allocator a table that is replaced by one of twice the size leaves a hole that the next one does
/// not fit into: with keys for 32 MB five more stayed resident.
///
/// A binary says `#[global_allocator] static ALLOCATOR: Counting = Counting;`. Without that nothing is counted.
pub struct Counting;

/// Bytes from which on a table is mapped by itself. The rest of its last page is left empty, a third of the smallest; but
/// of tables that are outgrown in the heap, each byte costs that of a key's place for ever.
const MAPPED_FROM_BYTES: usize = 4 * 1024;
/// How a table is aligned, to be told from buffers, which come and go all the time and are aligned to less.
const TABLE_ALIGN: usize = 16;
/// From where on the system's allocator maps a block by itself; `main` tells it to.
const LARGE_BYTES: usize = 128 * 1024;

const fn is_mapped(layout: Layout) -> bool {
    layout.size() >= MAPPED_FROM_BYTES
        && layout.align() >= TABLE_ALIGN
        && layout.align() <= PAGE_BYTES
}

/// Bytes that a block takes: whole pages if it is mapped by itself, else as glibc does a word in front, a multiple of
/// 16 and at least 32. Other allocators add about as much.
const fn taken(layout: Layout) -> isize {
    let size = layout.size();
    let taken = if is_mapped(layout) {
        size.next_multiple_of(PAGE_BYTES)
    } else if size >= LARGE_BYTES {
        size.saturating_add(16).next_multiple_of(PAGE_BYTES)
    } else if size <= 24 {
        32
    } else {
        (size + 8).next_multiple_of(16)
    };
    // A block is at most half of what can be addressed.
    taken as isize
}

// SAFETY: a block comes from `System`, or from a mapping of its own if its layout says so, and goes back where it came
// from, since it comes back with the same layout. Counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let block = if is_mapped(layout) {
            map(layout.size())
        } else {
            // SAFETY: the caller keeps the contract, which is the same.
            unsafe { System.alloc(layout) }
        };
        if !block.is_null() {
            count::change(taken(layout));
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_mapped(layout) {
            // SAFETY: as in `alloc`. A new mapping holds zeros.
            return unsafe { self.alloc(layout) };
        }
        // SAFETY: as in `alloc`.
        let block = unsafe { System.alloc_zeroed(layout) };
        if !block.is_null() {
            count::change(taken(layout));
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if is_mapped(layout) {
            // SAFETY: `alloc` mapped it, with this size, and nobody uses it any more.
            unsafe { unmap(block, layout.size()) };
        } else {
            // SAFETY: it came from `System`, with this layout.
            unsafe { System.dealloc(block, layout) };
        }
        count::change(-taken(layout));
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the size can be one of this alignment.
        let new_layout = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        if !is_mapped(layout) && !is_mapped(new_layout) {
            // SAFETY: it came from `System`, with this layout.
            let moved = unsafe { System.realloc(block, layout, new_size) };
            if !moved.is_null() {
                count::change(taken(new_layout) - taken(layout));
            }
            return moved;
        }
        // SAFETY: both blocks are at least as long as what is copied, and one of them is new.
        unsafe {
            let moved = self.alloc(new_layout);
            if !moved.is_null() {
                ptr::copy_nonoverlapping(block, moved, layout.size().min(new_size));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).unwrap()
    }

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
            assert_eq!(taken(layout(size, 8)), bytes, "{size}");
        }
        assert_eq!(taken(layout(128 * 1024 - 1, 1)), 128 * 1024 + 16);
        assert_eq!(taken(layout(128 * 1024, 1)), 132 * 1024);
        assert_eq!(taken(layout(4 * 1024, 16)), 4 * 1024);
        assert_eq!(taken(layout(4 * 1024 + 1, 16)), 8 * 1024);
    }

    #[test]
    fn blocks_keep_what_they_hold_while_they_grow_and_shrink() {
        for align in [1, 8, 16, 64, 4096, 8192] {
            let mut size = 1;
            // SAFETY: blocks are used within their sizes, and come back with their layouts.
            unsafe {
                let mut block = Counting.alloc(layout(size, align));
                block.write(7);
                for new_size in [100, 4_095, 4_096, 300_000, 20_000, 4_095, 10] {
                    block = Counting.realloc(block, layout(size, align), new_size);
                    assert!(!block.is_null() && (block as usize).is_multiple_of(align));
                    assert_eq!(block.read(), 7, "{align} {new_size}");
                    block.add(new_size - 1).write(9);
                    size = new_size;
                }
                Counting.dealloc(block, layout(size, align));
                let zeroed = Counting.alloc_zeroed(layout(20_000, align));
                assert!((0..20_000).all(|at| zeroed.add(at).read() == 0));
                Counting.dealloc(zeroed, layout(20_000, align));
            }
        }
    }
}
