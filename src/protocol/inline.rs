//! Inline requests: one line of words, as typed into telnet or sent by health checks.
//!
//! The words are split as `sdssplitargs` of Redis does it, so that what works there works here.
use super::arguments::Span;
use super::error::ProtocolError;

/// What the splitter is inside of.
#[derive(Clone, Copy, PartialEq)]
enum Quote {
    /// A bare word: ends at a blank.
    None,
    /// `'...'`: only `\'` is an escape.
    Single,
    /// `"..."`: the escapes of C and `\xHH`.
    Double,
}

/// Splits `line` (without its line end) into words.
///
/// The words, quotes and escapes resolved, are appended to `text` and where each lies in it to `spans`; both are
/// expected empty. `text` grows by at most `line.len()` bytes, `spans` by at most `words_max`.
///
/// # Errors
///
/// [`ProtocolError::UnbalancedQuotes`]; [`ProtocolError::UnauthenticatedMultibulkLength`] above `words_max` words,
/// which only binds before AUTH since 64 KiB hold no more than 32,768 words.
pub(super) fn split(
    line: &[u8],
    words_max: usize,
    text: &mut Vec<u8>,
    spans: &mut Vec<Span>,
) -> Result<(), ProtocolError> {
    // Resolving escapes never makes a text longer.
    text.reserve(line.len());
    let mut rest = line;
    loop {
        rest = &rest[rest.iter().take_while(|&&byte| is_blank(byte)).count()..];
        if rest.is_empty() {
            return Ok(());
        }
        if spans.len() == words_max {
            return Err(ProtocolError::UnauthenticatedMultibulkLength);
        }
        let start = text.len();
        rest = take_word(rest, text)?;
        spans.push(Span::new(start, text.len()));
    }
}

/// Moves the word at the start of `rest` to `text` and returns what follows it.
fn take_word<'a>(mut rest: &'a [u8], text: &mut Vec<u8>) -> Result<&'a [u8], ProtocolError> {
    let mut quote = Quote::None;
    loop {
        let (length, byte) = match (quote, rest) {
            (Quote::None, [] | [b' ' | b'\t' | b'\r' | b'\n', ..]) => return Ok(rest),
            // A quote also opens in the middle of a word: `ab"c d"` is the word `abc d`.
            (Quote::None, [b'"', after @ ..]) => {
                (quote, rest) = (Quote::Double, after);
                continue;
            }
            (Quote::None, [b'\'', after @ ..]) => {
                (quote, rest) = (Quote::Single, after);
                continue;
            }
            // A closing quote ends the word, so only a blank or nothing may follow it.
            (Quote::Double, [b'"', after @ ..]) | (Quote::Single, [b'\'', after @ ..]) => {
                return match after.first() {
                    Some(&byte) if !is_blank(byte) => Err(ProtocolError::UnbalancedQuotes),
                    _ => Ok(after),
                };
            }
            (Quote::Double, [b'\\', b'x', high, low, ..])
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                (4, hex_value(*high) << 4 | hex_value(*low))
            }
            (Quote::Double, [b'\\', escaped, ..]) => (2, unescape(*escaped)),
            (Quote::Single, [b'\\', b'\'', ..]) => (2, b'\''),
            (Quote::Double | Quote::Single, []) => return Err(ProtocolError::UnbalancedQuotes),
            (_, [byte, ..]) => (1, *byte),
        };
        text.push(byte);
        rest = &rest[length..];
    }
}

/// C's `isspace`, which skips between words and may follow a quote. A bare word goes on over VT and FF all the same.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

fn unescape(byte: u8) -> u8 {
    match byte {
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 0x08,
        b'a' => 0x07,
        other => other,
    }
}

/// `digit` is a hexadecimal digit.
fn hex_value(digit: u8) -> u8 {
    match digit {
        b'0'..=b'9' => digit - b'0',
        _ => (digit | 0x20) - b'a' + 10,
    }
}

#[cfg(test)]
#[path = "inline_tests.rs"]
mod tests;
