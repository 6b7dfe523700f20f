//! throttled (Go), v2: compare-and-swap.

use super::Call;
use super::answer::{Answer, Failure};
use crate::plain::Expiry;
use crate::plain::text::Condition;

/// With go-redis. `KEYS`: the value. `ARGV`: what it must be, what it becomes, seconds to keep it. Replies 1, or 0 if
/// it is another. The library looks for the text of the error.
pub fn compare_and_swap(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let Some(value) = call.get(0)? else {
        return Err(Failure::Redis("key does not exist".into()));
    };
    if call.arguments.first() != Some(&&*value) {
        return Ok(Answer::Integer(0));
    }
    let (value, seconds) = (call.argument(1)?, call.argument(2)?);
    let expiry = call.expiry(seconds, 1000, "setex")?;
    call.set(0, value, Condition::Always, expiry)?;
    Ok(Answer::Integer(1))
}

/// With redigo: 0 seconds keep it for ever.
pub fn compare_and_swap_or_keep(call: &mut Call<'_>) -> Result<Answer, Failure> {
    if call.arguments.get(2) != Some(&&b"0"[..]) {
        return compare_and_swap(call);
    }
    let Some(value) = call.get(0)? else {
        return Err(Failure::Redis("key does not exist".into()));
    };
    let is_as_told = call.arguments.first() == Some(&&*value);
    if is_as_told {
        let value = call.argument(1)?;
        call.set(0, value, Condition::Always, Expiry::Clear)?;
    }
    Ok(Answer::Integer(i64::from(is_as_told)))
}
