//! A request that is encoded once, with places for the digits of keys.

use memchr::memmem;

use super::denial::Denial;
use super::keys::Keys;

/// What stands for a key in an argument, the text that it becomes, and how many digits end that text.
const PLACEHOLDERS: [(&[u8], &[u8], usize); 2] = [
    // 14 bytes in all.
    (b"__key__", b"key:0000000000", 10),
    // As in redis-benchmark.
    (b"__rand_int__", b"000000000000", 12),
];

/// A command to be sent over and over.
pub struct Template {
    /// The command as it was given, for reports.
    pub text: String,
    /// Its share of the calls is this in the sum of all weights.
    pub weight: u64,
    /// How it says no.
    pub denial: Denial,
    request: Vec<u8>,
    /// Where the digits of a key end, and how many they are.
    holes: Vec<(usize, usize)>,
}

impl Template {
    /// Encodes a command. `words` has one word or more.
    pub fn new(words: &[Vec<u8>], weight: u64) -> Self {
        let mut template = Self {
            text: words
                .iter()
                .map(|word| quoted(word))
                .collect::<Vec<_>>()
                .join(" "),
            weight,
            denial: Denial::of(words),
            request: format!("*{}\r\n", words.len()).into_bytes(),
            holes: Vec::new(),
        };
        for word in words {
            let (argument, holes) = fill(word);
            let head = format!("${}\r\n", argument.len());
            template.request.extend_from_slice(head.as_bytes());
            let start = template.request.len();
            let holes = holes.into_iter();
            template
                .holes
                .extend(holes.map(|(end, digits)| (start + end, digits)));
            template.request.extend_from_slice(&argument);
            template.request.extend_from_slice(b"\r\n");
        }
        template
    }

    /// Appends one request, its keys drawn anew.
    pub fn write(&self, output: &mut Vec<u8>, keys: &mut Keys) {
        let start = output.len();
        output.extend_from_slice(&self.request);
        for &(end, digits) in &self.holes {
            let mut number = keys.next();
            let hole = &mut output[start + end - digits..start + end];
            for digit in hole.iter_mut().rev() {
                if number == 0 {
                    break;
                }
                *digit = b'0' + (number % 10) as u8;
                number /= 10;
            }
        }
    }
}

/// A word with its placeholders replaced, and the places of their digits.
fn fill(word: &[u8]) -> (Vec<u8>, Vec<(usize, usize)>) {
    let (mut argument, mut holes, mut rest) = (Vec::new(), Vec::new(), word);
    let next = |rest: &[u8]| {
        let found = PLACEHOLDERS
            .iter()
            .filter_map(|holder| Some((memmem::find(rest, holder.0)?, holder)));
        found.min_by_key(|(at, _)| *at)
    };
    while let Some((at, (name, text, digits))) = next(rest) {
        argument.extend_from_slice(&rest[..at]);
        argument.extend_from_slice(text);
        holes.push((argument.len(), *digits));
        rest = &rest[at + name.len()..];
    }
    argument.extend_from_slice(rest);
    (argument, holes)
}

/// A word as it can be typed at a prompt.
fn quoted(word: &[u8]) -> String {
    let plain = |byte: &u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'\\');
    match !word.is_empty() && word.iter().all(plain) {
        true => String::from_utf8_lossy(word).into_owned(),
        false => format!("\"{}\"", word.escape_ascii()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::bench::keys::Draw;

    fn requests(words: &[&str], count: usize) -> Vec<String> {
        let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        let template = Template::new(&words, 1);
        let mut keys = Keys::new(Draw::Sequence, 10_000_000_000, 1, 9, 3);
        let request = |_| {
            let mut output = b"before".to_vec();
            template.write(&mut output, &mut keys);
            String::from_utf8(output[6..].to_vec()).unwrap()
        };
        (0..count).map(request).collect()
    }

    #[test]
    fn keys_have_fourteen_bytes_and_are_drawn_anew() {
        assert_eq!(
            requests(&["GET", "__key__"], 2),
            [
                "*2\r\n$3\r\nGET\r\n$14\r\nkey:0000000009\r\n",
                "*2\r\n$3\r\nGET\r\n$14\r\nkey:0000000012\r\n"
            ]
        );
    }

    #[test]
    fn placeholders_may_stand_anywhere_and_often() {
        let found = &requests(&["X", "a__rand_int__b__key____key_", "__key__", "k"], 1)[0];
        assert_eq!(
            found,
            "*4\r\n$1\r\nX\r\n$34\r\na000000000009bkey:0000000012__key_\r\n$14\r\nkey:0000000015\r\n$1\r\nk\r\n"
        );
    }

    #[test]
    fn a_command_is_shown_as_typed() {
        let words = [b"SET".to_vec(), b"a b".to_vec(), Vec::new(), vec![0]];
        assert_eq!(Template::new(&words, 1).text, r#"SET "a b" "" "\x00""#);
    }
}
