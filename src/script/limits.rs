//! limits (PyPI) of Flask-Limiter and slowapi: fixed and sliding windows. The moving window is in
//! [`super::limits_moving`].

use super::answer::{Answer, Failure};
use super::{Call, Script, lua};
use crate::plain::Expiry;
use crate::plain::text::Condition;

/// The rows.
pub const SCRIPTS: &[Script] = &[
    Script {
        library: "limits",
        name: "fixed window",
        sha1: "628bd136a573a06b346879695681af12ccef300f",
        sha1_without_indents: "95f5d119459f9bea9660e4f956fcbc832896a6c8",
        run: fixed_window,
    },
    Script {
        library: "limits 5",
        name: "acquire of the sliding window",
        sha1: "e8ac2a60cb040b0dbb56815a1e9c6fd032ce62e7",
        sha1_without_indents: "a20a4edd1ca49d0daacc3b2c26eab755dc4f9d6a",
        run: acquire_sliding_window,
    },
    Script {
        library: "limits 5",
        name: "sliding window",
        sha1: "e7a0a27d4101baabb124af209bb0245197a359a1",
        sha1_without_indents: "d99e10102ac4ca55279bab0e2053d91c47ef6132",
        run: sliding_window,
    },
];

const PREVIOUS: usize = 0;
const CURRENT: usize = 1;

/// The fixed window. `KEYS`: the window. `ARGV`: seconds, amount. Replies the sum.
pub fn fixed_window(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let amount = call.number(1).ok_or(Failure::NIL_ARGUMENT)?;
    let sum = call.incr_by(0, &lua::argument(amount))?;
    if sum == amount {
        let seconds = call.argument(0)?;
        call.expire(0, seconds, 1000, "expire")?;
    }
    Ok(Answer::number(sum))
}

/// The sliding window: two counters, of which the older counts by the part of it that is still inside. `KEYS`: the
/// previous and the current window. `ARGV`: limit, seconds, amount. Replies 1, or nothing if it does not fit.
pub fn acquire_sliding_window(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let (limit, amount) = (call.number(0), call.number(2));
    let length = call.operand(1)? * 1000.0;
    let (Some(limit), Some(amount)) = (limit, amount) else {
        return Err(Failure::Lua("attempt to compare nil with number"));
    };
    call.granted = Some(false);
    if amount > limit {
        return Ok(Answer::Nil);
    }
    roll(call, length)?;
    let previous = call.get_number(PREVIOUS)?.unwrap_or(0.0);
    let previous_left = call.pttl(PREVIOUS)?.max(0.0);
    let current = call.get_number(CURRENT)?.unwrap_or(0.0);
    let weighted = (previous * previous_left / length).floor() + current;
    if weighted + amount > limit {
        return Ok(Answer::Nil);
    }
    let amount = lua::argument(amount);
    if call.exists(CURRENT)? {
        call.incr_by(CURRENT, &amount)?;
    } else {
        let expiry = expiry(call, length * 2.0)?;
        call.set(CURRENT, &amount, Condition::Always, expiry)?;
    }
    call.granted = Some(true);
    Ok(Answer::Integer(1))
}

/// Shows the sliding window. `KEYS` as above. `ARGV`: seconds. Replies the counts, as they stand there, and the
/// milliseconds left of both windows.
pub fn sliding_window(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let length = call.operand(0)? * 1000.0;
    // What it replies is read before the windows roll, and again after it.
    call.get(PREVIOUS)?;
    call.get(CURRENT)?;
    roll(call, length)?;
    let mut items = Vec::new();
    for key in [PREVIOUS, CURRENT] {
        items.push(call.get(key)?.map_or(Answer::Nil, Answer::Bulk));
        items.push(Answer::number(call.pttl(key)?));
    }
    Ok(Answer::Array(items))
}

/// Makes the current window the previous one once its first half, of `length` milliseconds, is over.
fn roll(call: &mut Call<'_>, length: f64) -> Result<(), Failure> {
    let left_ms = call.pttl(CURRENT)?;
    if left_ms > 0.0 && left_ms < length {
        call.rename(CURRENT, PREVIOUS)?;
        let expiry = expiry(call, left_ms + length)?;
        call.set(CURRENT, b"0", Condition::Always, expiry)?;
    }
    Ok(())
}

fn expiry(call: &Call<'_>, ms: f64) -> Result<Expiry, Failure> {
    call.expiry(&lua::argument(ms), 1, "set")
}
