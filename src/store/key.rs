//! Key names.

use smallvec::SmallVec;
use std::borrow::Borrow;

/// The longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 512;

/// A key's name: any bytes, up to [`KEY_BYTES_MAX`]. Names of up to 16 bytes take no allocation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Key(SmallVec<[u8; 16]>);

impl Key {
    /// Copies a name.
    pub fn new(name: &[u8]) -> Self {
        Self(SmallVec::from_slice(name))
    }

    /// Bytes that a name takes outside of the [`Key`].
    pub fn heap_bytes(name: &[u8]) -> usize {
        let key = SmallVec::<[u8; 16]>::new();
        if name.len() > key.inline_size() {
            name.len()
        } else {
            0
        }
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// It hashes and compares as its bytes do.
impl Borrow<[u8]> for Key {
    fn borrow(&self) -> &[u8] {
        self.as_bytes()
    }
}
