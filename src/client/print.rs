//! Replies as redis-cli prints them.

use redis_protocol::resp3::types::FrameMap;

use super::reply::Reply;

/// How replies are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// For people: types in brackets, quotes, numbered elements.
    Pretty,
    /// The bare values, one a line.
    Raw,
}

/// `reply` in `style`, ending with a line feed.
pub(crate) fn print(reply: &Reply, style: Style) -> Vec<u8> {
    let mut out = Vec::new();
    match style {
        Style::Pretty => pretty(reply, "", &mut out),
        Style::Raw => raw(reply, &mut out),
    }
    if style == Style::Raw || out.last() != Some(&b'\n') {
        out.push(b'\n');
    }
    out
}

fn pretty(reply: &Reply, indent: &str, out: &mut Vec<u8>) {
    match reply {
        Reply::SimpleString { data, .. } | Reply::VerbatimString { data, .. } => out.extend(data),
        Reply::SimpleError { data, .. } => out.extend(format!("(error) {data}").bytes()),
        Reply::BlobError { data, .. } => {
            out.extend(b"(error) ");
            out.extend(data);
        }
        Reply::BlobString { data, .. } => quote(data, out),
        Reply::Number { data, .. } => out.extend(format!("(integer) {data}").bytes()),
        Reply::Double { data, .. } => out.extend(format!("(double) {data}").bytes()),
        Reply::BigNumber { data, .. } => out.extend(data),
        Reply::Boolean { data, .. } => out.extend(if *data { &b"(true)"[..] } else { b"(false)" }),
        Reply::Null => out.extend(b"(nil)"),
        Reply::Array { data, .. } => {
            elements(data.iter(), data.len(), b')', "(empty array)", indent, out)
        }
        Reply::Push { data, .. } => {
            elements(data.iter(), data.len(), b')', "(empty push)", indent, out)
        }
        Reply::Set { data, .. } => {
            elements(data.iter(), data.len(), b'~', "(empty set)", indent, out)
        }
        Reply::Map { data, .. } if data.is_empty() => out.extend(b"(empty hash)"),
        Reply::Map { data, .. } => {
            let width = digits(data.len());
            let inner = format!("{indent}{:width$}", "", width = width + 2);
            for (index, (key, value)) in pairs(data).enumerate() {
                number(index, width, b'#', indent, out);
                pretty(key, &inner, out);
                trim_line_end(out);
                out.extend(b" => ");
                if is_numbered(value) {
                    out.push(b'\n');
                    out.extend(inner.bytes());
                }
                pretty(value, &inner, out);
                end_line(out);
            }
        }
        Reply::Hello { .. } | Reply::ChunkedString(_) => out.extend(format!("{reply:?}").bytes()),
    }
}

/// The pairs in the order in which they came: redis-protocol takes them off the end of the reply.
fn pairs(map: &FrameMap<Reply, Reply>) -> impl Iterator<Item = (&Reply, &Reply)> {
    map.iter().rev()
}

fn elements<'a>(
    items: impl Iterator<Item = &'a Reply>,
    count: usize,
    mark: u8,
    empty: &str,
    indent: &str,
    out: &mut Vec<u8>,
) {
    if count == 0 {
        out.extend(empty.bytes());
        return;
    }
    let width = digits(count);
    let inner = format!("{indent}{:width$}", "", width = width + 2);
    for (index, item) in items.enumerate() {
        number(index, width, mark, indent, out);
        pretty(item, &inner, out);
        end_line(out);
    }
}

/// The first element stands on its parent's line, so only the later ones are indented.
fn number(index: usize, width: usize, mark: u8, indent: &str, out: &mut Vec<u8>) {
    if index > 0 {
        out.extend(indent.bytes());
    }
    out.extend(format!("{:>width$}{} ", index + 1, char::from(mark)).bytes());
}

/// True for what is printed as a list of its own.
fn is_numbered(reply: &Reply) -> bool {
    match reply {
        Reply::Array { data, .. } | Reply::Push { data, .. } => !data.is_empty(),
        Reply::Set { data, .. } => !data.is_empty(),
        Reply::Map { data, .. } => !data.is_empty(),
        _ => false,
    }
}

fn digits(count: usize) -> usize {
    count.to_string().len()
}

fn end_line(out: &mut Vec<u8>) {
    if out.last() != Some(&b'\n') {
        out.push(b'\n');
    }
}

fn trim_line_end(out: &mut Vec<u8>) {
    if out.last() == Some(&b'\n') {
        out.pop();
    }
}

/// A text in quotes, its bytes that are not printable ASCII escaped.
pub(super) fn quote(data: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for &byte in data {
        match byte {
            b'\\' | b'"' => out.extend([b'\\', byte]),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            7 => out.extend(b"\\a"),
            8 => out.extend(b"\\b"),
            b' '..=b'~' => out.push(byte),
            _ => out.extend(format!("\\x{byte:02x}").bytes()),
        }
    }
    out.push(b'"');
}

fn raw(reply: &Reply, out: &mut Vec<u8>) {
    match reply {
        Reply::SimpleString { data, .. }
        | Reply::VerbatimString { data, .. }
        | Reply::BlobString { data, .. }
        | Reply::BlobError { data, .. }
        | Reply::BigNumber { data, .. } => out.extend(data),
        Reply::SimpleError { data, .. } => out.extend(data.bytes()),
        Reply::Number { data, .. } => out.extend(data.to_string().bytes()),
        Reply::Double { data, .. } => out.extend(data.to_string().bytes()),
        Reply::Boolean { data, .. } => out.extend(if *data { &b"(true)"[..] } else { b"(false)" }),
        Reply::Null => {}
        Reply::Array { data, .. } | Reply::Push { data, .. } => lines(data.iter(), out),
        Reply::Set { data, .. } => lines(data.iter(), out),
        Reply::Map { data, .. } => {
            for (index, (key, value)) in pairs(data).enumerate() {
                if index > 0 {
                    out.push(b'\n');
                }
                raw(key, out);
                out.push(b' ');
                raw(value, out);
            }
        }
        Reply::Hello { .. } | Reply::ChunkedString(_) => out.extend(format!("{reply:?}").bytes()),
    }
}

fn lines<'a>(items: impl Iterator<Item = &'a Reply>, out: &mut Vec<u8>) {
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(b'\n');
        }
        raw(item, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::reply::Scanner;

    fn shown(bytes: &[u8], style: Style) -> String {
        let reply = Scanner::default()
            .take(&mut bytes.to_vec())
            .unwrap()
            .unwrap();
        String::from_utf8(print(&reply, style)).unwrap()
    }

    #[test]
    fn single_values() {
        let pretty = |bytes| shown(bytes, Style::Pretty);
        assert_eq!(pretty(b"+OK\r\n"), "OK\n");
        assert_eq!(pretty(b"-ERR no\r\n"), "(error) ERR no\n");
        assert_eq!(pretty(b":-7\r\n"), "(integer) -7\n");
        assert_eq!(pretty(b"$-1\r\n"), "(nil)\n");
        assert_eq!(pretty(b"_\r\n"), "(nil)\n");
        assert_eq!(
            pretty(b"$6\r\na\"\\\n\x01~\r\n"),
            "\"a\\\"\\\\\\n\\x01~\"\n"
        );
        assert_eq!(pretty(b"*0\r\n"), "(empty array)\n");
        assert_eq!(pretty(b",0.25\r\n"), "(double) 0.25\n");
        assert_eq!(pretty(b"#t\r\n"), "(true)\n");
        assert_eq!(pretty(b"=8\r\ntxt:a\r\nb\r\n"), "a\r\nb\n");
    }

    #[test]
    fn nested_arrays_are_numbered_and_indented() {
        let bytes = b"*2\r\n:1\r\n*2\r\n$1\r\na\r\n*-1\r\n";
        assert_eq!(
            shown(bytes, Style::Pretty),
            "1) (integer) 1\n2) 1) \"a\"\n   2) (nil)\n"
        );
        let ten = [&b"*10\r\n"[..], &b":5\r\n".repeat(10)].concat();
        let text = shown(&ten, Style::Pretty);
        assert!(
            text.starts_with(" 1) (integer) 5\n 2) ") && text.ends_with("10) (integer) 5\n"),
            "{text}"
        );
    }

    #[test]
    fn maps_keep_their_order() {
        let bytes = b"%2\r\n$1\r\nz\r\n:1\r\n$1\r\na\r\n*2\r\n:2\r\n:3\r\n";
        assert_eq!(
            shown(bytes, Style::Pretty),
            "1# \"z\" => (integer) 1\n2# \"a\" => \n   1) (integer) 2\n   2) (integer) 3\n"
        );
        assert_eq!(shown(bytes, Style::Raw), "z 1\na 2\n3\n");
    }

    #[test]
    fn raw_is_bare() {
        assert_eq!(
            shown(b"*3\r\n:1\r\n$1\r\na\r\n$-1\r\n", Style::Raw),
            "1\na\n\n"
        );
        assert_eq!(shown(b"$-1\r\n", Style::Raw), "\n");
        assert_eq!(shown(b"-ERR no\r\n", Style::Raw), "ERR no\n");
    }
}
