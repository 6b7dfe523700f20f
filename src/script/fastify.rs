//! @fastify/rate-limit (npm): a fixed window of hits, which can grow with those beyond it.

use super::answer::{Answer, Failure};
use super::{Call, Script, lua};

/// The rows.
pub const SCRIPTS: &[Script] = &[
    Script {
        library: "@fastify/rate-limit 10 and later",
        name: "increment",
        sha1: "b8a19d47785922bb04e7a9fdb49e90d89be1b8af",
        sha1_without_indents: "ef5ad2f51a5533ba9c59f65df4d42bbcbe37bc31",
        run: increment,
    },
    Script {
        library: "@fastify/rate-limit 11",
        name: "peek",
        sha1: "4c7d9ef62b3d4f8efd8d11d5d2fd1a56b1e723bc",
        sha1_without_indents: "bdfe1ab038aa7c67f7b4071dc4491fc0e007c26c",
        run: peek,
    },
    Script {
        library: "@fastify/rate-limit 9",
        name: "increment",
        sha1: "3f481dd9e75a7c63c2facb091af19e1ab17f2cc7",
        sha1_without_indents: "95b09ef604f97f430debde9e6d47e89fce65de80",
        run: increment_9,
    },
];

/// The largest integer that every JavaScript number holds, which no window is longer than.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// Since 10. `KEYS`: the window. `ARGV`: its length in milliseconds, the limit, `true` to begin anew with each hit
/// beyond it, `true` to double its length with each. Replies the hits and the milliseconds left.
pub fn increment(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let (window, limit) = (call.number(0), call.number(1));
    let (continues, doubles) = (is_true(call, 2), is_true(call, 3));
    let hits = call.incr_by(0, b"1")?;
    call.granted = limit.map(|limit| hits <= limit);
    let beyond = |limit: Option<f64>| match limit {
        Some(limit) => Ok(hits > limit),
        None => Err(Failure::Lua("attempt to compare nil with number")),
    };
    let window = if hits == 1.0 || (continues && beyond(limit)?) {
        window.ok_or(Failure::NIL_ARGUMENT)?
    } else if doubles && beyond(limit)? {
        let exponent = hits - limit.unwrap_or(0.0) - 1.0;
        let window = window.ok_or(Failure::Lua("attempt to perform arithmetic on a nil value"))?;
        lua::min(window * exponent.exp2(), MAX_SAFE_INTEGER)
    } else {
        let left_ms = call.pttl(0)?;
        return Ok(Answer::numbers([hits, left_ms]));
    };
    call.expire(0, &lua::argument(window), 1, "pexpire")?;
    Ok(Answer::numbers([hits, window]))
}

/// Version 9. `ARGV`: the length, the limit, how many beyond it ban (-1: none do), `true` to begin anew with each beyond it.
/// Replies the hits, the milliseconds left, and whether it bans.
pub fn increment_9(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let (window, limit, ban) = (call.number(0), call.number(1), call.number(2));
    let continues = is_true(call, 3);
    let hits = call.incr_by(0, b"1")?;
    call.granted = limit.map(|limit| hits <= limit);
    let mut left_ms = call.pttl(0)?;
    let compared = Failure::Lua("attempt to compare nil with number");
    let begins = left_ms == -1.0 || (continues && hits > limit.ok_or_else(|| compared.clone())?);
    if begins {
        let window = window.ok_or(Failure::NIL_ARGUMENT)?;
        call.expire(0, &lua::argument(window), 1, "pexpire")?;
        left_ms = window;
    }
    let bans = match (ban, limit) {
        (Some(-1.0), _) => false,
        (Some(ban), Some(limit)) => hits - limit > ban,
        (None, Some(_)) => return Err(compared),
        (_, None) => {
            return Err(Failure::Lua("attempt to perform arithmetic on a nil value"));
        }
    };
    let bans = if bans {
        Answer::Integer(1)
    } else {
        Answer::Nil
    };
    Ok(Answer::Array(vec![
        Answer::number(hits),
        Answer::number(left_ms),
        bans,
    ]))
}

/// Since 11. Replies the hits and the milliseconds left, and changes nothing.
pub fn peek(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let Some(text) = call.get(0)? else {
        return Ok(Answer::numbers([0.0, 0.0]));
    };
    let left_ms = call.pttl(0)?.max(0.0);
    // A table ends before its first nil.
    Ok(match lua::number(&text) {
        Some(hits) => Answer::numbers([hits, left_ms]),
        None => Answer::Array(Vec::new()),
    })
}

fn is_true(call: &Call<'_>, index: usize) -> bool {
    call.arguments
        .get(index)
        .is_some_and(|word| *word == b"true")
}
