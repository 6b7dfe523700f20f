//! Hashes: fields with texts, so far as rate-limit libraries use them.

use super::collection::Size;
use super::{Data, Plain, PlainError, Text};
use std::collections::{BTreeMap, HashMap};

/// Fields with texts, in the order of their names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Hash {
    fields: BTreeMap<Box<[u8]>, Text>,
    size: Size,
}

impl Hash {
    /// How many fields there are.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// True for a hash that no key holds.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Bytes that it takes outside of itself; see [`Size::heap_bytes`].
    pub const fn heap_bytes(&self) -> usize {
        self.size.heap_bytes(size_of::<(Box<[u8]>, Text)>())
    }

    /// The text of a field.
    pub fn get(&self, field: &[u8]) -> Option<&Text> {
        self.fields.get(field)
    }

    /// All fields with their texts.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&[u8], &Text)> {
        self.fields.iter().map(|(field, text)| (&**field, text))
    }

    /// Sets a field; true if it is new.
    ///
    /// # Errors
    /// As [`Size::with`].
    pub fn set(&mut self, field: &[u8], text: Text) -> Result<bool, PlainError> {
        let old = self.fields.get(field);
        let rest = old.map_or(self.size, |old| self.size.without(bytes_of(field, old)));
        let (is_new, bytes) = (old.is_none(), bytes_of(field, &text));
        self.size = rest.with(bytes)?;
        self.fields.insert(field.into(), text);
        Ok(is_new)
    }

    /// Sets several fields, or none; how many are new.
    ///
    /// # Errors
    /// As [`Size::with`].
    pub fn set_all(&mut self, pairs: &[(&[u8], Text)]) -> Result<usize, PlainError> {
        let bytes = pairs.iter().map(|(field, text)| bytes_of(field, text));
        if !self.size.has_room(bytes) {
            self.check_room(pairs)?;
        }
        let mut added = 0;
        for (field, text) in pairs {
            added += usize::from(self.set(field, text.clone())?);
        }
        Ok(added)
    }

    /// Checks that each of them fits when those before it are set.
    fn check_room(&self, pairs: &[(&[u8], Text)]) -> Result<(), PlainError> {
        let (mut size, mut set) = (self.size, HashMap::new());
        for (field, text) in pairs {
            let old = set.insert(field, text).or_else(|| self.fields.get(*field));
            let rest = old.map_or(size, |old| size.without(bytes_of(field, old)));
            size = rest.with(bytes_of(field, text))?;
        }
        Ok(())
    }

    /// Removes a field; true if it was there.
    pub fn remove(&mut self, field: &[u8]) -> bool {
        let Some(text) = self.fields.remove(field) else {
            return false;
        };
        self.size = self.size.without(bytes_of(field, &text));
        true
    }
}

fn bytes_of(field: &[u8], text: &Text) -> usize {
    field.len() + text.with_bytes(<[u8]>::len)
}

/// The hash of the key, `None` if it does not exist.
///
/// # Errors
/// [`PlainError::WrongType`].
pub fn get(plain: Option<&Plain>) -> Result<Option<&Hash>, PlainError> {
    match plain {
        Some(Plain {
            data: Data::Hash(hash),
            ..
        }) => Ok(Some(hash)),
        Some(_) => Err(PlainError::WrongType),
        None => Ok(None),
    }
}

/// Changes the hash of the key, an empty one if it does not exist. A key whose hash is empty afterwards is gone.
///
/// # Errors
/// [`PlainError::WrongType`], and those of `f`; what it had changed by then stays.
pub fn change<R>(
    slot: &mut Option<Plain>,
    f: impl FnOnce(&mut Hash) -> Result<R, PlainError>,
) -> Result<R, PlainError> {
    let plain = slot.get_or_insert_with(|| Plain::new(Data::Hash(Hash::default())));
    let Data::Hash(hash) = &mut plain.data else {
        return Err(PlainError::WrongType);
    };
    let result = f(hash);
    if hash.is_empty() {
        *slot = None;
    }
    result
}

/// Adds to a field, 0 if it is not there; the sum.
///
/// # Errors
/// [`PlainError::HashValueNotAnInteger`], [`PlainError::Overflow`].
pub fn add(slot: &mut Option<Plain>, field: &[u8], by: i64) -> Result<i64, PlainError> {
    change(slot, |hash| {
        let value = match hash.get(field) {
            Some(text) => text.as_integer().ok_or(PlainError::HashValueNotAnInteger)?,
            None => 0,
        };
        let sum = value.checked_add(by).ok_or(PlainError::Overflow)?;
        hash.set(field, Text::from(sum))?;
        Ok(sum)
    })
}

#[cfg(test)]
mod tests {
    use super::super::collection::ELEMENTS_MAX;
    use super::super::text::TEXT_BYTES_MAX;
    use super::*;

    fn text(bytes: &[u8]) -> Text {
        Text::new(bytes).unwrap()
    }

    #[test]
    fn an_empty_hash_is_no_key() {
        let mut slot = None;
        assert_eq!(change(&mut slot, |hash| Ok(hash.remove(b"f"))), Ok(false));
        assert_eq!(slot, None);
        assert_eq!(
            change(&mut slot, |hash| hash.set(b"f", text(b"1"))),
            Ok(true)
        );
        assert_eq!(
            change(&mut slot, |hash| hash.set(b"f", text(b"2"))),
            Ok(false)
        );
        assert_eq!(
            get(slot.as_ref()).unwrap().unwrap().get(b"f"),
            Some(&text(b"2"))
        );
        assert_eq!(change(&mut slot, |hash| Ok(hash.remove(b"f"))), Ok(true));
        assert_eq!(slot, None);
    }

    #[test]
    fn a_field_counts_exactly() {
        let mut slot = None;
        assert_eq!(add(&mut slot, b"f", i64::MAX), Ok(i64::MAX));
        assert_eq!(add(&mut slot, b"f", 1), Err(PlainError::Overflow));
        change(&mut slot, |hash| hash.set(b"g", text(b"x"))).unwrap();
        assert_eq!(
            add(&mut slot, b"g", 1),
            Err(PlainError::HashValueNotAnInteger)
        );
        assert_eq!(add(&mut slot, b"f", -1), Ok(i64::MAX - 1));
    }

    #[test]
    fn what_it_takes_is_counted_both_ways() {
        let mut hash = Hash::default();
        for (field, value) in [("a", "1"), ("a", "123"), ("b", ""), ("a", "")] {
            hash.set(field.as_bytes(), text(value.as_bytes())).unwrap();
        }
        assert!(hash.remove(b"a") && hash.remove(b"b"));
        assert_eq!(hash, Hash::default());
    }

    #[test]
    fn a_full_one_takes_all_of_what_still_fits_or_nothing() {
        let mut hash = Hash::default();
        for field in 0..ELEMENTS_MAX - 1 {
            hash.set(&field.to_be_bytes(), text(b"")).unwrap();
        }
        let first = 0_usize.to_be_bytes();
        let refused = [
            (&first[..], text(b"x")),
            (b"a", text(b"")),
            (b"b", text(b"")),
        ];
        assert_eq!(hash.set_all(&refused), Err(PlainError::TooLarge));
        assert_eq!(hash.get(&first), Some(&text(b"")));
        let twice = [
            (&first[..], text(b"x")),
            (b"a", text(b"1")),
            (b"a", text(b"2")),
        ];
        assert_eq!(hash.set_all(&twice), Ok(1));
        assert_eq!(hash.get(b"a"), Some(&text(b"2")));
    }

    #[test]
    fn a_pair_that_is_too_long_keeps_out_those_before_it() {
        let mut hash = Hash::default();
        let longest = text(&[b'x'; TEXT_BYTES_MAX]);
        let pairs = [(&b"a"[..], text(b"1")), (&b"b"[..], longest)];
        assert_eq!(hash.set_all(&pairs), Err(PlainError::TooLong));
        assert_eq!(hash, Hash::default());
    }

    #[test]
    fn another_type_is_refused() {
        let mut slot = Some(Plain::new(Data::Text(text(b"x"))));
        assert_eq!(get(slot.as_ref()), Err(PlainError::WrongType));
        assert_eq!(add(&mut slot, b"f", 1), Err(PlainError::WrongType));
        assert!(slot.is_some());
    }
}
