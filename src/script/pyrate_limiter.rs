//! pyrate-limiter (PyPI): a sorted set of times that many rates look at.

use super::answer::{Answer, Failure};
use super::collections::scores;
use super::{Call, Script, lua};
use crate::plain::PlainError;
use crate::plain::collection::ELEMENTS_MAX;

/// The rows.
pub const SCRIPTS: &[Script] = &[Script {
    library: "pyrate-limiter 4.5",
    name: "put",
    sha1: "9cab88b1455f88d9ec955a816bb2da7dab402cdb",
    sha1_without_indents: "0d8650be51852ef324915ea83393d13b14f73670",
    run: put,
}];

/// `KEYS`: the set. `ARGV`: now, how many to put, their name, how many rates, and for each rate the beginning of its
/// window, its limit, and the rank of the entry to wait for (below 0: none). Replies the rate that refuses and the time
/// of that entry, or -1 and -1.
pub fn put(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let (count, rates) = (call.number(1), call.number(3));
    let rates = rates.ok_or(Failure::Lua("'for' limit must be a number"))?;
    let mut rate = 1.0;
    while rate <= rates {
        let at = 4 + (rate as usize - 1) * 3;
        let (begin, limit, rank) = (call.number(at), call.number(at + 1), call.number(at + 2));
        let begin = lua::argument(begin.ok_or(Failure::NIL_ARGUMENT)?);
        let now = call.argument(0)?;
        let held = call.zcount(0, scores(&begin, now)?)? as f64;
        let limit = limit.ok_or(Failure::Lua("attempt to perform arithmetic on a nil value"))?;
        if limit - held < count.ok_or(Failure::Lua("attempt to compare number with nil"))? {
            let rank = rank.ok_or(Failure::Lua("attempt to compare number with nil"))?;
            let blocking = if rank >= 0.0 {
                call.zat(0, -1.0 - rank)?
            } else {
                None
            };
            call.granted = Some(false);
            let time = blocking.map_or(-1.0, |(_, score)| score);
            return Ok(Answer::numbers([rate - 1.0, time]));
        }
        rate += 1.0;
    }
    let count = count.ok_or(Failure::Lua("'for' limit must be a number"))?;
    if count > ELEMENTS_MAX as f64 {
        return Err(PlainError::TooLarge.into());
    }
    let mut number = 1.0;
    while number <= count {
        let name = call
            .argument(2)
            .map_err(|_| Failure::Lua("attempt to concatenate a nil value"))?;
        let member = [name, &lua::text(number)].concat();
        let now = call.argument(0)?;
        call.zadd(0, now, &member)?;
        number += 1.0;
    }
    call.granted = Some(true);
    Ok(Answer::numbers([-1.0, -1.0]))
}
