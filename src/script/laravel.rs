//! Laravel (PHP): cache locks and counters, limiters of concurrency.

use super::answer::{Answer, Failure};
use super::{Call, lua};
use crate::plain::text::Condition;

/// The cache's `add`. `KEYS`: the entry. `ARGV`: its value, seconds to keep it. Replies OK, or nothing if there is one.
pub fn add(call: &mut Call<'_>) -> Result<Answer, Failure> {
    if call.exists(0)? {
        return Ok(Answer::Nil);
    }
    let (value, seconds) = (call.argument(0)?, call.argument(1)?);
    let expiry = call.expiry(seconds, 1000, "setex")?;
    call.set(0, value, Condition::Always, expiry)?;
    Ok(Answer::Status("OK"))
}

/// A lock of the concurrency limiter. `KEYS`: its places. `ARGV`: its name, seconds to hold one, who holds it.
/// Replies the name and number of the first place that is free, or nothing.
pub fn lock(call: &mut Call<'_>) -> Result<Answer, Failure> {
    for place in 0..call.places.len() {
        // What holds no string counts as nothing, as in MGET.
        if call.get(place).is_ok_and(|holder| holder.is_some()) {
            continue;
        }
        let (holder, seconds) = (call.argument(2)?, call.argument(1)?);
        let expiry = call.expiry(seconds, 1000, "set")?;
        call.set(place, holder, Condition::Always, expiry)?;
        let name = call
            .argument(0)
            .map_err(|_| Failure::Lua("attempt to concatenate a nil value"))?;
        let number = lua::text((place + 1) as f64);
        return Ok(Answer::Bulk([name, &number].concat()));
    }
    if call.places.is_empty() {
        return Err(Failure::Redis(
            "ERR Wrong number of args calling Redis command from script".into(),
        ));
    }
    Ok(Answer::Nil)
}

/// Counts the places that are held. `KEYS`: all of them.
pub fn count(call: &mut Call<'_>) -> Result<Answer, Failure> {
    if call.places.is_empty() {
        return Err(Failure::Redis(
            "ERR Wrong number of args calling Redis command from script".into(),
        ));
    }
    let held = (0..call.places.len())
        .filter(|&place| call.get(place).is_ok_and(|holder| holder.is_some()));
    Ok(Answer::Integer(held.count() as i64))
}

/// Releases a lock. `KEYS`: the lock. `ARGV`: who must hold it. Replies 1, or 0 if it is another's.
pub fn release(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let holder = call.get(0)?;
    let is_ours = holder.is_some_and(|holder| call.arguments.first() == Some(&&*holder));
    Ok(Answer::Integer(i64::from(is_ours && call.delete(0)?)))
}
