//! Short requests that are there as a whole, some at a time.
//!
//! Nearly every request is an array of few arguments whose lengths have one or two digits, and a pipeline is many of
//! them in one piece. They are found at a glance, and before the first of them is served, so that whoever serves them
//! can look ahead. All others, and all that are wrong, are left to the [`Scanner`](super::Scanner).

use super::arguments::{Arguments, Span};
use super::limits::RequestLimits;
use smallvec::SmallVec;

/// Most requests that are looked at ahead: as many as memory answers to at a time.
const REQUESTS_MAX: usize = 16;
/// Most arguments of all of them together. They lie on the stack.
const ARGUMENTS_MAX: usize = 80;

/// Requests at the start of a buffer.
#[derive(Default)]
pub struct Batch {
    spans: SmallVec<[Span; ARGUMENTS_MAX]>,
    requests: SmallVec<[Request; REQUESTS_MAX]>,
    next: usize,
}

/// Where a request ends, among the arguments and in bytes from the start of the buffer.
#[derive(Clone, Copy)]
struct Request {
    arguments_end: usize,
    end: usize,
}

impl Batch {
    /// Finds the requests that begin at the start of `buf`; those found before are forgotten.
    pub fn fill(&mut self, buf: &[u8], limits: &RequestLimits) {
        self.spans.clear();
        self.requests.clear();
        self.next = 0;
        let mut begin = 0;
        while self.requests.len() < REQUESTS_MAX {
            let before = self.spans.len();
            let Some(end) = self.read(buf, begin, limits) else {
                self.spans.truncate(before);
                return;
            };
            self.requests.push(Request {
                arguments_end: self.spans.len(),
                end,
            });
            begin = end;
        }
    }

    /// Reads the request that begins at `begin`, and where it ends; `None` if it is not short, not there as a whole, or
    /// wrong.
    fn read(&mut self, buf: &[u8], begin: usize, limits: &RequestLimits) -> Option<usize> {
        let (count, mut position) = short_line(buf, begin, b'*')?;
        let room = limits.arguments_max.min(ARGUMENTS_MAX - self.spans.len());
        if count == 0 || count > room {
            return None;
        }
        for _ in 0..count {
            let (bytes, start) = short_line(buf, position, b'$')?;
            let end = start + bytes;
            position = end + 2;
            if bytes > limits.bulk_bytes_max || *buf.get(end..position)? != *b"\r\n" {
                return None;
            }
            self.spans.push(Span::new(start, end));
        }
        (position - begin <= limits.request_bytes_max).then_some(position)
    }

    /// True if there are no more.
    pub fn is_served(&self) -> bool {
        self.next == self.requests.len()
    }

    /// How many requests there are.
    pub fn len(&self) -> usize {
        self.requests.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Request `index`, in the buffer in which it was found.
    fn arguments<'a>(&'a self, buf: &'a [u8], index: usize) -> Arguments<'a> {
        let begin = match index {
            0 => 0,
            _ => self.requests[index - 1].arguments_end,
        };
        Arguments::new(buf, &self.spans[begin..self.requests[index].arguments_end])
    }

    /// All requests.
    pub fn iter<'a>(&'a self, buf: &'a [u8]) -> impl Iterator<Item = Arguments<'a>> {
        (0..self.len()).map(move |index| self.arguments(buf, index))
    }

    /// The next request, and where it ends in the buffer.
    pub fn next<'a>(&'a mut self, buf: &'a [u8]) -> Option<(Arguments<'a>, usize)> {
        let end = self.requests.get(self.next)?.end;
        self.next += 1;
        Some((self.arguments(buf, self.next - 1), end))
    }
}

/// The number of one or two digits on the line that begins at `at` with `sign`, and where the next line begins.
#[inline]
fn short_line(buf: &[u8], at: usize, sign: u8) -> Option<(usize, usize)> {
    let digit = |byte: u8| usize::from(byte - b'0');
    match *buf.get(at..at + 4)? {
        [first, a @ b'0'..=b'9', b'\r', b'\n'] if first == sign => Some((digit(a), at + 4)),
        [first, a @ b'1'..=b'9', b @ b'0'..=b'9', b'\r'] if first == sign => {
            let end = buf.get(at + 4) == Some(&b'\n');
            end.then_some((digit(a) * 10 + digit(b), at + 5))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::request::{Scan, Scanner};
    use super::*;
    use proptest::prelude::*;
    use proptest::sample::select;

    const LIMITS: RequestLimits = RequestLimits {
        arguments_max: 12,
        bulk_bytes_max: 40,
        request_bytes_max: 200,
        inline_bytes_max: 100,
    };

    /// Pieces of requests, whole and broken.
    fn pieces() -> impl Strategy<Value = Vec<u8>> {
        let whole = prop::collection::vec(prop::collection::vec(any::<u8>(), 0..45), 0..14)
            .prop_map(|words| {
                let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
                for word in words {
                    bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
                    bytes.extend_from_slice(&word);
                    bytes.extend_from_slice(b"\r\n");
                }
                bytes
            });
        let odd = select(vec![
            "*1\r\n$4\r\nPING\r\n",
            "PING\r\n",
            "*0\r\n",
            "*-1\r\n",
            "*01\r\n$1\r\na\r\n",
            "*1\r\n$01\r\na\r\n",
            "*1\r\n$1\r\nab\r\n",
            "*1\r\n$1\na\r\n",
            "*2\r\n$1\r\na\r\n",
            "\r\n",
            "*1\r\n$-1\r\n",
        ]);
        prop_oneof![3 => whole, 1 => odd.prop_map(|text| text.as_bytes().to_vec())]
    }

    proptest! {
        #[test]
        fn what_it_finds_the_scanner_finds(pieces in prop::collection::vec(pieces(), 0..30), cut in any::<prop::sample::Index>()) {
            let mut bytes = pieces.concat();
            bytes.truncate(cut.index(bytes.len() + 1));
            let (mut batch, mut scanner) = (Batch::default(), Scanner::new());
            batch.fill(&bytes, &LIMITS);
            prop_assert!(!batch.spans.spilled() && !batch.requests.spilled());
            let ahead: Vec<_> = batch.iter(&bytes).map(|arguments| format!("{arguments:?}")).collect();
            let mut at = 0;
            for ahead in ahead {
                let (arguments, end) = batch.next(&bytes).expect("it is there");
                prop_assert_eq!(&ahead, &format!("{arguments:?}"));
                prop_assert_eq!(scanner.scan(&bytes[at..], &LIMITS), Ok(Scan::Request { arguments, consumed: end - at }));
                at = end;
            }
            prop_assert!(batch.next(&bytes).is_none());
        }
    }

    #[test]
    fn a_pipeline_is_read_some_at_a_time() {
        let bytes = b"*5\r\n$10\r\nRL.RESERVE\r\n$16\r\nkey:000000012345\r\n$2\r\n80\r\n$2\r\n80\r\n$5\r\n30000\r\n".repeat(64);
        let mut batch = Batch::default();
        batch.fill(&bytes, &RequestLimits::AUTHENTICATED);
        assert_eq!(batch.len(), REQUESTS_MAX);
    }
}
