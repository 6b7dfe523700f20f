//! Short requests that are there as a whole, some at a time.
//!
//! Nearly every request is an array of few arguments whose lengths have one or two digits, and a pipeline is many of
//! them in one piece. They are found at a glance, and before the first of them is served, so that whoever serves them
//! can look ahead. All others, and all that are wrong, are left to the [`Scanner`](super::Scanner).

use super::arguments::{Arguments, Span};
use super::limits::RequestLimits;

/// Most requests that are looked at ahead: as many as memory answers to at a time.
const REQUESTS_MAX: usize = 16;
/// Most arguments of all of them together. They lie on the stack.
const ARGUMENTS_MAX: usize = 80;

/// Requests at the start of a buffer.
pub struct Batch {
    spans: [Span; ARGUMENTS_MAX],
    /// How many of the spans are those of arguments.
    arguments: usize,
    requests: [Request; REQUESTS_MAX],
    /// How many of the requests were found.
    found: usize,
    next: usize,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            spans: [Span::new(0, 0); ARGUMENTS_MAX],
            arguments: 0,
            requests: [Request::default(); REQUESTS_MAX],
            found: 0,
            next: 0,
        }
    }
}

/// Where a request lies, among the arguments and in bytes from the start of the buffer.
#[derive(Clone, Copy, Default)]
struct Request {
    arguments_start: usize,
    arguments_end: usize,
    start: usize,
    end: usize,
    /// All words but the second are those of the request before.
    repeats: bool,
}

impl Batch {
    /// Finds the requests that begin at the start of `buf`; those found before are forgotten.
    pub fn fill(&mut self, buf: &[u8], limits: &RequestLimits) {
        (self.arguments, self.found, self.next) = (0, 0, 0);
        let mut last = Request::default();
        while self.found < REQUESTS_MAX {
            let found = self.repeat(buf, last);
            let Some(request) = found.or_else(|| self.read(buf, last, limits)) else {
                return;
            };
            self.requests[self.found] = request;
            self.found += 1;
            self.arguments = request.arguments_end;
            last = request;
        }
    }

    /// The request behind `last`, if it is that again with another second word of the same length: most of a pipeline asks for the
    /// same of many keys.
    fn repeat(&mut self, buf: &[u8], last: Request) -> Option<Request> {
        let (from, to) = (last.arguments_start, last.arguments_end);
        let count = to - from;
        if count < 2 || to + count > ARGUMENTS_MAX {
            return None;
        }
        let bytes = last.end - last.start;
        let (start, end) = (last.end, last.end + bytes);
        let (before, now) = (&buf[last.start..start], buf.get(start..end)?);
        let (key_start, key_end) = self.spans[from + 1].ends();
        let (head, tail) = (key_start - last.start, key_end - last.start);
        if now[tail..] != before[tail..] || now[..head] != before[..head] {
            return None;
        }
        let (known, new) = self.spans.split_at_mut(to);
        for (span, known) in new.iter_mut().zip(&known[from..]) {
            *span = known.later(bytes);
        }
        Some(Request {
            arguments_start: to,
            arguments_end: to + count,
            start,
            end,
            repeats: true,
        })
    }

    /// Reads the request behind `last`; `None` if it is not short, not there as a whole, or wrong.
    fn read(&mut self, buf: &[u8], last: Request, limits: &RequestLimits) -> Option<Request> {
        let (begin, from) = (last.end, last.arguments_end);
        let (count, mut position) = short_line(buf, begin, b'*')?;
        let room = limits.arguments_max.min(ARGUMENTS_MAX - from);
        if count == 0 || count > room {
            return None;
        }
        for span in &mut self.spans[from..from + count] {
            let (bytes, start) = short_line(buf, position, b'$')?;
            let end = start + bytes;
            position = end + 2;
            if bytes > limits.bulk_bytes_max || *buf.get(end..position)? != *b"\r\n" {
                return None;
            }
            *span = Span::new(start, end);
        }
        (position - begin <= limits.request_bytes_max).then_some(Request {
            arguments_start: from,
            arguments_end: from + count,
            start: begin,
            end: position,
            repeats: false,
        })
    }

    /// True if there are no more.
    pub fn is_served(&self) -> bool {
        self.next == self.found
    }

    /// How many requests there are.
    pub fn len(&self) -> usize {
        self.found
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.found == 0
    }

    /// What a request says, in the buffer in which it was found.
    fn arguments<'a>(&'a self, buf: &'a [u8], request: &Request) -> Arguments<'a> {
        let spans = &self.spans[request.arguments_start..request.arguments_end];
        Arguments::new(buf, spans).repeating(request.repeats)
    }

    /// All requests.
    pub fn iter<'a>(&'a self, buf: &'a [u8]) -> impl Iterator<Item = Arguments<'a>> {
        let found = self.requests[..self.found].iter();
        found.map(move |request| self.arguments(buf, request))
    }

    /// The next request, and where it ends in the buffer.
    pub fn next<'a>(&'a mut self, buf: &'a [u8]) -> Option<(Arguments<'a>, usize)> {
        let request = *self.requests[..self.found].get(self.next)?;
        self.next += 1;
        Some((self.arguments(buf, &request), request.end))
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
    use super::super::OwnedArguments;
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
        // A request and the like of it, and what differs in one byte.
        let alike = select(vec![
            "*3\r\n$1\r\na\r\n$2\r\nk1\r\n$2\r\n80\r\n",
            "*3\r\n$1\r\na\r\n$2\r\nk2\r\n$2\r\n80\r\n",
            "*3\r\n$1\r\na\r\n$2\r\n\r\n\r\n$2\r\n80\r\n",
            "*3\r\n$1\r\na\r\n$2\r\nk3\r\n$2\r\n81\r\n",
            "*3\r\n$1\r\nA\r\n$2\r\nk3\r\n$2\r\n81\r\n",
            "*3\r\n$1\r\na\r\n$3\r\nk31\r\n$1\r\n8\r\n",
            "*2\r\n$1\r\na\r\n$2\r\nk1\r\n",
            "*1\r\n$1\r\na\r\n",
        ]);
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
        let text = |text: &str| text.as_bytes().to_vec();
        prop_oneof![3 => whole, 6 => alike.prop_map(text), 1 => odd.prop_map(text)]
    }

    proptest! {
        #[test]
        fn what_it_finds_the_scanner_finds(pieces in prop::collection::vec(pieces(), 0..30), cut in any::<prop::sample::Index>()) {
            let mut bytes = pieces.concat();
            bytes.truncate(cut.index(bytes.len() + 1));
            let (mut batch, mut scanner) = (Batch::default(), Scanner::new());
            batch.fill(&bytes, &LIMITS);
            let ahead: Vec<_> = batch.iter(&bytes).map(|arguments| format!("{arguments:?}")).collect();
            let (mut at, mut last) = (0, OwnedArguments::from_slices(&[]));
            for ahead in ahead {
                let (arguments, end) = batch.next(&bytes).expect("it is there");
                prop_assert_eq!(&ahead, &format!("{arguments:?}"));
                prop_assert_eq!(scanner.scan(&bytes[at..], &LIMITS), Ok(Scan::Request { arguments, consumed: end - at }));
                let before = last.as_arguments();
                let others = |words: Arguments<'_>| [words.get(0).map(<[u8]>::to_vec)].into_iter().chain(words.tail(2).iter().map(|word| Some(word.to_vec()))).collect::<Vec<_>>();
                let alike = arguments.len() > 1
                    && others(arguments) == others(before)
                    && before.get(1).map(<[u8]>::len) == arguments.get(1).map(<[u8]>::len);
                // Words of as many bytes are in the same places.
                prop_assert_eq!(arguments.repeats(), alike);
                last = OwnedArguments::from(arguments);
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
