//! Telling the server of the commands: rows of the same table that the stand-alone server has.

use crate::command;
use crate::host::Hand;
use redis_module::{logging, raw};
use std::ffi::{CStr, CString, c_int};
use tollgate::command::spec::{Flags, Spec};
use tollgate::command::table;

type Ctx = *mut raw::RedisModuleCtx;
type Run = unsafe extern "C" fn(Ctx, *mut *mut raw::RedisModuleString, c_int) -> c_int;

/// The commands of the table that are there.
const SERVED: &[&str] = &[
    "RL.RESERVE",
    "RL.TAKE",
    "RL.PEEK",
    "RL.PAUSE",
    "RL.RESUME",
    "RL.USAGE",
    "RL.REFUND",
    "RL.CHARGE",
    "RL.CONFIRM",
    "RL.CANCEL",
    "RL.SETTLE",
    "RL.LEASE",
    "RL.RENEW",
    "RL.RELEASE",
    "RL.LEASES",
    "CL.THROTTLE",
    "RL.THROTTLE",
    "THROTTLE",
];
/// What a later server has by itself.
const UNLESS_THERE: &str = "GCRA";
/// The category that the commands belong to, where the server takes new ones.
const CATEGORY: &CStr = c"ratelimit";

/// Tells the server of everything.
///
/// # Errors
/// What it does not take.
pub fn all(ctx: Ctx, hand: &Hand) -> Result<(), String> {
    let own_category = add_category(ctx);
    for name in SERVED {
        let spec = table::find(name.as_bytes()).ok_or_else(|| format!("no command {name}"))?;
        row(ctx, spec, command::serve, own_category)?;
    }
    if let Some(spec) = table::find(UNLESS_THERE.as_bytes())
        && row(ctx, spec, command::serve, own_category).is_err()
    {
        logging::log_notice(format!("{UNLESS_THERE} is the server's own"));
    }
    if let Some(spec) = table::find(b"RL.ACQUIRE") {
        row(ctx, spec, command::refuse_to_wait, own_category)?;
    }
    create(
        ctx,
        command::STATE,
        command::take_state,
        c"write admin deny-oom fast",
        (1, 1, 1),
    )?;
    if matches!(hand, Hand::Manual) {
        create(ctx, c"rl.clock", command::clock, c"admin", (0, 0, 0))?;
    }
    Ok(())
}

fn row(ctx: Ctx, spec: &Spec, run: Run, own_category: bool) -> Result<(), String> {
    const WORDS: [(Flags, &str); 4] = [
        (Flags::WRITE, "write"),
        (Flags::READONLY, "readonly"),
        (Flags::DENYOOM, "deny-oom"),
        (Flags::FAST, "fast"),
    ];
    let words = WORDS
        .iter()
        .filter(|(flag, _)| spec.flags.has(*flag))
        .map(|(_, word)| *word);
    let finds_keys = spec.keys.are_movable().then_some("getkeys-api");
    let words: Vec<&str> = words.chain(finds_keys).collect();
    let text = |text: &str| CString::new(text).unwrap_or_default();
    // In lower case, as the server's own: errors and COMMAND show it so.
    let (name, flags) = (text(&spec.lower_name()), text(&words.join(" ")));
    let (first, last, step) = spec.keys.range();
    create(
        ctx,
        &name,
        run,
        &flags,
        (first as c_int, last as c_int, step as c_int),
    )?;
    describe(ctx, &name, spec, own_category);
    Ok(())
}

fn create(
    ctx: Ctx,
    name: &CStr,
    run: Run,
    flags: &CStr,
    keys: (c_int, c_int, c_int),
) -> Result<(), String> {
    // SAFETY: the module is being loaded, and the texts outlive the call, which copies them.
    let status = unsafe {
        raw::RedisModule_CreateCommand.map(|create| {
            create(
                ctx,
                name.as_ptr(),
                Some(run),
                flags.as_ptr(),
                keys.0,
                keys.1,
                keys.2,
            )
        })
    };
    match status == Some(raw::REDISMODULE_OK as c_int) {
        true => Ok(()),
        false => Err(format!("the server does not take a command {name:?}")),
    }
}

/// True if the server took the category.
fn add_category(ctx: Ctx) -> bool {
    // SAFETY: as in `create`.
    unsafe {
        raw::RedisModule_AddACLCategory
            .is_some_and(|add| add(ctx, CATEGORY.as_ptr()) == raw::REDISMODULE_OK as c_int)
    }
}

/// Says what `COMMAND INFO` and `COMMAND DOCS` show, where the server takes it. Without it the command works as well.
fn describe(ctx: Ctx, name: &CStr, spec: &Spec, own_category: bool) {
    let text = |text: &str| CString::new(text).unwrap_or_default();
    let (summary, since) = (text(spec.summary), text(spec.since));
    let version = raw::RedisModuleCommandInfoVersion {
        version: 1,
        sizeof_historyentry: size_of::<raw::RedisModuleCommandHistoryEntry>(),
        sizeof_keyspec: size_of::<raw::RedisModuleCommandKeySpec>(),
        sizeof_arg: size_of::<raw::RedisModuleCommandArg>(),
    };
    let info = raw::RedisModuleCommandInfo {
        version: &raw const version,
        summary: summary.as_ptr(),
        complexity: std::ptr::null(),
        since: since.as_ptr(),
        history: std::ptr::null_mut(),
        tips: std::ptr::null(),
        arity: spec.arity.redis() as c_int,
        key_specs: std::ptr::null_mut(),
        args: std::ptr::null_mut(),
    };
    // SAFETY: the module is being loaded; what is pointed to outlives the calls, which copy it. A server before 7.0 has none
    // of these.
    unsafe {
        let found = raw::RedisModule_GetCommand.map(|get| get(ctx, name.as_ptr()));
        let Some(found) = found.filter(|found| !found.is_null()) else {
            return;
        };
        if let Some(set) = raw::RedisModule_SetCommandInfo {
            set(found, &raw const info);
        }
        if let Some(set) = raw::RedisModule_SetCommandACLCategories.filter(|_| own_category) {
            set(found, CATEGORY.as_ptr());
        }
    }
}
