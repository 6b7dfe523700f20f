//! What the scanner takes and what it refuses.
use tollgate::protocol::limits::*;
use tollgate::protocol::{ProtocolError, RequestLimits, Scan, Scanner};

use crate::connection::*;

/// `bytes` are refused with `expected`, after no request, whole and byte by byte.
#[track_caller]
fn refused(bytes: &[u8], limits: &RequestLimits, expected: ProtocolError) {
    for outcome in [
        receive_whole(bytes, limits),
        receive_bytewise(bytes, limits),
    ] {
        assert_eq!(
            outcome,
            (vec![], Some(expected)),
            "{}",
            bytes[..bytes.len().min(80)].escape_ascii()
        );
    }
}

/// `bytes` are taken, and hold `count` requests.
#[track_caller]
fn taken(bytes: &[u8], limits: &RequestLimits, count: usize) {
    let (requests, error) = receive_whole(bytes, limits);
    assert_eq!(
        (requests.len(), error),
        (count, None),
        "{}",
        bytes[..bytes.len().min(80)].escape_ascii()
    );
}

#[test]
fn what_is_no_request_is_refused_in_redis_words() {
    use ProtocolError::*;
    for (bytes, error, text) in [
        (
            &b"*x\r\n"[..],
            InvalidMultibulkLength,
            "invalid multibulk length",
        ),
        (b"*\r\n", InvalidMultibulkLength, "invalid multibulk length"),
        (
            b"*01\r\n",
            InvalidMultibulkLength,
            "invalid multibulk length",
        ),
        (
            b"*-0\r\n",
            InvalidMultibulkLength,
            "invalid multibulk length",
        ),
        (b"*1\r\n$00\r\n", InvalidBulkLength, "invalid bulk length"),
        (
            b"*1\r\n$04\r\nPING\r\n",
            InvalidBulkLength,
            "invalid bulk length",
        ),
        (
            b"*+1\r\n",
            InvalidMultibulkLength,
            "invalid multibulk length",
        ),
        (
            b"*1\n$4\r\nPING\r\n",
            InvalidMultibulkLength,
            "invalid multibulk length",
        ),
        (
            b"*2147483648\r\n",
            InvalidMultibulkLength,
            "invalid multibulk length",
        ),
        (
            b"*18446744073709551617\r\n",
            InvalidMultibulkLength,
            "invalid multibulk length",
        ),
        (
            b"*000000000000000000000000",
            InvalidMultibulkLength,
            "invalid multibulk length",
        ),
        (
            b"*111111111111111111111",
            TooBigMultibulkCount,
            "too big mbulk count string",
        ),
        (b"*1\r\n$\r\n", InvalidBulkLength, "invalid bulk length"),
        (b"*1\r\n$-1\r\n", InvalidBulkLength, "invalid bulk length"),
        (b"*1\r\n$4x\r\n", InvalidBulkLength, "invalid bulk length"),
        (
            b"*1\r\n$1048577\r\n",
            InvalidBulkLength,
            "invalid bulk length",
        ),
        (
            b"*1\r\n$99999999999999999999\r\n",
            InvalidBulkLength,
            "invalid bulk length",
        ),
        (
            b"*1\r\n$111111111111111111111",
            TooBigBulkCount,
            "too big bulk count string",
        ),
        (
            b"*1\r\n:1\r\n",
            ExpectedBulk { got: b':' },
            "expected '$', got ':'",
        ),
        (
            b"*1\r\n\r\n",
            ExpectedBulk { got: b'\r' },
            "expected '$', got '?'",
        ),
        (
            b"*1\r\n\xff",
            ExpectedBulk { got: 0xff },
            "expected '$', got '?'",
        ),
        (
            b"*1\r\n$4\r\nPINGx",
            UnterminatedBulk,
            "expected CRLF after bulk string",
        ),
        (
            b"*1\r\n$4\r\nPING\rx",
            UnterminatedBulk,
            "expected CRLF after bulk string",
        ),
        (
            b"*1\r\n$4\r\nPING\n",
            UnterminatedBulk,
            "expected CRLF after bulk string",
        ),
        (
            b"GET 'a\r\n",
            UnbalancedQuotes,
            "unbalanced quotes in request",
        ),
        (
            b"GET \"a\"b\r\n",
            UnbalancedQuotes,
            "unbalanced quotes in request",
        ),
    ] {
        refused(bytes, &AFTER_AUTH, error);
        assert_eq!(error.to_string(), format!("Protocol error: {text}"));
    }
}

#[test]
fn no_error_text_breaks_a_reply_line() {
    for got in 0..=u8::MAX {
        let text = ProtocolError::ExpectedBulk { got }.to_string();
        assert!(
            text.bytes()
                .all(|byte| byte == b' ' || byte.is_ascii_graphic()),
            "{text:?}"
        );
    }
}

#[test]
fn bounds_hold_exactly() {
    let keys = |count: usize| array(&vec![b"k"; count]);
    taken(&keys(ARGUMENTS_MAX), &AFTER_AUTH, 1);
    refused(
        &keys(ARGUMENTS_MAX + 1),
        &AFTER_AUTH,
        ProtocolError::InvalidMultibulkLength,
    );
    let value = |bytes: usize| array(&[vec![b'x'; bytes]]);
    taken(&value(BULK_BYTES_MAX), &AFTER_AUTH, 1);
    refused(
        &value(BULK_BYTES_MAX + 1),
        &AFTER_AUTH,
        ProtocolError::InvalidBulkLength,
    );
    let line = |bytes: usize| [vec![b'x'; bytes - 2], b"\r\n".to_vec()].concat();
    taken(&line(INLINE_BYTES_MAX), &AFTER_AUTH, 1);
    refused(
        &line(INLINE_BYTES_MAX + 1),
        &AFTER_AUTH,
        ProtocolError::TooBigInline,
    );
    refused(
        &vec![b'x'; INLINE_BYTES_MAX],
        &AFTER_AUTH,
        ProtocolError::TooBigInline,
    );
}

#[test]
fn bounds_before_auth_are_tighter_and_say_so() {
    taken(&array(&[b"k"; 10]), &BEFORE_AUTH, 1);
    refused(
        b"*11\r\n",
        &BEFORE_AUTH,
        ProtocolError::UnauthenticatedMultibulkLength,
    );
    refused(
        b"*65537\r\n",
        &BEFORE_AUTH,
        ProtocolError::InvalidMultibulkLength,
    );
    taken(&array(&[vec![b'x'; 16_384]]), &BEFORE_AUTH, 1);
    refused(
        b"*1\r\n$16385\r\n",
        &BEFORE_AUTH,
        ProtocolError::UnauthenticatedBulkLength,
    );
    refused(
        b"*1\r\n$1048577\r\n",
        &BEFORE_AUTH,
        ProtocolError::InvalidBulkLength,
    );
    taken(b"1 2 3 4 5 6 7 8 9 10\r\n", &BEFORE_AUTH, 1);
    refused(
        b"1 2 3 4 5 6 7 8 9 10 11\r\n",
        &BEFORE_AUTH,
        ProtocolError::UnauthenticatedMultibulkLength,
    );
    assert_eq!(
        ProtocolError::UnauthenticatedMultibulkLength.to_string(),
        "Protocol error: unauthenticated multibulk length"
    );
    assert_eq!(
        ProtocolError::UnauthenticatedBulkLength.to_string(),
        "Protocol error: unauthenticated bulk length"
    );
}

#[test]
fn a_whole_request_is_bounded_too() {
    // Ten arguments of 16 KiB would each pass; 64 KiB in all do not.
    let bytes = array(&vec![vec![b'x'; 16_000]; 5]);
    taken(&bytes, &AFTER_AUTH, 1);
    refused(&bytes, &BEFORE_AUTH, ProtocolError::TooBigRequest);
    let exact = |limit| RequestLimits {
        request_bytes_max: limit,
        ..AFTER_AUTH
    };
    taken(&bytes, &exact(bytes.len()), 1);
    refused(
        &bytes,
        &exact(bytes.len() - 1),
        ProtocolError::TooBigRequest,
    );
    // Bounds that 32-bit ranges cannot hold count as what they can.
    taken(&bytes, &exact(usize::MAX), 1);
}

#[test]
fn nested_arrays_are_refused_at_the_first() {
    let nested = b"*1\r\n".repeat(200_000);
    refused(
        &nested,
        &AFTER_AUTH,
        ProtocolError::ExpectedBulk { got: b'*' },
    );
    refused(
        &nested,
        &BEFORE_AUTH,
        ProtocolError::ExpectedBulk { got: b'*' },
    );
}

#[test]
fn huge_announcements_are_refused_before_anything_follows() {
    refused(
        b"*1048576\r\n$536870912\r\n",
        &AFTER_AUTH,
        ProtocolError::InvalidMultibulkLength,
    );
    refused(
        b"*1000\r\n$536870912\r\n",
        &AFTER_AUTH,
        ProtocolError::InvalidBulkLength,
    );
    // Announced within the bounds, it waits, and holds next to nothing: `receive` checks the latter.
    assert_eq!(
        receive_bytewise(b"*65536\r\n$1048576\r\n", &AFTER_AUTH),
        (vec![], None)
    );
}

#[test]
fn limits_may_widen_between_two_requests() {
    let mut scanner = Scanner::new();
    let stream = [array(&[b"AUTH", b"pass"]), array(&[b"k"; 11])].concat();
    let Ok(Scan::Request { consumed, .. }) = scanner.scan(&stream, &BEFORE_AUTH) else {
        panic!("AUTH was not read")
    };
    let second = scanner.scan(&stream[consumed..], &AFTER_AUTH);
    assert!(matches!(second, Ok(Scan::Request { arguments, .. }) if arguments.len() == 11));
}
