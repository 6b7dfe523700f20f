//! Key names.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU8;
use std::ptr::NonNull;
use std::slice;

/// The longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 512;

/// The longest name that takes no allocation, in bytes.
const SHORT_BYTES_MAX: usize = 15;

/// A key's name: any bytes, up to [`KEY_BYTES_MAX`]. It takes 16 bytes, and names of up to 15 bytes no allocation.
pub struct Key(Name);

/// The first byte, the length of a short name, is never zero there: that is how the compiler tells a long one.
enum Name {
    Short(Short),
    Long(Long),
}

/// Aligned as a pointer, so that a pointer fits behind the first byte.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Short {
    /// One more than the bytes of the name.
    length: NonZeroU8,
    bytes: [u8; SHORT_BYTES_MAX],
}

/// A name of its own: a block that begins with its length, since a boxed slice is 16 bytes by itself.
struct Long(NonNull<u8>);

/// Bytes of the length before a long name.
const LENGTH_BYTES: usize = size_of::<u32>();

const _: () = assert!(size_of::<Key>() == 16);

impl Key {
    /// Copies a name.
    pub fn new(name: &[u8]) -> Self {
        Self(if name.len() <= SHORT_BYTES_MAX {
            let mut bytes = [0; SHORT_BYTES_MAX];
            bytes[..name.len()].copy_from_slice(name);
            let length = NonZeroU8::MIN.saturating_add(name.len() as u8);
            Name::Short(Short { length, bytes })
        } else {
            Name::Long(Long::new(name))
        })
    }

    /// Bytes that a name takes outside of the [`Key`].
    pub const fn heap_bytes(name: &[u8]) -> usize {
        if name.len() > SHORT_BYTES_MAX {
            LENGTH_BYTES + name.len()
        } else {
            0
        }
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Name::Short(short) => &short.bytes[..usize::from(short.length.get()) - 1],
            Name::Long(long) => long.as_bytes(),
        }
    }
}

impl Long {
    fn new(name: &[u8]) -> Self {
        let length = u32::try_from(name.len()).expect("a key is at most KEY_BYTES_MAX long");
        let layout = Self::layout(name.len());
        // SAFETY: the layout is not empty.
        let Some(block) = NonNull::new(unsafe { alloc(layout) }) else {
            handle_alloc_error(layout)
        };
        // SAFETY: the block is new, aligned for its length, and has room for that and the name behind it.
        unsafe {
            block.cast::<u32>().write(length);
            let start = block.add(LENGTH_BYTES);
            start.copy_from_nonoverlapping(NonNull::from(name).cast(), name.len());
        }
        Self(block)
    }

    fn as_bytes(&self) -> &[u8] {
        // SAFETY: the block begins with the length of the name that follows, was written whole, and lives as long as
        // this.
        unsafe {
            let length = self.0.cast::<u32>().read();
            slice::from_raw_parts(self.0.add(LENGTH_BYTES).as_ptr(), length as usize)
        }
    }

    fn layout(length: usize) -> Layout {
        Layout::from_size_align(LENGTH_BYTES + length, align_of::<u32>())
            .expect("a name is shorter than the address space")
    }
}

// SAFETY: it owns its block as a box does, and nothing changes what is in it.
unsafe impl Send for Long {}
// SAFETY: as above; whoever shares it can only read.
unsafe impl Sync for Long {}

impl Drop for Long {
    fn drop(&mut self) {
        let layout = Self::layout(self.as_bytes().len());
        // SAFETY: the block was allocated with this layout, and this is its only owner.
        unsafe { dealloc(self.0.as_ptr(), layout) };
    }
}

impl Clone for Key {
    fn clone(&self) -> Self {
        Self::new(self.as_bytes())
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_bytes().cmp(other.as_bytes())
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({:?})", self.as_bytes().escape_ascii().to_string())
    }
}

/// It hashes and compares as its bytes do.
impl Borrow<[u8]> for Key {
    fn borrow(&self) -> &[u8] {
        self.as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_comes_back_as_it_was_whatever_its_length() {
        for length in (0..40).chain([255, 256, KEY_BYTES_MAX]) {
            let name: Vec<u8> = (0..length).map(|at| (at * 7) as u8).collect();
            let key = Key::new(&name);
            assert_eq!(key.as_bytes(), name);
            assert_eq!(key.clone(), key);
            let heap = if length > 15 { 4 + length } else { 0 };
            assert_eq!(Key::heap_bytes(&name), heap);
        }
    }

    #[test]
    fn names_compare_as_their_bytes() {
        let names: [&[u8]; 6] = [
            b"",
            b"a",
            b"a\0",
            b"aaaaaaaaaaaaaaa",
            b"aaaaaaaaaaaaaaaa",
            b"aaaaaaaaaaaaaaaz and more",
        ];
        for (a, b) in names.iter().flat_map(|a| names.iter().map(move |b| (a, b))) {
            assert_eq!(Key::new(a).cmp(&Key::new(b)), a.cmp(b));
            assert_eq!(Key::new(a) == Key::new(b), a == b);
        }
    }
}
