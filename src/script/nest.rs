//! The Redis stores of NestJS's throttler (npm: @nest-lab/throttler-storage-redis, nestjs-throttler-storage-redis): a
//! window of hits, and a block for those beyond it.

use super::answer::{Answer, Failure};
use super::{Call, Script, lua};
use crate::plain::text::Condition;

/// The rows.
pub const SCRIPTS: &[Script] = &[Script {
    library: "@nest-lab/throttler-storage-redis, nestjs-throttler-storage-redis",
    name: "hit",
    sha1: "f1e0da9c495676ab6904eb80db1f2811d5347f58",
    sha1_without_indents: "f1e0da9c495676ab6904eb80db1f2811d5347f58",
    run: hit,
}];

const HITS: usize = 0;
const BLOCK: usize = 1;

/// `KEYS`: the hits, the block. `ARGV`: a name, the window in milliseconds, the limit, the block in milliseconds.
/// Replies the hits, the milliseconds left of the window, 1 if blocked, the milliseconds left of the block.
pub fn hit(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let (window, limit, block) = (call.number(1), call.number(2), call.number(3));
    let window = || window.ok_or(Failure::NIL_ARGUMENT);
    let mut hits = call.incr_by(HITS, b"1")?;
    let mut left_ms = call.pttl(HITS)?;
    if left_ms <= 0.0 {
        call.expire(HITS, &lua::argument(window()?), 1, "pexpire")?;
        left_ms = window()?;
    }
    let mut blocked = call.get(BLOCK)?.is_some();
    let mut block_left = 0.0;
    if blocked {
        block_left = call.pttl(BLOCK)?;
    } else if hits > limit.ok_or(Failure::Lua("attempt to compare nil with number"))? {
        let block = block.ok_or(Failure::NIL_ARGUMENT)?;
        let expiry = call.expiry(&lua::argument(block), 1, "set")?;
        call.set(BLOCK, b"1", Condition::Always, expiry)?;
        (blocked, block_left) = (true, block);
    }
    // A block without an end is not one of this script's: it ends, and the window begins anew.
    if blocked && block_left <= 0.0 {
        call.delete(BLOCK)?;
        let expiry = call.expiry(&lua::argument(window()?), 1, "set")?;
        call.set(HITS, b"1", Condition::Always, expiry)?;
        (hits, left_ms, blocked) = (1.0, window()?, false);
    }
    let block_left_ms = block_left;
    call.granted = Some(!blocked);
    Ok(Answer::numbers([
        hits,
        left_ms,
        f64::from(blocked),
        block_left_ms,
    ]))
}
