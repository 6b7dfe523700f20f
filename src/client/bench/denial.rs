//! Which replies are denials: a limit has said no, which is neither a success nor an error.

use super::replies::Reply;

/// How a command's reply says that it was denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denial {
    /// It never does.
    Never,
    /// Its first integer is below zero.
    FirstNegative,
    /// Its first integer is 1.
    FirstOne,
    /// Its first integer is 0.
    FirstZero,
    /// Its second integer is 0.
    SecondZero,
    /// It is a null.
    Null,
}

impl Denial {
    /// Of the command with these words.
    pub fn of(words: &[Vec<u8>]) -> Self {
        let name = words.first().map(|name| name.to_ascii_uppercase());
        match name.as_deref() {
            // The map of INFO begins with `granted`.
            Some(b"RL.RESERVE" | b"RL.ACQUIRE" | b"RL.TAKE" | b"RL.PEEK") if has_info(words) => {
                Self::FirstZero
            }
            Some(b"RL.RESERVE" | b"RL.ACQUIRE") => Self::FirstNegative,
            Some(b"RL.TAKE" | b"RL.PEEK" | b"RL.THROTTLE" | b"CL.THROTTLE" | b"GCRA") => {
                Self::FirstOne
            }
            Some(b"THROTTLE") => Self::FirstZero,
            Some(b"INCREX") => Self::SecondZero,
            Some(b"RL.LEASE") => Self::Null,
            _ => Self::Never,
        }
    }

    /// True if the reply, which is no error, is a denial.
    pub fn is_in(self, reply: &Reply<'_>) -> bool {
        let [first, second] = reply.integers;
        match self {
            Self::Never => false,
            Self::FirstNegative => first.is_some_and(|number| number < 0),
            Self::FirstOne => first == Some(1),
            Self::FirstZero => first == Some(0),
            Self::SecondZero => second == Some(0),
            Self::Null => reply.null,
        }
    }
}

/// The option INFO is given: not a key, an id, a group or a policy of that name.
fn has_info(words: &[Vec<u8>]) -> bool {
    let names = |word: &[u8]| {
        let names: [&[u8]; 4] = [b"AND", b"ID", b"GROUP", b"POLICY"];
        names.iter().any(|name| word.eq_ignore_ascii_case(name))
    };
    let pairs = words.windows(2).skip(1);
    pairs
        .into_iter()
        .any(|pair| pair[1].eq_ignore_ascii_case(b"INFO") && !names(&pair[0]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::bench::replies::Skimmer;

    fn denied(command: &str, reply: &[u8]) -> bool {
        let words: Vec<Vec<u8>> = command.split(' ').map(|word| word.into()).collect();
        let reply = Skimmer::default().next(reply).unwrap().unwrap();
        Denial::of(&words).is_in(&reply)
    }

    #[test]
    fn a_denial_is_told_by_the_command() {
        let reserve = "rl.reserve k 80 80 30000";
        assert!(!denied(reserve, b":0\r\n") && !denied(reserve, b":12\r\n"));
        assert!(denied(reserve, b":-1\r\n") && denied(reserve, b":-2\r\n"));
        assert!(denied(&format!("{reserve} TICKET"), b"*2\r\n:-1\r\n:0\r\n"));
        for take in ["RL.TAKE k 5 5", "CL.THROTTLE k 4 5 1", "GCRA k 4 5 1"] {
            assert!(denied(take, b"*5\r\n:1\r\n:5\r\n:0\r\n:200\r\n:1000\r\n"));
            assert!(!denied(take, b"*5\r\n:0\r\n:5\r\n:4\r\n:-1\r\n:200\r\n"));
        }
        assert!(denied(
            "THROTTLE k 5 5 1",
            b"*5\r\n:0\r\n:5\r\n:0\r\n:1\r\n:1\r\n"
        ));
        assert!(denied("INCREX k UBOUND 5", b"*2\r\n:5\r\n:0\r\n"));
        assert!(!denied("INCREX k UBOUND 5", b"*2\r\n:5\r\n:1\r\n"));
        assert!(denied("RL.LEASE k 1 1s", b"$-1\r\n") && denied("RL.LEASE k 1 1s", b"_\r\n"));
        assert!(!denied("GET k", b"$-1\r\n") && !denied("DECR k", b":-1\r\n"));
    }

    #[test]
    fn info_is_an_option_and_may_be_a_name() {
        let map = b"*2\r\n$7\r\ngranted\r\n:0\r\n";
        assert!(denied("RL.TAKE k 5 5 info", map));
        assert!(denied("RL.RESERVE k 5 5 0 ID a INFO", map));
        let reply = b"*5\r\n:0\r\n:5\r\n:4\r\n:-1\r\n:200\r\n";
        for command in [
            "RL.TAKE INFO 5 5",
            "RL.TAKE k 5 5 AND INFO 5 5",
            "RL.TAKE k 5 5 ID INFO",
            "RL.TAKE k POLICY INFO",
        ] {
            assert!(!denied(command, reply), "{command}");
        }
    }
}
