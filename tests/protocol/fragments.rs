//! How bytes arrive makes no difference to what they mean.
use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::protocol::OwnedArguments;

use crate::connection::*;

/// Every kind of request, with all that may stand between two.
fn mixed_stream() -> (Vec<u8>, Vec<OwnedArguments>) {
    let parts: [(&[u8], &[&[u8]]); 14] = [
        (b"*1\r\n$4\r\nPING\r\n", &[b"PING"]),
        (b"\r\n", &[]),
        (b"PING\r\n", &[b"PING"]),
        (b"*0\r\n", &[]),
        (b"*3\r\n$3\r\nSET\r\n$0\r\n\r\n$12\r\n$3\r\n*1\r\n\0\xff\r\n\r\n", &[b"SET", b"", b"$3\r\n*1\r\n\0\xff\r\n"]),
        (b"*-1\r\n", &[]),
        (b"\n", &[]),
        (b"set k 'a b'\t\"\\x00\\r\"\n", &[b"set", b"k", b"a b", b"\0\r"]),
        (b"*-10\r\n", &[]),
        (b"  \t \r\n", &[]),
        (b"$3 +OK :1\r\n", &[b"$3", b"+OK", b":1"]),
        (b"*2\r\n$4\r\nECHO\r\n$10\r\n0123456789\r\n", &[b"ECHO", b"0123456789"]),
        (b"*1\r\n$100\r\n0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789\r\n",
            &[b"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"]),
        (b"''\r\n", &[b""]),
    ];
    let stream = parts
        .iter()
        .flat_map(|(bytes, _)| bytes.iter().copied())
        .collect();
    let requests = parts.iter().filter(|(_, arguments)| !arguments.is_empty());
    (
        stream,
        requests
            .map(|(_, arguments)| OwnedArguments::from_slices(arguments))
            .collect(),
    )
}

#[test]
fn every_cut_in_two_and_in_three_gives_the_same_requests() {
    let (stream, requests) = mixed_stream();
    let expected = (requests, None);
    assert_eq!(receive_whole(&stream, &AFTER_AUTH), expected);
    assert_eq!(receive_whole(&stream, &BEFORE_AUTH), expected);
    assert_eq!(receive_bytewise(&stream, &AFTER_AUTH), expected);
    for first in 0..=stream.len() {
        for second in first..=stream.len() {
            let pieces = [&stream[..first], &stream[first..second], &stream[second..]];
            assert_eq!(
                receive(pieces, &AFTER_AUTH),
                expected,
                "cut at {first} and {second}"
            );
        }
    }
}

/// One request as a client might write it, or something between two.
fn request_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => vec(vec(any::<u8>(), 0..40), 1..8).prop_map(|arguments| array(&arguments)),
        2 => "[a-zA-Z0-9$:+ ]{0,30}(\r)?\n".prop_map(String::into_bytes),
        1 => prop_oneof![Just("\r\n"), Just("\n"), Just("*0\r\n"), Just("*-1\r\n")].prop_map(|text| text.into()),
        1 => vec(any::<u8>(), 200..3000).prop_map(|argument| array(&[argument])),
    ]
}

/// Bytes that get far into the scanner before they go wrong, if they do.
fn hostile_bytes() -> impl Strategy<Value = Vec<u8>> {
    let token = prop_oneof![
        4 => prop_oneof![
            Just("*"), Just("$"), Just("\r\n"), Just("\r"), Just("\n"), Just("-"), Just("0"), Just("1"), Just("2"),
            Just("3"), Just("12"), Just("65536"), Just("99999999999"), Just("'"), Just("\""), Just("\\"), Just("\\x4"),
            Just(" "), Just("*1\r\n"), Just("*2\r\n"), Just("$1\r\na\r\n"), Just("$0\r\n\r\n"), Just("*1\r\n$4\r\nPING\r\n"),
        ].prop_map(|text| text.as_bytes().to_vec()),
        1 => vec(any::<u8>(), 0..4),
    ];
    vec(token, 0..40).prop_map(|tokens| tokens.concat())
}

/// `bytes` cut into pieces whose lengths are `lengths`, over and over.
fn cut<'a>(mut bytes: &'a [u8], lengths: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    for &length in lengths.iter().cycle() {
        if bytes.is_empty() {
            break;
        }
        let (piece, rest) = bytes.split_at(length.min(bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}

proptest! {
    #[test]
    fn fragments_of_requests_give_the_same_requests(
        parts in vec(request_bytes(), 0..12),
        lengths in vec(1_usize..60, 1..20),
    ) {
        let stream = parts.concat();
        let whole = receive_whole(&stream, &AFTER_AUTH);
        prop_assert_eq!(whole.1, None);
        prop_assert_eq!(receive(cut(&stream, &lengths), &AFTER_AUTH), whole);
    }

    #[test]
    fn fragments_of_anything_give_the_same_requests_and_error(
        bytes in hostile_bytes(),
        lengths in vec(1_usize..9, 1..20),
    ) {
        for limits in [AFTER_AUTH, BEFORE_AUTH] {
            prop_assert_eq!(receive(cut(&bytes, &lengths), &limits), receive_whole(&bytes, &limits));
        }
    }

    #[test]
    fn arbitrary_bytes_are_read_or_refused(bytes in vec(any::<u8>(), 0..2000)) {
        receive_whole(&bytes, &AFTER_AUTH);
        receive_bytewise(&bytes, &BEFORE_AUTH);
    }

    #[test]
    fn a_request_gives_back_its_arguments(arguments in vec(vec(any::<u8>(), 0..300), 1..40)) {
        let slices: Vec<&[u8]> = arguments.iter().map(Vec::as_slice).collect();
        let expected = (vec![OwnedArguments::from_slices(&slices)], None);
        prop_assert_eq!(receive_whole(&array(&arguments), &AFTER_AUTH), expected);
    }

    #[test]
    fn quoting_protects_any_bytes_inline(arguments in vec(vec(any::<u8>(), 0..60), 1..10)) {
        let quoted = |argument: &Vec<u8>| {
            let escaped: String = argument.iter().map(|byte| format!("\\x{byte:02x}")).collect();
            format!("\"{escaped}\" ")
        };
        let line: String = arguments.iter().map(quoted).collect();
        let slices: Vec<&[u8]> = arguments.iter().map(Vec::as_slice).collect();
        let expected = (vec![OwnedArguments::from_slices(&slices)], None);
        prop_assert_eq!(receive_whole(format!("{line}\r\n").as_bytes(), &AFTER_AUTH), expected);
    }
}
