//! Tollgate's commands as a module of Redis or Valkey, for those who need replicas, failover or many nodes.
//!
//!     loadmodule libtollgate_module.so [clock manual | clock SECONDS]
//!
//! The argument is for tests: a clock that RL.CLOCK moves, or one that is so many seconds ahead of the system's.
//!
//! - [`register`] tells the server of the commands: rows of the stand-alone server's table.
//! - [`command`] is what the server calls: it opens the keys, has the request served, writes back what has changed.
//! - [`host`] is the engine of the stand-alone server, with nothing in its store but the keys of the one call.
//! - [`held`] is what a key holds, and what changes of it travel to replicas.
//! - [`kind`] is the type of the keys: how they are saved and loaded.
//! - [`time`] is the time at which commands run.
//!
//! `docs/scale.md` says when to take it, and decision 19 why it is as it is.

mod command;
mod held;
mod host;
mod kind;
mod register;
mod reply;
mod state;
mod time;

use crate::host::Hand;
use crate::kind::KIND;
use crate::time::Time;
use redis_module::{Context, RedisString, Status, logging, raw};
use std::ffi::c_int;

/// The server's memory, so that `used_memory` and `maxmemory` count what the module takes. There is none in a test.
#[cfg(not(test))]
type Allocator = redis_module::alloc::RedisAlloc;
#[cfg(not(test))]
const ALLOCATOR: Allocator = redis_module::alloc::RedisAlloc;
#[cfg(test)]
type Allocator = std::alloc::System;
#[cfg(test)]
const ALLOCATOR: Allocator = std::alloc::System;

/// Whose time commands run at, as the module's arguments say.
fn hand(words: &[&[u8]]) -> Option<Hand> {
    match words {
        [] => Some(Hand::Time(Time::ahead_by(0))),
        [clock, b"manual"] if clock.eq_ignore_ascii_case(b"clock") => Some(Hand::Manual),
        [clock, seconds] if clock.eq_ignore_ascii_case(b"clock") => {
            let seconds = std::str::from_utf8(seconds).ok()?.parse().ok()?;
            Some(Hand::Time(Time::ahead_by(seconds)))
        }
        _ => None,
    }
}

fn start(context: &Context, arguments: &[RedisString]) -> Status {
    let words: Vec<&[u8]> = arguments.iter().map(RedisString::as_slice).collect();
    let Some(hand) = hand(&words) else {
        logging::log_warning(
            "tollgate: the only argument is `clock`, for tests: `manual`, or seconds",
        );
        return Status::Err;
    };
    if let Err(error) = register::all(context.ctx, &hand) {
        logging::log_warning(format!("tollgate: {error}"));
        return Status::Err;
    }
    // A file that ends early is an error of loading, not the server's end.
    // SAFETY: the module is being loaded.
    unsafe {
        if let Some(set) = raw::RedisModule_SetModuleOptions {
            set(
                context.ctx,
                raw::REDISMODULE_OPTIONS_HANDLE_IO_ERRORS as c_int,
            );
        }
    }
    raw::register_info_function(context.ctx, Some(info));
    state::start(hand);
    Status::Ok
}

/// The section of `INFO` that begins with `tollgate_`.
unsafe extern "C" fn info(ctx: *mut raw::RedisModuleInfoCtx, _of_a_crash: c_int) {
    let Some(totals) = state::with(|host| host.totals()) else {
        return;
    };
    raw::add_info_section(ctx, Some("decisions"));
    for (name, count) in [
        ("granted", totals.granted),
        ("denied", totals.denied),
        ("shadow_limited", totals.shadow_limited),
        ("paused", totals.paused),
    ] {
        raw::add_info_field_unsigned_long_long(ctx, name, count);
    }
}

/// What the server looks for in the library.
#[allow(missing_docs, reason = "the functions are the macro's")]
mod entry {
    use super::{ALLOCATOR, Allocator, KIND, start};
    use redis_module::redis_module;

    redis_module! {
        name: "tollgate",
        version: 1,
        allocator: (Allocator, ALLOCATOR),
        data_types: [KIND],
        init: start,
        commands: [],
    }
}
