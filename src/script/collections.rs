//! The commands on hashes, lists and sorted sets that scripts call.

use super::answer::Failure;
use super::commands::integer;
use super::{Call, lua};
use crate::plain::sorted_set::{self, Score, Scores};
use crate::plain::{Text, hash, list};
use std::ops::Bound;

/// A score as an argument of a command.
fn score(text: &[u8]) -> Result<Score, Failure> {
    sorted_set::parse(text).ok_or(Failure::Redis("ERR value is not a valid float".into()))
}

/// The scores from `least` to `most`, each as an argument of a command.
pub fn scores(least: &[u8], most: &[u8]) -> Result<Scores, Failure> {
    let bound = |text| sorted_set::parse_bound(text).map(Bound::Included);
    match (bound(least), bound(most)) {
        (Some(least), Some(most)) => Ok(Scores { least, most }),
        _ => Err(Failure::Redis("ERR min or max is not a float".into())),
    }
}

impl Call<'_> {
    /// `HGET`.
    pub fn hget(&mut self, key: usize, field: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let hash = hash::get(self.key(key)?.as_ref())?;
        let text = hash.and_then(|hash| hash.get(field));
        Ok(text.map(|text| text.with_bytes(<[u8]>::to_vec)))
    }

    /// The values of `HGETALL`.
    pub fn hvalues(&mut self, key: usize) -> Result<Vec<Vec<u8>>, Failure> {
        let hash = hash::get(self.key(key)?.as_ref())?;
        let values = hash.into_iter().flat_map(|hash| hash.iter());
        Ok(values
            .map(|(_, text)| text.with_bytes(<[u8]>::to_vec))
            .collect())
    }

    /// `HSET`.
    pub fn hset(&mut self, key: usize, pairs: &[(&[u8], &[u8])]) -> Result<(), Failure> {
        let pairs: Result<Vec<_>, _> = pairs
            .iter()
            .map(|&(field, text)| Text::new(text).map(|text| (field, text)))
            .collect();
        let pairs = pairs?;
        hash::change(self.key(key)?, |hash| hash.set_all(&pairs))?;
        Ok(())
    }

    /// `HINCRBY`, as Lua sees its reply.
    pub fn hincr_by(&mut self, key: usize, field: &[u8], by: i64) -> Result<f64, Failure> {
        Ok(hash::add(self.key(key)?, field, by)? as f64)
    }

    /// `LINDEX` of a place that the script has computed.
    pub fn lindex(&mut self, key: usize, place: f64) -> Result<Option<Vec<u8>>, Failure> {
        // Of a key that does not exist it takes anything for a place.
        let Some(list) = list::get(self.key(key)?.as_ref())? else {
            return Ok(None);
        };
        let text = list.at(integer(&lua::argument(place))?);
        Ok(text.map(|text| text.with_bytes(<[u8]>::to_vec)))
    }

    /// `LRANGE` from place 0 to one that the script has computed.
    pub fn lrange_to(&mut self, key: usize, last: f64) -> Result<Vec<Vec<u8>>, Failure> {
        let last = integer(&lua::argument(last))?;
        let list = list::get(self.key(key)?.as_ref())?;
        let range = list.into_iter().flat_map(|list| list.range(0, last));
        Ok(range.map(|text| text.with_bytes(<[u8]>::to_vec)).collect())
    }

    /// `LPUSH` of one element.
    pub fn lpush(&mut self, key: usize, text: &[u8]) -> Result<(), Failure> {
        let text = Text::new(text)?;
        Ok(list::change(self.key(key)?, |list| list.push_front(text))?)
    }

    /// `LTRIM` to the places from 0 to one that the script has computed.
    pub fn ltrim_to(&mut self, key: usize, last: f64) -> Result<(), Failure> {
        let last = integer(&lua::argument(last))?;
        list::change(self.key(key)?, |list| {
            list.trim(0, last);
            Ok(())
        })?;
        Ok(())
    }

    /// `ZADD` of one member.
    pub fn zadd(&mut self, key: usize, at: &[u8], member: &[u8]) -> Result<(), Failure> {
        let at = score(at)?;
        sorted_set::change(self.key(key)?, |set| set.set(member, at))?;
        Ok(())
    }

    /// `ZCARD`.
    pub fn zcard(&mut self, key: usize) -> Result<usize, Failure> {
        let set = sorted_set::get(self.key(key)?.as_ref())?;
        Ok(set.map_or(0, |set| set.len()))
    }

    /// `ZSCORE`, whether there is one.
    pub fn zhas(&mut self, key: usize, member: &[u8]) -> Result<bool, Failure> {
        let set = sorted_set::get(self.key(key)?.as_ref())?;
        Ok(set.is_some_and(|set| set.score(member).is_some()))
    }

    /// `ZCOUNT`.
    pub fn zcount(&mut self, key: usize, scores: Scores) -> Result<usize, Failure> {
        let set = sorted_set::get(self.key(key)?.as_ref())?;
        Ok(set.map_or(0, |set| set.between(scores).count()))
    }

    /// `ZRANGE` of one place that the script has computed: the member and its score.
    pub fn zat(&mut self, key: usize, place: f64) -> Result<Option<(Vec<u8>, f64)>, Failure> {
        let place = integer(&lua::argument(place))?;
        let set = sorted_set::get(self.key(key)?.as_ref())?;
        let found = set.and_then(|set| set.at_places(place, place).next());
        Ok(found.map(|(member, score)| (member.to_vec(), score.value())))
    }

    /// `ZREMRANGEBYSCORE`.
    pub fn zremove(&mut self, key: usize, scores: Scores) -> Result<(), Failure> {
        sorted_set::remove_between(self.key(key)?, scores)?;
        Ok(())
    }

    /// `ZREMRANGEBYRANK` from place 0 to one that the script has computed.
    pub fn zremove_to(&mut self, key: usize, last: f64) -> Result<(), Failure> {
        let last = integer(&lua::argument(last))?;
        sorted_set::remove_at_places(self.key(key)?, 0, last)?;
        Ok(())
    }
}
