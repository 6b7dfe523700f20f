//! How often each kind of error was replied.

use parking_lot::Mutex;
use std::collections::BTreeMap;

/// Longest code that is told from others, in bytes; the longest there is has 10.
const CODE_BYTES_MAX: usize = 16;

/// Most codes that are counted, as in Redis; they come from a fixed set, so this is never reached.
const CODES_MAX: usize = 128;

/// The first word of an error, such as `ERR` or `WRONGTYPE`, cut, and filled up with zeros.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Code([u8; CODE_BYTES_MAX]);

impl Code {
    /// The code of an error's text.
    pub(super) fn of(text: &[u8]) -> Self {
        let mut code = [0; CODE_BYTES_MAX];
        let word = text.iter().take_while(|byte| byte.is_ascii_graphic());
        code.iter_mut()
            .zip(word)
            .for_each(|(place, byte)| *place = *byte);
        Self(code)
    }

    fn text(&self) -> String {
        let word = self.0.iter().take_while(|byte| **byte != 0);
        word.map(|byte| char::from(*byte)).collect()
    }
}

/// The totals by code.
#[derive(Default)]
pub(super) struct Errors(Mutex<BTreeMap<Code, u64>>);

impl Errors {
    pub(super) fn add(&self, code: Code, count: u64) {
        let mut totals = self.0.lock();
        if totals.len() < CODES_MAX || totals.contains_key(&code) {
            *totals.entry(code).or_default() += count;
        }
    }

    pub(super) fn totals(&self) -> Vec<(String, u64)> {
        let totals = self.0.lock();
        totals
            .iter()
            .map(|(code, count)| (code.text(), *count))
            .collect()
    }

    pub(super) fn reset(&self) {
        self.0.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_counts() {
        let errors = Errors::default();
        errors.add(Code::of(b"ERR a\r\n"), 1);
        errors.add(Code::of(b"ERR b"), 2);
        errors.add(Code::of(b"WRONGTYPE Operation"), 1);
        errors.add(Code::of(b"NOAUTH"), 1);
        errors.add(Code::of(b"AVERYLONGCODETHATNOBODYHAS x"), 1);
        let totals = errors.totals();
        let totals: Vec<(&str, u64)> = totals.iter().map(|(code, n)| (code.as_str(), *n)).collect();
        assert_eq!(
            totals,
            [
                ("AVERYLONGCODETHA", 1),
                ("ERR", 3),
                ("NOAUTH", 1),
                ("WRONGTYPE", 1)
            ]
        );
        errors.reset();
        assert!(errors.totals().is_empty());
    }

    #[test]
    fn no_more_codes_than_are_kept() {
        let errors = Errors::default();
        (0..200).for_each(|n| errors.add(Code::of(format!("E{n}").as_bytes()), 1));
        assert_eq!(errors.totals().len(), CODES_MAX);
        errors.add(Code::of(b"E0 again"), 1);
        assert_eq!(errors.totals()[0], ("E0".to_owned(), 2));
    }
}
