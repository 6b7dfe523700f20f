//! Glob patterns as Redis has them: `*`, `?`, `[a-z]`, `[^x]`, and `\` for the next byte as it is.
//!
//! On a mismatch only the last `*` is tried one byte further on: an earlier one that took more could not
//! reach anything that the last one cannot. So no pattern takes more than its length times the text's.

/// True if the whole of `text` matches `pattern`.
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    compare(pattern, text, |byte| byte)
}

/// As [`matches`], whatever the case of ASCII letters.
pub fn matches_in_any_case(pattern: &[u8], text: &[u8]) -> bool {
    compare(pattern, text, |byte| byte.to_ascii_lowercase())
}

fn compare(pattern: &[u8], text: &[u8], fold: impl Fn(u8) -> u8) -> bool {
    let (mut rest, mut at) = (pattern, 0);
    // What follows the last `*`, and where in the text it was last tried.
    let mut star: Option<(&[u8], usize)> = None;
    loop {
        if let [b'*', after @ ..] = rest {
            star = Some((after, at));
            rest = after;
        } else if let Some(&byte) = text.get(at)
            && let Some(after) = one(rest, byte, &fold)
        {
            (rest, at) = (after, at + 1);
        } else if at == text.len() && rest.is_empty() {
            return true;
        } else if let Some((after, tried)) = star.filter(|(_, tried)| *tried < text.len()) {
            star = Some((after, tried + 1));
            (rest, at) = (after, tried + 1);
        } else {
            return false;
        }
    }
}

/// Matches one byte against the beginning of `pattern`, which is no `*`; what is left of it then.
fn one<'a>(pattern: &'a [u8], byte: u8, fold: &impl Fn(u8) -> u8) -> Option<&'a [u8]> {
    match pattern {
        [] => None,
        [b'?', rest @ ..] => Some(rest),
        [b'[', rest @ ..] => {
            let (found, rest) = class(rest, byte, fold);
            found.then_some(rest)
        }
        [b'\\', literal, rest @ ..] | [literal, rest @ ..] => {
            (fold(*literal) == fold(byte)).then_some(rest)
        }
    }
}

/// Looks for `byte` in a class, whose `[` was taken; also what follows it. A class that is not closed ends
/// with the pattern.
fn class<'a>(pattern: &'a [u8], byte: u8, fold: &impl Fn(u8) -> u8) -> (bool, &'a [u8]) {
    let (wanted, mut rest) = match pattern {
        [b'^', rest @ ..] => (false, rest),
        _ => (true, pattern),
    };
    let mut found = false;
    loop {
        let (first, last);
        (first, last, rest) = match rest {
            [] => return (found == wanted, rest),
            [b']', after @ ..] => return (found == wanted, after),
            [b'\\', literal, after @ ..] => (*literal, *literal, after),
            [from, b'-', to, after @ ..] => (*from, *to, after),
            [literal, after @ ..] => (*literal, *literal, after),
        };
        let (low, high) = (fold(first).min(fold(last)), fold(first).max(fold(last)));
        found |= (low..=high).contains(&fold(byte));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The obvious recursion.
    fn slowly(pattern: &[u8], text: &[u8]) -> bool {
        match pattern {
            [] => text.is_empty(),
            [b'*', rest @ ..] => (0..=text.len()).any(|at| slowly(rest, &text[at..])),
            _ => text.split_first().is_some_and(|(byte, text)| {
                one(pattern, *byte, &|byte| byte).is_some_and(|rest| slowly(rest, text))
            }),
        }
    }

    #[test]
    fn patterns_match_as_in_redis() {
        let cases: [(&str, &str, bool); 34] = [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("**", "anything", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*b*c", "aXbXbc", true),
            ("a*b*c", "aXbXb", false),
            ("h?llo", "hello", true),
            ("h?llo", "hllo", false),
            ("h[ae]llo", "hallo", true),
            ("h[ae]llo", "hillo", false),
            ("h[^e]llo", "hallo", true),
            ("h[^e]llo", "hello", false),
            ("h[a-b]llo", "hbllo", true),
            ("h[b-a]llo", "hallo", true),
            ("h[a-b]llo", "hcllo", false),
            ("h\\?llo", "h?llo", true),
            ("h\\?llo", "hello", false),
            ("[\\]]", "]", true),
            ("[]a", "a", false),
            ("[^]", "x", true),
            ("[abc", "b", true),
            ("[abc", "d", false),
            ("[a", "ab", false),
            ("a\\", "a\\", true),
            ("[-x]", "-", true),
            ("[a-]", "-", false),
            ("?", "", false),
            ("???", "ab", false),
            ("*?", "", false),
            ("rl:*:1", "rl:meta:1", true),
            ("RL:*", "rl:x", false),
            ("a", "ab", false),
        ];
        for (pattern, text, expected) in cases {
            assert_eq!(
                matches(pattern.as_bytes(), text.as_bytes()),
                expected,
                "{pattern} on {text}"
            );
        }
        assert!(matches(b"\xff*\x00", b"\xffabc\x00"));
        assert!(matches_in_any_case(b"MAX[M-N]*", b"maxmemory"));
    }

    #[test]
    fn no_pattern_takes_exponential_time() {
        let pattern = b"a*".repeat(500);
        let text = [vec![b'a'; 20_000], vec![b'b']].concat();
        assert!(matches(&pattern, &text));
        assert!(!matches(&[&pattern[..], b"c"].concat(), &text));
    }

    proptest! {
        #[test]
        fn the_last_star_is_enough(pattern in "[ab*?\\[\\]^\\\\-]{0,9}", text in "[ab\\-\\]]{0,7}") {
            prop_assert_eq!(
                matches(pattern.as_bytes(), text.as_bytes()),
                slowly(pattern.as_bytes(), text.as_bytes())
            );
        }
    }
}
