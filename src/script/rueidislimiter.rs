//! rueidislimiter (Go): a fixed window of hits, whose end stands in a second key, by the client's clock.

use super::answer::{Answer, Failure};
use super::{Call, Script, lua};
use crate::plain::text::Condition;

/// The rows.
pub const SCRIPTS: &[Script] = &[Script {
    library: "rueidislimiter",
    name: "allow",
    sha1: "1e1bbf02a27d9ef5fb53afd337a22928e4e748f5",
    sha1_without_indents: "2dc1d2188ad9b8028941ae82bf3218a6580e39a4",
    run: allow,
}];

const HITS: usize = 0;
const END: usize = 1;

/// `KEYS`: the hits, the end of the window. `ARGV`: hits, the millisecond at which a window that begins now ends, now.
/// Replies the sum and the end.
pub fn allow(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let (hits, next_end, now) = (call.number(0), call.number(1), call.number(2));
    let mut end = call.get_number(END)?;
    let is_over = match (end, now) {
        (None, _) => true,
        (Some(end), Some(now)) => end < now,
        (Some(_), None) => return Err(Failure::Lua("attempt to compare number with nil")),
    };
    if is_over {
        let next = next_end.ok_or(Failure::Lua("attempt to perform arithmetic on a nil value"))?;
        let expiry = call.expiry_at(&lua::argument(next + 1000.0), "set")?;
        call.set(HITS, b"0", Condition::Always, expiry)?;
        call.set(END, &lua::argument(next), Condition::Always, expiry)?;
        end = Some(next);
    }
    let hits = lua::argument(hits.ok_or(Failure::NIL_ARGUMENT)?);
    let sum = call.incr_by(HITS, &hits)?;
    Ok(Answer::numbers([Some(sum), end].into_iter().flatten()))
}
