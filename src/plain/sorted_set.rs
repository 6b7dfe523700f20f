//! Sorted sets: members with scores, so far as rate-limit libraries use them.

use super::collection::{Size, places};
use super::{Data, Plain, PlainError};
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Bound;
use std::sync::Arc;

/// A member's score: any float but NaN.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Score(f64);

impl Score {
    /// `None` for NaN.
    pub const fn new(score: f64) -> Option<Self> {
        if score.is_nan() {
            None
        } else {
            Some(Self(score))
        }
    }

    /// The float.
    pub const fn value(self) -> f64 {
        self.0
    }
}

impl Eq for Score {}

impl Ord for Score {
    fn cmp(&self, other: &Self) -> Ordering {
        // There is no NaN. The two zeros are the same, as in Redis.
        self.0.partial_cmp(&other.0).unwrap_or(Ordering::Equal)
    }
}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Scores from one bound to another.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Scores {
    /// The lower bound.
    pub least: Bound<Score>,
    /// The upper bound.
    pub most: Bound<Score>,
}

impl Scores {
    /// The least score within, and the least that is above all of them; `None` for no end. `None` altogether if no score
    /// is within.
    fn ends(self) -> Option<(Option<Score>, Option<Score>)> {
        let above = |score: Score| Score(score.0.next_up());
        let least = match self.least {
            Bound::Included(least) => Some(least),
            Bound::Excluded(least) if least.0 == f64::INFINITY => return None,
            Bound::Excluded(least) => Some(above(least)),
            Bound::Unbounded => None,
        };
        let beyond = match self.most {
            Bound::Included(most) if most.0 == f64::INFINITY => None,
            Bound::Included(most) => Some(above(most)),
            Bound::Excluded(most) => Some(most),
            Bound::Unbounded => None,
        };
        let is_empty = least
            .zip(beyond)
            .is_some_and(|(least, beyond)| least >= beyond);
        (!is_empty).then_some((least, beyond))
    }
}

/// Members in the order of their scores; those of one score in that of their bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SortedSet {
    scores: HashMap<Arc<[u8]>, Score, ahash::RandomState>,
    order: BTreeSet<(Score, Arc<[u8]>)>,
    size: Size,
}

impl SortedSet {
    /// Bytes that it takes outside of itself; see [`Size::heap_bytes`]. A member stands in both orders, its bytes
    /// once, with two counts in front.
    pub const fn heap_bytes(&self) -> usize {
        let member = size_of::<(Arc<[u8]>, Score)>();
        self.size.heap_bytes(2 * member + 2 * size_of::<usize>())
    }

    /// How many members there are.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// True for a set that no key holds.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The score of a member.
    pub fn score(&self, member: &[u8]) -> Option<Score> {
        self.scores.get(member).copied()
    }

    /// All members with their scores, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&[u8], Score)> {
        self.order.iter().map(|(score, member)| (&**member, *score))
    }

    /// Those whose scores lie between two bounds, in order.
    pub fn between(&self, scores: Scores) -> impl DoubleEndedIterator<Item = (&[u8], Score)> {
        let first_of = |score| (score, Arc::from(&b""[..]));
        let within = scores.ends().map(|(least, beyond)| {
            let least = least.map_or(Bound::Unbounded, |least| Bound::Included(first_of(least)));
            let beyond =
                beyond.map_or(Bound::Unbounded, |beyond| Bound::Excluded(first_of(beyond)));
            self.order.range((least, beyond))
        });
        let within = within.into_iter().flatten();
        within.map(|(score, member)| (&**member, *score))
    }

    /// Those from the place `first` to the place `last`, counted from 0, or below 0 from the end.
    pub fn at_places(&self, first: i64, last: i64) -> impl Iterator<Item = (&[u8], Score)> {
        let places = places(first, last, self.len());
        self.iter().skip(places.start).take(places.len())
    }

    /// The same, counted from the largest score down.
    pub fn at_places_down(&self, first: i64, last: i64) -> impl Iterator<Item = (&[u8], Score)> {
        let places = places(first, last, self.len());
        self.iter().rev().skip(places.start).take(places.len())
    }

    /// Sets the score of a member; the one before.
    ///
    /// # Errors
    /// As [`Size::with`].
    pub fn set(&mut self, member: &[u8], score: Score) -> Result<Option<Score>, PlainError> {
        if let Some((member, old)) = self.scores.get_key_value(member) {
            let (member, old) = (member.clone(), *old);
            self.order.remove(&(old, member.clone()));
            self.order.insert((score, member.clone()));
            self.scores.insert(member, score);
            return Ok(Some(old));
        }
        self.size = self.size.with(member.len())?;
        let member: Arc<[u8]> = member.into();
        self.order.insert((score, member.clone()));
        self.scores.insert(member, score);
        Ok(None)
    }

    /// Checks that these members fit, whichever of them are new.
    ///
    /// # Errors
    /// As [`Size::with`].
    pub fn check_room<'a>(
        &self,
        members: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Result<(), PlainError> {
        if self.size.has_room(members.clone().map(<[u8]>::len)) {
            return Ok(());
        }
        let (mut size, mut new) = (self.size, HashSet::new());
        for member in members {
            if !self.scores.contains_key(member) && new.insert(member) {
                size = size.with(member.len())?;
            }
        }
        Ok(())
    }

    /// Removes a member; true if it was there.
    pub fn remove(&mut self, member: &[u8]) -> bool {
        let Some((member, score)) = self.scores.remove_entry(member) else {
            return false;
        };
        self.size = self.size.without(member.len());
        self.order.remove(&(score, member))
    }

    /// Removes members; how many.
    pub fn remove_all(&mut self, members: Vec<Vec<u8>>) -> usize {
        members.iter().filter(|member| self.remove(member)).count()
    }
}

/// Reads a score as C's `strtod` does, without white space in front; `None` for NaN, and for a number that no float is
/// near, which would become an infinity or 0.
pub fn parse(text: &[u8]) -> Option<Score> {
    let mantissa = text.split(|byte| matches!(byte, b'e' | b'E')).next()?;
    let is_zero = !mantissa.iter().any(|byte| matches!(byte, b'1'..=b'9'));
    let is_number = text.iter().any(u8::is_ascii_digit);
    read(text).filter(|score| {
        let Score(value) = score;
        !(value.is_infinite() && is_number || *value == 0.0 && !is_zero)
    })
}

fn read(text: &[u8]) -> Option<Score> {
    let text = std::str::from_utf8(text).ok()?;
    if let Some(digits) = text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        let number = u64::from_str_radix(digits, 16).ok();
        return number
            .filter(|_| !digits.starts_with('+'))
            .map(|number| Score(number as f64));
    }
    Score::new(text.parse().ok()?)
}

/// Reads one end of a range of scores, of which Redis takes more: also white space in front, and nothing for 0.
pub fn parse_bound(text: &[u8]) -> Option<Score> {
    let is_space = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0x0b;
    let blank = text.iter().take_while(|byte| is_space(byte)).count();
    if blank == text.len() {
        return Some(Score(0.0)).filter(|_| text.is_empty());
    }
    read(&text[blank..])
}

/// The sorted set of the key, `None` if it does not exist.
///
/// # Errors
/// [`PlainError::WrongType`].
pub fn get(plain: Option<&Plain>) -> Result<Option<&SortedSet>, PlainError> {
    match plain {
        Some(Plain {
            data: Data::SortedSet(set),
            ..
        }) => Ok(Some(set)),
        Some(_) => Err(PlainError::WrongType),
        None => Ok(None),
    }
}

/// Changes the sorted set of the key, an empty one if it does not exist. A key whose set is empty afterwards is gone.
///
/// # Errors
/// [`PlainError::WrongType`], and those of `f`; what it had changed by then stays.
pub fn change<R>(
    slot: &mut Option<Plain>,
    f: impl FnOnce(&mut SortedSet) -> Result<R, PlainError>,
) -> Result<R, PlainError> {
    let plain = slot.get_or_insert_with(|| Plain::new(Data::SortedSet(Box::default())));
    let Data::SortedSet(set) = &mut plain.data else {
        return Err(PlainError::WrongType);
    };
    let result = f(set);
    if set.is_empty() {
        *slot = None;
    }
    result
}

/// Removes those whose scores lie between two bounds; how many.
///
/// # Errors
/// [`PlainError::WrongType`].
pub fn remove_between(slot: &mut Option<Plain>, scores: Scores) -> Result<usize, PlainError> {
    change(slot, |set| {
        let members = set
            .between(scores)
            .map(|(member, _)| member.to_vec())
            .collect();
        Ok(set.remove_all(members))
    })
}

/// Removes those from the place `first` to the place `last`; how many.
///
/// # Errors
/// [`PlainError::WrongType`].
pub fn remove_at_places(
    slot: &mut Option<Plain>,
    first: i64,
    last: i64,
) -> Result<usize, PlainError> {
    change(slot, |set| {
        let members = set
            .at_places(first, last)
            .map(|(member, _)| member.to_vec())
            .collect();
        Ok(set.remove_all(members))
    })
}

#[cfg(test)]
mod tests {
    use super::super::collection::ELEMENTS_MAX;
    use super::super::text::TEXT_BYTES_MAX;
    use super::*;
    use proptest::prelude::*;

    fn score(value: f64) -> Score {
        Score::new(value).unwrap()
    }

    fn set(members: &[(&str, f64)]) -> SortedSet {
        let mut set = SortedSet::default();
        for (member, value) in members {
            set.set(member.as_bytes(), score(*value)).unwrap();
        }
        set
    }

    fn names<'a>(members: impl Iterator<Item = (&'a [u8], Score)>) -> String {
        members
            .map(|(member, _)| String::from_utf8_lossy(member).into_owned())
            .collect()
    }

    #[test]
    fn members_are_in_the_order_of_scores_and_then_bytes() {
        let set = set(&[
            ("b", 1.0),
            ("a", 1.0),
            ("c", -1.0),
            ("d", f64::INFINITY),
            ("z", -0.0),
            ("y", 0.0),
        ]);
        assert_eq!(names(set.iter()), "cyzabd");
        assert_eq!(names(set.at_places(0, 1)), "cy");
        assert_eq!(names(set.at_places_down(0, 1)), "db");
        let between = |least, most| names(set.between(Scores { least, most }));
        assert_eq!(
            between(Bound::Included(score(0.0)), Bound::Included(score(1.0))),
            "yzab"
        );
        assert_eq!(
            between(Bound::Excluded(score(0.0)), Bound::Excluded(score(1.0))),
            ""
        );
        assert_eq!(
            between(Bound::Excluded(score(1.0)), Bound::Included(score(0.0))),
            ""
        );
        assert_eq!(
            between(Bound::Unbounded, Bound::Excluded(score(1.0))),
            "cyz"
        );
    }

    #[test]
    fn a_score_is_near_what_was_written() {
        for (text, expected) in [
            ("inf", Some(f64::INFINITY)),
            ("-Infinity", Some(f64::NEG_INFINITY)),
            ("0e5", Some(0.0)),
            ("-0", Some(0.0)),
            ("0x10", Some(16.0)),
            ("1e-320", Some(1e-320)),
            ("1e999", None),
            ("-1e999", None),
            ("1e-999", None),
            ("nan", None),
        ] {
            let read = parse(text.as_bytes());
            assert_eq!(read.map(Score::value), expected, "{text}");
        }
        assert_eq!(parse_bound(b" 1e999"), Score::new(f64::INFINITY));
    }

    #[test]
    fn a_full_one_has_room_for_what_it_holds() {
        let mut set = SortedSet::default();
        for member in 0..ELEMENTS_MAX - 1 {
            set.set(&member.to_be_bytes(), score(0.0)).unwrap();
        }
        let held = 0_usize.to_be_bytes();
        let room = |members: &[&[u8]]| set.check_room(members.iter().copied());
        assert_eq!(room(&[&held, &held, b"new", b"new"]), Ok(()));
        assert_eq!(room(&[&held, b"new", b"other"]), Err(PlainError::TooLarge));
    }

    #[test]
    fn there_is_no_room_for_a_member_that_is_too_long() {
        let (set, long) = (SortedSet::default(), [b'x'; TEXT_BYTES_MAX + 1]);
        let members = [&b"a"[..], &long].into_iter();
        assert_eq!(set.check_room(members), Err(PlainError::TooLong));
    }

    proptest! {
        #[test]
        fn it_is_what_a_list_of_pairs_would_be(steps in prop::collection::vec((0..6_u8, -3..4_i8, any::<bool>()), 0..60)) {
            let (mut set, mut model) = (SortedSet::default(), Vec::<(f64, Vec<u8>)>::new());
            for (member, value, removes) in steps {
                let member = vec![member; usize::from(member)];
                let old = model.iter().position(|(_, known)| *known == member).map(|at| model.remove(at).0);
                if removes {
                    prop_assert_eq!(set.remove(&member), old.is_some());
                } else {
                    prop_assert_eq!(set.set(&member, score(value.into())), Ok(old.map(score)));
                    model.push((value.into(), member));
                }
                model.sort_by(|a, b| a.partial_cmp(b).unwrap());
                let ours: Vec<_> = set.iter().map(|(member, score)| (score.value(), member.to_vec())).collect();
                prop_assert_eq!(&ours, &model);
                prop_assert_eq!(set.len(), model.len());
            }
            let members = model.into_iter().map(|(_, member)| member).collect();
            set.remove_all(members);
            prop_assert_eq!(set, SortedSet::default());
        }
    }
}
