//! rate-limiter-flexible (npm), RateLimiterRedis: a fixed window that counts points.

use super::answer::{Answer, Failure};
use super::{Call, Script};
use crate::plain::text::Condition;

/// The rows.
pub const SCRIPTS: &[Script] = &[Script {
    library: "rate-limiter-flexible",
    name: "consume",
    sha1: "a1de965f42e177aa339706bd580f049065eca79a",
    sha1_without_indents: "a1de965f42e177aa339706bd580f049065eca79a",
    run: consume,
}];

/// `KEYS`: the window. `ARGV`: points, seconds. Replies the points consumed and the milliseconds left.
pub fn consume(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let seconds = call.argument(1)?;
    let expiry = call.expiry(seconds, 1000, "set")?;
    call.set(0, b"0", Condition::Absent, expiry)?;
    let points = call.argument(0)?;
    let consumed = call.incr_by(0, points)?;
    let mut left_ms = call.pttl(0)?;
    // A key without an end is one that somebody else has set.
    if left_ms == -1.0 {
        call.expire(0, seconds, 1000, "expire")?;
        left_ms = 1000.0 * call.operand(1)?;
    }
    Ok(Answer::numbers([consumed, left_ms]))
}
