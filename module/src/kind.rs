//! The type of the keys: what the server calls to save, load, copy and forget them.

use crate::held::Held;
use crate::{command, state};
use redis_module::native_types::RedisType;
use redis_module::{logging, raw};
use std::ffi::{c_char, c_int, c_void};
use tollgate::core::units::Timestamp;

/// How values are encoded: records of the snapshot.
const ENCODING: i32 = 1;

/// The type, by the name that `TYPE` shows.
pub static KIND: RedisType = RedisType::new(
    "tollgate1",
    ENCODING,
    raw::RedisModuleTypeMethods {
        version: raw::REDISMODULE_TYPE_METHOD_VERSION as u64,
        rdb_load: Some(load),
        rdb_save: Some(save),
        aof_rewrite: Some(rewrite),
        mem_usage: Some(memory_usage),
        digest: Some(digest),
        free: Some(free),
        aux_load: Some(load_time),
        aux_save: Some(save_time),
        aux_save_triggers: raw::Aux::Before as i32,
        free_effort: None,
        unlink: None,
        copy: Some(copy),
        defrag: None,
        mem_usage2: None,
        free_effort2: None,
        unlink2: None,
        copy2: None,
        aux_save2: None,
    },
);

/// # Safety
/// `value` is what [`load`], [`copy`] or a command made, and nobody changes it meanwhile.
unsafe fn held<'a>(value: *const c_void) -> &'a Held {
    // SAFETY: as the caller says.
    unsafe { &*value.cast::<Held>() }
}

fn boxed(held: Held) -> *mut c_void {
    Box::into_raw(Box::new(held)).cast()
}

unsafe extern "C" fn load(rdb: *mut raw::RedisModuleIO, encoding: c_int) -> *mut c_void {
    if encoding != ENCODING {
        logging::log_warning(format!(
            "tollgate: values of encoding {encoding}, of a later version"
        ));
        return std::ptr::null_mut();
    }
    let Ok(bytes) = raw::load_string_buffer(rdb) else {
        return std::ptr::null_mut();
    };
    match Held::from_bytes(bytes.as_ref(), state::now()) {
        Ok(held) => {
            state::give_numbers_above(held.last_number());
            boxed(held)
        }
        Err(error) => {
            logging::log_warning(format!("tollgate: a value that cannot be read: {error:?}"));
            std::ptr::null_mut()
        }
    }
}

unsafe extern "C" fn save(rdb: *mut raw::RedisModuleIO, value: *mut c_void) {
    // SAFETY: the server hands in a value of this type, which nothing changes meanwhile.
    raw::save_slice(rdb, &unsafe { held(value) }.to_bytes());
}

unsafe extern "C" fn rewrite(
    aof: *mut raw::RedisModuleIO,
    key: *mut raw::RedisModuleString,
    value: *mut c_void,
) {
    // SAFETY: as in `save`.
    let bytes = unsafe { held(value) }.to_bytes();
    let at = state::now().as_ns().to_string();
    // SAFETY: the server has this function since 4.0. The format says what follows: the key, and two texts with their
    // lengths, which live as long as the call.
    unsafe {
        if let Some(emit) = raw::RedisModule_EmitAOF {
            emit(
                aof,
                command::STATE.as_ptr(),
                c"sbb".as_ptr(),
                key,
                at.as_ptr().cast::<c_char>(),
                at.len(),
                bytes.as_ptr().cast::<c_char>(),
                bytes.len(),
            );
        }
    }
}

unsafe extern "C" fn memory_usage(value: *const c_void) -> usize {
    // SAFETY: as in `save`.
    size_of::<Held>() + unsafe { held(value) }.heap_bytes()
}

unsafe extern "C" fn digest(digest: *mut raw::RedisModuleDigest, value: *mut c_void) {
    // SAFETY: as in `save`.
    let bytes = unsafe { held(value) }.to_bytes();
    // SAFETY: the bytes live as long as the call.
    unsafe {
        if let Some(add) = raw::RedisModule_DigestAddStringBuffer {
            add(digest, bytes.as_ptr().cast::<c_char>(), bytes.len());
        }
        if let Some(end) = raw::RedisModule_DigestEndSequence {
            end(digest);
        }
    }
}

unsafe extern "C" fn free(value: *mut c_void) {
    // SAFETY: the value was boxed by `load`, `copy` or a command, and the server has let go of it.
    drop(unsafe { Box::from_raw(value.cast::<Held>()) });
}

unsafe extern "C" fn copy(
    _from: *mut raw::RedisModuleString,
    _to: *mut raw::RedisModuleString,
    value: *const c_void,
) -> *mut c_void {
    // SAFETY: as in `save`.
    boxed(unsafe { held(value) }.clone())
}

/// The instant of a snapshot stands before its keys.
unsafe extern "C" fn save_time(rdb: *mut raw::RedisModuleIO, _when: c_int) {
    raw::save_unsigned(rdb, state::now().as_ns());
}

unsafe extern "C" fn load_time(
    rdb: *mut raw::RedisModuleIO,
    encoding: c_int,
    _when: c_int,
) -> c_int {
    let at = raw::load_unsigned(rdb).ok().and_then(Timestamp::from_ns);
    match at.filter(|_| encoding == ENCODING) {
        Some(at) => {
            let flags = command::context_flags(std::ptr::null_mut());
            // What comes from the primary goes by the primary's time.
            let of_primary = flags & raw::REDISMODULE_CTX_FLAGS_SLAVE as c_int != 0;
            state::with(|host| host.learn_time(at, of_primary));
            raw::REDISMODULE_OK as c_int
        }
        None => raw::REDISMODULE_ERR as c_int,
    }
}
