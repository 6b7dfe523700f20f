//! Bytes as text and back (RFC 4648, section 4).

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes as a text, with its padding.
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let value = group >> (18 - 6 * digit) & 63;
            let is_there = digit <= chunk.len();
            text.push(if is_there {
                char::from(DIGITS[value as usize])
            } else {
                '='
            });
        }
    }
    text
}

/// The bytes of a text, with or without its padding; `None` if it is none.
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let last = text.iter().rposition(|byte| *byte != b'=');
    let digits = &text[..last.map_or(0, |at| at + 1)];
    let (mut bytes, mut held, mut bits) = (Vec::new(), 0_u32, 0);
    for byte in digits {
        let digit = DIGITS.iter().position(|digit| digit == byte)?;
        // Of what is held only the bits are looked at that are not in a byte yet.
        held = (held << 6 | digit as u32) & 0xfff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_the_rfc() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text.as_bytes()).unwrap(), bytes.as_bytes());
            let bare = text.trim_end_matches('=');
            assert_eq!(decode(bare.as_bytes()).unwrap(), bytes.as_bytes());
        }
    }

    #[test]
    fn all_bytes_come_back() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(encode(&all).as_bytes()).unwrap(), all);
        assert_eq!(decode(b"Zm 9v"), None);
        assert_eq!(decode("\u{e9}".as_bytes()), None);
    }
}
