//! redis_rate (Go), v10: GCRA with the theoretical arrival time in a string, in seconds since 2017.

use super::answer::{Answer, Failure};
use super::{Call, Script, lua};
use crate::plain::text::Condition;

/// The rows.
pub const SCRIPTS: &[Script] = &[
    Script {
        library: "redis_rate 10",
        name: "allow",
        sha1: "f52a5b566060d79fd321d695df55bc918339c4aa",
        sha1_without_indents: "f0cb026eb514964ea37b87de09904274ec83d63f",
        run: allow,
    },
    Script {
        library: "redis_rate 10",
        name: "allow at most",
        sha1: "054143318f521948424aa25df61d7f7ba835a9d7",
        sha1_without_indents: "a2125fc4c22b18bac440b87b19a76122c574a95e",
        run: allow_at_most,
    },
];

/// The first second of 2017, since the Unix epoch: near it, floats of seconds resolve microseconds.
const EPOCH_S: f64 = 1_483_228_800.0;

/// What both scripts begin with, in seconds.
struct State {
    interval: f64,
    burst_offset: f64,
    cost: Option<f64>,
    now: f64,
    arrival: f64,
}

impl State {
    /// `KEYS`: the limit. `ARGV`: burst, rate, period in seconds, cost.
    fn read(call: &mut Call<'_>) -> Result<Self, Failure> {
        let interval = call.operand(2)? / call.operand(1)?;
        let burst_offset = interval * call.operand(0)?;
        let cost = call.number(3);
        let time_us = call.time_us();
        let (seconds, microseconds) = (time_us / 1_000_000, time_us % 1_000_000);
        let now = (seconds as f64 - EPOCH_S) + microseconds as f64 / 1_000_000.0;
        let arrival = match call.get(0)? {
            Some(text) => lua::number(&text).ok_or(Failure::Lua(
                "bad argument #1 to 'max' (number expected, got nil)",
            ))?,
            None => now,
        };
        let arrival = lua::max(arrival, now);
        Ok(Self {
            interval,
            burst_offset,
            cost,
            now,
            arrival,
        })
    }

    fn save(&self, call: &mut Call<'_>, arrival: f64) -> Result<f64, Failure> {
        let reset_after = arrival - self.now;
        if reset_after > 0.0 {
            let expiry = call.expiry(&lua::argument(reset_after.ceil()), 1000, "set")?;
            call.set(0, &lua::argument(arrival), Condition::Always, expiry)?;
        }
        Ok(reset_after)
    }
}

/// All or nothing. Replies what is allowed, what remains, seconds to retry after (-1 if allowed) and to the reset.
pub fn allow(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let state = State::read(call)?;
    let cost = state
        .cost
        .ok_or(Failure::Lua("attempt to perform arithmetic on a nil value"))?;
    let arrival = state.arrival + state.interval * cost;
    let allow_at = arrival - state.burst_offset;
    let difference = state.now - allow_at;
    let remaining = difference / state.interval;
    // A cost of nothing only looks.
    call.granted = (cost > 0.0).then_some(remaining >= 0.0);
    if remaining < 0.0 {
        return Ok(reply(0.0, 0.0, -difference, state.arrival - state.now));
    }
    let reset_after = state.save(call, arrival)?;
    Ok(reply(cost, remaining, -1.0, reset_after))
}

/// As much as there is. Replies the same.
pub fn allow_at_most(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let state = State::read(call)?;
    let difference = state.now - (state.arrival - state.burst_offset);
    let mut remaining = difference / state.interval;
    call.granted = Some(remaining >= 1.0);
    if remaining < 1.0 {
        let retry_after = state.interval - difference;
        return Ok(reply(0.0, 0.0, retry_after, state.arrival - state.now));
    }
    let mut cost = state
        .cost
        .ok_or(Failure::Lua("attempt to compare number with nil"))?;
    if remaining < cost {
        (cost, remaining) = (remaining, 0.0);
    } else {
        remaining -= cost;
    }
    let reset_after = state.save(call, state.arrival + state.interval * cost)?;
    Ok(reply(cost, remaining, -1.0, reset_after))
}

fn reply(allowed: f64, remaining: f64, retry_after: f64, reset_after: f64) -> Answer {
    Answer::Array(vec![
        Answer::number(allowed),
        Answer::number(remaining),
        Answer::Bulk(lua::text(retry_after)),
        Answer::Bulk(lua::text(reset_after)),
    ])
}
