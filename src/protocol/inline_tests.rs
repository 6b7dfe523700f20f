use super::*;

fn words(line: &[u8]) -> Result<Vec<Vec<u8>>, ProtocolError> {
    let (mut text, mut spans) = (Vec::new(), Vec::new());
    split(line, usize::MAX, &mut text, &mut spans)?;
    assert!(text.len() <= line.len());
    let arguments = crate::protocol::Arguments::new(&text, &spans);
    Ok(arguments.iter().map(<[u8]>::to_vec).collect())
}

#[track_caller]
fn splits(line: &[u8], expected: &[&[u8]]) {
    let expected: Vec<Vec<u8>> = expected.iter().map(|word| word.to_vec()).collect();
    assert_eq!(words(line), Ok(expected), "{}", line.escape_ascii());
}

#[track_caller]
fn unbalanced(line: &[u8]) {
    assert_eq!(
        words(line),
        Err(ProtocolError::UnbalancedQuotes),
        "{}",
        line.escape_ascii()
    );
}

// Each rule below is one of `sdssplitargs` (sds.c of Redis). 60,000 random lines made of such pieces, sent to a Redis
// 7.0.15 as arguments of RPUSH and read back with LRANGE, gave the same words and the same errors.

#[test]
fn words_are_parted_by_any_run_of_blanks() {
    splits(b"", &[]);
    splits(b" \t \x0b\x0c ", &[]);
    splits(b"PING", &[b"PING"]);
    splits(b"  GET \t key  ", &[b"GET", b"key"]);
    splits(b"a \x0b\x0cb", &[b"a", b"b"]);
    // isspace() skips VT and FF in front of a word, but only space, tab, CR and LF end one.
    splits(b"a\x0bb c\x0cd", &[b"a\x0bb", b"c\x0cd"]);
    // Only the CR of the line end is stripped before; any other is a blank.
    splits(b"a\rb\r", &[b"a", b"b"]);
}

#[test]
fn bare_words_are_taken_as_they_are() {
    splits(br"a\nb \x41 \", &[br"a\nb", br"\x41", br"\"]);
    splits(b"\xff\xfe $5 *", &[b"\xff\xfe", b"$5", b"*"]);
    // Redis works on C strings and never sees the end of a line with a NUL in it; here NUL is a byte like others.
    splits(b"a\0b", &[b"a\0b"]);
}

#[test]
fn double_quotes_keep_blanks_and_resolve_escapes() {
    splits(br#""a b" "" "it's""#, &[b"a b", b"", b"it's"]);
    splits(br#""\n\r\t\b\a""#, &[b"\n\r\t\x08\x07"]);
    splits(br#""\"\\\q\'""#, &[br#""\q'"#]);
    splits(br#""\x41\xfF\x00""#, &[b"A\xff\0"]);
    // Two hexadecimal digits or no number at all: then `\x` is an escaped `x`.
    splits(
        br#""\x4" "\x4g" "\xg4" "\X41""#,
        &[b"x4", b"x4g", b"xg4", b"X41"],
    );
}

#[test]
fn single_quotes_keep_all_but_an_escaped_quote() {
    splits(br#"'a b' '' 'say "hi"'"#, &[b"a b", b"", br#"say "hi""#]);
    splits(
        br"'it\'s' '\n\x41' 'a\\b'",
        &[b"it's", br"\n\x41", br"a\\b"],
    );
}

#[test]
fn quotes_open_within_a_word_and_end_it() {
    splits(br#"a"b c" d'e f'"#, &[b"ab c", b"de f"]);
    splits(b"\"a\"\tb \"c\"\x0b'd'\x0c", &[b"a", b"b", b"c", b"d"]);
}

#[test]
fn an_open_quote_is_an_error() {
    for line in [
        &br#"""#[..],
        br"'",
        br#"a "b"#,
        br#"a b""#,
        br#""a\""#,
        br"'a\'",
        // A backslash does not escape itself in single quotes, so here it escapes the quote.
        br"'\\'",
        br#""a'"#,
        br#""\"#,
        br#""\x4"#,
    ] {
        unbalanced(line);
    }
}

#[test]
fn text_behind_a_closing_quote_is_an_error() {
    for line in [
        &br#""a"b"#[..],
        br#"'a'b"#,
        br#""a""b""#,
        br"'a''b'",
        br#"x"a"'b'"#,
        b"\"a\"\0",
    ] {
        unbalanced(line);
    }
}

#[test]
fn more_words_than_allowed_are_refused() {
    let (mut text, mut spans) = (Vec::new(), Vec::new());
    assert_eq!(split(b"a b  ", 2, &mut text, &mut spans), Ok(()));
    spans.clear();
    assert_eq!(
        split(b"a b c", 2, &mut text, &mut spans),
        Err(ProtocolError::UnauthenticatedMultibulkLength)
    );
}
