//! What a connection does with received bytes, without the connection.
use tollgate::protocol::limits::*;
use tollgate::protocol::{OwnedArguments, ProtocolError, RequestLimits, Scan, Scanner};

pub const BEFORE_AUTH: RequestLimits = RequestLimits::UNAUTHENTICATED;
pub const AFTER_AUTH: RequestLimits = RequestLimits::AUTHENTICATED;

/// What a stream of bytes amounts to: its requests, and the error it ended with.
pub type Outcome = (Vec<OwnedArguments>, Option<ProtocolError>);

/// Receives `pieces` one after the other as a connection does, and checks on the way what must hold at each step.
pub fn receive<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, limits: &RequestLimits) -> Outcome {
    let mut scanner = Scanner::new();
    let (mut buf, mut start, mut requests) = (Vec::new(), 0, Vec::new());
    let mut completes_from = 0;
    let bytes_max = limits
        .request_bytes_max
        .max(limits.inline_bytes_max)
        .saturating_add(LENGTH_LINE_BYTES_MAX + 3);
    for piece in pieces {
        buf.extend_from_slice(piece);
        loop {
            let scan = match scanner.scan(&buf[start..], limits) {
                Ok(scan) => scan,
                Err(error) => return (requests, Some(error)),
            };
            match scan {
                Scan::Incomplete { needed_hint } => {
                    assert!((1..=limits.bulk_bytes_max + 2).contains(&needed_hint));
                    completes_from = completes_from.max(buf.len() + needed_hint);
                    let waiting = buf.len() - start;
                    assert!(waiting < bytes_max);
                    assert!(
                        scanner.allocated_bytes()
                            <= 10 * waiting + ARGUMENTS_KEPT * 8 + INLINE_BYTES_KEPT
                    );
                    break;
                }
                Scan::Request {
                    arguments,
                    consumed,
                } => {
                    assert!(
                        buf.len() >= completes_from,
                        "completed with fewer bytes than it said it needed"
                    );
                    assert!(!arguments.is_empty());
                    requests.push(OwnedArguments::from(arguments));
                    start += consumed;
                }
                Scan::Skip { consumed } => {
                    assert!(consumed >= 1);
                    start += consumed;
                }
            }
        }
    }
    (requests, None)
}

pub fn receive_whole(bytes: &[u8], limits: &RequestLimits) -> Outcome {
    receive([bytes], limits)
}

pub fn receive_bytewise(bytes: &[u8], limits: &RequestLimits) -> Outcome {
    receive(bytes.chunks(1), limits)
}

pub fn array(arguments: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", arguments.len()).into_bytes();
    for argument in arguments {
        let argument = argument.as_ref();
        bytes.extend_from_slice(format!("${}\r\n", argument.len()).as_bytes());
        bytes.extend_from_slice(argument);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}
