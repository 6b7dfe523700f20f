//! Replies as the engine writes them, handed to the server's own writer.

use redis_module::raw;
use std::ffi::{CString, c_char, c_long};

type Ctx = *mut raw::RedisModuleCtx;

/// Sends a reply that the engine wrote.
pub fn send(ctx: Ctx, reply: &[u8]) {
    let mut rest = reply;
    send_one(ctx, &mut rest);
    debug_assert!(rest.is_empty(), "one request has one reply");
}

/// Sends an error: its code, a space, what is wrong.
pub fn error(ctx: Ctx, text: &[u8]) {
    // No text has a NUL: the engine cleans what it quotes.
    let text = CString::new(text).unwrap_or_else(|_| c"ERR unreadable".into());
    raw::reply_with_error(ctx, text.as_ptr());
}

/// The line at the beginning, without its sign, which is told apart.
fn line<'a>(rest: &mut &'a [u8]) -> (u8, &'a [u8]) {
    let end = rest.windows(2).position(|pair| pair == b"\r\n");
    let (line, behind) = match end {
        Some(end) => (&rest[..end], &rest[end + 2..]),
        None => (*rest, &[][..]),
    };
    *rest = behind;
    line.split_first()
        .map_or((b'_', line), |(sign, line)| (*sign, line))
}

fn number(line: &[u8]) -> i64 {
    std::str::from_utf8(line)
        .ok()
        .and_then(|line| line.parse().ok())
        .unwrap_or(0)
}

/// Sends the value at the beginning of `rest` and takes it out. The engine nests a few deep.
fn send_one(ctx: Ctx, rest: &mut &[u8]) {
    let (sign, line) = line(rest);
    let status = match sign {
        b':' => raw::reply_with_long_long(ctx, number(line)),
        b'$' if number(line) >= 0 => {
            let length = (number(line) as usize).min(rest.len());
            let (text, behind) = rest.split_at(length);
            *rest = behind.get(2..).unwrap_or_default();
            raw::reply_with_string_buffer(ctx, text.as_ptr().cast::<c_char>(), text.len())
        }
        b'*' | b'~' if number(line) >= 0 => {
            let count = number(line);
            let status = raw::reply_with_array(ctx, count as c_long);
            (0..count).for_each(|_| send_one(ctx, rest));
            status
        }
        b'%' => {
            let count = number(line);
            let status = raw::reply_with_map(ctx, count as c_long);
            (0..2 * count).for_each(|_| send_one(ctx, rest));
            status
        }
        b',' => {
            let double = std::str::from_utf8(line)
                .ok()
                .and_then(|line| line.parse().ok());
            raw::reply_with_double(ctx, double.unwrap_or(f64::NAN))
        }
        b'#' => raw::reply_with_bool(ctx, i32::from(line == b"t")),
        b'+' => {
            let text = CString::new(line).unwrap_or_default();
            raw::reply_with_simple_string(ctx, text.as_ptr())
        }
        b'-' => {
            error(ctx, line);
            return;
        }
        _ => raw::reply_with_null(ctx),
    };
    // Only a client that has gone does not take a reply.
    let _ = status;
}
