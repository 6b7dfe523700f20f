//! The request scanner: how bytes arrive makes no difference to what they mean, and every bound holds.

use super::stream::{self, Outcome};
use tollgate::protocol::RequestLimits;

/// Bounds that a short input reaches.
const NARROW: RequestLimits = RequestLimits {
    arguments_max: 4,
    bulk_bytes_max: 16,
    request_bytes_max: 64,
    inline_bytes_max: 32,
};

/// The first byte says how many of those behind it are lengths of pieces, used over and over; the rest arrives in
/// these pieces, whole, and byte by byte.
pub fn check(input: &[u8]) {
    let Some((&count, rest)) = input.split_first() else {
        return;
    };
    let (lengths, bytes) = rest.split_at(usize::from(count % 8).min(rest.len()));
    for limits in [
        RequestLimits::AUTHENTICATED,
        RequestLimits::UNAUTHENTICATED,
        NARROW,
    ] {
        let whole = stream::receive_whole(bytes, &limits);
        assert_eq!(stream::receive_bytewise(bytes, &limits), whole);
        assert_eq!(stream::receive(cut(bytes, lengths), &limits), whole);
        keeps_within(&whole, &limits);
        reads_back(&whole, &limits);
    }
}

fn cut<'a>(mut bytes: &'a [u8], lengths: &[u8]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    let mut lengths = lengths.iter().cycle();
    while !bytes.is_empty() {
        let length = lengths
            .next()
            .map_or(bytes.len(), |&length| usize::from(length));
        let (piece, rest) = bytes.split_at(length.clamp(1, bytes.len()));
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}

fn keeps_within((requests, _): &Outcome, limits: &RequestLimits) {
    for request in requests {
        let arguments = request.as_arguments();
        assert!((1..=limits.arguments_max).contains(&arguments.len()));
        let longest = limits.bulk_bytes_max.max(limits.inline_bytes_max);
        assert!(arguments.iter().all(|argument| argument.len() <= longest));
    }
}

/// What was read, written as arrays, is read as the same: also what came as a line.
fn reads_back((requests, _): &Outcome, limits: &RequestLimits) {
    let roomy = RequestLimits {
        bulk_bytes_max: limits.bulk_bytes_max.max(limits.inline_bytes_max),
        request_bytes_max: RequestLimits::AUTHENTICATED.request_bytes_max,
        ..*limits
    };
    let arrays = requests.iter().map(|request| {
        let arguments: Vec<&[u8]> = request.as_arguments().iter().collect();
        stream::array(&arguments)
    });
    let bytes = arrays.collect::<Vec<_>>().concat();
    let (again, error) = stream::receive_whole(&bytes, &roomy);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(&again, requests);
}
