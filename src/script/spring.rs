//! Spring Cloud Gateway's RedisRateLimiter: a token bucket in two strings, in whole seconds.

use super::answer::{Answer, Failure};
use super::{Call, Script, lua};
use crate::plain::text::Condition;

/// The rows.
pub const SCRIPTS: &[Script] = &[Script {
    library: "Spring Cloud Gateway",
    name: "take",
    sha1: "0ad5736ed1c04aae6ec194376c784b89b8c08a7a",
    sha1_without_indents: "78365cbd621cd16600d2c31e54df4c6545acd429",
    run: take,
}];

const TOKENS: usize = 0;
const TIMESTAMP: usize = 1;

/// `KEYS`: tokens, timestamp. `ARGV`: tokens a second, capacity, now in seconds (or nothing: the server's), tokens
/// asked for. Replies 1 or 0, and the tokens left.
pub fn take(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let (capacity, rate) = (call.operand(1)?, call.operand(0)?);
    let keep_s = (capacity / rate * 2.0).floor();
    let now = match call.number(2) {
        Some(now) => now,
        None => (call.time_us() / 1_000_000) as f64,
    };
    let tokens = call.get_number(TOKENS)?.unwrap_or(capacity);
    let refreshed = call.get_number(TIMESTAMP)?.unwrap_or(0.0);
    let passed = lua::max(0.0, now - refreshed);
    let filled = lua::min(capacity, tokens + passed * rate);
    let asked = call
        .number(3)
        .ok_or(Failure::Lua("attempt to compare nil with number"))?;
    let allowed = filled >= asked;
    call.granted = Some(allowed);
    let left = if allowed { filled - asked } else { filled };
    if keep_s > 0.0 {
        let expiry = call.expiry(&lua::argument(keep_s), 1000, "setex")?;
        call.set(TOKENS, &lua::argument(left), Condition::Always, expiry)?;
        call.set(TIMESTAMP, &lua::argument(now), Condition::Always, expiry)?;
    }
    Ok(Answer::numbers([f64::from(allowed), left]))
}
