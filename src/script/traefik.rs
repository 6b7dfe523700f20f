//! Traefik's rate limit, 3: a token bucket in a hash, in microseconds of the client's clock.

use super::answer::{Answer, Failure};
use super::{Call, Script, lua};

/// The rows.
pub const SCRIPTS: &[Script] = &[
    Script {
        library: "Traefik 3",
        name: "allow",
        sha1: "3d93177e9b9a18f241edddc8d7e7fa1c47ae4eb6",
        sha1_without_indents: "56244162ca10ddc9378e6f7273d44a0b6983e6ec",
        run: allow,
    },
    Script {
        library: "Traefik 3, the first",
        name: "allow",
        sha1: "a82138cfb0cc9aa6e05d666c1f912744aefbe711",
        sha1_without_indents: "5b2e3f2932765e40f95d7098fd68d055565cfa6f",
        run: allow,
    },
];

/// `KEYS`: the bucket. `ARGV`: tokens a microsecond, burst, seconds to keep it, now, the longest wait. Replies `true`,
/// the microseconds to wait, and the tokens left.
pub fn allow(call: &mut Call<'_>) -> Result<Answer, Failure> {
    const NO_NUMBER: Failure = Failure::Lua("attempt to perform arithmetic on a nil value");
    let (rate, burst, now) = (call.number(0), call.number(1), call.number(3));
    let (keep_s, wait_max) = (call.number(2), call.number(4));
    let (mut last, mut tokens) = (Some(0.0), Some(0.0));
    // It takes a hash of two fields for its own: `last` and `tokens`.
    if let [first, second] = &call.hvalues(0)?[..] {
        (last, tokens) = (lua::number(first), lua::number(second));
    }
    let (Some(now), Some(last)) = (now, last) else {
        return Err(Failure::Lua("attempt to compare nil with number"));
    };
    let rate = rate.ok_or(NO_NUMBER)?;
    let elapsed = now - if now < last { now } else { last };
    let filled = tokens.ok_or(NO_NUMBER)? + rate * elapsed;
    let burst = burst.ok_or(Failure::Lua(
        "bad argument #2 to 'min' (number expected, got nil)",
    ))?;
    let mut left = lua::min(filled, burst) - 1.0;
    let mut wait = 0.0;
    call.granted = Some(true);
    if left < 0.0 {
        wait = -left / rate;
        if wait > wait_max.ok_or(Failure::Lua("attempt to compare nil with number"))? {
            call.granted = Some(false);
            left = lua::min(left + 1.0, burst);
        }
    }
    let fields: [(&[u8], &[u8]); 2] = [
        (b"last", &lua::argument(now)),
        (b"tokens", &lua::argument(left)),
    ];
    call.hset(0, &fields)?;
    let keep_s = lua::argument(keep_s.ok_or(Failure::NIL_ARGUMENT)?);
    call.expire(0, &keep_s, 1000, "expire")?;
    Ok(Answer::Array(vec![
        Answer::Bulk(b"true".to_vec()),
        Answer::Bulk(lua::text(wait)),
        Answer::Bulk(lua::text(left)),
    ]))
}
