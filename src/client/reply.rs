//! Finding where a reply ends, within bounds, and decoding it.
//!
//! The decoder of redis-protocol recurses once for each level of nesting and starts over whenever a
//! reply is incomplete. So [`Scanner`] looks first: it goes on where it stopped, refuses what is too
//! deep or too long, and hands over only complete replies.

use redis_protocol::{resp2, resp3};

pub(crate) use redis_protocol::resp3::types::OwnedFrame as Reply;

/// Deepest nesting that is read. Replies of Redis go to about eight; this keeps the decoder's recursion
/// far from the end of its stack.
const DEPTH_MAX: usize = 64;
/// Longest reply, in bytes: a guard for the client's memory. The server's are far shorter.
const REPLY_MAX: usize = 256 * 1024 * 1024;
/// Longest line (status, error, length) that is waited for.
const LINE_MAX: usize = 1024 * 1024;

/// How far the reply at the beginning of a buffer has been looked at.
#[derive(Debug, Default)]
pub(crate) struct Scanner {
    /// Everything before this is well formed.
    position: usize,
    /// Items still to come, for each aggregate that is open.
    open: Vec<usize>,
    /// There was a null in RESP2's spelling, which the RESP3 decoder does not know.
    resp2_null: bool,
    /// Where sets begin.
    sets: Vec<usize>,
}

impl Scanner {
    /// Takes the reply at the beginning of `input` out of it; `None` if it is not complete yet.
    pub(crate) fn take(&mut self, input: &mut Vec<u8>) -> Result<Option<Reply>, String> {
        if !self.scan(input)? {
            return Ok(None);
        }
        let scanned = std::mem::take(self);
        let mut bytes: Vec<u8> = input.drain(..scanned.position).collect();
        let decode = |bytes: &[u8]| {
            if scanned.resp2_null {
                let decoded = resp2::decode::decode(bytes);
                decoded.map(|decoded| decoded.map(|(frame, _)| from_resp2(frame)))
            } else {
                let decoded = resp3::decode::complete::decode(bytes);
                decoded.map(|decoded| decoded.map(|(frame, _)| frame))
            }
        };
        let mut reply = decode(&bytes);
        if reply.is_err() && !scanned.sets.is_empty() {
            // The decoder knows no sets of arrays, which COMMAND of Redis replies: read them as arrays.
            scanned
                .sets
                .iter()
                .for_each(|position| bytes[*position] = b'*');
            reply = decode(&bytes);
        }
        match reply {
            Ok(Some(reply)) => Ok(Some(reply)),
            Ok(None) => Err("a reply ends early".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// True if a whole reply stands in `input`; `position` is then its length.
    fn scan(&mut self, input: &[u8]) -> Result<bool, String> {
        loop {
            let rest = &input[self.position..];
            let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") else {
                return if rest.len() > LINE_MAX {
                    Err("a line of a reply is too long".to_owned())
                } else {
                    Ok(false)
                };
            };
            let (Some(kind), line) = (rest.first(), &rest[1.min(end)..end]) else {
                return Ok(false);
            };
            let mut length = end + 2;
            match kind {
                b'+' | b'-' | b':' | b',' | b'#' | b'_' | b'(' => {}
                b'$' | b'!' | b'=' => match count(line)? {
                    Some(bytes) => length += bytes + 2,
                    None => self.resp2_null = true,
                },
                b'*' | b'~' | b'>' | b'%' | b'|' => match count(line)? {
                    None => self.resp2_null = true,
                    Some(0) if *kind != b'|' => {}
                    Some(items) => {
                        if self.open.len() >= DEPTH_MAX {
                            return Err(format!("a reply is nested deeper than {DEPTH_MAX}"));
                        }
                        if *kind == b'~' {
                            self.sets.push(self.position);
                        }
                        // An attribute is its pairs and then the value that it is about.
                        self.open.push(match kind {
                            b'%' => items * 2,
                            b'|' => items * 2 + 1,
                            _ => items,
                        });
                        self.position += length;
                        continue;
                    }
                },
                other => {
                    return Err(format!(
                        "a reply cannot begin with '{}'",
                        other.escape_ascii()
                    ));
                }
            }
            if self.position + length > REPLY_MAX {
                return Err(format!("a reply is longer than {REPLY_MAX} bytes"));
            }
            if rest.len() < length {
                return Ok(false);
            }
            self.position += length;
            if self.close_item() {
                return Ok(true);
            }
        }
    }

    /// One item is complete: true if that completes the whole reply.
    fn close_item(&mut self) -> bool {
        while let Some(left) = self.open.last_mut() {
            *left -= 1;
            if *left > 0 {
                return false;
            }
            self.open.pop();
        }
        true
    }
}

/// The number in a header line; `None` for -1.
fn count(line: &[u8]) -> Result<Option<usize>, String> {
    if line == b"-1" {
        return Ok(None);
    }
    let number = std::str::from_utf8(line)
        .ok()
        .and_then(|text| text.parse().ok());
    number
        .filter(|number| *number <= REPLY_MAX)
        .map(Some)
        .ok_or_else(|| format!("'{}' is no length of a reply", line.escape_ascii()))
}

fn from_resp2(frame: resp2::types::OwnedFrame) -> Reply {
    use resp2::types::OwnedFrame as Old;
    let attributes = None;
    match frame {
        Old::SimpleString(data) => Reply::SimpleString { data, attributes },
        Old::Error(data) => Reply::SimpleError { data, attributes },
        Old::Integer(data) => Reply::Number { data, attributes },
        Old::BulkString(data) => Reply::BlobString { data, attributes },
        Old::Array(items) => Reply::Array {
            data: items.into_iter().map(from_resp2).collect(),
            attributes,
        },
        Old::Null => Reply::Null,
    }
}

/// The text of an error reply, `None` for any other.
pub(crate) fn error_text(reply: &Reply) -> Option<String> {
    match reply {
        Reply::SimpleError { data, .. } => Some(data.clone()),
        Reply::BlobError { data, .. } => Some(String::from_utf8_lossy(data).into_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(bytes: &[u8]) -> Result<Option<Reply>, String> {
        Scanner::default().take(&mut bytes.to_vec())
    }

    #[test]
    fn byte_by_byte_gives_the_same_replies() {
        let stream = b"+OK\r\n*3\r\n:1\r\n$-1\r\n*1\r\n$4\r\na\r\nb\r\n%1\r\n$1\r\nk\r\n#t\r\n_\r\n*0\r\n|1\r\n+a\r\n+b\r\n:7\r\n";
        let (mut scanner, mut input, mut replies) = (Scanner::default(), Vec::new(), Vec::new());
        for byte in stream {
            input.push(*byte);
            while let Some(reply) = scanner.take(&mut input).unwrap() {
                replies.push(reply);
            }
        }
        assert!(input.is_empty());
        let kinds: Vec<_> = replies.iter().map(std::mem::discriminant).collect();
        assert_eq!(kinds.len(), 6, "{replies:?}");
        let Reply::Array { data, .. } = &replies[1] else {
            panic!("{replies:?}")
        };
        assert_eq!((data.len(), &data[1]), (3, &Reply::Null));
    }

    #[test]
    fn a_set_may_hold_arrays() {
        let reply = take(b"*1\r\n~1\r\n*1\r\n~1\r\n:7\r\n").unwrap();
        assert!(matches!(reply, Some(Reply::Array { .. })), "{reply:?}");
    }

    #[test]
    fn hostile_replies_are_refused() {
        assert!(
            take(&b"*1\r\n".repeat(100_000))
                .unwrap_err()
                .contains("deeper")
        );
        for bytes in [
            &b"$99999999999999999999\r\n"[..],
            b"*-2\r\n",
            b"$536870912\r\n",
            b"?\r\n",
            b"\r\n",
            b"*?\r\n",
        ] {
            assert!(
                take(bytes).is_err(),
                "{:?}",
                bytes.escape_ascii().to_string()
            );
        }
        assert!(
            take(&vec![b'+'; LINE_MAX + 2])
                .unwrap_err()
                .contains("too long")
        );
        assert_eq!(take(b"*1000000\r\n"), Ok(None));
        assert!(take(b":abc\r\n").is_err());
    }
}
