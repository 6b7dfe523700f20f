//! Names of keys, which may be any bytes, on a page of text.

/// A name as it is shown: as it is if it is a text that can be seen, else escaped. No two names are shown alike: one
/// that could be taken for an escaped one is escaped too.
pub fn shown(name: &[u8]) -> String {
    match std::str::from_utf8(name) {
        Ok(text) if !text.contains('\\') && !text.chars().any(is_invisible) => text.to_owned(),
        _ => name.escape_ascii().to_string(),
    }
}

/// True for what would make a name look like another one, or turn the text around.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A name as it stands in an address: every byte but letters, digits and `-._~` behind a percent sign.
pub fn id(name: &[u8]) -> String {
    let mut id = String::with_capacity(name.len());
    for &byte in name {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                id.push(char::from(byte));
            }
            _ => id.push_str(&format!("%{byte:02X}")),
        }
    }
    id
}

/// The bytes of an [`id`], or of what a browser makes of a text; `None` if it is none.
pub fn bytes(id: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(id.len());
    let mut rest = id.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let (digits, behind) = behind.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok()?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = behind;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_comes_back_from_its_id() {
        for name in [
            &b"rl:meta:123"[..],
            b"",
            b"a b%",
            b"\0\xff<img>",
            "\u{e9}\u{202e}".as_bytes(),
        ] {
            let id = id(name);
            assert!(
                id.bytes()
                    .all(|byte| byte.is_ascii_graphic() && byte != b'&')
            );
            assert_eq!(bytes(&id).unwrap(), name);
        }
        for wrong in ["%", "%4", "%zz", "%+1"] {
            assert_eq!(bytes(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_cannot_be_seen_is_escaped() {
        assert_eq!(shown("caf\u{e9} <b>".as_bytes()), "caf\u{e9} <b>");
        assert_eq!(shown(b"a\nb\xff"), r"a\nb\xff");
        assert_eq!(shown("a\u{202e}b".as_bytes()), r"a\xe2\x80\xaeb");
        assert_eq!(shown(br"a\nb"), r"a\\nb");
    }
}
