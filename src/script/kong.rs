//! Kong's rate-limiting plug-in: fixed windows of hits.

use super::answer::{Answer, Failure};
use super::{Call, lua};

/// Counts a hit. `KEYS`: the window. `ARGV`: seconds. Replies how many there were before.
pub fn usage(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let hits = call.incr_by(0, b"1")?;
    if hits == 1 {
        let seconds = call.argument(0)?;
        call.expire(0, seconds, 1000, "expire")?;
    }
    // The script computes in floats.
    Ok(Answer::Integer(lua::integer(hits as f64 - 1.0)))
}

/// Adds what a node has counted by itself. `KEYS`: the window. `ARGV`: hits, the second since the Unix epoch at which
/// it ends. Replies nothing.
pub fn add(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let hits = call.number(0);
    let existed = call.exists(0)?;
    call.incr_by(0, &lua::argument(hits.ok_or(Failure::NIL_ARGUMENT)?))?;
    if !existed {
        let end = call.argument(1)?;
        call.expire_at(0, end)?;
    }
    Ok(Answer::Nil)
}
