//! throttled (Go), v2: compare-and-swap.

use super::answer::{Answer, Failure};
use super::{Call, Script};
use crate::plain::Expiry;
use crate::plain::text::Condition;

/// The rows.
pub const SCRIPTS: &[Script] = &[
    Script {
        library: "throttled 2, go-redis",
        name: "compare and swap",
        sha1: "ebd682e30de074a6919bde872b507734c7c3ebe5",
        sha1_without_indents: "d8dc9188888310062cd7d11f894c0914e589e5cb",
        run: compare_and_swap,
    },
    Script {
        library: "throttled 2, redigo",
        name: "compare and swap",
        sha1: "6bdec824e189de50c67af6376ce88933ad7728a3",
        sha1_without_indents: "a9d9f3599e607a4664d77c691da0718bb2cd3a8f",
        run: compare_and_swap_or_keep,
    },
];

/// With go-redis. `KEYS`: the value. `ARGV`: what it must be, what it becomes, seconds to keep it. Replies 1, or 0 if
/// it is another. The library looks for the text of the error.
pub fn compare_and_swap(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let Some(value) = call.get(0)? else {
        return Err(Failure::Redis("key does not exist".into()));
    };
    if call.arguments.first() != Some(&&*value) {
        return Ok(Answer::Integer(0));
    }
    let (value, seconds) = (call.argument(1)?, call.argument(2)?);
    let expiry = call.expiry(seconds, 1000, "setex")?;
    call.set(0, value, Condition::Always, expiry)?;
    Ok(Answer::Integer(1))
}

/// With redigo: 0 seconds keep it for ever.
pub fn compare_and_swap_or_keep(call: &mut Call<'_>) -> Result<Answer, Failure> {
    if call.arguments.get(2) != Some(&&b"0"[..]) {
        return compare_and_swap(call);
    }
    let Some(value) = call.get(0)? else {
        return Err(Failure::Redis("key does not exist".into()));
    };
    let is_as_told = call.arguments.first() == Some(&&*value);
    if is_as_told {
        let value = call.argument(1)?;
        call.set(0, value, Condition::Always, Expiry::Clear)?;
    }
    Ok(Answer::one_or_zero(is_as_told))
}
