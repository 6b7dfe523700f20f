//! rate-limit-redis (npm) of express-rate-limit, and hono-rate-limiter's store: a fixed window of hits.

use super::answer::{Answer, Failure};
use super::{Call, Script, lua};
use crate::plain::text::Condition;

/// The rows.
pub const SCRIPTS: &[Script] = &[
    Script {
        library: "rate-limit-redis 6",
        name: "increment",
        sha1: "895b92e1712734e1b464999be23953485475357b",
        sha1_without_indents: "895b92e1712734e1b464999be23953485475357b",
        run: increment,
    },
    Script {
        library: "rate-limit-redis 3 to 4.2.0, hono-rate-limiter",
        name: "increment",
        sha1: "3f424a504987d231baa2e19159bb5def8ad32f87",
        sha1_without_indents: "3f424a504987d231baa2e19159bb5def8ad32f87",
        run: increment_3,
    },
    Script {
        library: "rate-limit-redis, hono-rate-limiter",
        name: "get",
        sha1: "6aeb97ed6086dcdeafdc6fda3999a0d0e38ec96a",
        sha1_without_indents: "6aeb97ed6086dcdeafdc6fda3999a0d0e38ec96a",
        run: get,
    },
    Script {
        library: "rate-limit-redis 4.2.3 to 5",
        name: "increment",
        sha1: "81dbecea94d2d10514719b20ed51faf711529d9d",
        sha1_without_indents: "81dbecea94d2d10514719b20ed51faf711529d9d",
        run: increment_4_2_3,
    },
];

/// Since 6.0. `KEYS`: the window. `ARGV`: its length in milliseconds. Replies the hits and the milliseconds left.
pub fn increment(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let left_ms = call.pttl(0)?;
    if left_ms <= 0.0 {
        return begin(call, 0);
    }
    let hits = call.incr_by(0, b"1")?;
    Ok(Answer::numbers([hits, left_ms]))
}

/// 4.2.3 to 5. `ARGV`: `1` to begin anew with each hit, the length.
pub fn increment_4_2_3(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let left_ms = call.pttl(0)?;
    if left_ms <= 0.0 {
        return begin(call, 1);
    }
    let hits = call.incr_by(0, b"1")?;
    if resets(call) {
        return prolong(call, hits);
    }
    Ok(Answer::numbers([hits, left_ms]))
}

/// Up to 4.2.0. `ARGV` as in 4.2.3.
pub fn increment_3(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let hits = call.incr_by(0, b"1")?;
    let left_ms = call.pttl(0)?;
    if left_ms <= 0.0 || resets(call) {
        return prolong(call, hits);
    }
    Ok(Answer::numbers([hits, left_ms]))
}

/// Replies the hits, as they stand there, and the milliseconds left.
pub fn get(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let hits = call.get(0)?.map_or(Answer::Nil, Answer::Bulk);
    Ok(Answer::Array(vec![hits, Answer::number(call.pttl(0)?)]))
}

fn resets(call: &Call<'_>) -> bool {
    call.arguments.first().is_some_and(|word| *word == b"1")
}

/// The first hit of a window whose length is an argument.
fn begin(call: &mut Call<'_>, length: usize) -> Result<Answer, Failure> {
    let window = call.number(length).ok_or(Failure::NIL_ARGUMENT)?;
    let expiry = call.expiry(&lua::argument(window), 1, "set")?;
    call.set(0, b"1", Condition::Always, expiry)?;
    Ok(Answer::numbers([1.0, window]))
}

fn prolong(call: &mut Call<'_>, hits: f64) -> Result<Answer, Failure> {
    let window = call.number(1).ok_or(Failure::NIL_ARGUMENT)?;
    call.expire(0, &lua::argument(window), 1, "pexpire")?;
    Ok(Answer::numbers([hits, window]))
}
