//! Replies, written so that people can read them: `[:1 "text" _]`, `{"name": "x"}`, `+OK`, `-ERR ...`.

/// One line for each reply in `bytes`.
pub fn replies(bytes: &[u8]) -> Vec<String> {
    let (mut rest, mut lines) = (bytes, Vec::new());
    while !rest.is_empty() {
        let (line, after) = value(rest);
        lines.push(line);
        rest = after;
    }
    lines
}

/// The first value of `bytes`, and what follows it.
fn value(bytes: &[u8]) -> (String, &[u8]) {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n");
    let end = end.expect("a reply's line ends with CR LF");
    let (kind, head) = (bytes[0], std::str::from_utf8(&bytes[1..end]).unwrap());
    let rest = &bytes[end + 2..];
    let length = || head.parse::<usize>().expect("a length");
    match kind {
        b'+' | b'-' | b':' | b'_' | b',' | b'#' => (format!("{}{head}", kind as char), rest),
        b'$' | b'*' if head == "-1" => (format!("{}-1", kind as char), rest),
        b'$' => text("", rest, length()),
        b'=' => text("=", rest, length()),
        b'*' => values("[", "]", rest, length()),
        b'~' => values("~[", "]", rest, length()),
        b'>' => values(">[", "]", rest, length()),
        b'%' => {
            let (mut pairs, mut rest) = (Vec::new(), rest);
            for _ in 0..length() {
                let (name, after) = value(rest);
                let (item, after) = value(after);
                pairs.push(format!("{name}: {item}"));
                rest = after;
            }
            (format!("{{{}}}", pairs.join(", ")), rest)
        }
        _ => panic!("no reply begins with {:?}", kind as char),
    }
}

fn text<'a>(mark: &str, rest: &'a [u8], length: usize) -> (String, &'a [u8]) {
    let (body, after) = rest.split_at(length);
    let after = after.strip_prefix(b"\r\n").expect("a text ends with CR LF");
    (format!("{mark}\"{}\"", body.escape_ascii()), after)
}

fn values<'a>(open: &str, close: &str, mut rest: &'a [u8], length: usize) -> (String, &'a [u8]) {
    let mut items = Vec::with_capacity(length);
    for _ in 0..length {
        let (item, after) = value(rest);
        items.push(item);
        rest = after;
    }
    (format!("{open}{}{close}", items.join(" ")), rest)
}
