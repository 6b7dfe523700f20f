//! The commands, as the server calls them.

use crate::held::Held;
use crate::host::{Holds, Place, Words};
use crate::kind::KIND;
use crate::{reply, state};
use redis_module::{RedisString, raw};
use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tollgate::command::spec::{Flags, Spec};
use tollgate::command::table;
use tollgate::core::units::Timestamp;
use tollgate::persistence::change::{self, Change};
use tollgate::protocol::{OwnedArguments, Protocol};
use tollgate::store::{KEY_BYTES_MAX, Key};

type Ctx = *mut raw::RedisModuleCtx;
type Name = *mut raw::RedisModuleString;

/// What sets a key as it was somewhere else: how changes travel to replicas and into the append-only file.
pub const STATE: &CStr = c"rl.state";
/// Keys that live longer than this, in milliseconds, are told to stay: the server adds it to its own time.
const TTL_MS_MAX: i64 = 100 * 365 * 86_400 * 1_000;

/// A command of the table.
pub unsafe extern "C" fn serve(ctx: Ctx, argv: *mut Name, argc: c_int) -> c_int {
    // SAFETY: the server hands in so many strings, which outlive the call.
    guarded(ctx, || call(ctx, unsafe { names(argv, argc) }))
}

/// [`STATE`].
pub unsafe extern "C" fn take_state(ctx: Ctx, argv: *mut Name, argc: c_int) -> c_int {
    // SAFETY: as in `serve`.
    guarded(ctx, || put_state(ctx, unsafe { names(argv, argc) }))
}

/// `RL.CLOCK`, for tests: what `DEBUG CLOCK` is to the server.
pub unsafe extern "C" fn clock(ctx: Ctx, argv: *mut Name, argc: c_int) -> c_int {
    guarded(ctx, || {
        // SAFETY: as in `serve`.
        let words = texts(unsafe { names(argv, argc) });
        let words: Vec<&[u8]> = [&b"DEBUG"[..], b"CLOCK"]
            .into_iter()
            .chain(words.into_iter().skip(1))
            .collect();
        let said = state::with(|host| {
            host.ask(&words);
            std::mem::take(&mut host.reply)
        });
        reply::send(ctx, &said.unwrap_or_default());
    })
}

/// A command for which a server of a cluster has no place.
pub unsafe extern "C" fn refuse_to_wait(ctx: Ctx, _argv: *mut Name, _argc: c_int) -> c_int {
    guarded(ctx, || {
        reply::error(ctx, b"ERR nobody waits on a server of a cluster: RL.RESERVE books a slot and says how long to wait for it");
    })
}

/// # Safety
/// `argv` holds `argc` strings that outlive what is returned.
unsafe fn names<'a>(argv: *mut Name, argc: c_int) -> &'a [Name] {
    // SAFETY: as the caller says.
    unsafe { std::slice::from_raw_parts(argv, argc as usize) }
}

fn texts(names: &[Name]) -> Vec<&[u8]> {
    names
        .iter()
        .map(|name| RedisString::string_as_slice(*name))
        .collect()
}

/// Runs a command. A panic is an error of the one call: it must not end the server.
fn guarded(ctx: Ctx, run: impl FnOnce()) -> c_int {
    if catch_unwind(AssertUnwindSafe(run)).is_err() {
        state::with(|host| host.renew());
        reply::error(
            ctx,
            b"ERR an error in Tollgate, which is to be reported: the call has changed nothing",
        );
    }
    raw::REDISMODULE_OK as c_int
}

/// An open key of the server's.
struct Opened {
    key: *mut raw::RedisModuleKey,
    ctx: Ctx,
    name: Name,
}

impl Opened {
    fn new(ctx: Ctx, name: Name, writes: bool) -> Self {
        let mode = match writes {
            true => raw::KeyMode::READ | raw::KeyMode::WRITE,
            false => raw::KeyMode::READ,
        };
        Self {
            key: raw::open_key(ctx, name, mode),
            ctx,
            name,
        }
    }

    /// Its name, which outlives it.
    fn text<'a>(&self) -> &'a [u8] {
        RedisString::string_as_slice(self.name)
    }

    fn place<'a>(&self) -> Place<'a> {
        Place {
            name: self.text(),
            holds: self.holds(),
        }
    }

    /// What it holds, until something is put there.
    fn holds<'a>(&self) -> Holds<'a> {
        // SAFETY: the key is open or null, which the functions take, and they are there since 4.0. A value of our type is a
        // boxed `Held`; nothing else looks at it while the command runs, and the caller drops it before it changes the key.
        unsafe {
            let (Some(kind), Some(of), Some(value)) = (
                raw::RedisModule_KeyType,
                raw::RedisModule_ModuleTypeGetType,
                raw::RedisModule_ModuleTypeGetValue,
            ) else {
                return Holds::Other;
            };
            if self.key.is_null() || kind(self.key) == raw::REDISMODULE_KEYTYPE_EMPTY as c_int {
                return Holds::Nothing;
            }
            if of(self.key) != *KIND.raw_type.borrow() {
                return Holds::Other;
            }
            value(self.key)
                .cast::<Held>()
                .as_mut()
                .map_or(Holds::Nothing, Holds::Limits)
        }
    }

    /// Puts a value there; the server owns it from now on.
    fn put(&self, held: Held) {
        let value = Box::into_raw(Box::new(held));
        // SAFETY: the key is open to be written, and the value is what the type's functions take.
        unsafe {
            if let Some(set) = raw::RedisModule_ModuleTypeSetValue {
                set(self.key, *KIND.raw_type.borrow(), value.cast());
            }
        }
    }

    /// Takes changes over. Tells the journal and the replicas.
    fn change(&self, holds: Holds<'_>, changes: &[Change], now: Timestamp, expires: bool) {
        if changes.is_empty() {
            return;
        }
        let left = match holds {
            Holds::Limits(held) => {
                held.apply(changes, now);
                // SAFETY: the name outlives the call; the function is there since 6.0.
                unsafe {
                    if let Some(signal) = raw::RedisModule_SignalModifiedKey {
                        signal(self.ctx, self.name);
                    }
                }
                held.gone_after(now)
            }
            Holds::Nothing => {
                let mut held = Held::default();
                held.apply(changes, now);
                let left = held.gone_after(now);
                if left.is_zero() {
                    return;
                }
                self.put(held);
                left
            }
            Holds::Other => return,
        };
        if left.is_zero() {
            self.remove();
        } else {
            if expires {
                let ms = left.ceil_ms();
                let ms = if ms > TTL_MS_MAX {
                    raw::REDISMODULE_NO_EXPIRE.into()
                } else {
                    ms
                };
                raw::set_expire(self.key, ms);
            }
            self.tell(changes, now);
        }
    }

    fn remove(&self) {
        // SAFETY: the key is open to be written; the format says that a string follows.
        unsafe {
            if let Some(delete) = raw::RedisModule_DeleteKey {
                delete(self.key);
            }
            if let Some(replicate) = raw::RedisModule_Replicate {
                replicate(self.ctx, c"DEL".as_ptr(), c"s".as_ptr(), self.name);
            }
        }
    }

    fn tell(&self, changes: &[Change], now: Timestamp) {
        let mut bytes = Vec::new();
        change::encode(&mut bytes, changes);
        let at = now.as_ns().to_string();
        // SAFETY: the format says what follows: the key, and two texts with their lengths, which outlive the call.
        unsafe {
            if let Some(replicate) = raw::RedisModule_Replicate {
                replicate(
                    self.ctx,
                    STATE.as_ptr(),
                    c"sbb".as_ptr(),
                    self.name,
                    at.as_ptr().cast::<c_char>(),
                    at.len(),
                    bytes.as_ptr().cast::<c_char>(),
                    bytes.len(),
                );
            }
        }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if !self.key.is_null() {
            raw::close_key(self.key);
        }
    }
}

/// The keys of a request, each once.
fn distinct(spec: &Spec, names: &[Name], request: Words<'_>) -> Vec<Name> {
    let words = request.of_request;
    let places = spec.keys.positions(words);
    let first = |nth: usize| {
        !places[..nth]
            .iter()
            .any(|before| words.get(*before) == words.get(places[nth]))
    };
    (0..places.len())
        .filter(|nth| first(*nth))
        .map(|nth| names[places[nth]])
        .collect()
}

/// The keys beside these at which tickets that a request names hold something. They are in the slot of the first one: the
/// call that drew the ticket named them all.
fn further_keys(ctx: Ctx, opened: &[Opened], request: Words<'_>) -> Vec<RedisString> {
    let mut further: Vec<Key> = Vec::new();
    for one in opened {
        if let Holds::Limits(held) = one.holds() {
            further.extend(held.further_keys(request));
        }
    }
    further.sort_unstable();
    further.dedup();
    let is_new = |key: &&Key| opened.iter().all(|one| one.text() != key.as_bytes());
    let named = further.iter().filter(is_new);
    named
        .map(|key| RedisString::create_from_slice(ctx, key.as_bytes()))
        .collect()
}

fn call(ctx: Ctx, names: &[Name]) {
    let words = texts(names);
    let Some(spec) = words.first().and_then(|name| table::find(name)) else {
        return reply::error(ctx, b"ERR unknown command");
    };
    let arguments = OwnedArguments::from_slices(&words);
    if asks_for_keys(ctx) {
        return spec
            .keys
            .positions(arguments.as_arguments())
            .into_iter()
            .for_each(|at| say_key_at(ctx, at));
    }
    let writes = spec.flags.has(Flags::WRITE);
    let request = Words {
        of_request: arguments.as_arguments(),
        // A pause lies over the slots of tickets that it does not name.
        all: matches!(spec.name, "RL.PAUSE" | "RL.RESUME"),
    };
    let open = |name: &Name| Opened::new(ctx, *name, writes);
    let mut opened: Vec<Opened> = distinct(spec, names, request).iter().map(open).collect();
    let further = further_keys(ctx, &opened, request);
    opened.extend(further.iter().map(|name| open(&name.inner)));
    let mut places: Vec<Place<'_>> = opened.iter().map(Opened::place).collect();
    let protocol = match context_flags(ctx) & raw::REDISMODULE_CTX_FLAGS_RESP3 as c_int {
        0 => Protocol::Resp2,
        _ => Protocol::Resp3,
    };
    let served = state::with(|host| {
        let now = host.now();
        let changes = host.serve(spec, request, protocol, &mut places, now);
        (
            now,
            changes,
            std::mem::take(&mut host.reply),
            host.goes_by(),
        )
    });
    let Some((now, changes, said, expires)) = served else {
        return reply::error(ctx, b"ERR the module is not loaded");
    };
    for ((opened, place), changes) in opened.iter().zip(places).zip(&changes) {
        opened.change(place.holds, changes, now, expires);
    }
    reply::send(ctx, &said);
    state::with(|host| host.reply = said);
}

fn put_state(ctx: Ctx, names: &[Name]) {
    let words = texts(names);
    let [_, _, at, bytes] = words[..] else {
        return reply::error(ctx, b"ERR wrong number of arguments for 'rl.state' command");
    };
    let at = std::str::from_utf8(at)
        .ok()
        .and_then(|at| at.parse().ok())
        .and_then(Timestamp::from_ns);
    if words[1].len() > KEY_BYTES_MAX {
        return reply::error(ctx, b"ERR `key` must be at most 512 bytes long");
    }
    let Some(at) = at else {
        return reply::error(
            ctx,
            b"ERR `at` must be an instant in nanoseconds since the epoch",
        );
    };
    let changes = match change::decode(bytes) {
        Ok(changes) => changes,
        Err(error) => {
            let text =
                format!("ERR `state` must be what RL.STATE was sent with elsewhere: {error:?}");
            return reply::error(ctx, text.as_bytes());
        }
    };
    let opened = Opened::new(ctx, names[1], true);
    let holds = opened.holds();
    if matches!(holds, Holds::Other) {
        return reply::error(
            ctx,
            b"WRONGTYPE Operation against a key holding the wrong kind of value",
        );
    }
    let flags = context_flags(ctx);
    let tickets = changes.iter().filter_map(|change| match change {
        Change::Ticket(number, Some(_)) => Some(*number),
        _ => None,
    });
    let last = tickets.max().unwrap_or(0);
    let learned = state::with(|host| {
        let is = |flag: u32| flags & flag as c_int != 0;
        if is(raw::REDISMODULE_CTX_FLAGS_LOADING) || is(raw::REDISMODULE_CTX_FLAGS_REPLICATED) {
            host.learn_time(at, is(raw::REDISMODULE_CTX_FLAGS_REPLICATED));
        }
        let now = host.now();
        host.give_numbers_above(now, last);
        (now, host.goes_by())
    });
    if let Some((now, expires)) = learned {
        opened.change(holds, &changes, now, expires);
    }
    let _ = raw::reply_with_simple_string(ctx, c"OK".as_ptr());
}

/// What the server says of the call, or of itself where there is none.
pub fn context_flags(ctx: Ctx) -> c_int {
    // SAFETY: the function is there since 4.0 and takes null.
    unsafe { raw::RedisModule_GetContextFlags.map_or(0, |flags| flags(ctx)) }
}

/// True if the server wants to know where the keys are, and nothing else.
fn asks_for_keys(ctx: Ctx) -> bool {
    // SAFETY: the function is there since 4.0.
    unsafe { raw::RedisModule_IsKeysPositionRequest.is_some_and(|asks| asks(ctx) != 0) }
}

fn say_key_at(ctx: Ctx, at: usize) {
    // SAFETY: as in `asks_for_keys`; it is called only then.
    unsafe {
        if let Some(say) = raw::RedisModule_KeyAtPos {
            say(ctx, at as c_int);
        }
    }
}
