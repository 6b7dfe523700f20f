//! Lists, so far as rate-limit libraries use them: pushed at the head, looked at by place, trimmed.

use super::collection::{Size, places};
use super::{Data, Plain, PlainError, Text};
use std::collections::VecDeque;

/// Texts in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct List {
    items: VecDeque<Text>,
    size: Size,
}

impl List {
    /// How many items there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True for a list that no key holds.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Bytes that it takes outside of itself; see [`Size::heap_bytes`].
    pub const fn heap_bytes(&self) -> usize {
        self.size.heap_bytes(size_of::<Text>())
    }

    /// The item at a place, counted from the head, or below 0 from the end.
    pub fn at(&self, place: i64) -> Option<&Text> {
        let length = self.items.len() as i64;
        let place = if place < 0 {
            place.checked_add(length)?
        } else {
            place
        };
        self.items.get(usize::try_from(place).ok()?)
    }

    /// The items from the place `first` to the place `last`.
    pub fn range(&self, first: i64, last: i64) -> impl ExactSizeIterator<Item = &Text> {
        self.items.range(places(first, last, self.items.len()))
    }

    /// Puts an item at the head.
    ///
    /// # Errors
    /// As [`Size::with`].
    pub fn push_front(&mut self, text: Text) -> Result<(), PlainError> {
        self.size = self.size.with(text.with_bytes(<[u8]>::len))?;
        self.items.push_front(text);
        Ok(())
    }

    /// Puts an item at the end.
    ///
    /// # Errors
    /// As [`Size::with`].
    pub fn push_back(&mut self, text: Text) -> Result<(), PlainError> {
        self.size = self.size.with(text.with_bytes(<[u8]>::len))?;
        self.items.push_back(text);
        Ok(())
    }

    /// Checks that so many items more fit.
    ///
    /// # Errors
    /// [`PlainError::TooLarge`].
    pub fn check_room(&self, more: &[Text]) -> Result<(), PlainError> {
        let bytes = more.iter().map(|text| text.with_bytes(<[u8]>::len));
        if self.size.has_room(bytes) {
            Ok(())
        } else {
            Err(PlainError::TooLarge)
        }
    }

    /// Keeps the items from the place `first` to the place `last`.
    pub fn trim(&mut self, first: i64, last: i64) {
        let kept = places(first, last, self.items.len());
        let dropped_behind = self.items.drain(kept.end..);
        let size = &mut self.size;
        let mut drop_one = |text: Text| *size = size.without(text.with_bytes(<[u8]>::len));
        dropped_behind.for_each(&mut drop_one);
        self.items.drain(..kept.start).for_each(&mut drop_one);
    }
}

/// The list of the key, `None` if it does not exist.
///
/// # Errors
/// [`PlainError::WrongType`].
pub fn get(plain: Option<&Plain>) -> Result<Option<&List>, PlainError> {
    match plain {
        Some(Plain {
            data: Data::List(list),
            ..
        }) => Ok(Some(list)),
        Some(_) => Err(PlainError::WrongType),
        None => Ok(None),
    }
}

/// Changes the list of the key, an empty one if it does not exist. A key whose list is empty afterwards is gone.
///
/// # Errors
/// [`PlainError::WrongType`], and those of `f`; what it had changed by then stays.
pub fn change<R>(
    slot: &mut Option<Plain>,
    f: impl FnOnce(&mut List) -> Result<R, PlainError>,
) -> Result<R, PlainError> {
    let plain = slot.get_or_insert_with(|| Plain::new(Data::List(List::default())));
    let Data::List(list) = &mut plain.data else {
        return Err(PlainError::WrongType);
    };
    let result = f(list);
    if list.is_empty() {
        *slot = None;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(items: std::ops::Range<i64>) -> List {
        let mut list = List::default();
        items.for_each(|item| list.push_back(Text::from(item)).unwrap());
        list
    }

    #[test]
    fn items_are_found_from_both_ends() {
        let list = list(0..3);
        let at = |place| list.at(place).and_then(Text::as_integer);
        assert_eq!(
            [at(0), at(2), at(-1), at(-3)],
            [Some(0), Some(2), Some(2), Some(0)]
        );
        assert_eq!([at(3), at(-4), at(i64::MIN), at(i64::MAX)], [None; 4]);
        assert_eq!(list.range(1, -1).count(), 2);
    }

    #[test]
    fn a_trimmed_list_is_as_one_that_was_pushed_so() {
        for (first, last, expected) in [(0, 1, 0..2), (1, -1, 1..5), (-2, -2, 3..4), (4, 1, 0..0)] {
            let mut trimmed = list(0..5);
            trimmed.trim(first, last);
            assert_eq!(trimmed, list(expected));
        }
    }

    #[test]
    fn an_empty_list_is_no_key() {
        let mut slot = None;
        change(&mut slot, |list| list.push_front(Text::from(1))).unwrap();
        assert!(slot.is_some());
        change(&mut slot, |list| {
            list.trim(1, 0);
            Ok(())
        })
        .unwrap();
        assert_eq!(slot, None);
    }
}
