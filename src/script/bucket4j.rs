//! bucket4j (Java): a state that only the library reads, kept by compare-and-swap.

use super::answer::{Answer, Failure};
use super::{Call, Script};
use crate::plain::Expiry;
use crate::plain::text::Condition;

/// The rows.
pub const SCRIPTS: &[Script] = &[
    Script {
        library: "bucket4j",
        name: "create for a time",
        sha1: "c0569386b0382069581dfaa1a8d241140bc0eeb4",
        sha1_without_indents: "c0569386b0382069581dfaa1a8d241140bc0eeb4",
        run: create_for,
    },
    Script {
        library: "bucket4j",
        name: "create",
        sha1: "1fed031c105d7c0315b3fc2e4a75e697247264f5",
        sha1_without_indents: "1fed031c105d7c0315b3fc2e4a75e697247264f5",
        run: create,
    },
    Script {
        library: "bucket4j",
        name: "replace for a time",
        sha1: "535b2fd00a12a23393fe15cf99599ecc51cd3007",
        sha1_without_indents: "535b2fd00a12a23393fe15cf99599ecc51cd3007",
        run: replace_for,
    },
    Script {
        library: "bucket4j",
        name: "replace",
        sha1: "9450de540565d89de15092a716555821601f128b",
        sha1_without_indents: "9450de540565d89de15092a716555821601f128b",
        run: replace,
    },
];

/// `KEYS`: the bucket. `ARGV`: its state, milliseconds to keep it. Replies 1, or 0 if there is one already.
pub fn create_for(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let ms = call.argument(1)?;
    let expiry = call.expiry(ms, 1, "set")?;
    create_with(call, expiry)
}

/// The same without an end.
pub fn create(call: &mut Call<'_>) -> Result<Answer, Failure> {
    create_with(call, Expiry::Clear)
}

fn create_with(call: &mut Call<'_>, expiry: Expiry) -> Result<Answer, Failure> {
    let state = call.argument(0)?;
    let set = call.set(0, state, Condition::Absent, expiry)?;
    Ok(Answer::one_or_zero(set))
}

/// `KEYS`: the bucket. `ARGV`: the state it must have, the new one, milliseconds to keep it. Replies 1, or 0 if it
/// has another.
pub fn replace_for(call: &mut Call<'_>) -> Result<Answer, Failure> {
    if !is_as_told(call)? {
        return Ok(Answer::Integer(0));
    }
    let (ms, state) = (call.argument(2)?, call.argument(1)?);
    let expiry = call.expiry(ms, 1, "psetex")?;
    call.set(0, state, Condition::Always, expiry)?;
    Ok(Answer::Integer(1))
}

/// The same without an end.
pub fn replace(call: &mut Call<'_>) -> Result<Answer, Failure> {
    if !is_as_told(call)? {
        return Ok(Answer::Integer(0));
    }
    let state = call.argument(1)?;
    call.set(0, state, Condition::Always, Expiry::Clear)?;
    Ok(Answer::Integer(1))
}

fn is_as_told(call: &mut Call<'_>) -> Result<bool, Failure> {
    let state = call.get(0)?;
    Ok(state.is_some_and(|state| call.arguments.first() == Some(&&*state)))
}
