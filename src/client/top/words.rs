//! How things are written. All that comes from the server goes through here: a name of a key may hold anything, and what
//! reaches the terminal is printable ASCII.

use std::fmt::Write as _;

/// A name of a key: as it is if it is plain, else in quotes and escaped as `tollgate cli` prints and takes it.
pub(in crate::client) fn name(bytes: &[u8]) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'\'');
    if !bytes.is_empty() && bytes.iter().all(is_plain) {
        // All of it is ASCII.
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let mut out = Vec::new();
    crate::client::print::quote(bytes, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// A text of the server, such as an error, on one line.
pub(in crate::client) fn text(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b' '..=b'~' => out.push(char::from(byte)),
            b'\r' | b'\n' | b'\t' => out.push(' '),
            // Writing to a text cannot fail.
            _ => drop(write!(out, "\\x{byte:02x}")),
        }
    }
    out
}

/// At most so many characters of an ASCII text: of a long one its beginning and its end, since names often differ there.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.len() <= width {
        return text.to_owned();
    }
    let Some(room) = width.checked_sub(1) else {
        return String::new();
    };
    let behind = room / 3;
    let (first, last) = (&text[..room - behind], &text[text.len() - behind..]);
    format!("{first}…{last}")
}

/// As many of the parts of a text as there is room for, the first in any case.
pub(super) fn fit<'a>(text: &'a str, between: &str, width: usize) -> &'a str {
    let mut shown = text;
    while shown.chars().count() > width
        && let Some((first, _)) = shown.rsplit_once(between)
    {
        shown = first;
    }
    shown
}

/// A number in at most six characters, rounded down beyond 99999: `12.3M`.
pub(super) fn short(number: u64) -> String {
    let mut size = number;
    let mut unit = "";
    let mut below = 0;
    for next in ["k", "M", "G", "T", "P", "E"] {
        if (unit.is_empty() && size < 100_000) || (!unit.is_empty() && size < 1_000) {
            break;
        }
        (below, size, unit) = (size % 1_000 / 100, size / 1_000, next);
    }
    match unit.is_empty() || size >= 100 {
        true => format!("{size}{unit}"),
        false => format!("{size}.{below}{unit}"),
    }
}

/// Bytes, in a unit of a thousand and twenty-four.
pub(super) fn bytes(number: u64) -> String {
    let mut unit = 0;
    while unit < 5 && number >> (10 * unit) >= 1_024 {
        unit += 1;
    }
    let name = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"][unit];
    let tenths = (u128::from(number) * 10) >> (10 * unit);
    match unit == 0 || tenths >= 1_000 {
        true => format!("{} {name}", tenths / 10),
        false => format!("{}.{} {name}", tenths / 10, tenths % 10),
    }
}

/// A time in at most six characters: `850ms`, `12.5s`, `3m05s`, `2h14m`, `12d05h`. Rounded up where it is cut off, so
/// that it is over when that time is.
pub(super) fn span_ms(ms: u64) -> String {
    let tenths = ms.div_ceil(100);
    let seconds = ms.div_ceil(1_000);
    let minutes = seconds.div_ceil(60);
    let hours = minutes.div_ceil(60);
    if ms < 1_000 {
        format!("{ms}ms")
    } else if tenths < 600 {
        format!("{}.{}s", tenths / 10, tenths % 10)
    } else if seconds < 3_600 {
        format!("{}m{:02}s", seconds / 60, seconds % 60)
    } else if minutes < 24 * 60 {
        format!("{}h{:02}m", minutes / 60, minutes % 60)
    } else if hours < 100 * 24 {
        format!("{}d{:02}h", hours / 24, hours % 24)
    } else {
        format!("{}d", hours.div_ceil(24))
    }
}

/// A time that has passed, in at most six characters: `59s`, `3m05s`, `2h14m`, `12d05h`.
pub(super) fn age_s(seconds: u64) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3_600);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{minutes}m{:02}s", seconds % 60),
        3_600..86_400 => format!("{hours}h{:02}m", minutes % 60),
        86_400..8_640_000 => format!("{}d{:02}h", hours / 24, hours % 24),
        _ => format!("{}d", hours / 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_strangers_cannot_move_the_cursor() {
        assert_eq!(name(b"rl:meta:{123}"), "rl:meta:{123}");
        assert_eq!(name(b""), "\"\"");
        assert_eq!(name(b"two words"), "\"two words\"");
        assert_eq!(name(b"\x1b[2J\x07\r\n"), "\"\\x1b[2J\\a\\r\\n\"");
        assert_eq!(
            name("\u{202e}é".as_bytes()),
            "\"\\xe2\\x80\\xae\\xc3\\xa9\""
        );
        assert_eq!(name(b"a\"b\\c"), "\"a\\\"b\\\\c\"");
        assert_eq!(text(b"ERR no\r\n\x1b]0;x\x9b"), "ERR no  \\x1b]0;x\\x9b");
        let every: Vec<u8> = (0..=255).collect();
        for shown in [name(&every), text(&every)] {
            assert!(
                shown.bytes().all(|byte| matches!(byte, b' '..=b'~')),
                "{shown}"
            );
        }
    }

    #[test]
    fn a_long_name_keeps_its_end() {
        assert_eq!(cut("abcdefghij", 10), "abcdefghij");
        assert_eq!(cut("abcdefghijk", 10), "abcdef…ijk");
        assert_eq!(
            (cut("abc", 2), cut("abc", 1), cut("abc", 0)),
            ("a…".into(), "…".into(), String::new())
        );
    }

    #[test]
    fn parts_are_left_out_whole() {
        assert_eq!(fit("one, two, three", ", ", 15), "one, two, three");
        assert_eq!(fit("one, two, three", ", ", 14), "one, two");
        assert_eq!(fit("one, two, three", ", ", 1), "one");
        assert_eq!(fit("≤≤≤, two", ", ", 3), "≤≤≤");
    }

    #[test]
    fn numbers_keep_to_six_characters() {
        for (number, shown) in [
            (0, "0"),
            (99_999, "99999"),
            (100_000, "100k"),
            (999_999, "999k"),
            (1_000_000, "1.0M"),
            (12_345_678, "12.3M"),
            (999_999_999, "999M"),
            (u64::MAX, "18.4E"),
        ] {
            assert_eq!(short(number), shown);
        }
    }

    #[test]
    fn bytes_have_a_unit() {
        for (number, shown) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_024, "1.0 KiB"),
            (150 * 1_024, "150 KiB"),
            (5 << 30, "5.0 GiB"),
            (u64::MAX, "16383 PiB"),
        ] {
            assert_eq!(bytes(number), shown);
        }
    }

    #[test]
    fn times_keep_to_six_characters_and_do_not_end_early() {
        for (ms, shown) in [
            (0, "0ms"),
            (999, "999ms"),
            (1_000, "1.0s"),
            (12_401, "12.5s"),
            (59_900, "59.9s"),
            (59_901, "1m00s"),
            (184_001, "3m05s"),
            (3_599_001, "1h00m"),
            (86_399_000, "1d00h"),
            (u64::from(u32::MAX), "49d18h"),
            (3_650 * 86_400_000, "3650d"),
        ] {
            assert_eq!(span_ms(ms), shown);
        }
        for (seconds, shown) in [
            (59, "59s"),
            (185, "3m05s"),
            (8_040, "2h14m"),
            (1_054_800, "12d05h"),
            (8_640_000, "100d"),
        ] {
            assert_eq!(age_s(seconds), shown);
        }
    }
}
