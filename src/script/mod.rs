//! The scripts of well-used rate-limit libraries, each as a function of its own. There is no Lua here: a script is
//! known by the SHA1 of its text, and what is not known is refused. Pure: no clock, no lock, no I/O.

mod answer;
mod collections;
mod commands;
mod digest;
mod lua;
mod registry;
mod table;

// The libraries.
mod async_ratelimiter;
mod bucket4j;
mod django_redis;
mod fastapi_limiter;
mod fastify;
mod kong;
mod laravel;
mod laravel_duration;
mod limits;
mod limits_moving;
mod locks;
mod nest;
mod pyrate_limiter;
mod rate_limit_redis;
mod rate_limiter_flexible;
mod redis_gcra;
mod redis_rate;
mod rueidislimiter;
mod spring;
mod throttled;
mod traefik;
mod ulule;

use crate::core::units::Timestamp;
use crate::plain::Plain;

pub use answer::{Answer, Failure};
pub use digest::{Digest, without_indents};
pub use registry::{LOADED_MAX, Registry};
pub use table::scripts;

/// One script of one library: a row of its family.
pub struct Script {
    /// The library, with the versions that send it where that matters.
    pub library: &'static str,
    /// What it does, in a word or two.
    pub name: &'static str,
    /// The SHA1 of its text, in hexadecimal digits.
    pub sha1: &'static str,
    /// The SHA1 of its text without the white space at the beginning of its lines.
    pub sha1_without_indents: &'static str,
    /// Runs it.
    pub run: Run,
}

/// Runs a script over its keys. What it has changed before it fails stays changed, as in Lua.
///
/// # Errors
/// What the script's first failing command, or the script itself, replies.
pub type Run = fn(&mut Call<'_>) -> Result<Answer, Failure>;

/// One call of a script.
pub struct Call<'a> {
    /// What its keys hold, in order. A key that is named twice is the same place.
    pub slots: &'a mut [Option<Plain>],
    /// For each of `KEYS` the place in `slots`.
    pub places: &'a [usize],
    /// `ARGV`.
    pub arguments: &'a [&'a [u8]],
    /// The instant at which it runs.
    pub now: Timestamp,
    /// Whether it lets its caller go, if it is the script that says so: many only count, and the library decides.
    pub granted: Option<bool>,
}

impl<'a> Call<'a> {
    /// What the key holds that Lua calls `KEYS[index + 1]`.
    ///
    /// # Errors
    /// As in Redis, whose commands take no nil for a key.
    pub fn key(&mut self, index: usize) -> Result<&mut Option<Plain>, Failure> {
        match self.places.get(index) {
            Some(&place) => Ok(&mut self.slots[place]),
            None => Err(Failure::NIL_ARGUMENT),
        }
    }

    /// What Lua calls `ARGV[index + 1]`, as an argument of a command.
    ///
    /// # Errors
    /// As [`Self::key`].
    pub fn argument(&self, index: usize) -> Result<&'a [u8], Failure> {
        self.arguments
            .get(index)
            .copied()
            .ok_or(Failure::NIL_ARGUMENT)
    }

    /// `tonumber(ARGV[index + 1])`.
    pub fn number(&self, index: usize) -> Option<f64> {
        self.arguments.get(index).and_then(|text| lua::number(text))
    }

    /// An argument with which the script computes or compares.
    ///
    /// # Errors
    /// What Lua says of arithmetic on what is no number.
    pub fn operand(&self, index: usize) -> Result<f64, Failure> {
        self.number(index)
            .ok_or(Failure::Lua("attempt to perform arithmetic on a nil value"))
    }
}
