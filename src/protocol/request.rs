use super::arguments::{Arguments, Span};
use super::error::ProtocolError;
use super::inline;
use super::length::{Length, LengthLine, LineFault};
use super::limits::{
    ARGUMENTS_KEPT, ARGUMENTS_MAX, ARGUMENTS_PREALLOCATED_MAX, BULK_BYTES_MAX, INLINE_BYTES_KEPT,
    RequestLimits,
};

/// What [`Scanner::scan`] found at the start of the buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scan<'a> {
    /// The request has not arrived in full.
    Incomplete {
        /// Bytes that must arrive, at least, before it can have: 1 or more, and never above
        /// [`RequestLimits::bulk_bytes_max`] + 2. Scanning earlier does no harm.
        needed_hint: usize,
    },
    /// A request, of one argument or more.
    Request {
        /// The command's name and its arguments.
        arguments: Arguments<'a>,
        /// Bytes of the buffer that were this request; the next one begins behind them.
        consumed: usize,
    },
    /// No request and no error: an empty line, `*0` or `*-1`. Drop the bytes, answer nothing.
    Skip {
        /// Bytes of the buffer to drop, 1 or more.
        consumed: usize,
    },
}

/// Which part of a request comes next.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    /// The first byte, which tells arrays from inline requests.
    Start,
    /// An inline request; [`Scanner::position`] bytes of it hold no line end.
    InlineLine,
    /// The rest of the line behind `*`.
    Count,
    /// The `$` of the next argument.
    Marker,
    /// The rest of the line behind `$`.
    Length,
    /// The argument and its CR LF.
    Bulk,
}

/// Finds requests in received bytes: arrays of bulk strings, or inline.
///
/// It remembers how far it got in an incomplete request, so that each byte is looked at once however it arrives,
/// and bytes within an argument not at all; an inline line once for its end and once for its words.
///
/// It keeps no received bytes but the last inline request's words, and its memory is in proportion to what has arrived,
/// not to what was announced: 16 bytes for each argument at most.
#[derive(Debug)]
pub struct Scanner {
    part: Part,
    /// Bytes of the request that need no second look.
    position: usize,
    line: LengthLine,
    /// Length of the argument being awaited, in bytes.
    bulk_bytes: usize,
    /// Arguments still to come.
    remaining: usize,
    spans: Vec<Span>,
    inline_text: Vec<u8>,
    /// Bytes looked at so far, to prove that the work is linear.
    #[cfg(test)]
    examined: usize,
}

impl Default for Scanner {
    fn default() -> Self {
        Self::new()
    }
}

impl Scanner {
    /// A scanner at the start of a request. Allocates nothing until one arrives.
    pub const fn new() -> Self {
        Self {
            part: Part::Start,
            position: 0,
            line: LengthLine::START,
            bulk_bytes: 0,
            remaining: 0,
            spans: Vec::new(),
            inline_text: Vec::new(),
            #[cfg(test)]
            examined: 0,
        }
    }

    /// True if it is not within a request that has not arrived in full.
    pub fn is_between_requests(&self) -> bool {
        self.part == Part::Start
    }

    /// Memory held beside the scanner itself, in bytes.
    pub fn allocated_bytes(&self) -> usize {
        self.spans.capacity() * size_of::<Span>() + self.inline_text.capacity()
    }

    /// Looks for one request at the start of `buf`.
    ///
    /// `buf` begins at the first byte of a request. After [`Scan::Incomplete`] the next call takes the same bytes
    /// with more behind them; after [`Scan::Request`] or [`Scan::Skip`] it begins `consumed` bytes later. The call
    /// that follows a large request gives its memory back, even with an empty `buf`.
    ///
    /// `limits` may change between requests, as when one of them was AUTH.
    ///
    /// # Errors
    ///
    /// A [`ProtocolError`] as soon as the bytes cannot become a request within `limits`, whatever would follow and
    /// however they were cut up on the way. Where the next request begins is then unknown: close the connection and use this scanner no more.
    pub fn scan<'a>(
        &'a mut self,
        buf: &'a [u8],
        limits: &RequestLimits,
    ) -> Result<Scan<'a>, ProtocolError> {
        if self.part == Part::Start {
            self.forget_last_request();
            match buf.first() {
                None => return Ok(Scan::Incomplete { needed_hint: 1 }),
                Some(b'*') => (self.part, self.position) = (Part::Count, 1),
                Some(_) => (self.part, self.position) = (Part::InlineLine, 0),
            }
        }
        match self.part {
            Part::InlineLine => self.scan_inline(buf, limits),
            _ => self.scan_array(buf, limits),
        }
    }

    fn scan_array<'a>(
        &'a mut self,
        buf: &'a [u8],
        limits: &RequestLimits,
    ) -> Result<Scan<'a>, ProtocolError> {
        let request_bytes_max = limits.request_bytes_max.min(u32::MAX as usize);
        let mut position = self.position;
        let needed_hint = loop {
            match self.part {
                // The first two never come here: `scan` has gone past them.
                Part::Start | Part::InlineLine | Part::Count => {
                    let fault = (
                        ProtocolError::InvalidMultibulkLength,
                        ProtocolError::TooBigMultibulkCount,
                    );
                    let Some(count) = self.read_length(buf, &mut position, fault)? else {
                        break 1;
                    };
                    if count.negative || count.magnitude == 0 {
                        self.part = Part::Start;
                        return Ok(Scan::Skip { consumed: position });
                    }
                    self.remaining = check_count(count.magnitude, limits)?;
                    self.spans
                        .reserve(self.remaining.min(ARGUMENTS_PREALLOCATED_MAX));
                    self.part = Part::Marker;
                }
                Part::Marker => {
                    let Some(&marker) = buf.get(position) else {
                        break 1;
                    };
                    self.note_examined(1);
                    if marker != b'$' {
                        return Err(ProtocolError::ExpectedBulk { got: marker });
                    }
                    position += 1;
                    self.part = Part::Length;
                }
                Part::Length => {
                    let fault = (
                        ProtocolError::InvalidBulkLength,
                        ProtocolError::TooBigBulkCount,
                    );
                    let Some(length) = self.read_length(buf, &mut position, fault)? else {
                        break 1;
                    };
                    self.bulk_bytes = check_bulk(length, limits)?;
                    // Saturating, for a caller's own limits may be anything.
                    if position.saturating_add(self.bulk_bytes).saturating_add(2)
                        > request_bytes_max
                    {
                        return Err(ProtocolError::TooBigRequest);
                    }
                    self.part = Part::Bulk;
                }
                Part::Bulk => {
                    let end = position + self.bulk_bytes;
                    match buf.get(end..) {
                        Some([b'\r', b'\n', ..]) => {}
                        None | Some([] | [b'\r']) => {
                            break (end + 2).saturating_sub(buf.len()).max(1);
                        }
                        Some(_) => return Err(ProtocolError::UnterminatedBulk),
                    }
                    self.note_examined(2);
                    self.spans.push(Span::new(position, end));
                    position = end + 2;
                    self.remaining -= 1;
                    if self.remaining == 0 {
                        self.part = Part::Start;
                        return Ok(Scan::Request {
                            arguments: Arguments::new(buf, &self.spans),
                            consumed: position,
                        });
                    }
                    self.part = Part::Marker;
                }
            }
        };
        self.position = position;
        Ok(Scan::Incomplete { needed_hint })
    }

    /// Reads on in the line behind `*` or `$`; `None` while it has no end. `fault` is the error for a line that is no
    /// number, and for one that is too long.
    #[inline]
    fn read_length(
        &mut self,
        buf: &[u8],
        position: &mut usize,
        fault: (ProtocolError, ProtocolError),
    ) -> Result<Option<Length>, ProtocolError> {
        // A caller that breaks the contract with a shorter buffer gets `Incomplete`, not a panic.
        let rest = buf.get(*position..).unwrap_or_default();
        // Nearly every length is one or two digits in one piece.
        let (magnitude, consumed) = match *rest {
            [a @ b'0'..=b'9', b'\r', b'\n', ..] if self.line.is_start() => (u64::from(a - b'0'), 3),
            [a @ b'1'..=b'9', b @ b'0'..=b'9', b'\r', b'\n', ..] if self.line.is_start() => {
                (u64::from(a - b'0') * 10 + u64::from(b - b'0'), 4)
            }
            _ => return self.read_length_slowly(rest, position, fault),
        };
        self.note_examined(consumed);
        *position += consumed;
        Ok(Some(Length {
            magnitude,
            negative: false,
        }))
    }

    #[inline(never)]
    fn read_length_slowly(
        &mut self,
        rest: &[u8],
        position: &mut usize,
        fault: (ProtocolError, ProtocolError),
    ) -> Result<Option<Length>, ProtocolError> {
        for &byte in rest {
            self.note_examined(1);
            *position += 1;
            match self.line.push(byte) {
                Ok(None) => {}
                Ok(length) => {
                    self.line = LengthLine::START;
                    return Ok(length);
                }
                Err(LineFault::NotANumber) => return Err(fault.0),
                Err(LineFault::TooLong) => return Err(fault.1),
            }
        }
        Ok(None)
    }

    fn scan_inline<'a>(
        &'a mut self,
        buf: &'a [u8],
        limits: &RequestLimits,
    ) -> Result<Scan<'a>, ProtocolError> {
        let line_bytes_max = limits
            .inline_bytes_max
            .min(limits.request_bytes_max)
            .min(u32::MAX as usize);
        let searched = buf.len().min(line_bytes_max);
        let Some(found) =
            memchr::memchr(b'\n', buf.get(self.position..searched).unwrap_or_default())
        else {
            self.note_examined(searched.saturating_sub(self.position));
            self.position = searched;
            return if searched == line_bytes_max {
                Err(ProtocolError::TooBigInline)
            } else {
                Ok(Scan::Incomplete { needed_hint: 1 })
            };
        };
        let line_end = self.position + found;
        let consumed = line_end + 1;
        self.note_examined(found + 1 + line_end);
        // As Redis: LF alone ends the line, and a CR before it is not part of it.
        let line = &buf[..line_end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        inline::split(
            line,
            limits.arguments_max,
            &mut self.inline_text,
            &mut self.spans,
        )?;
        self.part = Part::Start;
        if self.spans.is_empty() {
            return Ok(Scan::Skip { consumed });
        }
        Ok(Scan::Request {
            arguments: Arguments::new(&self.inline_text, &self.spans),
            consumed,
        })
    }

    fn forget_last_request(&mut self) {
        self.spans.clear();
        if self.spans.capacity() > ARGUMENTS_KEPT {
            self.spans = Vec::new();
        }
        self.inline_text.clear();
        if self.inline_text.capacity() > INLINE_BYTES_KEPT {
            self.inline_text = Vec::new();
        }
    }

    /// Counts in tests, costs nothing elsewhere.
    #[inline(always)]
    fn note_examined(&mut self, bytes: usize) {
        #[cfg(test)]
        {
            self.examined += bytes;
        }
        let _ = bytes;
    }
}

/// Redis's order: a count that is never allowed is invalid, one that waits for AUTH is told apart.
fn check_count(count: u64, limits: &RequestLimits) -> Result<usize, ProtocolError> {
    match usize::try_from(count) {
        Ok(count) if count <= limits.arguments_max => Ok(count),
        Ok(count) if count <= ARGUMENTS_MAX => Err(ProtocolError::UnauthenticatedMultibulkLength),
        _ => Err(ProtocolError::InvalidMultibulkLength),
    }
}

fn check_bulk(length: Length, limits: &RequestLimits) -> Result<usize, ProtocolError> {
    match usize::try_from(length.magnitude) {
        _ if length.negative => Err(ProtocolError::InvalidBulkLength),
        Ok(bytes) if bytes <= limits.bulk_bytes_max => Ok(bytes),
        Ok(bytes) if bytes <= BULK_BYTES_MAX => Err(ProtocolError::UnauthenticatedBulkLength),
        _ => Err(ProtocolError::InvalidBulkLength),
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
