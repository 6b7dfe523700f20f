//! The bounds of values that grow by elements.

use super::PlainError;
use super::text::TEXT_BYTES_MAX;

/// Most elements of one value: as many as a log counts, so that one key cannot hold a lock for long.
pub const ELEMENTS_MAX: usize = 100_000;
/// Most bytes of all its elements together: what one request may carry.
pub const BYTES_MAX: usize = 16 * 1024 * 1024;

/// What a value's elements take.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Size {
    elements: usize,
    bytes: usize,
}

impl Size {
    /// With one element more, of so many bytes.
    ///
    /// # Errors
    /// [`PlainError::TooLong`] for an element longer than a string, [`PlainError::TooLarge`] if the value would be.
    pub const fn with(self, bytes: usize) -> Result<Self, PlainError> {
        if bytes > TEXT_BYTES_MAX {
            return Err(PlainError::TooLong);
        }
        let size = Self {
            elements: self.elements + 1,
            bytes: self.bytes + bytes,
        };
        if size.elements > ELEMENTS_MAX || size.bytes > BYTES_MAX {
            return Err(PlainError::TooLarge);
        }
        Ok(size)
    }

    /// Bytes that all elements take that take `place` each beside their own. What the allocator adds, and room for
    /// more, is left out.
    pub const fn heap_bytes(self, place: usize) -> usize {
        self.elements * place + self.bytes
    }

    /// True if elements of so many bytes each fit beside all that are there, in the place of none of them.
    pub fn has_room(self, more: impl IntoIterator<Item = usize>) -> bool {
        more.into_iter().try_fold(self, Self::with).is_ok()
    }

    /// With one element less, of so many bytes.
    pub const fn without(self, bytes: usize) -> Self {
        Self {
            elements: self.elements.saturating_sub(1),
            bytes: self.bytes.saturating_sub(bytes),
        }
    }
}

/// Which of `length` elements the places `first` to `last` are, both counted from 0, or from the end below 0: as
/// Redis does, whatever lies outside is left out.
pub fn places(first: i64, last: i64, length: usize) -> std::ops::Range<usize> {
    let length = length as i64;
    let from_start = |place: i64| {
        if place < 0 {
            place.saturating_add(length)
        } else {
            place
        }
    };
    let first = from_start(first).max(0);
    let last = from_start(last).min(length - 1);
    if first > last {
        return 0..0;
    }
    first as usize..last as usize + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_from_both_ends() {
        for (first, last, expected) in [
            (0, -1, 0..5),
            (0, 99, 0..5),
            (-99, 1, 0..2),
            (-2, -1, 3..5),
            (3, 3, 3..4),
            (3, 2, 0..0),
            (5, 9, 0..0),
            (0, -6, 0..0),
            (i64::MIN, i64::MAX, 0..5),
        ] {
            assert_eq!(places(first, last, 5), expected, "{first} {last}");
        }
        assert_eq!(places(0, -1, 0), 0..0);
    }

    #[test]
    fn a_value_has_its_bounds() {
        let full = Size {
            elements: ELEMENTS_MAX - 1,
            bytes: BYTES_MAX - 1,
        };
        assert!(full.with(1).is_ok());
        assert_eq!(full.with(2), Err(PlainError::TooLarge));
        assert_eq!(
            full.with(1).and_then(|size| size.with(0)),
            Err(PlainError::TooLarge)
        );
        assert_eq!(full.with(TEXT_BYTES_MAX + 1), Err(PlainError::TooLong));
        assert_eq!(full.with(1).map(|size| size.without(1)), Ok(full));
        assert!(full.has_room([1]) && !full.has_room([2]) && !full.has_room([1, 0]));
        let longest = [TEXT_BYTES_MAX, TEXT_BYTES_MAX];
        assert!(Size::default().has_room(longest));
        assert!(!Size::default().has_room([1, TEXT_BYTES_MAX + 1]));
    }
}
