use super::*;
use crate::protocol::limits::*;

const LIMITS: RequestLimits = RequestLimits::AUTHENTICATED;

fn request(arguments: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        bytes.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
        bytes.extend_from_slice(argument);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// Feeds `bytes` one more at each call and returns the arguments found and the bytes looked at.
fn feed_byte_by_byte(bytes: &[u8]) -> (usize, usize) {
    let mut scanner = Scanner::new();
    let arguments = (0..=bytes.len())
        .find_map(
            |length| match scanner.scan(&bytes[..length], &LIMITS).unwrap() {
                Scan::Incomplete { .. } => None,
                Scan::Request {
                    arguments,
                    consumed,
                } => {
                    assert_eq!((consumed, length), (bytes.len(), bytes.len()));
                    Some(arguments.len())
                }
                Scan::Skip { .. } => panic!("nothing to skip"),
            },
        )
        .unwrap();
    (arguments, scanner.examined)
}

#[test]
fn a_request_byte_by_byte_looks_at_no_byte_twice() {
    let bytes = request(&vec![&b"argument"[..]; 1000]);
    assert!(bytes.len() > 14_000);
    let (arguments, examined) = feed_byte_by_byte(&bytes);
    assert_eq!(arguments, 1000);
    // The framing, each byte of it once, but for the first `*`; the arguments' own bytes not at all.
    assert_eq!(examined, bytes.len() - 1000 * b"argument".len() - 1);
}

#[test]
fn a_long_argument_byte_by_byte_costs_its_framing_only() {
    let (arguments, examined) = feed_byte_by_byte(&request(&[b"SET", b"key", &[b'x'; 14_000]]));
    assert_eq!(
        (arguments, examined),
        (3, b"3\r\n$3\r\n\r\n$3\r\n\r\n$14000\r\n\r\n".len())
    );
}

#[test]
fn an_inline_line_byte_by_byte_is_searched_once_and_split_once() {
    let mut bytes = b"word ".repeat(2_800);
    bytes.push(b'\n');
    let (arguments, examined) = feed_byte_by_byte(&bytes);
    assert_eq!((arguments, examined), (2_800, 2 * bytes.len() - 1));
}

#[test]
fn room_is_made_for_what_arrives_not_for_what_is_announced() {
    let mut scanner = Scanner::new();
    assert_eq!(scanner.allocated_bytes(), 0);
    let announced = format!("*{ARGUMENTS_MAX}\r\n${BULK_BYTES_MAX}\r\n");
    let scan = scanner.scan(announced.as_bytes(), &LIMITS);
    assert_eq!(
        scan,
        Ok(Scan::Incomplete {
            needed_hint: BULK_BYTES_MAX + 2
        })
    );
    assert_eq!(
        scanner.allocated_bytes(),
        ARGUMENTS_PREALLOCATED_MAX * size_of::<Span>()
    );
}

#[test]
fn the_room_of_a_large_request_is_given_back_at_the_next_call() {
    let mut scanner = Scanner::new();
    let many = request(&vec![&b"k"[..]; 10_000]);
    assert!(matches!(
        scanner.scan(&many, &LIMITS),
        Ok(Scan::Request { .. })
    ));
    assert!(scanner.allocated_bytes() >= 10_000 * size_of::<Span>());
    assert_eq!(
        scanner.scan(b"", &LIMITS),
        Ok(Scan::Incomplete { needed_hint: 1 })
    );
    assert_eq!(scanner.allocated_bytes(), 0);

    let mut line = vec![b'x'; 10_000];
    line.push(b'\n');
    assert!(matches!(
        scanner.scan(&line, &LIMITS),
        Ok(Scan::Request { .. })
    ));
    assert!(scanner.allocated_bytes() >= 10_000);
    assert_eq!(
        scanner.scan(b"", &LIMITS),
        Ok(Scan::Incomplete { needed_hint: 1 })
    );
    assert!(scanner.allocated_bytes() <= INLINE_BYTES_KEPT);
}

#[test]
fn the_room_of_an_ordinary_request_is_used_again() {
    let mut scanner = Scanner::new();
    let bytes = request(&[b"RL.RESERVE", b"key", b"10", b"1/s", b"1"]);
    assert!(matches!(
        scanner.scan(&bytes, &LIMITS),
        Ok(Scan::Request { .. })
    ));
    let before = (scanner.spans.as_ptr(), scanner.allocated_bytes());
    assert!(matches!(
        scanner.scan(&bytes, &LIMITS),
        Ok(Scan::Request { .. })
    ));
    assert_eq!((scanner.spans.as_ptr(), scanner.allocated_bytes()), before);
}

#[test]
fn a_shorter_buffer_than_before_waits_instead_of_panicking() {
    for bytes in [&b"*1\r\n$100\r\nabc"[..], b"*1\r\n$1", b"*12", b"PING"] {
        let mut scanner = Scanner::new();
        for buf in [bytes, b"*", b""] {
            assert!(
                matches!(scanner.scan(buf, &LIMITS), Ok(Scan::Incomplete { .. })),
                "{}",
                bytes.escape_ascii()
            );
        }
    }
}
