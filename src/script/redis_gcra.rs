//! redis-gcra (npm): GCRA with the theoretical arrival time in a string, in milliseconds of the client's clock.

use super::answer::{Answer, Failure};
use super::{Call, Script, lua};
use crate::plain::text::Condition;

/// The rows.
pub const SCRIPTS: &[Script] = &[Script {
    library: "redis-gcra (npm)",
    name: "limit",
    sha1: "868f66d2db4929999a50c5ed5f57985f3cff7461",
    sha1_without_indents: "e03cd3098154a4d664561972ec23220774ef8156",
    run: limit,
}];

/// `KEYS`: the limit. `ARGV`: now, burst, rate, period in milliseconds, cost. Replies 1 if limited or 0, what remains,
/// milliseconds to retry and to the reset, and the last two of its computation.
pub fn limit(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let interval = call.operand(3)? / call.operand(2)?;
    let increment = interval * call.operand(4)?;
    let burst_offset = interval * call.operand(1)?;
    let now = call.number(0);
    let stored = call.get(0)?;
    const NO_NUMBER: Failure = Failure::Lua("bad argument to 'max' (number expected)");
    let now = now.ok_or(NO_NUMBER)?;
    let arrival = match stored {
        Some(text) => lua::number(&text).ok_or(NO_NUMBER)?,
        None => now,
    };
    let arrival = lua::max(arrival, now);
    let next = arrival + increment;
    let difference = now - (next - burst_offset);
    let remaining = (difference / interval).floor();
    let (limited, remaining, retry, reset) = if remaining < 0.0 {
        let there = ((now - (arrival - burst_offset)) / interval).floor();
        (1, there, (-difference).ceil(), (arrival - now).ceil())
    } else if remaining == 0.0 && increment <= 0.0 {
        (1, 0.0, 0.0, (arrival - now).ceil())
    } else {
        let reset = (next - now).ceil();
        if increment > 0.0 {
            let expiry = call.expiry(&lua::argument(reset), 1, "set")?;
            call.set(0, &lua::argument(next), Condition::Always, expiry)?;
        }
        (0, remaining, 0.0, reset)
    };
    // A cost of nothing only looks.
    call.granted = (increment > 0.0).then_some(limited == 0);
    Ok(Answer::Array(vec![
        Answer::Integer(limited),
        Answer::number(remaining),
        Answer::number(retry),
        Answer::number(reset),
        Answer::Bulk(lua::text(difference)),
        Answer::Bulk(lua::text(interval)),
    ]))
}
