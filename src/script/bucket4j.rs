//! bucket4j (Java): a state that only the library reads, kept by compare-and-swap.

use super::Call;
use super::answer::{Answer, Failure};
use crate::plain::Expiry;
use crate::plain::text::Condition;

/// `KEYS`: the bucket. `ARGV`: its state, milliseconds to keep it. Replies 1, or 0 if there is one already.
pub fn create_for(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let ms = call.argument(1)?;
    let expiry = call.expiry(ms, 1, "set")?;
    create_with(call, expiry)
}

/// The same without an end.
pub fn create(call: &mut Call<'_>) -> Result<Answer, Failure> {
    create_with(call, Expiry::Clear)
}

fn create_with(call: &mut Call<'_>, expiry: Expiry) -> Result<Answer, Failure> {
    let state = call.argument(0)?;
    let set = call.set(0, state, Condition::Absent, expiry)?;
    Ok(Answer::Integer(i64::from(set)))
}

/// `KEYS`: the bucket. `ARGV`: the state it must have, the new one, milliseconds to keep it. Replies 1, or 0 if it
/// has another.
pub fn replace_for(call: &mut Call<'_>) -> Result<Answer, Failure> {
    if !is_as_told(call)? {
        return Ok(Answer::Integer(0));
    }
    let (ms, state) = (call.argument(2)?, call.argument(1)?);
    let expiry = call.expiry(ms, 1, "psetex")?;
    call.set(0, state, Condition::Always, expiry)?;
    Ok(Answer::Integer(1))
}

/// The same without an end.
pub fn replace(call: &mut Call<'_>) -> Result<Answer, Failure> {
    if !is_as_told(call)? {
        return Ok(Answer::Integer(0));
    }
    let state = call.argument(1)?;
    call.set(0, state, Condition::Always, Expiry::Clear)?;
    Ok(Answer::Integer(1))
}

fn is_as_told(call: &mut Call<'_>) -> Result<bool, Failure> {
    let state = call.get(0)?;
    Ok(state.is_some_and(|state| call.arguments.first() == Some(&&*state)))
}
