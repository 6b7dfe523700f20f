//! django-redis (PyPI): the cache's `incr`.

use super::Call;
use super::answer::{Answer, Failure};

/// `KEYS`: the counter. `ARGV`: by how much. Replies the sum, or nothing if there is no counter.
pub fn increment(call: &mut Call<'_>) -> Result<Answer, Failure> {
    if !call.exists(0)? {
        return Ok(Answer::Nil);
    }
    increment_or_create(call)
}

/// The same, also for a counter that does not exist.
pub fn increment_or_create(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let by = call.argument(0)?;
    Ok(Answer::Integer(call.incr_by(0, by)?))
}
