use std::fmt::{self, Write as _};

use super::double::DoubleText;
use super::limits::TEXT_BYTES_MAX;

/// The version of the protocol in which a connection is answered. Requests look the same in both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Every connection begins with it.
    #[default]
    Resp2,
    /// After `HELLO 3`.
    Resp3,
}

impl Protocol {
    /// Its number: 2 or 3.
    pub const fn version(self) -> u8 {
        match self {
            Self::Resp2 => 2,
            Self::Resp3 => 3,
        }
    }
}

/// Writes replies behind what a buffer already holds.
///
/// Each method writes one value. An aggregate ([`array`](Self::array), [`map`](Self::map), [`set`](Self::set),
/// [`push`](Self::push)) writes its head only: as many values as it announced must follow.
/// In RESP2, what only RESP3 has is written in the form in which Redis gives it to RESP2 clients.
#[derive(Debug)]
pub struct Reply<'a> {
    out: &'a mut Vec<u8>,
    protocol: Protocol,
}

impl<'a> Reply<'a> {
    /// Writes to the end of `out` in `protocol`.
    pub fn new(out: &'a mut Vec<u8>, protocol: Protocol) -> Self {
        Self { out, protocol }
    }

    /// The protocol written.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Writes `protocol` from here on: the answer to `HELLO` is already in the one it asked for.
    pub fn set_protocol(&mut self, protocol: Protocol) {
        self.protocol = protocol;
    }

    /// Where the next value will be written: a mark for [`truncate`](Self::truncate).
    pub fn position(&self) -> usize {
        self.out.len()
    }

    /// All that the buffer holds so far.
    pub fn written(&self) -> &[u8] {
        self.out
    }

    /// Drops what was written since `position` was taken, as when a command fails with half of its reply written.
    /// Does nothing when less than that is there.
    pub fn truncate(&mut self, position: usize) {
        self.out.truncate(position);
    }

    /// Replies that were written elsewhere, whole and in this protocol.
    pub fn append(&mut self, replies: &[u8]) {
        self.out.extend_from_slice(replies);
    }

    /// `+OK`.
    pub fn ok(&mut self) {
        self.out.extend_from_slice(b"+OK\r\n");
    }

    /// A short text without a length in front, such as `PONG`. Cleaned and cut like [`error`](Self::error).
    pub fn simple(&mut self, text: &str) {
        self.line(b'+', format_args!("{text}"));
    }

    /// An error: the whole text with its code in front, such as `ERR no such key`.
    ///
    /// The text may quote what was received: each control character, CR and LF above all, becomes a space, so that
    /// nobody can write a second reply with it; and it ends at [`TEXT_BYTES_MAX`] bytes, between two characters.
    pub fn error(&mut self, text: &str) {
        self.line(b'-', format_args!("{text}"));
    }

    /// [`error`](Self::error) of a value that prints as the whole text, without a `String` in between.
    pub fn error_display(&mut self, text: impl fmt::Display) {
        self.line(b'-', format_args!("{text}"));
    }

    /// A 64-bit integer.
    pub fn integer(&mut self, value: i64) {
        write_integer(self.out, value);
    }

    /// An array of integers, whole: what the limit commands reply.
    pub fn integers(&mut self, values: &[i64]) {
        // Put together on the stack: one check of the vector's capacity for all of them.
        let mut lines = [0; (INTEGERS_MAX + 1) * HEAD_BYTES_MAX];
        let mut end = 0;
        let mut put = |end: usize, kind, value| {
            let line = lines[end..].first_chunk_mut();
            put_number_line(line.expect("there is room for as many"), kind, value)
        };
        end += put(end, b'*', values.len() as i64);
        let (first, rest) = values.split_at(values.len().min(INTEGERS_MAX));
        for &value in first {
            end += put(end, b':', value);
        }
        self.out.extend_from_slice(&lines[..end]);
        rest.iter().for_each(|&value| self.integer(value));
    }

    /// A byte string of any content and length.
    pub fn bulk(&mut self, bytes: &[u8]) {
        self.out.reserve(bytes.len() + HEAD_BYTES_MAX + 2);
        self.head(b'$', bytes.len());
        self.out.extend_from_slice(bytes);
        self.out.extend_from_slice(b"\r\n");
    }

    /// A byte string printed in place: `reply.bulk_display(format_args!("{a}:{b}"))`.
    ///
    /// Should `text` fail to print half-way, the string ends there.
    pub fn bulk_display(&mut self, text: impl fmt::Display) {
        let start = self.out.len();
        let _ = write!(Appended(self.out), "{text}");
        let body = self.out.len() - start;
        // The length comes first but is known last.
        self.head(b'$', body);
        self.out[start..].rotate_left(body);
        self.out.extend_from_slice(b"\r\n");
    }

    /// No value: `_`, or RESP2's null bulk string.
    pub fn null(&mut self) {
        self.out.extend_from_slice(match self.protocol {
            Protocol::Resp2 => b"$-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        });
    }

    /// No array, where RESP2 tells this from no value: `*-1` there, `_` in RESP3.
    pub fn null_array(&mut self) {
        self.out.extend_from_slice(match self.protocol {
            Protocol::Resp2 => b"*-1\r\n",
            Protocol::Resp3 => b"_\r\n",
        });
    }

    /// The head of an array; `len` values follow.
    pub fn array(&mut self, len: usize) {
        self.head(b'*', len);
    }

    /// The head of a map; `len` pairs follow, `2 * len` values. An array of them in RESP2.
    pub fn map(&mut self, len: usize) {
        match self.protocol {
            Protocol::Resp2 => self.head(b'*', len * 2),
            Protocol::Resp3 => self.head(b'%', len),
        }
    }

    /// The head of a set; `len` values follow, no two alike. An array in RESP2.
    pub fn set(&mut self, len: usize) {
        self.head_by_protocol(b'*', b'~', len);
    }

    /// The head of a message out of turn, such as one of a subscription; `len` values follow. An array in RESP2.
    pub fn push(&mut self, len: usize) {
        self.head_by_protocol(b'*', b'>', len);
    }

    /// A floating-point number in the fewest digits that read back as the same one; a byte string in RESP2.
    ///
    /// Infinities are `inf` and `-inf`, and not-a-number is `nan`.
    pub fn double(&mut self, value: f64) {
        let text = DoubleText::new(value);
        match self.protocol {
            Protocol::Resp2 => self.bulk(text.as_bytes()),
            Protocol::Resp3 => {
                self.out.push(b',');
                self.out.extend_from_slice(text.as_bytes());
                self.out.extend_from_slice(b"\r\n");
            }
        }
    }

    /// A floating-point number that prints as RESP3 writes one; a byte string in RESP2.
    pub fn double_display(&mut self, number: impl fmt::Display) {
        match self.protocol {
            Protocol::Resp2 => self.bulk_display(number),
            Protocol::Resp3 => {
                self.out.push(b',');
                // Appending cannot fail.
                let _ = write!(Appended(self.out), "{number}");
                self.out.extend_from_slice(b"\r\n");
            }
        }
    }

    /// Yes or no; 1 or 0 in RESP2.
    pub fn boolean(&mut self, value: bool) {
        self.out.extend_from_slice(match (self.protocol, value) {
            (Protocol::Resp2, true) => b":1\r\n",
            (Protocol::Resp2, false) => b":0\r\n",
            (Protocol::Resp3, true) => b"#t\r\n",
            (Protocol::Resp3, false) => b"#f\r\n",
        });
    }

    /// A text to be shown as it is, such as the answer to `INFO`; a byte string in RESP2.
    ///
    /// `format` is three letters, `txt` or `mkd`. Anything else is written as `txt`.
    pub fn verbatim(&mut self, format: &str, text: &[u8]) {
        debug_assert_eq!(format.len(), 3, "a verbatim format has three letters");
        match self.protocol {
            Protocol::Resp2 => self.bulk(text),
            Protocol::Resp3 => {
                self.out.reserve(text.len() + HEAD_BYTES_MAX + 6);
                self.head(b'=', text.len() + 4);
                let format = if format.len() == 3 { format } else { "txt" };
                self.out.extend_from_slice(format.as_bytes());
                self.out.push(b':');
                self.out.extend_from_slice(text);
                self.out.extend_from_slice(b"\r\n");
            }
        }
    }

    fn head_by_protocol(&mut self, resp2: u8, resp3: u8, len: usize) {
        self.head(
            if self.protocol == Protocol::Resp2 {
                resp2
            } else {
                resp3
            },
            len,
        );
    }

    #[inline]
    fn head(&mut self, kind: u8, len: usize) {
        write_number_line(self.out, kind, len as i64);
    }

    fn line(&mut self, kind: u8, text: fmt::Arguments<'_>) {
        self.out.push(kind);
        // Fails when the text reaches its bound, which is no failure here.
        let _ = Line {
            left: TEXT_BYTES_MAX,
            out: self.out,
        }
        .write_fmt(text);
        self.out.extend_from_slice(b"\r\n");
    }
}

/// Integers that are put together on the stack at a time: as many as a limit command replies.
const INTEGERS_MAX: usize = 8;
/// Longest head of a bulk string or aggregate: kind, 20 digits, CR LF.
const HEAD_BYTES_MAX: usize = 23;

#[inline]
fn write_integer(out: &mut Vec<u8>, value: i64) {
    write_number_line(out, b':', value);
}

#[inline]
fn write_number_line(out: &mut Vec<u8>, kind: u8, value: i64) {
    let mut line = [0; HEAD_BYTES_MAX];
    let end = put_number_line(&mut line, kind, value);
    out.extend_from_slice(&line[..end]);
}

/// Writes `value` between `kind` and CR LF to the start of `line`; how many bytes.
#[inline]
fn put_number_line(line: &mut [u8; HEAD_BYTES_MAX], kind: u8, value: i64) -> usize {
    // Nearly all numbers are small, and then most of the work is to find out how many digits there are.
    let digit = |value: u16| b'0' + (value % 10) as u8;
    match value {
        0..=9 => {
            line[..4].copy_from_slice(&[kind, digit(value as u16), b'\r', b'\n']);
            return 4;
        }
        10..=99 => {
            let value = value as u16;
            line[..5].copy_from_slice(&[kind, digit(value / 10), digit(value), b'\r', b'\n']);
            return 5;
        }
        100..=999 => {
            let value = value as u16;
            let digits = [digit(value / 100), digit(value / 10), digit(value)];
            line[..6].copy_from_slice(&[kind, digits[0], digits[1], digits[2], b'\r', b'\n']);
            return 6;
        }
        -1 => {
            line[..5].copy_from_slice(&[kind, b'-', b'1', b'\r', b'\n']);
            return 5;
        }
        _ => {}
    }
    let mut digits = itoa::Buffer::new();
    let digits = digits.format(value).as_bytes();
    line[0] = kind;
    line[1..=digits.len()].copy_from_slice(digits);
    line[digits.len() + 1..digits.len() + 3].copy_from_slice(b"\r\n");
    digits.len() + 3
}

/// Appends what is formatted, as it is.
struct Appended<'a>(&'a mut Vec<u8>);

impl fmt::Write for Appended<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// Appends what is formatted with control characters made spaces, up to a bound; then it fails.
struct Line<'a> {
    out: &'a mut Vec<u8>,
    left: usize,
}

impl fmt::Write for Line<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut cut = text.len().min(self.left);
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        let kept = &text[..cut];
        let start = self.out.len();
        self.out.extend_from_slice(kept.as_bytes());
        for byte in &mut self.out[start..] {
            if byte.is_ascii_control() {
                *byte = b' ';
            }
        }
        self.left -= kept.len();
        if kept.len() < text.len() {
            // Nothing may follow the cut, not even a later piece that would fit.
            self.left = 0;
            return Err(fmt::Error);
        }
        Ok(())
    }
}
