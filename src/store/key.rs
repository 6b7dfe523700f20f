//! Key names.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU8;
use std::ptr::{self, NonNull};
use std::slice;

/// The longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 512;

/// The longest name that takes no allocation, in bytes.
const SHORT_BYTES_MAX: usize = 16;

/// A key's name: any bytes, up to [`KEY_BYTES_MAX`]. It takes 16 bytes. A name of up to 16 bytes takes no allocation, unless
/// it has 16 and the last is one of seventeen that no text in UTF-8 but for one with a NUL ends with.
pub struct Key(Name);

/// The last of the 16 bytes is never zero in a short name: that is how the compiler tells a long one.
enum Name {
    Short(Short),
    Long(Long),
}

/// Aligned as a pointer, so that a pointer fits in the first bytes.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Short {
    bytes: [u8; SHORT_BYTES_MAX - 1],
    /// The sixteenth byte of the name, or [`LENGTHS`] and how many there are.
    last: NonZeroU8,
}

/// Last bytes from here on are the length of a shorter name.
const LENGTHS: u8 = 0xf0;

/// A name of its own: a block that begins with its length, since a boxed slice is 16 bytes by itself.
struct Long(NonNull<u8>);

/// Bytes of the length before a long name.
const LENGTH_BYTES: usize = size_of::<u32>();

const _: () = assert!(size_of::<Key>() == SHORT_BYTES_MAX);

impl Key {
    /// Copies a name.
    pub fn new(name: &[u8]) -> Self {
        Self(match Short::new(name) {
            Some(short) => Name::Short(short),
            None => Name::Long(Long::new(name)),
        })
    }

    /// Bytes that a name takes outside of the [`Key`].
    pub fn heap_bytes(name: &[u8]) -> usize {
        match Short::new(name) {
            Some(_) => 0,
            None => LENGTH_BYTES + name.len(),
        }
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Name::Short(short) => short.as_bytes(),
            Name::Long(long) => long.as_bytes(),
        }
    }
}

impl Short {
    /// A name, if it is short.
    fn new(name: &[u8]) -> Option<Self> {
        let mut bytes = [0; SHORT_BYTES_MAX - 1];
        let last = match name.split_last_chunk::<1>() {
            Some((first, [last])) if first.len() == bytes.len() => {
                bytes.copy_from_slice(first);
                *last
            }
            _ => {
                bytes.get_mut(..name.len())?.copy_from_slice(name);
                return Some(Self {
                    bytes,
                    last: NonZeroU8::new(LENGTHS + name.len() as u8)?,
                });
            }
        };
        let last = NonZeroU8::new(last).filter(|last| last.get() < LENGTHS)?;
        Some(Self { bytes, last })
    }

    const fn as_bytes(&self) -> &[u8] {
        let length = match self.last.get().checked_sub(LENGTHS) {
            Some(length) => length as usize,
            None => SHORT_BYTES_MAX,
        };
        // SAFETY: it is 16 bytes without a gap, and a length is below that.
        unsafe { slice::from_raw_parts(ptr::from_ref(self).cast(), length) }
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

    fn assert_comes_back(name: &[u8], is_long: bool) {
        let key = Key::new(name);
        assert_eq!(key.as_bytes(), name);
        assert_eq!(key.clone(), key);
        let heap = if is_long { 4 + name.len() } else { 0 };
        assert_eq!(Key::heap_bytes(name), heap, "{name:?}");
    }

    #[test]
    fn a_name_comes_back_as_it_was_whatever_its_length() {
        for length in (0..40).chain([255, 256, KEY_BYTES_MAX]) {
            let name: Vec<u8> = (0..length).map(|at| (at * 7) as u8).collect();
            assert_comes_back(&name, length > 16);
        }
    }

    #[test]
    fn a_name_comes_back_as_it_was_whatever_its_last_byte() {
        for last in 0..=u8::MAX {
            for length in [1, 14, 15, 16, 17] {
                let mut name = vec![last; length];
                assert_comes_back(
                    &name,
                    length > 16 || length == 16 && (last == 0 || last >= 0xf0),
                );
                name[0] = 0;
                assert_eq!(Key::new(&name).as_bytes(), name);
            }
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
