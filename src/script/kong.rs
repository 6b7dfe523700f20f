//! Kong's rate-limiting plug-in: fixed windows of hits.

use super::answer::{Answer, Failure};
use super::{Call, Script, lua};

/// The rows.
pub const SCRIPTS: &[Script] = &[
    Script {
        library: "Kong",
        name: "usage",
        sha1: "c0c8112b7b72f6e62996d9728dce30fac38286b6",
        sha1_without_indents: "e591f5bd47dc25fc53c49cb9b4261bc5938cd9fe",
        run: usage,
    },
    Script {
        library: "Kong",
        name: "add",
        sha1: "5d30863604236a151eb61aae06fd7c8ba051d3e0",
        sha1_without_indents: "c0d423d6150582385c85967982b594bd2c1abaee",
        run: add,
    },
];

/// Counts a hit. `KEYS`: the window. `ARGV`: seconds. Replies how many there were before.
pub fn usage(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let hits = call.incr_by(0, b"1")?;
    if hits == 1.0 {
        let seconds = call.argument(0)?;
        call.expire(0, seconds, 1000, "expire")?;
    }
    Ok(Answer::number(hits - 1.0))
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
