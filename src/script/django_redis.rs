//! django-redis (PyPI): the cache's `incr`.

use super::answer::{Answer, Failure};
use super::{Call, Script};

/// The rows.
pub const SCRIPTS: &[Script] = &[
    Script {
        library: "django-redis",
        name: "increment",
        sha1: "f4a7da3e5d8ea3b46642af08427151cae0190400",
        sha1_without_indents: "4d5728fca47840f6bc3ceb037b90ecedbbd12c9e",
        run: increment,
    },
    Script {
        library: "django-redis",
        name: "increment or create",
        sha1: "4d15273b16b10c15e1d9202cbe93c959ab7d250b",
        sha1_without_indents: "1567a35c89b2e6403233513ce868d9c80938dbd2",
        run: increment_or_create,
    },
];

/// `KEYS`: the counter. `ARGV`: by how much. Replies the sum, or nothing if there is no counter.
pub fn increment(call: &mut Call<'_>) -> Result<Answer, Failure> {
    if !call.exists(0)? {
        return Ok(Answer::Nil);
    }
    increment_or_create(call)
}

/// The same, also for a counter that does not exist.
pub fn increment_or_create(call: &mut Call<'_>) -> Result<Answer, Failure> {
    let by = call.argument(0)?;
    Ok(Answer::number(call.incr_by(0, by)?))
}
