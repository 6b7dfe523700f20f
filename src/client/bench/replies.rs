//! Finding where each reply ends and what it says at first glance: no allocation, each byte looked at once.

use memchr::memchr;

/// Longest line of a reply, in bytes: an error quotes what was sent, and that is short.
const LINE_MAX: usize = 1024 * 1024;
/// Longest reply, in bytes: a guard for the memory of the generator.
pub const REPLY_MAX: usize = 64 * 1024 * 1024;

/// A whole reply at the beginning of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply<'a> {
    bytes: &'a [u8],
    /// Where the CR of its first line stands.
    line_end: usize,
    /// The first two integers in it, at whatever depth.
    pub integers: [Option<i64>; 2],
    /// It is a null of RESP2 or RESP3.
    pub null: bool,
}

impl<'a> Reply<'a> {
    /// Its length in bytes.
    pub fn length(&self) -> usize {
        self.bytes.len()
    }

    /// Its first byte, which tells its type.
    fn kind(&self) -> u8 {
        self.bytes[0]
    }

    /// A message that nobody asked for.
    pub fn is_push(&self) -> bool {
        self.kind() == b'>'
    }

    /// An error.
    pub fn is_error(&self) -> bool {
        matches!(self.kind(), b'-' | b'!')
    }

    /// The text of an error.
    pub fn text(&self) -> &'a [u8] {
        match self.kind() {
            b'!' => &self.bytes[self.line_end + 2..self.bytes.len() - 2],
            _ => &self.bytes[1..self.line_end],
        }
    }
}

/// How far the reply at the beginning of the input has been looked at.
#[derive(Debug, Default)]
pub struct Skimmer {
    /// Bytes that need no second look.
    position: usize,
    /// Items still to come behind that, if an aggregate is open.
    left: usize,
    /// Where the first line ends, once it has.
    line_end: Option<usize>,
    integers: [Option<i64>; 2],
    null: bool,
}

impl Skimmer {
    /// The reply at the beginning of `input`; `None` if it is not complete, and then `input` may only grow.
    ///
    /// # Errors
    /// What is wrong, if it is no RESP or beyond the bounds.
    pub fn next<'a>(&mut self, input: &'a [u8]) -> Result<Option<Reply<'a>>, String> {
        loop {
            let rest = &input[self.position..];
            let Some(end) = memchr(b'\n', rest) else {
                return match rest.len() > LINE_MAX {
                    true => Err("a line of a reply does not end".to_owned()),
                    false => Ok(None),
                };
            };
            if end < 2 || rest[end - 1] != b'\r' {
                return Err("a line of a reply does not end in CR LF".to_owned());
            }
            let (kind, line) = (rest[0], &rest[1..end - 1]);
            let mut length = end + 1;
            let (mut items, mut is_null) = (0, false);
            match kind {
                b':' => self.note(number(line)?),
                b'+' | b'-' | b',' | b'#' | b'(' => {}
                b'_' => is_null = true,
                b'$' | b'!' | b'=' => match count(line)? {
                    Some(bytes) => length += bytes + 2,
                    None => is_null = true,
                },
                b'*' | b'~' | b'>' | b'%' | b'|' => match count(line)? {
                    None => is_null = true,
                    Some(number) => {
                        items = match kind {
                            b'%' => number * 2,
                            // Attributes come before what they are about.
                            b'|' => number * 2 + 1,
                            _ => number,
                        }
                    }
                },
                _ => return Err(format!("it cannot begin with '{}'", kind.escape_ascii())),
            }
            if self.position + length > REPLY_MAX {
                return Err(format!("it is longer than {REPLY_MAX} bytes"));
            }
            if rest.len() < length {
                return Ok(None);
            }
            if self.line_end.is_none() {
                (self.line_end, self.null, self.left) = (Some(end - 1), is_null, 1);
            }
            self.position += length;
            self.left = self.left - 1 + items;
            if self.left == 0 {
                let done = std::mem::take(self);
                return Ok(Some(Reply {
                    bytes: &input[..done.position],
                    line_end: done.line_end.unwrap_or_default(),
                    integers: done.integers,
                    null: done.null,
                }));
            }
        }
    }

    fn note(&mut self, number: i64) {
        match &mut self.integers {
            [first @ None, _] => *first = Some(number),
            [_, second @ None] => *second = Some(number),
            _ => {}
        }
    }
}

fn number(line: &[u8]) -> Result<i64, String> {
    let (sign, digits) = match line {
        [b'-', digits @ ..] => (-1, digits),
        [b'+', digits @ ..] => (1, digits),
        digits => (1, digits),
    };
    let mut value = Some(0i64);
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        value = value
            .filter(|_| digit < 10)
            .and_then(|value| value.checked_mul(10)?.checked_add(sign * i64::from(digit)));
    }
    value
        .filter(|_| !digits.is_empty())
        .ok_or_else(|| format!("'{}' is no number", line.escape_ascii()))
}

/// The number in a header line; `None` for -1.
fn count(line: &[u8]) -> Result<Option<usize>, String> {
    match number(line)? {
        -1 => Ok(None),
        number => usize::try_from(number)
            .ok()
            .filter(|number| *number <= REPLY_MAX)
            .map(Some)
            .ok_or_else(|| format!("'{number}' is no length")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] = b"+OK\r\n:-12\r\n$3\r\na\nb\r\n$-1\r\n_\r\n*3\r\n:1\r\n*2\r\n:7\r\n$0\r\n\r\n+x\r\n*0\r\n*-1\r\n-ERR no 'x'\r\n%1\r\n$7\r\ngranted\r\n:0\r\n|1\r\n+a\r\n+b\r\n:5\r\n>1\r\n+m\r\n#t\r\n,1.5\r\n!3\r\nERR\r\n~1\r\n(9\r\n=5\r\ntxt:a\r\n";

    #[test]
    fn replies_end_where_they_end_however_they_arrive() {
        let whole = {
            let (mut skimmer, mut at, mut all) = (Skimmer::default(), 0, Vec::new());
            while let Some(reply) = skimmer.next(&STREAM[at..]).unwrap() {
                at += reply.length();
                all.push((at, reply.kind(), reply.integers, reply.null));
            }
            assert_eq!(at, STREAM.len());
            all
        };
        let mut bytewise = Vec::new();
        let (mut skimmer, mut from) = (Skimmer::default(), 0);
        for to in 1..=STREAM.len() {
            while let Some(reply) = skimmer.next(&STREAM[from..to]).unwrap() {
                from += reply.length();
                bytewise.push((from, reply.kind(), reply.integers, reply.null));
            }
        }
        assert_eq!(whole, bytewise);
        let kinds: Vec<u8> = whole.iter().map(|(_, kind, ..)| *kind).collect();
        assert_eq!(kinds, b"+:$$_***-%|>#,!~=");
        assert_eq!(whole[1].2, [Some(-12), None]);
        assert_eq!(whole[5].2, [Some(1), Some(7)]);
        let nulls: Vec<bool> = whole.iter().map(|(.., null)| *null).collect();
        assert_eq!(nulls.iter().filter(|null| **null).count(), 3);
        assert!(nulls[3] && nulls[4] && nulls[7]);
    }

    #[test]
    fn errors_have_their_text() {
        let mut skimmer = Skimmer::default();
        let reply = skimmer
            .next(b"-ERR unknown command 'x'\r\n+OK\r\n")
            .unwrap()
            .unwrap();
        assert!(reply.is_error());
        assert_eq!(reply.text(), b"ERR unknown command 'x'");
        let reply = skimmer.next(b"!8\r\nERR a\r\nb\r\n").unwrap().unwrap();
        assert!(reply.is_error());
        assert_eq!(reply.text(), b"ERR a\r\nb");
    }

    #[test]
    fn what_is_no_reply_is_refused() {
        for bytes in [
            &b"?\r\n"[..],
            b"\r\n",
            b"\n",
            b":\r\n",
            b":x\r\n",
            b":9999999999999999999\r\n",
            b"$-2\r\n",
            b"*99999999999\r\n",
            b"+a\n",
        ] {
            let text = bytes.escape_ascii().to_string();
            assert!(Skimmer::default().next(bytes).is_err(), "{text}");
        }
        assert!(Skimmer::default().next(&vec![b'+'; LINE_MAX + 1]).is_err());
    }
}
