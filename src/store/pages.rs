//! Memory for tables of keys: pages from the system, which gets them back.
//!
//! A table that grows leaves its old memory behind. On the heap that is a gap, which the next table, being twice as
//! large, does not fit: of a million keys that cost 70 bytes each, the gaps took 60 bytes more. And a heap gives back
//! only what lies at its end.

use allocator_api2::alloc::{AllocError, Allocator, Global, Layout};
use std::ptr::NonNull;

/// From so many bytes on a table has pages of its own; the last of them is half empty, on average. Smaller tables stay
/// on the heap, 4 MiB of them in a database at most.
const OWN_PAGES_BYTES: usize = 2048;

/// Where a table takes its memory.
#[derive(Clone, Copy, Default)]
pub struct Pages;

/// True of memory that has pages of its own, which every size is aligned for that a table can ask for.
const fn has_own_pages(layout: Layout) -> bool {
    layout.size() >= OWN_PAGES_BYTES && layout.align() <= 4096
}

// SAFETY: a block is a mapping of its own or comes from the global allocator, which its layout tells in the same way
// when it is given back; it stays where it is until then, and a copy of `Pages`, having no state, gives back as well as
// the original.
unsafe impl Allocator for Pages {
    fn allocate(&self, layout: Layout) -> Result<NonNull<[u8]>, AllocError> {
        if has_own_pages(layout) {
            system::map(layout.size())
        } else {
            Global.allocate(layout)
        }
    }

    unsafe fn deallocate(&self, block: NonNull<u8>, layout: Layout) {
        if has_own_pages(layout) {
            // SAFETY: the caller says that the block came from here with this layout, so it is a mapping of that size.
            unsafe { system::unmap(block, layout.size()) };
        } else {
            // SAFETY: likewise it came from the global allocator.
            unsafe { Global.deallocate(block, layout) };
        }
    }
}

mod system {
    use super::{AllocError, NonNull};

    pub fn map(bytes: usize) -> Result<NonNull<[u8]>, AllocError> {
        let (access, kind) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANON,
        );
        // SAFETY: a new mapping, wherever the system likes, touches no other memory.
        let block = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
        if block == libc::MAP_FAILED {
            return Err(AllocError);
        }
        let block = NonNull::new(block.cast()).ok_or(AllocError)?;
        Ok(NonNull::slice_from_raw_parts(block, bytes))
    }

    /// # Safety
    /// The block came from [`map`] with that size, and nobody uses it any more.
    pub unsafe fn unmap(block: NonNull<u8>, bytes: usize) {
        // SAFETY: as the caller says. It cannot fail for a whole mapping; if it did, the memory would stay.
        unsafe { libc::munmap(block.as_ptr().cast(), bytes) };
    }
}
