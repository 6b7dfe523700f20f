//! ulule/limiter (Go), v3: a fixed window of hits.

use super::answer::{Answer, Failure};
use super::{Call, Script, lua};

/// The rows.
pub const SCRIPTS: &[Script] = &[
    Script {
        library: "ulule/limiter 3",
        name: "increment",
        sha1: "f74233f556d3f99c50b61169cf8aa8d5deb63fb2",
        sha1_without_indents: "473ecc4462310992448f225775d8fe9caef68946",
        run: increment,
    },
    Script {
        library: "ulule/limiter 3",
        name: "peek",
        sha1: "566f5c6a17e5fddb9a10bf389f754edd0d899c61",
        sha1_without_indents: "904c0ecc4c8120d952c733e552d13211be0a26ed",
        run: peek,
    },
];

/// `KEYS`: the window. `ARGV`: hits, length in milliseconds. Replies the sum and the milliseconds left.
pub fn increment(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let (hits, length) = (call.number(0), call.number(1));
    let by = call.argument(0)?;
    let sum = call.incr_by(0, by)?;
    if Some(sum) != hits {
        return Ok(Answer::numbers([sum, call.pttl(0)?]));
    }
    let length = length.ok_or(Failure::Lua("attempt to compare number with nil"))?;
    if length > 0.0 {
        let ms = call.argument(1)?;
        call.expire(0, ms, 1, "pexpire")?;
    }
    Ok(Answer::numbers([sum, length]))
}

/// Replies the hits and the milliseconds left, and changes nothing.
pub fn peek(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let Some(hits) = call.get(0)? else {
        return Ok(Answer::numbers([0.0, 0.0]));
    };
    let left_ms = call.pttl(0)?;
    // A table ends before its first nil.
    Ok(match lua::number(&hits) {
        Some(hits) => Answer::numbers([hits, left_ms]),
        None => Answer::Array(Vec::new()),
    })
}
