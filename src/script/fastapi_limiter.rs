//! fastapi-limiter (PyPI), 0.1: a fixed window of hits.

use super::answer::{Answer, Failure};
use super::{Call, Script, lua};
use crate::plain::text::Condition;

/// The rows.
pub const SCRIPTS: &[Script] = &[Script {
    library: "fastapi-limiter 0.1",
    name: "hit",
    sha1: "a3f9e982197e9e887f6b5dcb7ec273863bb83aad",
    sha1_without_indents: "82ce941bd2be9e135204ee71e67be5d87c6410fe",
    run: hit,
}];

/// `KEYS`: the window. `ARGV`: limit, length in milliseconds. Replies 0, or the milliseconds left if it is full.
pub fn hit(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let limit = call.number(0);
    let hits = match call.get(0)? {
        Some(text) => lua::number(&text),
        None => Some(0.0),
    };
    let hits = hits.ok_or(Failure::Lua("attempt to compare number with nil"))?;
    if hits > 0.0 {
        if hits + 1.0 > limit.ok_or(Failure::Lua("attempt to compare nil with number"))? {
            call.granted = Some(false);
            return Ok(Answer::number(call.pttl(0)?));
        }
        call.incr_by(0, b"1")?;
    } else {
        let length = call.argument(1)?;
        let expiry = call.expiry(length, 1, "set")?;
        call.set(0, b"1", Condition::Always, expiry)?;
    }
    call.granted = Some(true);
    Ok(Answer::Integer(0))
}
