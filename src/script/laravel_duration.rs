//! Laravel (PHP), DurationLimiter: a hash of the beginning and end of a window, by the client's clock, and its count.

use super::answer::{Answer, Failure};
use super::{Call, Script, lua};

/// The rows.
pub const SCRIPTS: &[Script] = &[
    Script {
        library: "Laravel",
        name: "duration",
        sha1: "29cc07bd431ccbf64637e5dcb60484560fdfa2da",
        sha1_without_indents: "e993ed4cf8f9bf07e34f0d28fa1f779146d512ec",
        run: acquire,
    },
    Script {
        library: "Laravel",
        name: "too many attempts in a duration",
        sha1: "1c5d436d6863e949247f4fa66fa1e32b7fa18da9",
        sha1_without_indents: "18c2d643258b98b66384e4ca1ce47c3990636af3",
        run: look,
    },
];

/// `KEYS`: the limiter. `ARGV`: now in seconds with fractions, in whole seconds, the window in seconds, the limit.
/// Replies 1 or nothing, the end of the window, and how many are left.
pub fn acquire(call: &mut Call<'_>) -> Result<Answer, Failure> {
    if call.exists(0)? && is_in_window(call)? {
        let count = call.hincr_by(0, b"count", 1)?;
        let limit = call
            .number(3)
            .ok_or(Failure::Lua("attempt to compare nil with number"))?;
        call.granted = Some(count <= limit);
        let fits = if count <= limit {
            Answer::Integer(1)
        } else {
            Answer::Nil
        };
        let end = call.hget(0, b"end")?.map_or(Answer::Nil, Answer::Bulk);
        return Ok(Answer::Array(vec![fits, end, left(call)?]));
    }
    let end = end(call)?;
    let begin = call.argument(1)?;
    let fields: [(&[u8], &[u8]); 3] = [
        (b"start", begin),
        (b"end", &lua::argument(end)),
        (b"count", b"1"),
    ];
    call.hset(0, &fields)?;
    let seconds = lua::argument(call.operand(2)? * 2.0);
    let set = call.expire(0, &seconds, 1000, "expire")?;
    let left = call.operand(3)? - 1.0;
    call.granted = Some(true);
    Ok(Answer::numbers([f64::from(set), end, left]))
}

/// The same without counting. Replies the end of the window and how many are left; 0 and the end of one that would
/// begin now, if there is none.
pub fn look(call: &mut Call<'_>) -> Result<Answer, Failure> {
    if call.exists(0)? && is_in_window(call)? {
        let end = call.hget(0, b"end")?.map_or(Answer::Nil, Answer::Bulk);
        return Ok(Answer::Array(vec![end, left(call)?]));
    }
    Ok(Answer::numbers([0.0, end(call)?]))
}

/// Lua compares the times as the texts that they are.
fn is_in_window(call: &mut Call<'_>) -> Result<bool, Failure> {
    const NO_TEXT: Failure = Failure::Lua("attempt to compare boolean with string");
    let begin = call.hget(0, b"start")?.ok_or(NO_TEXT)?;
    let now = call.arguments.first().ok_or(NO_TEXT)?;
    if **now < *begin {
        return Ok(false);
    }
    let end = call.hget(0, b"end")?.ok_or(NO_TEXT)?;
    Ok(**now <= *end)
}

fn end(call: &Call<'_>) -> Result<f64, Failure> {
    Ok(call.operand(1)? + call.operand(2)?)
}

fn left(call: &mut Call<'_>) -> Result<Answer, Failure> {
    const NO_NUMBER: Failure = Failure::Lua("attempt to perform arithmetic on a boolean value");
    let count = call
        .hget(0, b"count")?
        .and_then(|count| lua::number(&count));
    let left = call.operand(3)? - count.ok_or(NO_NUMBER)?;
    Ok(Answer::number(left))
}
