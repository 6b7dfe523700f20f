//! async-ratelimiter (npm) of koa-ratelimit: a sorted set of times, in microseconds of the client's clock.

use super::answer::{Answer, Failure};
use super::collections::scores;
use super::{Call, Script, lua};

/// The rows.
pub const SCRIPTS: &[Script] = &[Script {
    library: "async-ratelimiter, koa-ratelimit 6",
    name: "hit",
    sha1: "ad00ff6f099013f2aea94ed48c220cbf616c6a07",
    sha1_without_indents: "d2de9e0933003d829b9e09d468e9cac72c52a3e3",
    run: hit,
}];

/// `KEYS`: the set. `ARGV`: now, the window, the limit, `1` to look only. Replies what was left, the millisecond at
/// which it resets, and the limit.
pub fn hit(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let limit = call.number(2);
    let looks = call.arguments.get(3).is_some_and(|word| *word == b"1");
    let (now, length) = (call.operand(0)?, call.operand(1)?);
    let (mut count, mut oldest) = (0.0, Some(now));
    if call.exists(0)? {
        call.zremove(0, scores(b"0", &lua::argument(now - length))?)?;
        count = call.zcard(0)? as f64;
        if count > 0.0 {
            oldest = call
                .zat(0, 0.0)?
                .and_then(|(member, _)| lua::number(&member));
        }
    }
    const NO_NUMBER: Failure = Failure::Lua("attempt to perform arithmetic on a nil value");
    let limit = limit.ok_or(NO_NUMBER)?;
    let left = limit - count;
    let reply = |left: f64, oldest: Option<f64>| {
        let reset_us = oldest.ok_or(NO_NUMBER)? + length;
        let numbers = [left, (reset_us / 1000.0).floor(), limit];
        Ok(Answer::numbers(numbers))
    };
    if !looks {
        call.granted = Some(left > 0.0);
    }
    if left <= 0.0 {
        return reply(0.0, oldest);
    }
    if !looks {
        let now = lua::argument(now);
        call.zadd(0, &now, &now)?;
        // Below its limit there is nothing that the script would trim.
        reply(left, oldest)?;
        call.expire(0, &lua::argument(length), 1, "pexpire")?;
    }
    reply(left, oldest)
}
