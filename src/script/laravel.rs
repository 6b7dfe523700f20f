//! Laravel (PHP): cache locks and counters, limiters of concurrency. Those of durations are in
//! [`super::laravel_duration`].

use super::answer::{Answer, Failure};
use super::{Call, Script, lua};
use crate::plain::text::Condition;

/// The rows.
pub const SCRIPTS: &[Script] = &[
    Script {
        library: "Laravel",
        name: "add to the cache",
        sha1: "a08c9c69b7c07ae2485190873b90d128a23e502d",
        sha1_without_indents: "a08c9c69b7c07ae2485190873b90d128a23e502d",
        run: add,
    },
    Script {
        library: "Laravel",
        name: "concurrency lock",
        sha1: "420ca604de4310d8301943a71390ee669720d640",
        sha1_without_indents: "38b09e99649e267dbd50195c74d3830b800e6064",
        run: lock,
    },
    Script {
        library: "Laravel",
        name: "concurrency count",
        sha1: "817a53172668fd358fc83b7f104147cccda1c466",
        sha1_without_indents: "eb042f65fa7abee0f709a77fa78b1b571d04d6ff",
        run: count,
    },
];

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
        call.granted = Some(true);
        return Ok(Answer::Bulk([name, &number].concat()));
    }
    if call.places.is_empty() {
        return Err(Failure::Redis(
            "ERR Wrong number of args calling Redis command from script".into(),
        ));
    }
    call.granted = Some(false);
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
